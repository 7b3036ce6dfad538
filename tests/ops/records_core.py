"""Records of the tables arithmetic, shape, parts, joining, conversion, reduction, norms, matmul, einsum, activation, names."""

from __future__ import annotations

import math

from recording import B, F, I, S, X, binary, record, unary

INF, NAN = math.inf, math.nan
_C = "complex128"
_TIES = F([[2.0, 2.0, 1.0], [3.0, 1.0, 1.0]])

# ----- arithmetic ---------------------------------------------------------------------------------------------------

_ANY = binary(0.5, 2.5, numbers=(2, 0.5))
record(
    "add",
    _ANY,
    S(X(3), X(3), alpha=2),
    S(X(3), 2, X(3)),
    S(I(1, 2), 3, alpha=2),
    errors=[S(I(1, 2), I(1, 2), alpha=0.5), (X(2), X(3))],
)
record("sub", _ANY, S(X(3), X(3), alpha=2), S(X(3), 2, X(3)), errors=[(B([True]), B([True])), (B([True]), X(1))])
record("subtract", S(X(3), X(3)))
record("rsub", binary(numbers=(2,)), S(X(3), X(3), alpha=2))
record("mul", _ANY)
record("multiply", S(X(3), X(3)))
record("div", _ANY, *[S(X((2, 3)), X(3, low=0.5), rounding_mode=m) for m in ("floor", "trunc")], S(I(7, -7), I(2, 2), rounding_mode="trunc"), S(I(7, -7), 2, rounding_mode="floor"),
       S(F([1.0, -1.0, 0.0]), F([0.0, 0.0, 0.0])), errors=[S(X(2), 2, rounding_mode="foo"), S(I(1), I(0), rounding_mode="floor")], smooth=False)  # fmt: skip
record("divide", S(X(3), X(3, low=1)))
record("true_divide", S(X(3), X(3, low=1)))
record(
    "floor_divide",
    S(X((2, 3)), X(3, low=0.5)),
    S(I(7, -7), 2),
    S(I(7, -7), I(2, -2)),
    S(X(3), 0.7),
    smooth=False,
    errors=[(I(1), I(0))],
)
record(
    "remainder", S(X((2, 3)), X(3, low=0.5)), S(I(7, -7), 3), S(I(7, -7), I(-3, 3)), S(X(3), 0.7), errors=[(I(1), I(0))]
)
record("fmod", S(X((2, 3)), X(3, low=0.5)), S(I(7, -7), 3), S(I(7, -7), I(-3, 3)), S(X(3), 0.7), errors=[(I(1), I(0))])
record("negative", S(X(3)))
record("neg", unary(), errors=[(B([True]),)])
record("pow", binary(0.5, 2.0, numbers=(2, 3, 0.5, -1.0, 0, 1)), S(2, X(3)), S(2.5, X(3)), S(F([0.0, 0.0, 2.0]), F([0.0, 2.0, 0.0])), S(F([0.0, -1.0, 2.0]), 0), S(0, F([0.0, 2.0])),
       S(X(3, _C), 2), S(X(3, _C), 2.5), S(I(2, 3), 2), S(I(2, 3), I(0, 2)), errors=[(I(2), -1)])  # fmt: skip
record("square", unary())
record("bitwise_not", S(I(1, -2)), S(B([True, False])), errors=[(X(2),)])
record("logical_not", unary())
for _name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
    record(_name, S(X(3), X(3)), S(I(1, 2), 1.5))
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    record(_name, S(I(1, 2, 8), I(1, 2, 3)), S(I(1, 2, 8), 2), S(X(3, "int32", 0, 9), X(3, "uint8", 0, 3)))

# ----- shape --------------------------------------------------------------------------------------------------------

