"""Records of the tables scans, differences, order, counting, stats, distance."""

from __future__ import annotations

import math

from recording import B, F, I, S, X, record

INF, NAN = math.inf, math.nan
_Z = F([[2.0, 0.0, 3.0, 1.0], [0.0, 0.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
_N = F([[1.0, NAN, 3.0], [NAN, NAN, NAN], [4.0, 5.0, 6.0]])
_TIES = F([[2.0, 2.0, 1.0], [3.0, 1.0, 1.0]])
_C = "complex128"


def along(*more, **kwargs):
    """A function of a tensor and a dimension: each of them, layouts, no dimension, no elements, integers."""
    return [
        S(X((2, 3)), 0, *more, **kwargs), S(X((2, 3)), -1, *more, **kwargs), S(X((2, 3, 4), "float32"), 1, *more, **kwargs), S(X(()), 0, *more, **kwargs),
        S(X((2, 3), layout="transposed"), 0, *more, **kwargs), S(X((2, 3), layout="expanded"), 1, *more, **kwargs),
        S(X((2, 3), "int64", -9, 9), 1, *more, **kwargs), S(X((0, 3)), 0, *more, **kwargs), S(X((3, 3), "uint8", 0, 9), 0, *more, **kwargs),
        S(X((2, 3), "float16"), 1, *more, **kwargs),
    ]  # fmt: skip


# ----- scans --------------------------------------------------------------------------------------------------------

record("cumprod", along(), S(_Z, 1), S(_Z, 0), S(X((2, 3), _C), 1), S(B([True, False]), 0), S(X((2, 3), "float32"), 1, dtype="dtype:float64"),
       errors=[(X(2), 3), S(X(2))])  # fmt: skip
record(
    "cumsum",
    along(),
    S(X((2, 3), _C), 1),
    S(B([True, False]), 0),
    S(X((2, 3), "float32"), 1, dtype="dtype:float64"),
    errors=[(X(2), 3)],
)
record(
    "cummax",
    along(),
    S(F([1.0, NAN, 3.0]), 0),
    S(_TIES, 1),
    S(B([False, True, False]), 0),
    errors=[(X(2), 3)],
    strides=False,
)
record("cummin", along(), S(F([1.0, NAN, 3.0]), 0), S(_TIES, 1), strides=False)
record(
    "logcumsumexp",
    along(),
    S(F([1000.0, 1000.0, -INF]), 0),
    S(X((2, 3), _C), 1),
    S(X((3, 9), _C, -9.0, 9.0, grad=False), 1),
    S(F([-800 + 1j, -2 + 9j, 1j, -INF], _C, grad=False), 0),
    errors=[(I(1, 2), 0)],
    strides=False,
    second=False,
)

# ----- differences --------------------------------------------------------------------------------------------------

record("diff", S(X((2, 4))), S(X((2, 4)), 2), S(X((2, 4)), dim=0), S(X((2, 4), "int64"), 5), S(X((2, 4)), 0), S(B([True, False, True])),
       S(X((2, 4)), dim=0, prepend=X((1, 4)), append=X((2, 4))), S(X((2, 4), "int64"), prepend=X((2, 1), "float32")),
       errors=[(X(()),), (X((2, 3)), -1), S(X((2, 3)), prepend=X(1)), S(X((2, 3)), prepend=X((3, 1)))], node=False)  # fmt: skip
_SAMPLES = [
    S(X((2, 4))),
    S(X((2, 4)), dx=2),
    S(X((2, 4)), X(4)),
    S(X((2, 4)), X((2, 4))),
    S(X((2, 4)), X((2, 4)), dim=0),
    S(X((3, 1))),
    S(X(4, "float32"), dx=0.5),
]
record(
    "trapezoid",
    _SAMPLES,
    S(X((2, 4), "int64")),
    S(X((0, 2)), dim=0),
    errors=[(X((2, 3)), X(2)), (B([True]),)],
    strides=False,
)
record("trapz", _SAMPLES, strides=False)
record("cumulative_trapezoid", _SAMPLES, errors=[(X((2, 3)), X(2))], strides=False)
record("gradient", S(X((3, 4))), S(X((3, 4)), spacing=2.0, dim=1), S(X((3, 4)), spacing=(X(3, low=0, high=1), X(4, low=0, high=1))), S(X((3, 4)), edge_order=2),
       S(X((3, 4)), spacing=[1, 2]), S(X(5), spacing=(X(5, low=0, high=1),), edge_order=2), S(X(())), S(X((3, 4), "int64", -9, 9)),
       errors=[S(X((3, 4)), edge_order=3), S(X((3, 4)), spacing=[1.0]), S(X((2, 3)), dim=(0, 0)), S(X((2, 3)), edge_order=2, dim=0),
               S(X((2, 3)), spacing=(X((2, 2)),), dim=0)], node=False, strides=False)  # fmt: skip

# ----- order --------------------------------------------------------------------------------------------------------

record("sort", along(), along(True), S(X((2, 3))), S(X((2, 3)), stable=True), S(X((2, 3)), stable=True, dim=0, descending=True), S(F([1.0, NAN, -INF, 0.0])),
       S(B([True, False, True])), errors=[(X(2), 5), (X(2, "complex64"),)], strides=False)  # fmt: skip
record("argsort", along(), S(X((2, 3)), 0, True), S(X((2, 3)), stable=True), strides=False)
record("msort", S(X((2, 3))), S(X(3, "int64")), strides=False)
record("topk", S(X((2, 5)), 2), S(X((2, 5)), 2, 0), S(I([[3, 9, 1, 7], [2, 4, 8, 6]]), 3, largest=False), S(X(()), 1), S(X((2, 5)), 0), S(X((3, 200), "float32"), 4),
       S(X((2, 5)), 2, dim=1, largest=True, sorted=True), errors=[(X(3), 4), (X(3), -1), (B([True]), 1), (X(3, "complex64"), 1)], strides=False)  # fmt: skip
record(
    "kthvalue",
    S(X((2, 5)), 2),
    S(X((2, 5)), 1, 0, True),
    S(X(()), 1),
    S(X((2, 5), "int64", -99, 99), 3, dim=1),
    errors=[(X(3), 0), (X(3), 4), (X((0, 2)), 1, 0)],
)
record("mode", S(I([[1, 2, 2], [3, 3, 1]])), S(X((2, 3)), 0, True), S(X(())), S(_TIES), errors=[(X((0, 2)), 0)])
for _name in ("median", "nanmedian"):
    record(_name, S(X((2, 5))), S(X((2, 5)), 1), S(X((2, 4)), 0, True), S(X(())), S(X((0,))), S(_TIES), S(_N), S(_N, 1), S(I(3, 1, 2)), S(X((2, 5)), dim=-1, keepdim=True),
           errors=[(B([True]),), (X((0, 3)), 0)])  # fmt: skip
_Q = X(2, low=0.1, high=0.9)
record("quantile", S(X((2, 5)), 0.3), S(X((2, 5)), 0.3, 1), S(X((2, 5)), _Q, dim=0), S(X((2, 5)), _Q, dim=1, keepdim=True), S(X((2, 5)), _Q), S(X((2, 5)), 0.5, keepdim=True),
       *[S(X((2, 5)), 0.37, 1, interpolation=m) for m in ("lower", "higher", "midpoint", "nearest")], S(F([1.0, NAN]), 0.5), S(X(()), 0.5),
       S(X((2, 3, 4), "float32"), 0.2, dim=1),
       errors=[(X(2), 1.5), (X(2), F([0.5, 2.0])), (I(1), 0.5), (X(2), F([0.5], "float32")), (X(2), F([[0.5]])), (X((0,)), 0.5), S(X(2), 0.5, interpolation="foo")],
       strides=False)  # fmt: skip
record(
    "nanquantile",
    S(X((2, 5)), 0.3),
    S(_N, 0.5),
    S(_N, 0.5, dim=1),
    S(_N, _Q, dim=0),
    errors=[(X(2), 1.5)],
    strides=False,
    smooth=False,
)

# ----- counting -----------------------------------------------------------------------------------------------------

_I = I([[3, 1, 2], [2, 2, 5]])
_UNIQUE = [
    S(_I),
    S(_I, return_inverse=True),
    S(_I, return_inverse=True, return_counts=True),
    S(_I, return_counts=True),
    S(X((2, 3))),
    S(X((0,), "int64")),
    S(B([True, False])),
]
record("unique", _UNIQUE, S(I([[1, 2], [1, 2], [0, 3]]), dim=0, return_inverse=True, return_counts=True), S(_I, dim=1), S(_I, sorted=False), S(_I, True, True),
       S(F([NAN, 1.0, NAN])), S(X((2, 3)), dim=0), S(X((2, 3, 2)), dim=1))  # fmt: skip
record(
    "unique_consecutive",
    _UNIQUE,
    S(I([[1, 2], [1, 2], [0, 3]]), dim=0, return_counts=True),
    S(_I, dim=1),
    strides=False,
)
_SEQ = I(1, 3, 5, 7)
record("searchsorted", S(_SEQ, I(3, 4)), S(_SEQ, I([[0, 9], [5, 5]]), right=True), S(_SEQ, X(3, low=0, high=9)), S(_SEQ, 3), S(_SEQ, 2.5), S(_SEQ, I(3), side="right"),
       S(I([[1, 3], [2, 4]]), I([[1, 2], [2, 5]])), S(_SEQ, I(3), out_int32=True), S(I(5, 1, 3), I(3, 4), sorter=I(1, 2, 0)),
       errors=[S(_SEQ, I(3), side="foo"), S(_SEQ, I(3), side="left", right=True), (I([[1, 3]]), I(3, 4))])  # fmt: skip
record(
    "bucketize",
    S(X((2, 3), low=0, high=9), _SEQ),
    S(3, _SEQ),
    S(2.5, _SEQ),
    S(I(3), _SEQ, right=True),
    S(I(3), _SEQ, out_int32=True),
    errors=[(X(2), X((2, 2)))],
)
record("histc", S(X(20, low=0, high=5), 4), S(X((4, 5), "float32", 0, 5), bins=4, min=1, max=4), S(F([1.0, 1.0]), 3), S(X(50)),
       errors=[(I(1),), (X(2), 0), (X(2), 3, 3, 1)])  # fmt: skip
record("histogram", S(X(20, low=0, high=5), 4), S(X(20, low=0, high=5), F([0.0, 1.0, 2.5, 5.0], grad=False)), S(X(20, grad=False), 4, range=(-1.0, 1.0), density=True),
       S(X((4, 5), grad=False), 3, weight=X((4, 5), low=0, grad=False)), errors=[(I(1), 2)], smooth=False)  # fmt: skip
record("histogramdd", S(X((20, 2), grad=False), [2, 3]), S(X((20, 2), grad=False), bins=[2, 3], range=[-1.0, 1.0, -2.0, 2.0], density=True),
       S(X((20, 2), grad=False), [F([-2.0, 0.0, 2.0], grad=False), F([-2.0, 1.0, 2.0], grad=False)]), method=False)  # fmt: skip
record("bincount", S(I(0, 1, 1, 5)), S(I(0, 1, 1), X(3, grad=False)), S(I(0, 1), minlength=5), S(I(0, 1), X(2, "float32", grad=False)), S(X((0,), "int64")),
       errors=[(I([-1]),), (X(2),), (I([[1]]),), S(I([1]), minlength=-1), (I([1]), X(2))])  # fmt: skip
record(
    "count_nonzero",
    S(I([[0, 1], [2, 0]])),
    S(I([[0, 1], [2, 0]]), 0),
    S(I([[0, 1], [2, 0]]), (0, 1)),
    S(X(())),
    S(X((0, 2))),
    S(B([True, False])),
)

# ----- stats --------------------------------------------------------------------------------------------------------

_SPREAD = [S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), (0, 1), keepdim=True), S(X((2, 3)), False), S(X((2, 3)), 1, unbiased=False), S(X((2, 3), "float32"), correction=0),
           S(X((2, 3), layout="transposed"), 0), S(X((2, 3, 4)), dim=(0, 2), correction=2), S(X((2, 3), _C))]  # fmt: skip
record("var_mean", _SPREAD, errors=[(I(1, 2),)], strides=False)
record("std_mean", _SPREAD, errors=[(I(1, 2),)], strides=False)
record("var", _SPREAD, errors=[(I(1, 2),)], strides=False)
record("std", _SPREAD, errors=[(I(1, 2),)], strides=False)
_SKIP = [S(X((2, 3))), S(_N), S(_N, 1), S(_N, (0, 1), True), S(_N, dim=0, dtype="dtype:float32"), S(X(()))]
record("nansum", _SKIP, S(I(1, 2)), S(X((0, 2)), 0), errors=[(X(2, "complex64"),)], smooth=False)
record("nanmean", _SKIP, errors=[(I(1),)], smooth=False)
record("aminmax", S(X((2, 3))), S(X((2, 3)), dim=1), S(X((2, 3)), dim=0, keepdim=True), S(X((2, 3)), keepdim=True), S(X(())), S(I(3, 1)), S(_TIES), S(_TIES, dim=1),
       errors=[(X((0, 2)),), S(X((0, 2)), dim=0)], smooth=False)  # fmt: skip
record("cov", S(X((2, 4))), S(X(4)), S(X((2, 4)), correction=0), S(X((2, 4)), fweights=I(1, 2, 1, 3)), S(X((2, 4)), aweights=X(4, low=0.5, high=1)), S(X((2, 4), "int64")),
       S(X((2, 4)), fweights=I(1, 2, 1, 3), aweights=X(4, low=0.5, high=1)), S(X((2, 4), _C)), S(X((2, 1))),
       errors=[(X((1, 2, 3)),), S(X((2, 3)), fweights=X(3)), S(X((2, 3)), aweights=I(1, 2, 3))], node=False, strides=False)  # fmt: skip
record("corrcoef", S(X((2, 4))), S(X((3, 5), "float32")), S(X(4)), S(X((2, 4), _C)), node=False, strides=False)
record(
    "Tensor.sum_to_size",
    S(X((2, 3)), 1, 3),
    S(X((2, 3)), (3,)),
    S(X((2, 3)), 2, 1),
    S(X((2, 3)), 2, 3),
    errors=[(X((2, 3)), 2, 2)],
    node=False,
)

# ----- distance -----------------------------------------------------------------------------------------------------

_PS = (2, 1, 3, 0.5, 0, INF)
record("dist", *[S(X((2, 3)), X((2, 3)), p) for p in _PS], S(X((2, 3)), X(3)), S(X(3, "float32"), X(3)), S(X(3, _C), X(3, _C)), S(F([1.0, 2.0]), F([1.0, 2.0])),
       errors=[(I(1), I(1))], second=False)  # fmt: skip
record("cdist", *[S(X((3, 4)), X((2, 4)), p) for p in _PS], S(X((2, 1, 3, 4)), X((5, 2, 4))), S(X((30, 4)), X((2, 4))), S(X((30, 4)), X((28, 4)), 1.0), S(X((2, 0)), X((3, 0))),
       S(F([[1.0, 2.0]]), F([[1.0, 2.0], [0.0, 1.0]])), S(X((3, 4), "float32"), X((2, 4), "float32"), compute_mode="donot_use_mm_for_euclid_dist"), S(X((0, 3)), X((2, 3))),
       errors=[(X((2, 3)), X((2, 2))), (X(3), X((2, 3))), (I([[1]]), I([[1]])), (X((2, 3)), X((2, 3)), -1), S(X((2, 3)), X((2, 3)), compute_mode="foo")],
       second=False, strides=False, node=False, rtol=100)  # fmt: skip
record("pdist", *[S(X((4, 3)), p) for p in _PS], S(X((1, 3))), errors=[(X(3),), (I([[1]]),)], second=False)
record("renorm", S(X((2, 3)), 2, 0, 1), S(X((2, 3)), 1, 1, 0.5), S(X((2, 3, 2)), 3, 1, 1.0), S(X((2, 3)), 2, 0, 100.0), S(X((2, 3), "float32"), 2, -1, 1),
       errors=[(X((2, 3)), 2, 0, -1), (X((2, 3)), -1, 0, 1), (X(3), 2, 0, 1), (I([[1]]), 2, 0, 1)])  # fmt: skip
