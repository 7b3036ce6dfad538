"""Records of the tables linalg_*. Functions whose results are determined up to a sign or phase are in test_linalg_spectral.py."""

from __future__ import annotations

import math

import numpy as np
from recording import F, I, S, X, record

INF = math.inf


def _rng(seed):
    return np.random.default_rng(seed)


def matrix(*shape, seed=0, dtype="float64", grad=True):
    """A matrix that is far from singular: random, with more on its diagonal."""
    rng = _rng(seed)
    values = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.uniform(-1, 1, shape)
    values[..., range(min(shape[-2:])), range(min(shape[-2:]))] += 2 + np.arange(min(shape[-2:])) * 0.5
    return X(data=values.astype(dtype), dtype=dtype, grad=grad)


def positive(*shape, seed=0, dtype="float64"):
    """A positive definite matrix."""
    values = np.asarray(matrix(*shape, seed=seed, dtype=dtype).data)
    return X(data=values @ values.conj().swapaxes(-1, -2) + np.eye(shape[-1]), dtype=dtype)


def squares(**kwargs):
    """Square matrices: one, batches, complex, single precision, empty, transposed."""
    made = [matrix(3, 3), matrix(2, 3, 3, seed=1), matrix(2, 2, 2, 2, seed=2), F([[2.0]])]
    made += [matrix(3, 3, seed=4, dtype=d) for d in ("float32", "complex64", "complex128")]
    made += [X((0, 0)), X((0, 2, 2)), X((3, 3), layout="transposed"), X((2, 3, 3), "complex128")]
    return [S(m, **kwargs) for m in made]


NOT_SQUARE = [(X(3),), (X(()),), (X((2, 3)),)]
BAD = [*NOT_SQUARE, (X((2, 2), "int64"),)]
ZERO = F(np.zeros((2, 2)))
ONE_SINGULAR = F(np.stack([np.eye(2), np.zeros((2, 2))]))

# ----- Systems --------------------------------------------------------------------------------------------------------

_SYSTEMS = [
    S(matrix(3, 3), X(3)), S(matrix(3, 3), X((3, 2))), S(matrix(2, 3, 3), X((2, 3, 2))), S(matrix(2, 3, 3), X((3, 2))), S(matrix(3, 3), X((2, 3, 2))),
    S(matrix(2, 3, 3), X((2, 3))), S(matrix(3, 3), X((2, 3)), left=False), S(matrix(2, 3, 3, dtype="complex128"), X((2, 3, 1), "complex128")),
    S(matrix(3, 3, dtype="float32"), X((3, 2), "float32")), S(X((0, 0)), X((0, 3))), S(matrix(3, 3), X((3, 0))), S(X((0, 3, 3)), X((3, 2))),
]  # fmt: skip
_MISFITS = [(matrix(3, 3), X((4, 2))), (matrix(3, 3), X(())), (matrix(3, 3), X((3, 2), "float32")), (X((2, 3)), X(2)), (X(3), X(3)),
            (matrix(2, 3, 3), X((4, 3, 2))), S(matrix(3, 3), X((3, 2)), left=False)]  # fmt: skip
