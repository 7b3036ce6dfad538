"""Batching rules of indexing, gather and scatter: the batch gets its own index, or is treated as one more dimension.

# Note [Where indexed dimensions go]
Indexing puts the dimensions of the index tensors at the first indexed dimension, or in front if indexed dimensions are not adjacent. A
leading batch changes this: indexing it or not affects which dimensions are adjacent. So `_placed` returns, besides the physical indices,
the permutation from the physical result to the logical one, batch first.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..dtypes import promote_types
from ..ops import OPS
from ..ops.machinery.arguments import first_outside
from ..ops.machinery.op import Op
from ..ops.reduce.counting import _searchsorted
from ..tensor import Tensor, wrap as plain_tensor
from .batched import physical
from .batching import DYNAMIC, RULES, insert_dims, rule, run

if TYPE_CHECKING:
    from .level import BatchLevel


def _inverse(order: Sequence[int]) -> list[int]:
    return [list(order).index(d) for d in range(len(order))]


def _adjacent(indices: Sequence[Any]) -> bool:
    positions = [d for d, i in enumerate(indices) if i is not None]
    return positions[-1] - positions[0] + 1 == len(positions)


def _first(indices: Sequence[Any]) -> int:
    return next(d for d, i in enumerate(indices) if i is not None)


def _width(indices: Sequence[Any]) -> int:
    """The number of dimensions of the broadcast index tensors."""
    return max(i.dim() for i in indices if i is not None)


def _aligned(level: BatchLevel, indices: Sequence[Any]) -> list[Any]:
    width = _width(indices)
    return [insert_dims(level, i, width) if i is not None and level.has(i) else i for i in indices]


def _check(indices: Sequence[Any], shape: Sequence[int]) -> None:
    """Check batched indices, whose values could not be checked before."""
    for dim, index in enumerate(indices):
        if index is None or index._level is None:
            continue
        array = physical(index)._array
        if array.dtype.kind == "b":
            raise RuntimeError(MASK)
        n = shape[dim]
        if array.size and (array.min() < -n or array.max() >= n):
            bad = first_outside(array, -n, n)
            raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")


MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean "
    "mask. Where the shape need not change, use torch.where(mask, a, b)."
)


def _placed(level: BatchLevel, ndim: int, indices: Sequence[Any]) -> tuple[tuple[Any, ...], list[int]]:
    """Indices for physical tensors whose samples have `ndim` dimensions. See Note [Where indexed dimensions go]."""
    width, first, adjacent = _width(indices), _first(indices), _adjacent(indices)
    count = sum(i is not None for i in indices)
    total = 1 + width + ndim - count
    if not any(i is not None and level.has(i) for i in indices):
        order = list(range(total))
        if not adjacent:
            order = [width, *range(width), *range(width + 1, total)]
        return (None, *indices), order
    batch = plain_tensor(np.arange(level.size).reshape(-1, *(1,) * width))
    order = list(range(total))
    if adjacent and first:
        order = [0, *range(width + 1, width + 1 + first), *range(1, width + 1), *range(width + 1 + first, total)]
    return (batch, *_aligned(level, indices)), order


def _ordered(tensor: Any, order: list[int]) -> Any:
    return tensor if order == list(range(len(order))) else tensor.permute(order).contiguous()


@rule("_index")
def index(level: BatchLevel, input: Any, indices: Sequence[Any]) -> Any:
    _check(indices, input.shape)
    if level.has(input):
        positions, order = _placed(level, input.dim(), indices)
        return _ordered(run("_index", input._value, positions), order)
    out = run("_index", input, tuple(_aligned(level, indices)))
    return out.movedim(_first(indices), 0).contiguous() if _adjacent(indices) and _first(indices) else out


@rule("_index_backward")
def index_backward(level: BatchLevel, input: Any, shape: tuple[int, ...], indices: Sequence[Any]) -> Any:
    positions, order = _placed(level, len(shape), indices)
    return run("_index_backward", _ordered(level.full(input), _inverse(order)), (level.size, *shape), positions)


@rule("_index_put")
def index_put(level: BatchLevel, input: Any, indices: Sequence[Any], values: Any, accumulate: bool) -> Any:
    _check(indices, input.shape)
    positions, order = _placed(level, input.dim(), indices)
    ndim = len(order) - 1
    if level.has(values):
        given = insert_dims(level, values, ndim)
    else:
        given = values.reshape(*(1,) * (ndim + 1 - values.dim()), *values.shape)
    return run("_index_put", level.full(input), positions, _ordered(given, _inverse(order)), accumulate)


# ----- Along a dimension --------------------------------------------------------------------------------------------


def _solid(level: BatchLevel, tensor: Any) -> Any:
    """A physical tensor with the batch and at least one dimension more."""
    value = level.full(tensor)
    return value if value.dim() > 1 else value.unsqueeze(1)


@rule("_gather")
def gather(level: BatchLevel, input: Any, dim: int, index: Any) -> Any:
    out = run("_gather", _solid(level, input), dim + 1, _solid(level, index))
    return out.reshape(level.size, *index.shape)


@rule("_gather_backward")
def gather_backward(level: BatchLevel, input: Any, shape: tuple[int, ...], dim: int, index: Any) -> Any:
    solid = (level.size, *(shape or (1,)))
    out = run("_gather_backward", _solid(level, input), solid, dim + 1, _solid(level, index))
    return out.reshape(level.size, *shape)


def _scatter(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    input, dim, index, source = arguments
    given = _solid(level, source) if isinstance(source, Tensor) else source
    out = op.function(_solid(level, input), dim + 1, _solid(level, index), given)
    return out.reshape(level.size, *input.shape)


RULES["_scatter"] = RULES["_scatter_value"] = RULES["_scatter_add"] = _scatter


def _refuse_negative(index: Any) -> None:
    array = physical(index)._array
    if array.size and array.min() < 0:
        raise IndexError("index out of range in self")


@rule("_index_select")
def index_select(level: BatchLevel, input: Any, dim: int, index: Any) -> Any:
    if level.has(index):
        _refuse_negative(index)
        out = globals()["index"](level, _vector(input), (*(None,) * dim, _vector(index)))
    else:
        out = run("_index_select", _solid(level, input), dim + 1, index)
    return out if input.dim() else out.reshape(level.size)


@rule("_masked_select")
def masked_select(level: BatchLevel, input: Any, mask: Any) -> Any:
    if level.has(mask):
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch "
            "this would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
            "need this feature. Where the shape need not change, use torch.where(mask, a, b)."
        )
    wide = insert_dims(level, input, mask.dim()).expand(level.size, *mask.shape)
    return run("_index", wide, (None, *mask.nonzero(as_tuple=True)))


def _vector(tensor: Any) -> Any:
    return tensor if tensor.dim() else tensor.unsqueeze(0)


@rule("_index_select_backward")
def index_select_backward(level: BatchLevel, input: Any, shape: tuple[int, ...], dim: int, index: Any) -> Any:
    solid = shape or (1,)
    if level.has(index):
        out = index_backward(level, _vector(input), solid, (*(None,) * dim, _vector(index)))
    else:
        out = run("_index_select_backward", _solid(level, input), (level.size, *solid), dim + 1, index)
    return out.reshape(level.size, *shape)


@rule("_index_add")
def index_add(level: BatchLevel, input: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    if level.has(index):
        _refuse_negative(index)
        scaled = source if alpha == 1 else source * alpha
        out = index_put(level, _vector(input), (*(None,) * dim, index), _vector(scaled), True)
    else:
        out = run("_index_add", _solid(level, input), dim + 1, index, _solid(level, source), alpha)
    return out.reshape(level.size, *input.shape)


@rule("_index_copy")
def index_copy(level: BatchLevel, input: Any, dim: int, index: Any, source: Any) -> Any:
    if level.has(index):
        _refuse_negative(index)
        out = index_put(level, _vector(input), (*(None,) * dim, index), _vector(source), False)
    else:
        out = run("_index_copy", _solid(level, input), dim + 1, index, _solid(level, source))
    return out.reshape(level.size, *input.shape)


@rule("_index_fill")
def index_fill(level: BatchLevel, input: Any, dim: int, index: Any, value: Any) -> Any:
    if level.has(index):
        filler = input.new_full((), value) if not level.has(input) else input._value.new_full((), value)
        out = index_put(level, _vector(input), (*(None,) * dim, index), filler, False)
    else:
        out = run("_index_fill", _solid(level, input), dim + 1, index, value)
    return out.reshape(level.size, *input.shape)


@rule("_index_fill_tensor")
def index_fill_tensor(level: BatchLevel, input: Any, dim: int, index: Any, value: Any) -> Any:
    indices = (*(None,) * dim, _vector(index))
    return index_put(level, _vector(input), indices, value.to(input.dtype), False).reshape(level.size, *input.shape)


def _reduce(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """`scatter_reduce` works like `scatter`. `index_reduce` runs directly if all samples share one index, else like `scatter`."""
    input, dim, index, source, *rest = arguments
    given = _solid(level, source)
    name = op.name
    if name == "_scatter_reduce":
        indices = _solid(level, index)
    elif level.has(index):
        name, ones = "_scatter_reduce", [1] * given.dim()
        ones[0], ones[dim + 1] = given.shape[0], given.shape[dim + 1]
        indices = index._value.reshape(ones).expand(given.shape)
    else:
        indices = index
    return run(name, _solid(level, input), dim + 1, indices, given, *rest).reshape(level.size, *input.shape)


RULES["_scatter_reduce"] = RULES["_index_reduce"] = _reduce

# ----- In the flattened tensor ----------------------------------------------------------------------------------------


def _check_flat(index: Any, count: int) -> None:
    array = physical(index)._array
    if array.size and (array.min() < -count or array.max() >= count):
        raise IndexError("out of range: tried to access an element outside of the tensor")


@rule("_take")
def take(level: BatchLevel, input: Any, index: Any) -> Any:
    _check_flat(index, input.numel())
    return globals()["index"](level, input.reshape(-1), (index,))


@rule("_take_backward")
def take_backward(level: BatchLevel, input: Any, index: Any, shape: tuple[int, ...]) -> Any:
    count = 1
    for n in shape:
        count *= n
    return index_backward(level, input, (count,), (index,)).reshape(level.size, *shape)


@rule("_put")
def put(level: BatchLevel, input: Any, index: Any, source: Any, accumulate: bool) -> Any:
    _check_flat(index, input.numel())
    out = index_put(level, input.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate)
    return out.reshape(level.size, *input.shape)


# ----- Searching ----------------------------------------------------------------------------------------------------


@rule("_searchsorted")
def searchsorted(level: BatchLevel, sorted_sequence: Any, input: Any, right: bool, int32: bool, sorter: Any) -> Any:
    op = OPS["_searchsorted"].function
    if not level.has(sorted_sequence) and sorted_sequence.dim() == 1 and not level.has(sorter):
        return op(sorted_sequence, input._value, right, int32, sorter)
    rows, order = level.full(sorted_sequence), level.full(sorter)
    if sorted_sequence.dim() > 1:
        return op(rows, level.full(input), right, int32, order)
    values = level.full(input).reshape(level.size, input.numel())
    return op(rows, values, right, int32, order).reshape(level.size, *input.shape)


@rule("_isin")
def isin(level: BatchLevel, elements: Any, tests: Any, invert: bool) -> Any:
    """If all samples share one set, the op runs directly; otherwise elements are searched in each sample's sorted set."""
    if not level.has(tests):
        return run("_isin", elements._value, tests, invert)
    values = level.full(elements).reshape(level.size, elements.numel())
    if not tests.numel():
        return (values != values if not invert else values == values).reshape(level.size, *elements.shape)
    common = promote_types(elements.dtype, tests.dtype)
    ordered = tests._value.reshape(level.size, -1).to(common).sort(1)[0]
    indices = _searchsorted(ordered, values.to(common), False, False, None).clamp_max(tests.numel() - 1)
    found = ordered.gather(1, indices)
    same = found != values if invert else found == values
    return same.reshape(level.size, *elements.shape)