record(
    "reshape",
    S(X((2, 3)), (3, 2)),
    S(X((2, 3)), (-1,)),
    S(X((2, 3), layout="transposed"), (6,)),
    S(X((0, 3)), (3, 0)),
    errors=[(X((2, 3)), (4,)), (X((2, 3)), (-1, -1))],
    strides=False,
)
record("flatten", S(X((2, 3, 4)), 1), S(X((2, 3)), 0, -1), S(X(())), errors=[(X((2, 3)), 1, 0)])
record("unflatten", S(X((2, 6)), 1, (2, -1)), S(X((2, 6)), -1, (3, 2)), errors=[(X((2, 6)), 1, (4, 2))])
record("ravel", S(X((2, 3))), S(X((2, 3), layout="transposed")), node=False)
record("transpose", S(X((2, 3)), 0, 1), S(X((2, 3, 4)), -1, 0), S(X(()), 0, 0), errors=[(X(2), 0, 1)])
record("swapaxes", S(X((2, 3)), 0, 1))
record("swapdims", S(X((2, 3)), 0, 1))
record("t", S(X((2, 3))), S(X(3)), errors=[(X((1, 2, 3)),)])
record("permute", S(X((2, 3, 4)), (2, 0, 1)), S(X((2, 3)), (-1, 0)), errors=[(X((2, 3)), (0,)), (X((2, 3)), (0, 0))])
record("movedim", S(X((2, 3, 4)), 0, -1), S(X((2, 3, 4)), (0, 1), (2, 0)), errors=[(X((2, 3)), (0, 0), (0, 1))])
record("moveaxis", S(X((2, 3, 4)), 0, -1))
record("adjoint", S(X((2, 3))), S(X((2, 3), _C)), node=False, strides=False)
record(
    "squeeze",
    S(X((1, 2, 1))),
    S(X((1, 2, 1)), 0),
    S(X((1, 2, 1)), 1),
    S(X((1, 2, 1)), (0, 2)),
    S(X(()), 0),
    errors=[(X((2, 1)), 5)],
)
record("unsqueeze", S(X(3), 0), S(X(3), -1), errors=[(X(3), 5)])
record("broadcast_to", S(X(3), (2, 3)), S(X((2, 1)), (2, 4)), errors=[(X(3), (2, 4))])

# ----- parts, joining -----------------------------------------------------------------------------------------------

record("select", S(X((2, 3)), 0, 1), S(X((2, 3)), 1, -1), errors=[(X((2, 3)), 0, 5)])
record("narrow", S(X((2, 3)), 1, 1, 2), S(X((2, 3)), 1, -2, 1), errors=[(X((2, 3)), 1, 2, 3)])
record("split", S(X((5, 2)), 2), S(X((5, 2)), [1, 4]), S(X((2, 5)), 2, 1), errors=[(X((5, 2)), [1, 1])])
record("split_with_sizes", S(X((5, 2)), [1, 4]))
record("chunk", S(X((5, 2)), 2), S(X((2, 5)), 3, 1), errors=[(X((5, 2)), 0)])
record("tensor_split", S(X((5, 2)), 2), S(X((5, 2)), [1, 3]), S(X((2, 5)), 3, 1))
record("unbind", S(X((2, 3))), S(X((2, 3)), 1))
record("diagonal", S(X((3, 3))), S(X((2, 3, 4)), 1, 1, 2), errors=[(X(3),)])
record("Tensor.unfold", S(X((2, 5)), 1, 2, 2), S(X(5), 0, 3, 1))
record("as_strided", S(X((2, 3)), (2, 2), (3, 1)), S(X(6), (2, 2), (1, 2), 1), S(X(4), (3,), (0,)), smooth=False)
record("clone", unary(), inplace=False)
record(
    "cat",
    S([X((2, 3)), X((1, 3))]),
    S([X((2, 3)), X((2, 1))], 1),
    S([X(2), X(2, "int64")]),
    S([X((0,)), X(2)]),
    S((X(2), X(3)), dim=-1),
    errors=[([],), ([X(2), X((2, 2))],), ([X(())],)],
)
record("concat", S([X(2), X(3)]))
record("concatenate", S([X(2), X(3)]))
record(
    "stack",
    S([X((2, 3)), X((2, 3))]),
    S([X(2), X(2)], 1),
    S([X(2), X(2, "int64")], -1),
    errors=[([X(2), X(3)],), ([],)],
)
record("Tensor.repeat", S(X((2, 3)), 2, 1), S(X(3), 2, 2), S(X(3), (0,)), errors=[(X((2, 3)), 2)])
record("tile", S(X((2, 3)), (2,)), S(X(3), (2, 2)))
record("flip", S(X((2, 3)), (0,)), S(X((2, 3)), (0, 1)), S(X((2, 3)), [-1]))
record("roll", S(X((2, 3)), 1), S(X((2, 3)), 1, 0), S(X((2, 3)), (1, -1), (0, 1)), errors=[(X((2, 3)), (1, 2), (0,))])

