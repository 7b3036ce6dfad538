"""Lookup of table rows by index, singly or reduced over bags; and one-hot rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd import views
from ...kernels import index_width
from ...kernels.index.gather_scatter import all_inside, bag_sums, nonzero, reduce_rows as add_rows, take_slices
from ...kernels.index.scatter import embedding_backward as _embedding_back_kernel, reduce_rows
from ...kernels.index_width import native_counts
from ...tensor import Tensor, wrap
from ..index.gather import follow, out_of_range
from ..machinery.arguments import values_of
from ..machinery.declare import differentiable, linear
from ..machinery.guards import refuse_complex_gradient, type_name
from ..machinery.op import traits

__all__ = ["embedding", "embedding_bag", "embedding_renorm_", "one_hot"]

Ints = tuple[int, ...]

_UNSIGNED = {4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}

# ----- Single rows --------------------------------------------------------------------------------------------------


def _embedding_array(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    # As unsigned integers, negative indices become huge.
    if indices.size and indices.view(_UNSIGNED[indices.itemsize]).max() >= len(weight):
        raise out_of_range(weight.shape, 0, indices)
    return weight.take(indices, 0, mode="clip") if weight.flags.c_contiguous else take_slices(weight, indices, 0)


def _factors(indices: Any, padding_idx: int, scale_grad_by_freq: bool, np_dtype: Any) -> Any:
    """The factor of the gradient at each index; None for all ones."""
    factors = None
    if scale_grad_by_freq and indices.size:
        factors = 1 / index_width.bincount(indices.reshape(-1))[indices]
    if padding_idx >= 0:
        kept = indices != padding_idx
        factors = kept if factors is None else factors * kept
    return None if factors is None else factors.astype(np_dtype)[..., None]


def _again_rule(grad: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, xp: Any) -> Any:
    rows = xp._embedding(grad, indices, -1, False, False)
    factors = _factors(getattr(indices, "_array", indices), padding_idx, scale_grad_by_freq, xp.np_dtype(grad))
    return rows if factors is None else rows * xp.constant(factors)


@linear(lambda input, indices, count, padding_idx, scale_grad_by_freq:
            _embedding_back_kernel(input, indices, count, padding_idx, scale_grad_by_freq), node="EmbeddingDenseBackwardBackward0",
        input=_again_rule)  # fmt: skip
def _embedding_backward(
    input: Tensor, indices: Tensor, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor: ...


@linear(_embedding_array, node="EmbeddingBackward0",
        weight=lambda grad, weight_shape, indices, padding_idx, scale_grad_by_freq, xp:
            xp._embedding_backward(grad, indices, weight_shape[0], padding_idx, scale_grad_by_freq))  # fmt: skip
@traits(keeps_finite=("op",))
def _embedding(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Tensor: ...


def _check_indices(indices: Tensor, name: str) -> None:
    if indices.dtype is not dtypes.int64 and indices.dtype is not dtypes.int32:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch."
            f"{dtypes.LEGACY[indices.dtype]}Tensor instead (while checking arguments for {name})"
        )


def lookup(weight: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Tensor:
    """The rows at the indices; this is `torch.embedding`."""
    if weight._array.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices(indices, "embedding")
    if weight._array.dtype.kind == "c":
        refuse_complex_gradient("embedding", weight)
    return _embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:  # fmt: skip
    """The rows of a table at the indices. The row `padding_idx` gets no gradient; rows longer than `max_norm` are scaled down in place.
    With `sparse=True` the table's gradient is sparse.

    >>> torch.nn.functional.embedding(torch.tensor([2, 0]), torch.tensor([[1.0], [2.0], [3.0]]))
    tensor([[3.],
            [1.]])
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= weight.shape[0]
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    result = lookup(weight, input, padding_idx, scale_grad_by_freq, sparse)
    if sparse:
        follow(weight, result, _rows(input, padding_idx))
    return result


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scale down, in place, the rows at the indices that are longer than `max_norm`.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0]]), torch.tensor([0]), 1.0, 2.0)
    tensor([[0.6000, 0.8000]])
    """
    if input.dim() != 2:
        raise RuntimeError(f"Expected 2-dimensional tensor, but got {input.dim()}-dimensional tensor for argument #1 'self' (while "
                           "checking arguments for embedding_renorm_)")  # fmt: skip
    _check_indices(indices, "embedding_renorm_")
    table, positions = input._array, np.unique(indices._array)
    if positions.size and (positions[0] < 0 or positions[-1] >= len(table)):
        raise IndexError("index out of range in self")
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {dtypes.LEGACY[input.dtype]} instead."
        )
    rows = table[positions].astype(np.float64)
    lengths = np.linalg.norm(rows, norm_type, axis=1) if rows.size else np.zeros(0)
    long = lengths > max_norm
    table[positions[long]] = rows[long] * (max_norm / (lengths[long] + 1e-7))[:, None]
    views.bump(input)
    return input


# ----- Bags ---------------------------------------------------------------------------------------------------------

MODES = ("sum", "mean", "max")
_MANY = 1 << 12  # elements; smaller cases use NumPy


class Bags:
    """The bag of each index, its weight, and the starts of the bags. Inside vmap the indices are unknown: the rule computes the weights."""

    def __init__(self, indices: Any, offsets: Any, count: int, mode: int, padding_idx: int) -> None:
        self.count, self.starts, self.padding = count, offsets, padding_idx
        self.bounds = bounds = np.empty(count + 1, np.int64)
        bounds[:count], bounds[count] = offsets[:count], offsets[count] if len(offsets) > count else indices.size
        self._indices, self._mode = indices, mode

    @cached_property
    def lengths(self) -> Any:
        """The number of indices in each bag."""
        return self.bounds[1:] - self.bounds[:-1]

    @cached_property
    def owners(self) -> Any:
        """The bag of each index."""
        return np.arange(self.count).repeat(native_counts(self.lengths))

    @cached_property
    def kept(self) -> Any:
        """Which indices count; None for all."""
        return self._indices[: self.owners.size] != self.padding if self.padding >= 0 else None

    @cached_property
    def factors(self) -> Any:
        """The weight of each index; None for 1."""
        factors = None if self.kept is None else self.kept.astype(np.float64)
        if self._mode != 1:
            return factors
        share = 1 / np.maximum(index_width.bincount(self.owners, self.kept, self.count), 1)[self.owners]
        return share if factors is None else factors * share


def _bag_rows(rows: Any, bags: Bags, per_sample_weights: Any) -> Any:
    if bags.factors is not None:
        rows = rows * bags.factors.astype(rows.dtype)[:, None]
    return rows if per_sample_weights is None else rows * per_sample_weights[:, None]


def _bag_array(
    weight: Any, per_sample_weights: Any, indices: Any, bags: Bags, mode: int, scale_grad_by_freq: bool
) -> Any:
    """The reduced bags, and for "max" the row that each element came from."""
    if not all_inside(indices, len(weight)):
        position = int(np.flatnonzero((indices < 0) | (indices >= len(weight)))[0])
        if mode == 2:
            raise RuntimeError(
                f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {indices[position]}"
            )
        raise RuntimeError(
            f"Index {position} of input takes value {indices[position]} which is not in the valid range [0, {len(weight)})"
        )
    plain_mean = mode == 1 and bags.kept is None and weight.dtype.kind == "f" and weight.dtype.itemsize > 2
    if mode < 2 and (plain_mean or (mode == 0 and bags.kept is None and per_sample_weights is None)):
        quick = _bag_sums(weight, indices, bags.bounds)
        if quick is not None:
            if plain_mean:
                quick /= np.maximum(bags.lengths, 1).astype(quick.dtype)[:, None]
            return quick, np.zeros((0,), np.int64)
    out = np.zeros((bags.count, weight.shape[1]), weight.dtype)
    rows = weight.take(indices[: bags.owners.size], 0)
    if mode == 2:
        return _bag_largest(rows, indices, bags, out)
    if not plain_mean:
        rows = _bag_rows(rows, bags, per_sample_weights)
    if not _added(out, bags.owners, rows):
        full = np.flatnonzero(bags.lengths)
        if full.size:
            out[full] = np.add.reduceat(rows, native_counts(bags.starts[full]), 0)
    if plain_mean:
        out /= np.maximum(bags.lengths, 1).astype(out.dtype)[:, None]
    return out, np.zeros((0,), np.int64)


def _bag_sums(weight: Any, indices: Any, bounds: Any) -> Any:
    """The sums of bags by machine code, if there are enough elements; else None."""
    if indices.size * weight.shape[1] < _MANY:
        return None
    return bag_sums(weight, np.ascontiguousarray(indices), bounds)


def _added(out: Any, owners: Any, rows: Any) -> bool:
    """Add rows to their bags by machine code, if there are enough elements; returns whether it was done."""
    if rows.size < _MANY:
        return False
    return add_rows(out, owners, rows)


def _bag_largest(rows: Any, indices: Any, bags: Bags, out: Any) -> Any:
    positions = np.full(out.shape, -1, np.int64)
    indices = indices[: bags.owners.size]
    if bags.kept is not None:
        rows, indices, owners = rows[bags.kept], indices[bags.kept], bags.owners[bags.kept]
    else:
        owners = bags.owners
    if owners.size:
        rows = np.ascontiguousarray(rows)
        out[owners] = -np.inf
        reduce_rows(np.maximum, out, owners, rows)
        hits = nonzero((rows == out.take(owners, 0)).reshape(-1))[0]
        hit = hits // out.shape[1]
        hits += ((owners - np.arange(len(owners))) * out.shape[1]).take(hit)
        # The last of several writes remains, so write in reverse: the first largest element wins.
        positions.reshape(-1)[hits[::-1]] = indices.take(hit)[::-1]
    return out, positions


def _bag_weight_rule(grads: Any, weight_shape: Ints, per_sample_weights: Any, indices: Any, bags: Bags, mode: int,
                     scale_grad_by_freq: bool, result1: Any, xp: Any) -> Any:  # fmt: skip
    grad = grads[0]
    if mode == 2:
        positions = getattr(result1, "_array", result1)
        grad = grad * xp.constant((positions >= 0).astype(xp.np_dtype(grad)))
        return xp._gather_backward(grad, weight_shape, 0, xp.constant(np.maximum(positions, 0)))
    rows = xp._embedding(grad, xp.constant(bags.owners), -1, False, False)
    if bags.factors is not None:
        rows = rows * xp.constant(bags.factors.astype(xp.np_dtype(grad))[:, None])
    if per_sample_weights is not None:
        rows = rows * xp.reshape(per_sample_weights, (per_sample_weights.shape[0], 1))
    used = xp.constant(getattr(indices, "_array", indices)[: bags.owners.size])
    return xp._embedding_backward(rows, used, weight_shape[0], -1, scale_grad_by_freq)


def _bag_share_rule(grads: Any, weight: Any, indices: Any, bags: Bags, xp: Any) -> Any:
    rows = xp._embedding(grads[0], xp.constant(bags.owners), -1, False, False) * xp._embedding(
        weight, indices, -1, False, False
    )
    if bags.factors is not None:
        rows = rows * xp.constant(bags.factors.astype(xp.np_dtype(grads[0]))[:, None])
    return xp._sum_dims(rows, (1,), False)


@differentiable(_bag_array, node="EmbeddingBagBackward0", results=("result0", "result1"),
                weight=_bag_weight_rule, per_sample_weights=_bag_share_rule)  # fmt: skip
@traits(returned=1)
def _embedding_bag(
    weight: Tensor, per_sample_weights: Tensor | None, indices: Tensor, bags: Any, mode: int, scale_grad_by_freq: bool
) -> Any: ...


def bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool, mode: int, per_sample_weights: Tensor | None,
        include_last_offset: bool, padding_idx: int | None) -> tuple[Tensor, Bags, Tensor]:  # fmt: skip
    """The reduced bags, the bags, and the rows of the largest elements."""
    _check_indices(indices, "embedding_bag")
    _check_indices(offsets, "embedding_bag")
    starts = offsets._array.astype(np.int64)
    if starts.size and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. However, got "
            f"{starts[0]}"
        )
    if starts.size and starts[-1] > indices.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.numel()} but got offsets[-1] of {starts[-1]}"
        )
    if include_last_offset and not starts.size:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
            )
        padding_idx %= rows
    count = starts.size - (1 if include_last_offset else 0)
    bags = Bags(indices._array, starts, count, mode, -1 if padding_idx is None else padding_idx)
    result, positions = _embedding_bag(weight, per_sample_weights, indices, bags, mode, scale_grad_by_freq)
    return result, bags, positions


def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sums, means or maxima over bags of rows: each row of a 2-D input is a bag, or `offsets` has the starts of bags.

    >>> torch.nn.functional.embedding_bag(torch.tensor([[0, 1]]), torch.tensor([[1.0], [3.0]]))
    tensor([[2.]])
    """
    if weight.dtype is dtypes.int64 and input.dtype.is_floating_point:
        warn_user(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
            "and should now be `embedding_bag(input, weight, ...)`."
        )
        input, weight = weight, input
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the same shape as "
            f"the input ({input.shape})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    input, offsets, per_sample_weights = _as_bags(input, offsets, per_sample_weights)
    if mode not in MODES:
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        embedding_renorm_(weight, input, max_norm, norm_type)
    if weight.dtype.category != dtypes.FLOATING:
        got = type_name(weight.dtype)
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but "
            f"got {got} instead (while checking arguments for embedding_bag)"
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode="
            f"'{mode}'). Please open a feature request on GitHub."
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        kinds = type_name(weight.dtype), type_name(per_sample_weights.dtype)
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
            f"type {kinds[0]} does not equal {kinds[1]} (while checking arguments for embedding_bag)"
        )
    number = MODES.index(mode)
    result = bag(
        weight, input, offsets, scale_grad_by_freq, number, per_sample_weights, include_last_offset, padding_idx
    )[0]
    if sparse:
        follow(weight, result, _rows(input, padding_idx))
    return result