# ----- Masks --------------------------------------------------------------------------------------------------------


def _ranks(mask: Any, size: int) -> tuple[Any, Any]:
    """The masks of all samples as rows, and for each selected element the number of selected elements before it in its row."""
    rows = mask.reshape(size, -1)
    return rows, (rows.cumsum(1) - 1).clamp_min(0)


@rule("_masked_scatter")
def masked_scatter(level: BatchLevel, input: Any, mask: Any, source: Any) -> Any:
    marked, ranks = _ranks(level.full(mask), level.size)
    wanted = int(physical(marked)._array.sum(-1).max(initial=0))
    if wanted > source.numel():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    value = level.full(input)
    if not wanted:
        return value.clone()
    given = level.full(source).reshape(level.size, -1)
    taken = given.gather(1, ranks.clamp_max(given.shape[1] - 1))
    return taken.where(marked, value.reshape(level.size, -1)).reshape(value.shape)


@rule("_masked_scatter_backward")
def masked_scatter_backward(level: BatchLevel, input: Any, mask: Any, sizes: tuple[int, ...]) -> Any:
    marked, ranks = _ranks(level.full(mask), level.size)
    grads = level.full(input).reshape(level.size, -1)
    out = grads.new_zeros((level.size, prod(sizes)))
    if out.shape[1]:
        out = out.scatter_add(1, ranks.clamp_max(out.shape[1] - 1), grads.masked_fill(~marked, 0))
    return out.reshape(level.size, *sizes)


