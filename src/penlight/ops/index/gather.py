"""Gather and scatter of elements and of full slices."""

from __future__ import annotations

import weakref
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...autograd.node import set_grad
from ...kernels.index import gather_scatter
from ...kernels.lazy import lazy_import
from ...kernels.numpy_calls import put_along, take_along
from ...tensor import Tensor, wrap
from ..machinery.arguments import ABSENT, first_outside, wrap_dim
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, OpCall, differentiable, linear, method, op_forms
from ..machinery.guards import along_dim, lazy, need_number, need_real_value
from ..machinery.op import traits
from ..shape.joining import cat
from .advanced import within

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["gather", "index_add", "index_select", "scatter", "scatter_add"]

_INT64 = dtypes.int64.np
scatter_add_array, index_add_array = lazy("index.scatter", "scatter_add"), lazy("index.scatter", "index_add")

# ----- Along a dimension --------------------------------------------------------------------------------------------


def _check_index(index: Tensor, name: str) -> None:
    if index._array.dtype is not _INT64 and index.dtype not in (dtypes.int64, dtypes.int32) and index.numel():
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def _check_bounds(index: Any, n: int, dim: int) -> None:
    if index.size and not within(index, n):
        bad = first_outside(index, 0, n)
        raise RuntimeError(f"index {bad} is out of bounds for dimension {dim} with size {n}")


@lru_cache(64)
def _starts(rows: int, columns: int) -> Any:
    """The offsets of a matrix's rows in its memory, as a column."""
    return np.arange(0, rows * columns, columns or 1)[:, None]


def _gather_array(input: Any, dim: int, index: Any) -> Any:
    if not index.size:
        return np.empty(index.shape, input.dtype)
    if input.ndim == 0:
        _check_bounds(index, 1, 0)
        return np.broadcast_to(input, index.shape).copy()
    _check_bounds(index, input.shape[dim], dim)
    if index.ndim:
        index = np.ascontiguousarray(index)
    if index.size >= gather_scatter.LEAST_MOVED and (input.flags.c_contiguous or 2 * index.size > input.size):
        found = gather_scatter.take_along(np.ascontiguousarray(input), index, dim)
        if found is not None:
            return found
    if index.ndim == 2 and input.flags.c_contiguous:
        rows, columns = input.shape
        if dim:
            return input.take(index + _starts(rows, columns)[: index.shape[0]])
        return input.take(index * columns + _starts(columns, 1)[: index.shape[1], 0])
    if index.ndim and index.shape[:dim] + index.shape[dim + 1 :] != input.shape[:dim] + input.shape[dim + 1 :]:
        input = input[tuple(slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape))]
    return take_along(input, index, dim) if index.ndim else np.take(input, index, dim).reshape(())


def _gather_back(grad: Any, shape: tuple[int, ...], dim: int, index: Any) -> Any:
    if not shape or not index.size:
        return np.asarray(grad).sum() if not shape else np.zeros(shape, grad.dtype)
    if index.ndim == 0:
        grad, index = grad.reshape(1), index.reshape(1)
    return scatter_add_array(shape, dim, index, grad)


@linear(_gather_array, node="GatherBackward0",
        input=lambda grad, input_shape, dim, index, xp: xp._gather_backward(grad, input_shape, dim, index))  # fmt: skip
@traits(shows={"sparse_grad": False})
def _gather(input: Tensor, dim: int, index: Tensor) -> Tensor: ...