record(
    "linalg.solve",
    _SYSTEMS,
    errors=[*_MISFITS, (ZERO, X((2, 1))), (ONE_SINGULAR, X((2, 1))), ([1], X(2)), (I([1, 0], [0, 1]), I(1, 2))],
)
record("linalg.solve_ex", _SYSTEMS, errors=[*_MISFITS, S(ZERO, X((2, 1)), check_errors=True)])
record("linalg.inv", squares(), errors=[*BAD, (ZERO,), (ONE_SINGULAR,), (X((2, 2), "float16"),)])
record("linalg.inv_ex", squares(), errors=[*BAD, S(ZERO, check_errors=True)])
record("inverse", squares(), errors=[*BAD, (ZERO,)])
record("linalg.det", squares(), errors=[*BAD, (X((2, 2), "float16"),)])
record("det", squares(), errors=BAD)
record("linalg.slogdet", squares(), S(F(-np.eye(3))), errors=[*BAD, (X((2, 2), "float16"),)])
record("slogdet", squares(), errors=BAD)
record("logdet", S(positive(3, 3)), S(positive(2, 3, 3)), S(matrix(3, 3, dtype="complex128")), S(X((0, 0))), errors=BAD)
_TRIANGULAR = [
    S(matrix(2, 3, 3), X((2, 3, 2)), upper=u, unitriangular=unit) for u in (True, False) for unit in (True, False)
] + [
    S(matrix(3, 3), X((2, 3)), upper=True, left=False), S(matrix(3, 3, dtype="complex128"), X((3, 2), "complex128"), upper=False),
    S(matrix(3, 3), X((2, 3, 2)), upper=True), S(matrix(2, 3, 3), X((3, 2)), upper=False), S(X((0, 0)), X((0, 2)), upper=True),
    S(matrix(3, 3, dtype="float32"), X((3, 1), "float32"), upper=True), S(matrix(60, 60), X((60, 1)), upper=False),
]  # fmt: skip
record("linalg.solve_triangular", _TRIANGULAR,
       errors=[S(matrix(3, 3), X(3), upper=True), S(X((2, 3)), X((2, 1)), upper=True), S(matrix(3, 3), X((2, 3)), upper=True),
               S(I([1, 0], [0, 1]), I([1], [2]), upper=True)])  # fmt: skip
record("triangular_solve", S(X((2, 3, 2)), matrix(2, 3, 3)), S(X((3, 2)), matrix(3, 3), False), S(X((3, 2)), matrix(3, 3), True, True),
       S(X((3, 2)), matrix(3, 3), False, True, True), S(X((3, 2), "complex128"), matrix(3, 3, dtype="complex128"), True, True),
       S(X((2, 3, 2)), matrix(3, 3)), errors=[(X(3), matrix(3, 3)), (X((2, 2)), matrix(3, 3)), (X((3, 2), "float32"), matrix(3, 3)), (X((3, 2)), X((3, 2)))])  # fmt: skip
record("linalg.tensorinv", S(matrix(6, 6), ind=1), S(X(data=matrix(6, 6).data.reshape(2, 3, 6))), S(X(data=matrix(6, 6).data.reshape(6, 3, 2)), ind=1),
       node=False, errors=[S(X((3, 3)), ind=0), (X((2, 3)),), S(ZERO, ind=1)])  # fmt: skip
record("linalg.tensorsolve", S(X(data=matrix(6, 6).data.reshape(2, 3, 6)), X((2, 3))), S(X(data=matrix(6, 6).data.reshape(6, 2, 3)), X((2, 3)), dims=(0,)),
       errors=[(X((3, 3)), X((3, 2))), (ZERO, X(2))], node=False)  # fmt: skip

# ----- Factorisations -------------------------------------------------------------------------------------------------