# ----- Segments -------------------------------------------------------------------------------------------------------


@rule("_segment_reduce")
def segment_reduce(level: BatchLevel, input: Any, owners: Any, parts: Any, shape: Any, *rest: Any) -> Any:
    """If all samples have the same segments, the batch becomes a last dimension. Otherwise each sample has its own segments."""
    if not level.has(owners) and not level.has(parts):
        out = run("_segment_reduce", input._value.movedim(0, -1), owners, parts, (*shape, level.size), *rest)
        return out.movedim(-1, 0)
    data, owned = _solid(level, input), _solid(level, owners)
    count = prod(shape) * owned.shape[1] // max(prod(data.shape[1:]), 1)
    first = plain_tensor(np.arange(level.size).reshape(-1, 1) * count)
    parts = None if parts is None else _solid(level, parts).reshape(-1, 1)
    return run("_segment_reduce", data, (owned + first).reshape(-1), parts, (level.size, *shape), *rest)


# ----- Filling from a tensor ------------------------------------------------------------------------------------------


@rule("_fill_tensor", "_fill_tensor_new")
def fill_tensor(level: BatchLevel, input: Any, value: Any) -> Any:
    given = insert_dims(level, value, input.dim()) if level.has(value) else value
    return given.to(input.dtype).expand(level.size, *input.shape).clone()


