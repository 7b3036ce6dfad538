"""torch.masked: reductions and normalisations over the elements that a mask selects.

Elements that are masked out are replaced by the identity of the reduction: 0 in a sum, 1 in a product, minus infinity in a maximum.
Tensors that carry their mask (`MaskedTensor`) are refused.
"""

from __future__ import annotations

import math
from typing import Any

import penlight
from penlight import Tensor
from penlight._refused import refuse
from penlight.ops.machinery.public_functions import public_functions as _public_functions

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_refused = refuse(__name__, "Penlight has no masked tensors.", "Use torch.where or tensor.masked_fill with a mask.")


def __getattr__(name: str) -> Any:
    return _refused(name)


def _broadcast(input: Tensor, mask: Tensor) -> Tensor:
    """The mask, broadcast to the shape of the input."""
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return mask.broadcast_to(input.shape).bool()


def _filled(name: str, input: Tensor, mask: Tensor | None, value: float) -> Tensor:
    """The input with the elements that are masked out replaced; for integers, infinity becomes the end of the dtype's range."""
    if mask is None:
        return input
    kind, kept = input.dtype, _broadcast(input, mask)
    if math.isinf(value) and not (kind.is_floating_point or (kind.is_complex and name == "logsumexp")):
        if kind is penlight.bool:
            raise NotImplementedError(f"identity of {name} on {kind} input")
        ends = penlight.iinfo(kind)
        value = ends.max if value > 0 else ends.min
    return penlight.where(kept, input, penlight.tensor(value, dtype=kind))


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(input.dim()))
    return tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)