# ----- conversion ---------------------------------------------------------------------------------------------------

record("conj", S(X(3)), S(X(3, _C)))
record("real", S(X(3)), S(X(3, _C)), node=False, method=False)
record("imag", S(X(3, _C)), errors=[(X(3),)], node=False, method=False)
record("view_as_real", S(X((2, 3), _C)), S(X((), _C)))
record("view_as_complex", S(X((3, 2))), errors=[(X(3),)])
record("fill", S(X((2, 3)), 5), S(X((2, 3)), True), S(X((2, 3)), X(())))

# ----- reduction, norms ---------------------------------------------------------------------------------------------

_OVER = [S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), (0, 1)), S(X((2, 3)), dim=0, keepdim=True), S(X((2, 3)), axis=1, keepdims=True), S(X(())), S(X((2, 3), layout="transposed"), 0),
         S(X((2, 3), layout="expanded"), 0), S(X((2, 3), "float32"))]  # fmt: skip
record(
    "sum",
    _OVER,
    S(I(1, 2)),
    S(B([True, True])),
    S(X((0, 3)), 0),
    S(X((2, 3), "float32"), dtype="dtype:float64"),
    S(X((2, 3), _C), 1),
    errors=[(X(2), 3), (X((2, 3)), (0, 0))],
)
record("mean", _OVER, S(X((2, 3), _C), 1), S(X((0, 3)), 0), S(I(1, 2), dtype="dtype:float32"), errors=[(I(1),)])
record(
    "prod",
    S(X((2, 3))),
    S(X((2, 3)), 1),
    S(X((2, 3)), 0, True),
    S(F([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]])),
    S(F([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]]), 1),
    S(I(2, 3)),
    S(X((0, 3)), 0),
)
record(
    "amax",
    S(X((2, 3))),
    S(X((2, 3)), 1),
    S(X((2, 3)), (0, 1), True),
    S(_TIES),
    S(_TIES, 1),
    S(I(3, 1)),
    errors=[(X((0, 3)), 0)],
)
record("amin", S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), (0, 1), True), S(_TIES), S(_TIES, 1), S(I(3, 1)))
record(
    "max",
    S(X((2, 3))),
    S(X((2, 3)), 1),
    S(X((2, 3)), 0, True),
    S(X((2, 3)), X(3)),
    S(_TIES),
    S(_TIES, 1),
    S(I(3, 1)),
    S(F([1.0, NAN])),
    errors=[(X((0,)),), (X((0, 3)), 0)],
)
record(
    "min",
    S(X((2, 3))),
    S(X((2, 3)), 1),
    S(X((2, 3)), 0, True),
    S(X((2, 3)), X(3)),
    S(_TIES),
    S(_TIES, 1),
    S(I(3, 1)),
    S(F([1.0, NAN])),
)
record("argmax", S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), 0, True), S(X(())), S(_TIES, 1), S(F([1.0, NAN])))
record("argmin", S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), 0, True), S(X(())), S(_TIES, 1))
record(
    "all",
    S(B([[True, False], [True, True]])),
    S(B([[True, False], [True, True]]), 1),
    S(I(1, 2)),
    S(X((0,))),
    S(X((2, 3), "uint8"), 0),
)
record(
    "any",
    S(B([[True, False], [True, True]])),
    S(B([[True, False], [False, False]]), 1, True),
    S(I(0, 0)),
    S(X((0,))),
    S(X((2, 3), "uint8"), 0),
)
record(
    "logsumexp",
    S(X((2, 3)), 1),
    S(X((2, 3)), (0, 1), True),
    S(F([[INF, 1.0], [-INF, -INF]]), 1),
    S(I(1, 2), 0),
    S(X((), "complex128"), 0),
    S(X((2, 3), "complex128"), 1),
)
_PS = (2, 1, 3, 0.5, 0, INF, -INF, "fro")
record(
    "norm",
    *[S(X((2, 3)), p) for p in _PS],
    S(X((2, 3)), 2, 1),
    S(X((2, 3)), 2, (0, 1), True),
    S(X(3, _C)),
    S(X((2, 3)), dim=0),
)
record("Tensor.norm", S(F([0.0, 0.0])), S(F([0.0, 0.0]), 3), second=False)