@linear(_gather_back, node="ScatterAddBackward0", input=lambda grad, dim, index, xp: xp._gather(grad, dim, index))
def _gather_backward(input: Tensor, shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor: ...


def _check_gather(name: str, input: Tensor, dim: int, index: Tensor) -> None:
    if not index._array.size:
        return
    _check_index(index, name)
    shape, where = input._array.shape, index._array.shape
    if (len(where) or 1) != (len(shape) or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for d, (n, m) in enumerate(zip(where, shape)):
        if d != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )


@method
def gather(
    input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, *, sparse_grad: bool = False, out: Tensor | None = None
) -> Tensor:
    """The elements of `input` at the indices: each output element keeps its position, with the index along `dim` replaced.

    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """
    dim = wrap_dim(dim, input.dim())
    _check_gather("gather", input, dim, index)
    result = _gather(input, dim, index, out=out)
    if sparse_grad and input._array.ndim and index._array.ndim:
        follow(input, result, *np.broadcast_arrays(*_open_index(index._array, dim)))
    return result


@along_dim
def _scatter_array(input: Any, dim: int, index: Any, src: Any) -> Any:
    out = input.copy()
    _check_bounds(index, input.shape[dim], dim)
    shape, size = input.shape, index.shape
    if isinstance(src, np.ndarray) and src.ndim and src.shape != size:
        src = src[tuple([slice(n) for n in size])]
    if type(src) is np.ndarray and src.ndim and gather_scatter.put_along(out, index, src, dim):
        return out
    if shape[:dim] == size[:dim] and shape[dim + 1 :] == size[dim + 1 :]:
        put_along(out, index, src, dim)
    else:
        out[_open_index(index, dim)] = src
    return out


def _open_index(index: Any, dim: int) -> tuple[Any, ...]:
    """Full indices for every dimension, given those along `dim`."""
    grid = np.ogrid[tuple(slice(n) for n in index.shape)] if index.ndim else []
    return tuple(index if d == dim else g for d, g in enumerate(grid))


@linear(_scatter_array, node="ScatterBackward0", inplace=True,
        input=lambda grad, dim, index, xp: xp._scatter_value(grad, dim, index, 0),
        src=lambda grad, dim, index, src_shape, xp: xp.fill_up(xp._gather(grad, dim, index), src_shape))  # fmt: skip
def _scatter(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor: ...


@differentiable(_scatter_array, node="ScatterBackward1", inplace=True,
        input=lambda grad, dim, index, xp: xp._scatter_value(grad, dim, index, 0))  # fmt: skip
def _scatter_value(input: Tensor, dim: int, index: Tensor, value: Number) -> Tensor: ...


def _fill_up(grad: Any, shape: tuple[int, ...]) -> Any:
    """The gradient of a larger source of which only a corner was used: zeros elsewhere."""
    if tuple(grad.shape) == tuple(shape):
        return grad
    out = np.zeros(shape, grad.dtype)
    out[tuple(slice(n) for n in grad.shape)] = grad
    return out


def _fill_up_graph(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    if tuple(grad.shape) == tuple(shape):
        return grad
    for dim, (n, m) in enumerate(zip(grad.shape, shape)):
        if n != m:
            grad = cat([grad, grad.new_zeros(*grad.shape[:dim], m - n, *grad.shape[dim + 1 :])], dim)
    return grad


both("fill_up", _fill_up, _fill_up_graph)


@linear(along_dim(scatter_add_array), node="ScatterAddBackward0", inplace=True,
        input=lambda grad: grad,
        src=lambda grad, dim, index, src_shape, xp: xp.fill_up(xp._gather(grad, dim, index), src_shape))  # fmt: skip
def _scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor: ...


def _scatter_arguments(name: str, input: Tensor, dim: int, index: Tensor, src: Any) -> Any:
    shape, where = input._array.shape, index._array.shape
    dim = wrap_dim(dim, len(shape))
    if not index._array.size:  # it writes nothing, whatever its shape and the source's
        where = (0,) * (len(shape) or 1)
        index = wrap(np.zeros(where, np.int64))
        src = src.reshape(-1)[:0].reshape(where) if isinstance(src, Tensor) else src
    _check_index(index, name)
    if (len(where) or 1) != (len(shape) or 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if isinstance(src, Tensor):
        given = src._array.shape
        if (len(given) or 1) != (len(where) or 1):
            raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
        if src.dtype is not input.dtype:
            raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    else:
        given = where
    for d, (i, n, s) in enumerate(zip(where or (1,), shape or (1,), given or (1,))):
        if (d != dim and i > n) or i > s:
            beside = f" and to be no larger size than src {list(given)}" if isinstance(src, Tensor) else ""
            raise RuntimeError(
                f"Expected index {list(where)} to be no larger than self {list(shape)} apart from dimension {dim}{beside}"
            )
    if shape and not where:
        index = index.reshape(1)
    if isinstance(src, Tensor) and len(given) != index.dim():
        src = src.reshape(-1)[: index.numel()].reshape(tuple(index.shape))
    return input, dim, index, src


@op_forms()
def scatter(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, src: Any = None, *, value: Any = None,
            reduce: str | None = None) -> OpCall:  # fmt: skip
    """A copy with elements of `src` (or one value) written at the indices along `dim`.

    >>> torch.zeros(1, 3).scatter(1, torch.tensor([[2]]), 5.0)
    tensor([[0., 0., 5.]])
    """
    src = value if src is None else src
    if not isinstance(src, Tensor):
        src = dtypes.number_for(src, input.dtype)
    arguments = _scatter_arguments("scatter", input, dim, index, src)
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise RuntimeError("reduce argument must be either add or multiply.")
        if not isinstance(src, Tensor):
            arguments = (*arguments[:3], input.new_full(tuple(arguments[2].shape), src))
        if reduce == "add":
            return OPS["_scatter_add"], arguments
        return OPS["_scatter_reduce"], (*arguments, "prod", True)
    return OPS["_scatter" if isinstance(src, Tensor) else "_scatter_value"], arguments


@op_forms()
def scatter_add(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, src: Tensor = ABSENT) -> OpCall:
    """A copy with elements of `src` added at the indices along `dim`.

    >>> torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3))
    tensor([2., 0., 1.])
    """
    return OPS["_scatter_add"], _scatter_arguments("scatter_add", input, dim, index, src)


# ----- Whole slices -------------------------------------------------------------------------------------------------


@linear(along_dim(lambda input, dim, index: gather_scatter.take_slices(input, index.reshape(-1), dim)), node="IndexSelectBackward0",
        input=lambda grad, input_shape, dim, index, xp: xp._index_select_backward(grad, input_shape, dim, index))  # fmt: skip
def _index_select(input: Tensor, dim: int, index: Tensor) -> Tensor: ...


@along_dim
def _index_add_array(input: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    if not input.size and input.ndim > 1:
        return input.copy()  # PyTorch does not check the index then
    return index_add_array(input, dim, index, source, alpha)


def _index_select_back(input: Any, shape: tuple[int, ...], dim: int, index: Any) -> Any:
    if shape:
        return index_add_array(tuple(shape), dim, index, input, 1)
    return _index_add_array(np.zeros(shape, input.dtype), dim, index, input, 1)


@linear(_index_select_back,
        node="IndexAddBackward0", input=lambda grad, dim, index, xp: xp._index_select(grad, dim, index))  # fmt: skip
def _index_select_backward(input: Tensor, shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor: ...


@method
def index_select(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, *, out: Tensor | None = None) -> Tensor:
    """The slices along `dim` selected by a 1-d index.

    >>> torch.arange(6).view(3, 2).index_select(0, torch.tensor([2, 0]))
    tensor([[4, 5],
            [0, 1]])
    """
    dim = wrap_dim(dim, input.dim())
    _check_slices("index_select", input, dim, index)
    return _index_select(input, dim, index, out=out)


def _check_slices(name: str, input: Tensor, dim: int, index: Tensor) -> None:
    if index.dim() > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    if index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    array, shape = index._array, input._array.shape
    if not shape and array.size != 1 and name == "index_select":
        raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {array.size} value(s)")
    if array.size and index._level is None:
        if not within(array, shape[dim] if shape else 1):
            if name == "index_select":
                raise out_of_range(shape, dim, array)
            raise IndexError("index out of range in self")


def out_of_range(shape: tuple[int, ...], dim: int, index: Any) -> Exception:
    """PyTorch's error for an out-of-range index: rows of a tensor that has elements have another message than the rest."""
    if shape and not shape[dim]:
        return RuntimeError("index_select(): self indexing axis dim should be positive")
    if dim or 0 in shape:
        bad = first_outside(index, 0, shape[dim])
        return RuntimeError(f"INDICES element is out of DATA bounds, id={bad} axis_dim={shape[dim]}")
    return IndexError("index out of range in self")


@linear(_index_add_array, node="IndexAddBackward0", inplace=True,
        input=lambda grad: grad,
        source=lambda grad, dim, index, alpha, source_shape, xp:
            xp.reshape(xp._index_select(grad, dim, index), source_shape) * alpha)  # fmt: skip
def _index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, alpha: Number) -> Tensor: ...


# The checks of functions that add or reduce slices of a source.


def need_vector_index(name: str, index: Tensor) -> None:
    if index._array.ndim > 1:
        raise IndexError(
            f"{name}(): Index is supposed to be a vector, but got dim: {index._array.ndim} with type: "
            f"{dtypes.LEGACY[index.dtype]} and size: {list(index._array.shape)}"
        )
    if index._array.dtype is not _INT64 and index.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index but got: {dtypes.LEGACY[index.dtype]}")


def need_source_dtype(name: str, input: Tensor, source: Tensor) -> None:
    if input._array.dtype is not source._array.dtype and input.dtype is not source.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[source.dtype]
        raise RuntimeError(f"{name}(): self ({kinds[0]}) and source ({kinds[1]}) must have the same scalar type")


def need_index_count(name: str, index: Tensor, source: Tensor, dim: int) -> None:
    shape, count = source._array.shape, index._array.size
    size = shape[dim] if len(shape) > dim else 1
    if count != size:
        raise RuntimeError(
            f"{name}(): Number of indices ({count}) should be equal to source.size(dim): ({size}), for dim: {dim}"
        )


def need_slices(input: Tensor, source: Tensor, dim: int) -> None:
    own, given = input._array.shape, source._array.shape
    if own[:dim] + own[dim + 1 :] != given[:dim] + given[dim + 1 :] or len(own) != len(given):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(own)} source.shape = {list(given)}"
        )


@op_forms()
def index_add(
    input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, source: Tensor = ABSENT, *, alpha: Number = 1
) -> OpCall:
    """A copy with slices of `source` added at the indices along `dim`.

    >>> torch.zeros(2).index_add(0, torch.tensor([1, 1]), torch.ones(2))
    tensor([0., 2.])
    """
    dim = wrap_dim(dim, input.dim())
    need_vector_index("index_add_", index)
    need_source_dtype("index_add_", input, source)
    need_index_count("index_add_", index, source, dim)
    need_slices(input, source, dim)
    alpha = need_number(alpha)
    if isinstance(alpha, Tensor):
        raise TypeError("alpha is a number")  # `after_failure` converts it
    need_real_value(alpha, input.dtype)
    return OPS["_index_add"], (input, dim, index, source, alpha)


# ----- Sparse gradients of tables, as `nn.Embedding(sparse=True)` and `gather(sparse_grad=True)` ask for them ---------
# Note [Sparse gradients]
# Gradients flow through the graph as dense arrays. A table whose lookups request sparse gradients gets two hooks. The first replaces the
# gradient, after it has arrived, by a sparse tensor with the indices that were looked up; the second makes it dense again before the next
# one is added. If other elements are nonzero (the table was also used otherwise), it stays dense, as in PyTorch.


_sparse_coo = lazy_import(globals(), "_sparse_coo", "...sparse.coo")


# The indices looked up in the running pass, by the id of the table. (Tensors cannot be keys of a WeakKeyDictionary: == is not a bool.)
_touched: dict[int, list[tuple[Any, ...]]] = {}


def follow(table: Tensor, result: Tensor, *indices: Any) -> None:
    """Make the gradient of a lookup's table sparse; `indices` are those of its first dimensions."""
    if not result.requires_grad or not table.is_leaf or not table.requires_grad:
        return
    if id(table) not in _touched:
        _touched[id(table)] = []
        weakref.finalize(table, _touched.pop, id(table), None)
        _watch(table)
    touched = _touched[id(table)]
    result.register_hook(lambda grad: touched.append(indices))


def _watch(table: Tensor) -> None:
    reference = weakref.ref(table)

    def before(grad: Tensor) -> None:
        owner = reference()
        if owner is not None and isinstance(owner._grad, _sparse_coo.SparseTensor):
            _touched[id(owner)].append(tuple(owner._grad._coordinates._array))
            set_grad(owner, owner._grad.to_dense())

    def after(owner: Tensor) -> None:
        touched, grad = _touched[id(owner)][:], owner._grad
        _touched[id(owner)].clear()
        dims = set(map(len, touched))
        if grad is None or len(dims) != 1:
            return
        dense = grad._array
        looked_up = np.zeros(dense.shape[: dims.pop()], bool)
        for indices in touched:
            looked_up[indices] = True
        found = looked_up.nonzero()
        if not dense[~looked_up].any():
            set_grad(owner, _sparse_coo.SparseTensor(wrap(np.array(found, np.int64)), wrap(dense[found]), grad.shape))

    table.register_hook(before)
    table.register_post_accumulate_grad_hook(after)
