"""Records of torch.masked, and of the reductions of segments."""

from __future__ import annotations

from recording import B, F, I, S, X, record

_MASK = B([[True, False, True], [False, True, True]])
_SOME = B([[True, False, True], [False, False, False]])
_LAST = B([True, False, True])


def along(*more, **kwargs):
    """Over one dimension; with masks of the same shape and of a smaller one, without, and with a row in which nothing counts."""
    return [
        S(X((2, 3)), *more, 1, mask=_MASK, **kwargs), S(X((2, 3)), *more, 1, mask=_LAST, **kwargs), S(X((2, 3)), *more, 1, **kwargs),
        S(X((2, 3), "float32"), *more, -1, mask=_MASK, **kwargs), S(X((2, 3), grad=False), *more, 1, mask=_SOME, **kwargs),
    ]  # fmt: skip


def reduced(*more, **kwargs):
    """Over several or all dimensions too."""
    return [
        *along(*more, **kwargs), S(X((2, 3)), *more, mask=_MASK, keepdim=True, **kwargs), S(X((2, 3)), *more, (0, 1), mask=_LAST, **kwargs),
        S(X((2, 3), "float32"), *more, mask=_MASK, dtype="dtype:float64", **kwargs), S(X(()), *more, mask=B(True), **kwargs),
    ]  # fmt: skip


_WRONG = [S(X((2, 3)), 1, mask=B([True, False])), S(X(3), 0, mask=_MASK)]
_INT = [S(X((2, 3), "int64", -5, 5), 1, mask=_SOME), S(X((2, 3), "uint8", 0, 5), 1, mask=_MASK)]
for _name in ("sum", "prod"):
    record(f"masked.{_name}", reduced(), _INT, S(X((2, 3), "complex128"), 1, mask=_MASK), errors=_WRONG, node=False)
for _name in ("amax", "amin"):
    record(f"masked.{_name}", reduced(), _INT, errors=[*_WRONG, S(B([True, False]), 0, mask=B([True, False]))], node=False)  # fmt: skip
for _name in ("argmax", "argmin"):
    record(f"masked.{_name}", along(), _INT, S(X((2, 3)), mask=_MASK), errors=_WRONG, node=False)
for _name in ("cumsum", "cumprod", "softmax", "log_softmax", "softmin"):
    record(f"masked.{_name}", along(), errors=_WRONG, node=False, strides=False)
for _name in ("var", "std"):
    record(f"masked.{_name}", reduced(), _INT, S(X((2, 3)), 1, False, mask=_MASK), S(X((2, 3), "complex128"), 1, mask=_MASK), node=False)  # fmt: skip
record("masked.mean", reduced(), errors=[*_WRONG, S(I(1, 2), 0, mask=B([True, False]))], node=False)
record("masked.logsumexp", reduced(), errors=_WRONG, node=False)
record("masked.median", along(), S(X((2, 3), "int64", -5, 5), 1, mask=_MASK), errors=[*_WRONG, S(X((2, 3), "int64"), 1, mask=_SOME)], node=False)  # fmt: skip
record("masked.norm", reduced(2.0), along(1.0), along(float("-inf")), node=False)
record("masked.normalize", along(2.0), along(1.0), node=False)
# Its second derivative at minus infinity is NaN, in PyTorch too.
record("masked.logaddexp", S(X((2, 3)), X((2, 3))), S(X((2, 3)), X((2, 3)), input_mask=_MASK, other_mask=B([[True, True, False], [True, False, True]])), S(X((2, 3), "float32"), X(3, "float32"), other_mask=_LAST),
       node=False, smooth=False)  # fmt: skip

_ROWS = F([[1.0, 5.0, 2.0], [4.0, 0.5, 3.0], [2.5, 1.5, 6.0], [0.0, 1.0, 8.0]])
_EACH = [
    s
    for reduce in ("sum", "mean", "max", "min", "prod")
    for s in (
        S(X(5, grad=False), reduce, lengths=I(2, 0, 3)), S(X(5), reduce, lengths=I(2, 3)), S(_ROWS, reduce, lengths=I(1, 3)), S(_ROWS, reduce, offsets=I(0, 1, 3, 4)), S(_ROWS, reduce, lengths=I(1, 0, 3), initial=1.0),
        S(_ROWS, reduce, lengths=X(data=[[1, 2], [3, 0], [0, 3], [2, 1]], dtype="int64"), axis=1), S(_ROWS, reduce, lengths=I(1, 2), unsafe=True, initial=0.0),
        S(_ROWS, reduce, offsets=X(data=[[0, 1, 3], [0, 0, 3], [0, 2, 3], [0, 3, 3]], dtype="int64"), axis=1),
    )
]  # fmt: skip
# PyTorch has no second derivative and no forward mode of it.
record("segment_reduce", _EACH, errors=[S(X(5), "sum", lengths=I(2, 2)), S(X(5), "sum"), S(X(3, "complex128"), "sum", lengths=I(1, 2))], node=False, second=False)  # fmt: skip
