"""Batching rules of ops on one tensor with dims, sizes and similar arguments, which are shifted by the batch dimension.

# Note [Adapted arguments]
`adapt("_sum_dims", dim=DIMS)` declares that the op works on the batch as on a sample once its argument `dim` counts the batch. The kinds
are DIM (one dimension), DIMS (several) and SHAPE (the sizes of a full tensor: the batch size is prepended). A 0-d sample gets a dimension
first, which is removed after: some ops treat an empty list of dims as all dims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.lazy import lazy_import
from ..ops import OPS, cat
from ..ops.machinery.op import Op
from ..ops.shape.strided import as_strided
from .batching import RULES, elementwise, insert_dims, pointwise, rule, run

if TYPE_CHECKING:
    from .level import BatchLevel

_padding = lazy_import(globals(), "_padding", "..ops.nn.padding")


DIM, DIMS, SHAPE = "dim", "dims", "shape"


def adapt(*names: str, **words: str) -> None:
    """Run ops on the batch with some arguments adapted. See Note [Adapted arguments]."""
    needs_dim = SHAPE not in words.values()

    def adapted(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
        values = list(arguments)
        tensor = arguments[0]
        bare = needs_dim and tensor.dim() == 0
        values[0] = tensor._value.unsqueeze(1) if bare else tensor._value
        for index, name in enumerate(op.parameters):
            word = words.get(name)
            if word == DIM:
                values[index] = values[index] + 1
            elif word == DIMS:
                values[index] = (1,) if bare else tuple([d + 1 for d in values[index]])
            elif word == SHAPE:
                values[index] = (level.size, *values[index])
        result = op.function(*values)
        if not bare:
            return result
        if isinstance(result, tuple):
            return tuple([r.reshape(level.size) for r in result])
        return result.reshape(level.size)

    for name in names:
        RULES[name] = adapted


# ----- As they are --------------------------------------------------------------------------------------------------

for _name in (
    "_alias", "_nested_get_values", "_nested_view_from_jagged", "_sparse_from_values", "_clone", "_to_copy", "_zero", "_fill", "_fill_new", "view_as_real", "view_as_complex", "bitwise_not", "logical_not", "isnan",
    "isfinite", "isinf", "isposinf", "isneginf", "isreal", "signbit", "_frexp", "_constant_pad", "_pixel_shuffle", "_pixel_unshuffle",
    *(f"_{mode}_pad{dims}d" for mode in ("reflect", "replicate", "circular") for dims in (1, 2, 3)),
):  # fmt: skip
    RULES[_name] = elementwise
for _name in ("_isclose", "_copy"):
    RULES[_name] = pointwise

# ----- Dims ---------------------------------------------------------------------------------------------------------

adapt("_select", "_slice", "_split", "_split_with_sizes", "_unbind", dim=DIM)
adapt("_select_backward", "_slice_backward", shape=SHAPE, dim=DIM)
adapt("_diagonal", "_diag_embed", dim1=DIM, dim2=DIM)
adapt("_diagonal_backward", shape=SHAPE, dim1=DIM, dim2=DIM)
adapt("_view", "_unsafe_view", "_reshape_alias", size=SHAPE)
adapt("_flip", dims=DIMS)
adapt("_cumsum", "_cumprod", "_cummax", "_cummin", "_logcumsumexp", "_softmax", "_log_softmax", "_glu", dim=DIM)
adapt("_sort", "_sort_stable", "_argsort", "_topk", "_kthvalue", "_mode", "_median_dim", "_nanmedian_dim", dim=DIM)
adapt("_max_dim", "_min_dim", dim=DIM)
adapt("_sum_dims", "_mean_dims", "_prod_dims", "_amax", "_amin", "_all", "_any", "_var", "_std", "_logsumexp", dim=DIMS)
adapt("_var_mean", "_std_mean", "_nansum", "_count_nonzero", "_norm_along", "_hash_tensor", dim=DIMS)
adapt("_safe_softmax", "_narrow_copy", dim=DIM)
adapt("_rot90", dims=DIMS)
adapt("_fft_c2c", "_fft_c2r", "_fft_r2c", dim=DIMS)
adapt("_pad_backward", shape=SHAPE)


for _name in ("_softmax_backward", "_log_softmax_backward"):
    RULES[_name] = lambda level, op, arguments: op.function(*map(level.full, arguments[:2]), arguments[2] + 1)


@rule("_unsqueeze")
def _unsqueeze(level: BatchLevel, input: Any, dim: int) -> Any:
    return input._value.unsqueeze(dim + 1)


@rule("_transpose")
def _transpose(level: BatchLevel, input: Any, dim0: int, dim1: int) -> Any:
    return input._value.transpose(dim0 + 1, dim1 + 1) if input.dim() else run("_alias", input._value)


@rule("_t")
def _t(level: BatchLevel, input: Any) -> Any:
    return input._value.transpose(1, 2) if input.dim() == 2 else run("_alias", input._value)


@rule("_permute")
def _permute(level: BatchLevel, input: Any, dims: tuple[int, ...]) -> Any:
    return input._value.permute(0, *(d + 1 for d in dims))


@rule("_squeeze_all")
def _squeeze_all(level: BatchLevel, input: Any) -> Any:
    return input._value.squeeze(tuple([d + 1 for d, n in enumerate(input.shape) if n == 1]))


@rule("_squeeze_dim")
def _squeeze_dim(level: BatchLevel, input: Any, dim: int) -> Any:
    return input._value.squeeze(dim + 1) if input.dim() else run("_alias", input._value)


@rule("_squeeze_dims")
def _squeeze_dims(level: BatchLevel, input: Any, dim: tuple[int, ...]) -> Any:
    return input._value.squeeze(tuple([d + 1 for d in dim]))


@rule("_expand")
def _expand(level: BatchLevel, input: Any, size: tuple[int, ...]) -> Any:
    return run("_expand", insert_dims(level, input, len(size)), (level.size, *size))


@rule("_repeat")
def _repeat(level: BatchLevel, input: Any, repeats: tuple[int, ...]) -> Any:
    return run("_repeat", insert_dims(level, input, len(repeats)), (1, *repeats))


@rule("_roll")
def _roll(level: BatchLevel, input: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    value = input._value
    if dims:
        return run("_roll", value, shifts, tuple([d + 1 for d in dims]))
    return run("_roll", value.reshape(level.size, input.numel()), shifts, (1,)).reshape(value.shape)


@rule("_unfold")
def _unfold(level: BatchLevel, input: Any, dimension: int, size: int, step: int) -> Any:
    value = input._value if input.dim() else input._value.unsqueeze(1)
    out = run("_unfold", value, dimension + 1, size, step)
    return out if input.dim() else out.squeeze(1)


@rule("_unfold_backward")
def _unfold_backward(
    level: BatchLevel, input: Any, shape: tuple[int, ...], dimension: int, size: int, step: int
) -> Any:
    if not shape:
        return input._value.sum(1)
    return run("_unfold_backward", input._value, (level.size, *shape), dimension + 1, size, step)


def _triangles(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    if arguments[0].dim() < 2:
        raise RuntimeError(f"{op.name}: input tensor must have at least 2 dimensions")
    return elementwise(level, op, arguments)


RULES["tril"] = RULES["triu"] = _triangles


@rule("_view_dtype")
def _view_dtype(level: BatchLevel, input: Any, dtype: Any) -> Any:
    value = input._value.contiguous()
    if input.dim():
        return run("_view_dtype", value, dtype)
    return run("_view_dtype", value.unsqueeze(1), dtype).squeeze(1)


# ----- Over all of a sample -------------------------------------------------------------------------------------------


def _solid(input: Any) -> tuple[Any, tuple[int, ...]]:
    """The physical tensor with at least one dimension after the batch, and all these dimensions."""
    value = input._value if input.dim() else input._value.unsqueeze(1)
    return value, tuple(range(1, value.dim()))


def _over_all_dims(name: str, along: str, *rest: Any) -> None:
    """An op over all elements of a sample, run as the op along dims over all but the batch."""

    @rule(name)
    def over_all(level: BatchLevel, input: Any) -> Any:
        return run(along, *_solid(input), *rest)


_over_all_dims("_sum_all", "_sum_dims", False)
_over_all_dims("_mean_all", "_mean_dims", False)
_over_all_dims("_prod_all", "_prod_dims", False)


def _medians(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    input, lead = arguments
    return op.function(input._value, lead + 1)


RULES["_median_all"] = RULES["_nanmedian_all"] = _medians


def _extreme(name: str, along: str, public: str) -> None:
    @rule(name)
    def over_all(level: BatchLevel, input: Any) -> Any:
        if input.numel() == 0:
            raise RuntimeError(
                f"{public}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        return run(along, *_solid(input), False)


_extreme("_max_all", "_amax", "max")
_extreme("_min_all", "_amin", "min")


def _along_flat(op: Op, level: BatchLevel, input: Any, dim: int | None, keepdim: bool) -> Any:
    value = input._value
    if dim is None or not input.dim():
        out = op.function(value.reshape(level.size, input.numel()), 1, False)
        return out.reshape(level.size, *(1,) * input.dim()) if keepdim else out
    return op.function(value, dim + 1, keepdim)


RULES["_argmax"] = RULES["_argmin"] = lambda level, op, arguments: _along_flat(op, level, *arguments)


@rule("_aminmax")
def _aminmax(level: BatchLevel, input: Any, dim: int | None, keepdim: bool) -> Any:
    op = OPS["_aminmax"].function
    if dim is not None:
        return op(input._value, dim + 1, keepdim)
    shape = (level.size, *(1,) * input.dim()) if keepdim else (level.size,)
    return tuple([r.reshape(shape) for r in op(input._value.reshape(level.size, input.numel()), 1, False)])


@rule("_renorm")
def _renorm(level: BatchLevel, input: Any, p: Any, dim: int, maxnorm: Any) -> Any:
    """Slices of all samples side by side: each is renormalised separately."""
    parts = input._value.movedim(dim + 1, 1)
    flat = parts.reshape(level.size * parts.shape[1], *parts.shape[2:])
    return run("_renorm", flat, p, 0, maxnorm).reshape(parts.shape).movedim(1, dim + 1).contiguous()


@rule("_vector_norm")
def _vector_norm(level: BatchLevel, input: Any, ord: Any, dim: Any, keepdim: bool) -> Any:
    value, dims = _solid(input)
    if dim is not None and input.dim():
        dims = tuple([d + 1 for d in dim])
    out = run("_vector_norm", value, ord, dims, keepdim)
    return out if input.dim() else out.reshape(level.size)


# ----- Lists --------------------------------------------------------------------------------------------------------


@rule("_cat_list")
def _cat_list(level: BatchLevel, tensors: Any, dim: int, tensors_shapes: Any, tensors_dtypes: Any) -> Any:
    shapes = tuple([(level.size, *s) for s in tensors_shapes])
    return run("_cat_list", tuple([level.full(t) for t in tensors]), dim + 1, shapes, tensors_dtypes)


@rule("_stack_list")
def _stack_list(level: BatchLevel, tensors: Any, dim: int, tensors_dtypes: Any) -> Any:
    return run("_stack_list", tuple([level.full(t) for t in tensors]), dim + 1, tensors_dtypes)


@rule("_stack_one")
def _stack_one(level: BatchLevel, input: Any) -> Any:
    return input._value.unsqueeze(1).clone()


@rule("_block_diag")
def _block_diag(level: BatchLevel, tensors: Any, tensors_shapes: Any, tensors_dtypes: Any) -> Any:
    """Each block padded with zeros on both sides, and all of them concatenated vertically."""
    blocks = [t if t.dim() == 2 else t.reshape(1, -1) for t in tensors]
    widths = [b.shape[1] for b in blocks]
    rows = []
    for index, block in enumerate(blocks):
        margins = (sum(widths[:index]), sum(widths[index + 1 :]))
        rows.append(_padding._constant_pad(level.full(block), margins, 0))
    return cat(rows, 1)


@rule("_in_format_copy")
def _in_format_copy(level: BatchLevel, input: Any, contiguous: Any) -> Any:
    """Channels last refers to each sample's second dimension."""
    return input._value.movedim(2, -1).clone().movedim(-1, 2)