def _as(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None else input.to(dtype)


def _summed_dtype(input: Tensor, dtype: Any) -> Any:
    """The dtype of a sum: that of the input, but int64 for integers."""
    if dtype is not None:
        return dtype
    return input.dtype if input.is_floating_point() or input.is_complex() else penlight.int64


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the elements where `mask` is true.

    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    filled = _filled("sum", _as(input, _summed_dtype(input, dtype)), mask, 0)
    return penlight.sum(filled, _dims(input, dim), keepdim, dtype=filled.dtype)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the elements where `mask` is true.

    >>> torch.masked.prod(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(8.)
    """
    result = _filled("prod", _as(input, _summed_dtype(input, dtype)), mask, 1)
    for d in sorted((d % max(input.dim(), 1) for d in _dims(input, dim)), reverse=True):
        result = penlight.prod(result, d, keepdim, dtype=result.dtype)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running sums of the elements where `mask` is true.

    >>> torch.masked.cumsum(torch.tensor([1.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 5.])
    """
    filled = _filled("cumsum", _as(input, dtype), mask, 0)
    return penlight.cumsum(filled, dim, dtype=filled.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Running products of the elements where `mask` is true.

    >>> torch.masked.cumprod(torch.tensor([3.0, 2.0, 4.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([ 3.,  3., 12.])
    """
    filled = _filled("cumprod", _as(input, dtype), mask, 1)
    return penlight.cumprod(filled, dim, dtype=filled.dtype)


def amax(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The largest of the elements where `mask` is true.

    >>> torch.masked.amax(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    return _as(penlight.amax(_filled("amax", input, mask, -math.inf), _dims(input, dim), keepdim), dtype)


def amin(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smallest of the elements where `mask` is true.

    >>> torch.masked.amin(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(2.)
    """
    return _as(penlight.amin(_filled("amin", input, mask, math.inf), _dims(input, dim), keepdim), dtype)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The index of the largest element where `mask` is true, in the dtype of the input.

    >>> torch.masked.argmax(torch.tensor([1, 2, 4]), mask=torch.tensor([True, True, False]))
    tensor(1)
    """
    filled = _filled("argmax", _as(input, dtype), mask, -math.inf)
    return penlight.argmax(filled, dim, bool(keepdim)).to(filled.dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The index of the smallest element where `mask` is true, in the dtype of the input.

    >>> torch.masked.argmin(torch.tensor([1, 2, 4]), mask=torch.tensor([False, True, True]))
    tensor(1)
    """
    filled = _filled("argmin", _as(input, dtype), mask, math.inf)
    return penlight.argmin(filled, dim, bool(keepdim)).to(filled.dtype)


def _count(input: Tensor, dims: tuple[int, ...], mask: Tensor | None) -> Tensor:
    """The number of selected elements, with the reduced dimensions kept."""
    counted = penlight.ones(input.shape, dtype=penlight.int64) if mask is None else _broadcast(input, mask)
    return penlight.sum(counted, dims, True, dtype=penlight.int64)


def _squeezed(result: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    return result if keepdim or not result.dim() else result.squeeze(dims)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the elements where `mask` is true; NaN if there are none.

    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(3.)
    """
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        which = "Input" if dtype is None else "Optional"
        raise ValueError(
            f"mean(): Could not infer output dtype. {which} dtype must be either a floating point or complex dtype. Got: {kind}"
        )
    dims = _dims(input, dim)
    total = sum(input, dims, keepdim=keepdim, dtype=kind, mask=mask)
    return total / _squeezed(_count(input, dims, mask), dims, keepdim)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The median of the elements where `mask` is true, the lower of two in the middle.

    >>> torch.masked.median(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([False, True, True]))
    tensor(2.)
    """
    kind = input.dtype if dtype is None else dtype
    floating = kind.is_floating_point
    dim = 0 if dim is None else dim
    wide = _as(input, dtype) if floating else input.float()
    if mask is not None and not floating and not _broadcast(input, mask).any(dim).all():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return penlight.nanmedian(_filled("median", wide, mask, math.nan), dim, keepdim).values.to(kind)


def norm(input: Tensor, ord: Any = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The norm of the elements where `mask` is true.

    >>> torch.masked.norm(torch.tensor([3.0, 2.0, 4.0]), 2.0, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    if ord == -math.inf and mask is not None and not input.is_floating_point():
        raise AssertionError(f"input must be floating point, got {input.dtype}")
    filled = _filled("norm", input, mask, math.inf if ord == -math.inf else 0)
    return penlight.linalg.vector_norm(filled, ord, _dims(input, dim), keepdim, dtype=dtype)


def _variance(
    input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: bool, dtype: Any, mask: Tensor | None
) -> Tensor:
    """The variance, for `var` and `std`."""
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1 if unbiased or unbiased is None else 0
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        kind = penlight.get_default_dtype()
    dims = _dims(input, dim)
    count = _count(input, dims, mask)
    average = sum(input, dims, keepdim=True, dtype=kind, mask=mask) / count
    deviations = input - average
    squares = deviations * deviations.conj() if deviations.is_complex() else deviations * deviations
    total = sum(squares, dims, keepdim=keepdim, dtype=kind, mask=mask)
    count = _squeezed(count, dims, keepdim)
    return total / penlight.clamp(count - correction, min=0)


def var(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
        dtype: Any = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The variance of the elements where `mask` is true.

    >>> torch.masked.var(torch.tensor([1.0, 2.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: Any = None, keepdim: bool = False,
        dtype: Any = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The standard deviation of the elements where `mask` is true.

    >>> torch.masked.std(torch.tensor([1.0, 2.0, 3.0]), unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask).sqrt()


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax over the elements where `mask` is true; the others get 0.

    >>> torch.masked.softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return penlight.softmax(_filled("amax", input, mask, -math.inf), dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax over the elements where `mask` is true.

    >>> torch.masked.log_softmax(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([-0.6931,    -inf, -0.6931])
    """
    return penlight.log_softmax(_filled("amax", input, mask, -math.inf), dim, dtype=dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negated elements where `mask` is true; the others get 0.

    >>> torch.masked.softmin(torch.tensor([1.0, 2.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    return penlight.softmax(-_filled("amin", input, mask, math.inf), dim, dtype=dtype)


def normalize(
    input: Tensor, ord: Any, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements where `mask` is true divided by their norm; the others are 0.

    >>> torch.masked.normalize(torch.tensor([3.0, 2.0, 4.0]), 2.0, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled("normalize", _as(input, dtype), mask, 0) / length.clamp_min(eps)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements where `mask` is true.

    >>> torch.masked.logsumexp(torch.zeros(3), mask=torch.tensor([True, False, True]))
    tensor(0.6931)
    """
    filled = _filled("logsumexp", input, mask, -math.inf)
    return penlight.logsumexp(filled, _dims(input, dim), keepdim).to(dtype or input.dtype)


def logaddexp(input: Tensor, other: Tensor, *, dtype: Any = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """`logaddexp` of two tensors, each with its mask: elements that are masked out count as minus infinity.

    >>> torch.masked.logaddexp(torch.zeros(2), torch.zeros(2), other_mask=torch.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    a = _filled("logaddexp", _as(input, dtype), input_mask, -math.inf)
    b = _filled("logaddexp", _as(other, dtype), other_mask, -math.inf)
    return penlight.logaddexp(a, b).to(dtype or input.dtype)


globals().update(_public_functions(globals(), "F.", __name__, bound=()))