_POSITIVE = [
    positive(3, 3),
    positive(2, 3, 3),
    positive(3, 3, dtype="complex128"),
    positive(3, 3, dtype="float32"),
    X((0, 0)),
    X((0, 2, 2)),
]
_NEGATIVE = [(F(-np.eye(2)),), (F(np.stack([np.eye(2), -np.eye(2)])),), (F([[1.0, 2.0], [2.0, 1.0]]),)]
# Derivatives are those of a function of Hermitian matrices: moving one triangle alone is something else.
record(
    "linalg.cholesky",
    [S(p) for p in _POSITIVE],
    [S(p, upper=True) for p in _POSITIVE],
    smooth=False,
    errors=[*BAD, *_NEGATIVE],
)
record(
    "linalg.cholesky_ex",
    [S(p) for p in _POSITIVE],
    S(F([[1.0, 2.0], [2.0, 1.0]], grad=False)),
    S(F(-np.eye(2), grad=False)),
    smooth=False,
    errors=BAD,
)
record("cholesky", [S(p) for p in _POSITIVE], S(positive(3, 3), True), smooth=False, errors=[*NOT_SQUARE, *_NEGATIVE])
_ANY = [
    matrix(3, 3),
    matrix(2, 4, 3),
    matrix(2, 3, 5),
    matrix(3, 3, dtype="complex128"),
    matrix(4, 3, dtype="float32"),
    matrix(20, 17),
]
_EMPTY = [X((0, 0)), X((0, 3)), X((3, 0)), X((0, 2, 2))]
record(
    "linalg.lu", [S(m) for m in _ANY + _EMPTY], errors=[(X(3),), (X((2, 2), "int64"),), S(matrix(2, 2), pivot=False)]
)
record(
    "linalg.lu_factor",
    [S(m) for m in _ANY + _EMPTY],
    errors=[(X(3),), (ZERO,), (ONE_SINGULAR,), S(matrix(2, 2), pivot=False)],
)
record(
    "linalg.lu_factor_ex",
    [S(m) for m in _ANY + _EMPTY],
    S(ZERO),
    S(ONE_SINGULAR),
    smooth=False,
    second=False,
    errors=[(X(3),), S(ZERO, check_errors=True)],
)
_PIVOTS = X(data=np.array([3, 3, 3], np.int32), dtype="int32")
_SOLVE = [S(matrix(3, 3), _PIVOTS, X((3, 2)), adjoint=a) for a in (True, False)] + [
    S(matrix(3, 3), _PIVOTS, X((2, 3)), left=False, adjoint=a) for a in (True, False)
]
record("linalg.lu_solve", _SOLVE, S(X((3, 3), low=1.0), _PIVOTS, X((3, 2))), S(matrix(3, 3, dtype="complex128"), _PIVOTS, X((3, 2), "complex128"), adjoint=True), S(matrix(3, 3), _PIVOTS, X((2, 3, 2))),
       strides=False, errors=[(matrix(3, 3), I(1, 2, 3), X((3, 1))), (matrix(3, 3), X(data=[1, 2], dtype="int32"), X((3, 1))),
                              (matrix(3, 3), X(data=[1, 2, 9], dtype="int32"), X((3, 1))), (matrix(3, 3), _PIVOTS, X((2, 1)))])  # fmt: skip
record("lu_unpack", S(matrix(3, 3), _PIVOTS), S(matrix(3, 3, grad=False), _PIVOTS, False), S(matrix(3, 3), _PIVOTS, True, False), S(matrix(4, 3), _PIVOTS), S(matrix(3, 4), _PIVOTS),
       errors=[(matrix(3, 3), I(1, 2, 3)), (matrix(3, 3), X(data=[1, 2, 9], dtype="int32"))])  # fmt: skip
record("linalg.qr", [S(m) for m in _ANY + _EMPTY], S(matrix(3, 5), "complete"), S(matrix(3, 3), "complete"), S(X((5, 3), grad=False), "complete"),
       S(X((5, 3), grad=False), "r"), errors=[(X(3),), (matrix(2, 2), "x"), (X((2, 2), "int64"),)])  # fmt: skip
record("qr", S(matrix(4, 3)), S(matrix(3, 3), False), S(X((3, 2))))
record("geqrf", [S(m) for m in _ANY + _EMPTY], errors=[(X(3),), (X((2, 2), "int64"),)])
_TAU = [
    S(X((4, 3)), X(3)),
    S(X((2, 4, 3)), X((2, 3))),
    S(X((4, 3)), X(2)),
    S(X((3, 3), "complex128"), X(3, "complex128")),
    S(X((0, 0)), X(0)),
]
record(
    "linalg.householder_product",
    _TAU,
    errors=[(X((2, 3)), X(2)), (X((3, 2)), X(3)), (X((3, 2)), X((2, 2))), (X(3), X(3)), (X((2, 3, 2)), X((3, 2)))],
)
record("orgqr", _TAU)
record("ormqr", [S(X((4, 3)), X(3), X((4, 2)), True, t) for t in (True, False)], [S(X((4, 3), "complex128"), X(3, "complex128"), X((2, 4), "complex128"), False, t) for t in (True, False)],
       errors=[(X(3), X(3), X((3, 1))), (X((4, 3)), X(3), X((3, 1))), (X((4, 3)), X(3), X((1, 4, 1)))])  # fmt: skip