@rule("_log_softmax_shared")
def _log_softmax_shared(level: BatchLevel, input: Any, dim: int, shared: Any) -> Any:
    return run("_log_softmax", input._value, dim + 1)


def _view_scatter(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """A tensor with one part replaced: both tensors get the batch, and dims count it."""
    input, src, *rest = arguments
    moved = [r + 1 if name.startswith("dim") else r for name, r in zip(op.parameters[2:], rest)]
    return op.function(level.full(input), level.full(src), *moved)


RULES["_select_scatter"] = RULES["_slice_scatter"] = RULES["_diagonal_scatter"] = _view_scatter

# ----- Windows of memory ----------------------------------------------------------------------------------------------


@rule("_as_strided")
def _as_strided(level: BatchLevel, input: Any, size: Any, stride: Any, storage_offset: int, geometry: Any) -> Any:
    """A window into each sample's memory: that of the first sample, shifted by the stride of the batch."""
    value = input._value
    own = _reach(geometry[0], geometry[1], value.storage_offset())
    wanted = _reach(size, stride, storage_offset)
    if wanted[1] > wanted[0] and not own[0] <= wanted[0] <= wanted[1] <= own[1]:
        raise RuntimeError(
            f"result = tensor.as_strided({list(size)}, {list(stride)}, {storage_offset}) can access memory outside of `tensor`. "
            f"`result` can access some memory in range [{wanted[0]}, {wanted[1]}], but `tensor` can only access some memory in "
            f"range [{own[0]}, {own[1]}]. This is not supported inside of vmap, please try to rewrite the `as_strided` call as a "
            "sequence of PyTorch view operations"
        )
    step = value.stride(0)
    if (
        0 < step < own[1] - own[0]
        and not np.isin(_offsets(size, stride), _offsets(*geometry[:2]) + own[0] - wanted[0]).all()
    ):
        raise RuntimeError(
            "vmap: as_strided: the samples lie among each other in memory, and this window has elements of other samples. Call "
            ".contiguous() first, or use other views."
        )
    return as_strided(value, (level.size, *size), (step, *stride), storage_offset)


def _offsets(size: Any, stride: Any) -> Any:
    """The offsets of a window's elements from its first."""
    found = np.zeros(1, np.int64)
    for n, s in zip(size, stride):
        found = np.add.outer(found, np.arange(n) * s)
    return found.reshape(-1)


def _reach(size: Any, stride: Any, offset: int) -> tuple[int, int]:
    """The first memory offset of a window, and the one after its last."""
    if 0 in tuple(size):
        return offset, offset
    return offset, offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1


@rule("_as_strided_scatter")
def _as_strided_scatter(level: BatchLevel, input: Any, src: Any, size: Any, stride: Any, storage_offset: int) -> Any:
    """Works on a copy in which the samples are contiguous, one after the other."""
    _check_window(input.numel(), size, stride, storage_offset)
    return run(
        "_as_strided_scatter",
        level.full(input),
        level.full(src),
        (level.size, *size),
        (input.numel(), *stride),
        storage_offset,
    )


def _check_window(count: int, size: Any, stride: Any, offset: int) -> None:
    end = offset + sum((n - 1) * s for n, s in zip(size, stride)) + 1
    if 0 not in size and end > count:
        raise RuntimeError(
            f"as_strided_scatter: a window of sizes {list(size)}, strides {list(stride)} and storage offset {offset} reaches beyond "
            f"the {count} elements of a sample"
        )


def _geometry(level: BatchLevel, geometry: Any, step: int) -> Any:
    size, stride, offset = geometry
    return (level.size, *size), (step, *stride), offset


def _windows(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Maps between a tensor and a window of its memory: one memory for each sample, one after the other."""
    input, geometry, window = arguments
    ends = [g[2] + sum((n - 1) * s for n, s in zip(g[0], g[1])) + 1 for g in (geometry, window) if 0 not in g[0]]
    step = max(ends, default=1) - min(geometry[2], window[2])
    return op.function(input._value, _geometry(level, geometry, step), _geometry(level, window, step))


RULES["_window_to_tensor"] = RULES["_tensor_to_window"] = _windows