# ----- matmul, einsum -----------------------------------------------------------------------------------------------

record("matmul", S(X((2, 3)), X((3, 4))), S(X(3), X(3)), S(X((2, 3)), X(3)), S(X(3), X((3, 4))), S(X((5, 2, 3)), X((3, 4))), S(X((5, 2, 3)), X((5, 3, 4))), S(X((2, 1, 2, 3)), X((5, 3, 4))),
       S(X((2, 3), _C), X((3, 2), _C)), S(I([[1, 2]]), I([[3], [4]])), errors=[(X((2, 3)), X((2, 3))), (X(()), X(2))], strides=False, node=False)  # fmt: skip
record(
    "mm",
    S(X((2, 3)), X((3, 4))),
    S(X((2, 3), layout="transposed"), X((3, 2), _C.replace("complex128", "float64"))),
    S(X((2, 3), _C), X((3, 2), _C)),
    errors=[(X((2, 3)), X((2, 3))), (X(2), X((2, 2)))],
)
record("bmm", S(X((2, 2, 3)), X((2, 3, 4))), errors=[(X((2, 3)), X((3, 2)))])
record("mv", S(X((2, 3)), X(3)), S(X((2, 3), _C), X(3, _C)), errors=[(X((2, 3)), X(2))])
record("dot", S(X(3), X(3)), S(X(3, _C), X(3, _C)), errors=[(X((2, 2)), X((2, 2))), (X(2), X(3))])
record("einsum", S("ij,jk->ik", X((2, 3)), X((3, 4))), S("bij,bjk->bik", X((2, 2, 3)), X((2, 3, 2))), S("ii->i", X((3, 3))), S("ij->", X((2, 3))), S("...i,...i->...", X((2, 3)), X((2, 3))),
       S("i,j->ij", X(2), X(3)), node=False, strides=False)  # fmt: skip

# ----- activation ---------------------------------------------------------------------------------------------------

record("clamp_min", S(X((2, 3)), 0.5), S(X((2, 3)), X(3)))
record("clamp_max", S(X((2, 3)), 0.5), S(X((2, 3)), X(3)))
record("clip", S(X((2, 3)), -0.5, 0.5))
record("relu", unary(dtypes=("float32", "int64")), S(F([0.0, -0.0, NAN])))
record(
    "softmax",
    S(X((2, 3)), 1),
    S(X((2, 3), "float32"), 0),
    S(X((2, 3), "float32"), 1, dtype="dtype:float64"),
    S(X(()), 0),
    errors=[(I(1, 2), 0)],
)
record("log_softmax", S(X((2, 3)), 1), S(X((2, 3), "float32"), 0), S(X(()), 0))

# ----- names --------------------------------------------------------------------------------------------------------

for _name in ("absolute", "arccos", "arcsin", "arcsinh", "arctan", "arctanh", "fix"):
    record(_name, S(X(3, low=-0.9, high=0.9)))
record("arccosh", S(X(3, low=1.5, high=3)))
record("acosh", unary(1.1, 3))
record("arctan2", S(X(3), X(3)))

# ----- indexing -----------------------------------------------------------------------------------------------------

_ALL = slice(None)
record("Tensor.__getitem__", S(X((3, 4)), I(0, 2)), S(X((3, 4)), (_ALL, I(0, 2, 2))), S(X((2, 3, 4)), (_ALL, _ALL, I([0, 3], [1, 1]))), S(X((2, 3, 4)), (I(0, 1), _ALL, I(1, 2))),
       S(X((2, 3, 4)), (_ALL, I(0, 1), I(1, 2))), S(X((2, 3)), B([[True, False, True], [False, True, True]])), S(X((2, 3)), (_ALL, B([True, False, True]))), S(X((3, 4)), -1),
       S(X((3, 4)), (..., slice(1, None, 2))), S(X((3, 4)), (None, slice(0, 2), 1)), S(X((3, 4), "int64"), I(-1)), S(X((3, 4), "complex128"), (_ALL, I(1, 0))),
       errors=[(X((3, 4)), 5), (X((3, 4)), (0, 0, 0)), (X((3, 4)), I(4)), (X((3, 4)), B([True, False])), (X(()), 0)])  # fmt: skip