_SYMMETRIC = [F([[1.0, 2.0], [2.0, 1.0]]), F([[0.0, 2.0, 1.0], [2.0, 0.0, 3.0], [1.0, 3.0, 0.0]]), positive(2, 3, 3)]
record(
    "linalg.ldl_factor",
    [S(m) for m in _SYMMETRIC],
    S(positive(3, 3, dtype="complex128"), hermitian=True),
    S(X((0, 0))),
    node=False,
    errors=BAD,
)
record("linalg.ldl_factor_ex", [S(m) for m in _SYMMETRIC], node=False, errors=BAD)
record("linalg.ldl_solve", S(matrix(3, 3), X(data=[1, 2, 3], dtype="int32"), X((3, 2))), S(matrix(3, 3), X(data=[-3, -3, 3], dtype="int32"), X((3, 2))), node=False,
       errors=[(matrix(3, 3), X(data=[1, 2], dtype="int32"), X((3, 1))), (matrix(3, 3), X(data=[1, 2, 3], dtype="int32"), X((2, 1)))])  # fmt: skip

# ----- Values ---------------------------------------------------------------------------------------------------------

record(
    "linalg.svdvals",
    [S(m) for m in _ANY + _EMPTY],
    rtol=10,
    errors=[(X(3),), (X((2, 2), "int64"),), S(matrix(2, 2), driver="gesvd")],
)
record(
    "linalg.eigvalsh",
    [S(m) for m in _POSITIVE],
    S(positive(3, 3), "U"),
    smooth=False,
    rtol=10,
    errors=[*NOT_SQUARE, (matrix(2, 2), "X")],
)
record(
    "linalg.eigvals", S(F([[1.0, 2.0], [0.5, 3.0]])), S(F([[1.0, 2.0], [-2.0, 1.0]])), S(X((0, 0))), rtol=10, errors=BAD
)
record("linalg.pinv", [S(m) for m in _ANY + _EMPTY], S(matrix(3, 3), rtol=1e-3), S(matrix(3, 3), 1e-3), S(positive(3, 3), hermitian=True), rtol=10,
       errors=[(X(3),), (X((2, 2), "int64"),), S(X((2, 3)), hermitian=True)])  # fmt: skip
record("pinverse", [S(m) for m in _ANY], S(X((3, 2))), rtol=10, errors=[(X(3),)])
record("linalg.matrix_rank", [S(m) for m in _ANY + _EMPTY], S(F(np.ones((3, 3)))), S(F(np.diag([3.0, 1.0, 0.1])), atol=0.5), S(F(np.diag([3.0, 1.0, 0.1])), rtol=0.5),
       S(F(np.diag([3.0, 1.0, 0.1])), 2.0), S(F(np.stack([np.eye(2)] * 2)), atol=F([0.5, 2.0], grad=False)), S(F(np.diag([3.0, -1.0])), hermitian=True),
       errors=[(X(3),), (X((2, 2), "int64"),), S(matrix(2, 2), atol=X((), "complex64"))])  # fmt: skip
_ORDERS = ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
record("linalg.matrix_norm", [S(matrix(2, 3, 4), o) for o in _ORDERS], [S(matrix(4, 2, 3), o, dim=(2, 0), keepdim=True) for o in _ORDERS],
       S(matrix(3, 3, dtype="complex128")), S(matrix(3, 3, dtype="float32"), dtype="dtype:float64"), [S(X((0, 3)), o) for o in ("fro", "nuc", 1, 2, INF)], rtol=10,
       errors=[(X(3),), (matrix(2, 2), "x"), (matrix(2, 2), 3), S(matrix(2, 2), dim=(0, 0)), S(matrix(2, 2), dim=(0, 1, 2)), S(matrix(2, 2), dtype="dtype:float32"),
               (X((2, 2), "int64"),)])  # fmt: skip
record("linalg.norm", [S(matrix(3, 4), o) for o in (None, *_ORDERS)], [S(X(4), o) for o in (None, 0, 1, 2, 3, INF, -INF)], S(X((2, 3, 4))), S(X((2, 3, 4)), 1, 1),
       S(X((2, 3, 4)), "fro", (0, 1)), S(X((2, 3, 4)), None, (0, 1), True), rtol=10, second=False,
       errors=[(X((2, 2, 2)), 2), (X(()), 2), S(X((2, 2, 2)), dim=(0, 1, 2)), (matrix(2, 2), "x"), (X(3), "fro"), (matrix(2, 2), 3)])  # fmt: skip