def _rows(indices: Tensor, padding_idx: int | None) -> Any:
    """The rows to which a lookup sends gradients."""
    rows = indices._array.reshape(-1)
    return rows if padding_idx is None else rows[rows != padding_idx]


def _as_bags(input: Tensor, offsets: Tensor | None, shares: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """The indices as one dimension, with the starts of the bags."""
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. "
                f"However, found offsets of type {type(offsets)}"
            )
        rows, width = input.shape
        starts = wrap(np.arange(rows, dtype=np.int64) * width)
        return input.reshape(-1), starts, None if shares is None else shares.reshape(-1)
    if input.dim() != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.dim() != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    return input, offsets, shares


# ----- One and zeros ------------------------------------------------------------------------------------------------


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Each class index as a row of zeros with a one at that index.

    >>> torch.nn.functional.one_hot(torch.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if tensor._level is not None:
        return _one_hot_batched(tensor, num_classes)
    array = tensor._array
    if not array.size:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return wrap(np.zeros((*array.shape, num_classes), np.int64))
    if array.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    highest = int(array.max())
    if num_classes == -1:
        num_classes = highest + 1
    elif num_classes <= highest:
        raise RuntimeError("Class values must be smaller than num_classes.")
    out = np.zeros((array.size, num_classes), np.int64)
    out[np.arange(array.size), array.reshape(-1)] = 1
    return wrap(out.reshape(*array.shape, num_classes))


def _one_hot_batched(tensor: Tensor, num_classes: int) -> Tensor:
    """`one_hot` inside vmap, where one sample does not determine the number of classes."""
    if num_classes == -1:
        tensor.item()  # refused
    found = values_of(tensor)
    if found.size and found.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if found.size and found.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return (tensor.unsqueeze(-1) == wrap(np.arange(num_classes))).long()