# ----- Shapes that depend on values -----------------------------------------------------------------------------------


def _dynamic(name: str) -> Any:
    def refuse(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
        raise RuntimeError(DYNAMIC.format(name))

    return refuse


RULES["_nonzero"] = _dynamic("nonzero")
RULES["_unique"] = _dynamic("_unique2")
RULES["_unique_dim"] = _dynamic("unique_dim")
RULES["_unique_consecutive"] = _dynamic("unique_consecutive")


# ----- Histograms and counts ------------------------------------------------------------------------------------------


@rule("histc")
def histc(level: BatchLevel, input: Any, bins: int, min: Any, max: Any) -> Any:
    rows = input._value.reshape(level.size, -1)
    if bins <= 0 or min > max or not rows.shape[1] or not rows.dtype.is_floating_point:
        return run("histc", rows[:1], bins, min, max).expand(level.size, bins)  # raises, or all zeros
    wide = rows.float() if rows.dtype.itemsize == 2 else rows
    if min == max:
        low, high = (found.double() for found in (wide.amin(1, True), wide.amax(1, True)))
    else:
        low, high = (wide.new_full((1, 1), value, dtype=dtypes.float64) for value in (min, max))
    ends = physical(low)._array.min(), physical(high)._array.max()
    if not np.isfinite(ends).all():
        raise RuntimeError(f"torch.histc: range of [{ends[0]:g}, {ends[1]:g}] is not finite")
    flat = (low == high).double()
    low, high = low - flat, high + flat
    low, high = low.to(wide.dtype), high.to(wide.dtype)
    index = ((wide - low) * bins / (high - low)).clamp(0, bins - 1).long()
    inside = (wide >= low) & (wide <= high)
    return wide.new_zeros((level.size, bins)).scatter_add(1, index, inside.to(wide.dtype)).to(rows.dtype)


@rule("_histogram")
def histogram(level: BatchLevel, input: Any, bins: Any, limits: Any, weight: Any, density: bool, lead: int) -> Any:
    return run("_histogram", level.full(input), bins, limits, level.full(weight), density, lead + 1)


@rule("bincount")
def bincount(level: BatchLevel, input: Any, weights: Any, minlength: int) -> Any:
    """The number of bins depends on the values; it must be the same for each sample."""
    array = physical(input)._array
    if input.dim() != 1 or array.dtype.kind not in "iu" or minlength < 0 or (array.size and array.min() < 0):
        run("bincount", physical(input).reshape(array.shape), None, minlength)  # raises
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    lengths = array.max(-1, initial=-1) + 1
    count = max(int(lengths.max(initial=0)), minlength)
    if count > minlength and lengths.min() != count:
        raise RuntimeError(DYNAMIC.format("bincount"))
    rows = level.full(input).long()
    if weights is None:
        return rows.new_zeros((level.size, count)).scatter_add(1, rows, rows.new_ones(rows.shape))
    given = level.full(weights)
    total = given.new_zeros((level.size, count), dtype=dtypes.float64).scatter_add(1, rows, given.double())
    return total.float() if given.dtype is dtypes.float32 else total