# PyTorch cannot differentiate cond for the norms that go through the inverse: it writes over what its backward needs.
record("linalg.cond", [S(matrix(2, 3, 3), o) for o in (None, 2, -2, "nuc")], [S(X(data=matrix(2, 3, 3).data, grad=False), o) for o in ("fro", 1, -1, INF, -INF)],
       S(matrix(3, 4)), S(X((0, 0))), S(F(np.zeros((2, 2)), grad=False), 1), rtol=10, errors=[(X(3),), (matrix(2, 2), "x"), (X((2, 3)), 1)])  # fmt: skip
_TALL, _WIDE = matrix(5, 3), matrix(3, 5)
record("linalg.lstsq", [S(a, X((*np.shape(a.data)[:-1], 2)), driver=d) for a in (_TALL, _WIDE, matrix(2, 4, 4)) for d in ("gels", "gelsy", "gelsd", "gelss")],
       S(matrix(2, 5, 3), X((2, 5))), S(matrix(4, 3, dtype="complex128"), X((4, 1), "complex128")), S(X((0, 0)), X((0, 2))),
       S(matrix(3, 3), X((3, 0))), strides=False, rtol=10,
       errors=[(X(3), X(3)), (_TALL, X(())), (_TALL, X((4, 1))), (_TALL, X((2, 5, 1))), S(_TALL, X((5, 1)), driver="x"), (_TALL, X((5, 1), "float32"))])  # fmt: skip

# ----- Functions and products -----------------------------------------------------------------------------------------

record(
    "linalg.matrix_exp",
    squares(),
    S(F(30 * np.asarray(matrix(3, 3).data))),
    S(X((2, 2), low=-1e-4, high=1e-4)),
    rtol=100,
    errors=BAD,
)
record("matrix_exp", squares(), rtol=100, errors=BAD)
_POWERS = [S(matrix(2, 3, 3), n) for n in (-3, -1, 0, 1, 2, 3, 6)] + [
    S(I([1, 1], [0, 1]), 5),
    S(matrix(3, 3, dtype="complex128"), -2),
    S(X((0, 0)), 3),
]
record("linalg.matrix_power", _POWERS, errors=[(X(3), 2), (X((2, 3)), 2), (matrix(2, 2), 2.0), (ZERO, -1)])
record("matrix_power", _POWERS)
_A, _B, _C = X((3, 4)), X((4, 2)), X((2, 5))
record("linalg.multi_dot", S([_A, _B, _C]), S([_A, _B]), S([X(3), _A, _B]), S([_A, _B, X(2)]), S([X(3), _A, X(4)]), S([X((2, 0)), X((0, 3))]),
       S([X((3, 4), "complex128"), X((4, 2), "complex128")]), strides=False,
       errors=[([],), ([_A],), ([_A, X(4), _B],), ([_A, _C, _B],), ([_A, X((4, 2), "float32")],), ([X((1, 2, 3)), _A],)])  # fmt: skip
record("linalg.vecdot", S(X((2, 3)), X(3)), S(X(3), X(3)), S(X((2, 3), "complex128"), X((2, 3), "complex128")), S(X((2, 3)), X((2, 3)), dim=0), S(X((0, 3)), X((0, 3))),
       errors=[(X(3), X(3, "float32")), (I(1, 2), I(1, 2)), (X(3), X(2))])  # fmt: skip
record(
    "linalg.vander",
    S(X(3)),
    S(X((2, 3)), N=5),
    S(I(1, 2, 3)),
    S(X(3, "complex128"), N=4),
    errors=[(X(()),), S(X(3), N=1), (X(3, "bool"),)],
)
record("linalg.cross", S(X((2, 3)), X((1, 3))), S(X((3, 2)), X((3, 2)), dim=0), S(X(3, "complex128"), X(3, "complex128")),
       errors=[(X((2, 2)), X((2, 2))), (X(3), X((2, 3)))])  # fmt: skip
record("linalg.diagonal", S(X((2, 3, 3))), S(X((2, 3, 4)), offset=1), S(X((2, 3, 4)), dim1=0, dim2=1), errors=[(X(3),)])
record("linalg.matmul", S(X((2, 3)), X((3, 2))), S(X((2, 2, 3)), X(3)))
for _name in ("solve", "lstsq"):
    record(_name, errors=[(X((2, 2)), X((2, 2)))], equal=False)
for _name in ("symeig", "eig", "matrix_rank"):
    record(_name, errors=[(X((2, 2)),)], equal=False)
