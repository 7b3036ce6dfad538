"""Out-of-place writes to selected elements: reductions by index, full slices, masks, flat positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_once
from ...autograd import modes, views
from ...autograd.node import Node
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import ABSENT, broadcast_shape, values_of, wrap_dim
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, OpCall, differentiable, linear, op_forms
from ..machinery.guards import along_dim, lazy, not_implemented
from ..machinery.op import traits
from ..machinery.rules import joint_rules
from .advanced import extremes
from .gather import _scatter_arguments, need_index_count, need_slices, need_source_dtype, need_vector_index

__all__ = ["index_copy", "index_fill", "index_reduce", "masked_scatter", "scatter_reduce"]

# ----- Reductions by index ------------------------------------------------------------------------------------------


def _cut_graph(src: Any, shape: Any) -> Any:
    for dim, n in enumerate(shape):
        if src.shape[dim] != n:
            src = src.narrow(dim, 0, n)
    return src


both("cut", lambda src, shape: src[tuple(slice(n) for n in shape)] if src.shape != tuple(shape) else src, _cut_graph)
both("one_like", np.ones_like, lambda x: x.new_ones(x.shape))
both("any_true", lambda x: bool(np.any(x)), lambda x: bool(x._array.any()))


class _Along:
    """The two meanings of an index along a dimension: single elements, or full slices."""

    def __init__(self, dim: int, index: Any, xp: Any, slices: bool) -> None:
        self.dim, self.index, self.xp, self.slices = dim, index, xp, slices

    def read(self, x: Any) -> Any:
        return (self.xp._index_select if self.slices else self.xp._gather)(x, self.dim, self.index)

    def add(self, x: Any, src: Any) -> Any:
        if self.slices:
            return self.xp._index_add(x, self.dim, self.index, src, 1)
        return self.xp._scatter_add(x, self.dim, self.index, src)

    def clear(self, x: Any) -> Any:
        if self.slices:
            return self.xp._index_fill(x, self.dim, self.index, 0)
        return self.xp._scatter_value(x, self.dim, self.index, 0)

    def multiply(self, x: Any, src: Any, include_self: bool) -> Any:
        run = self.xp._index_reduce if self.slices else self.xp._scatter_reduce
        return run(x, self.dim, self.index, src, "prod", include_self)


def _prod_input(along: _Along, grad: Any, input: Any, src: Any, include_self: bool) -> Any:
    """The product of the factors; a zero is replaced first, to avoid a division by it."""
    safe = along.xp.where(input == 0, 1.0, input)
    return grad * along.multiply(safe, src, include_self) / safe


def _prod_src(along: _Along, grad: Any, input: Any, src: Any, result: Any, include_self: bool) -> Any:
    """The product of the other factors at each index: if one is zero, of the rest; if several are, zero."""
    xp = along.xp
    zero = src == 0
    count = along.read(along.add(xp.zeros_like(input), xp.cast(zero, xp.np_dtype(input))))
    alone = zero & (count == 1)
    without = along.multiply(input, xp.where(alone, 1.0, src), include_self)
    others = xp.where(alone, along.read(grad * without), along.read(grad * result) / xp.where(zero, 1.0, src))
    if isinstance(others, Tensor) and not dispatch.interpreters.get() and bool((zero & (count > 1)).any()):
        return _once(others, *(("index_reduce", "source") if along.slices else ("scatter_reduce", "src")))
    return others


class Error(Node):
    """The node of a gradient that has no derivative itself: raises when it runs."""

    __slots__ = ("message",)

    def __init__(self, message: str, edge: Any) -> None:
        self.seq = next(modes.sequence)
        self._hooks = self._fit = None
        self.message, self.next_functions = message, (edge,)

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    run_graph = run_raw


def _once(grad: Tensor, name: str, source: str) -> Tensor:
    """A gradient that PyTorch refuses to differentiate: for several zeros at one index, each is multiplied by the others."""
    if not grad.requires_grad:
        return grad
    message = f"{name}(): Double backward is unsupported for {source} when >1 zeros in {source} are scattered to the same position in self"
    out = wrap(grad._array)
    out._edge = (Error(message, views.edge_of(grad)), 0)
    return out


def _hits(along: _Along, input: Any, src: Any, result: Any) -> tuple[Any, Any, Any]:
    """The elements of input and src that equal the extreme, and how many of them share an index."""
    xp = along.xp
    of_src = xp.cast(src == along.read(result), xp.np_dtype(input))
    of_input = xp.cast(input == result, xp.np_dtype(input))
    return of_input, of_src, along.add(of_input, of_src)


def _counts(along: _Along, grad: Any, src: Any, include_self: bool) -> Any:
    xp = along.xp
    count = along.add(xp.one_like(grad) if include_self else xp.zeros_like(grad), xp.one_like(src))
    return xp.where(count == 0, 1.0, count)


def _gradients(
    along: _Along, grad: Any, input: Any, src: Any, result: Any, reduce: str, include_self: bool, needs: Any
) -> Any:
    """The gradients of the input and of the values reduced into it."""
    if reduce == "sum":
        own, each = grad, along.read(grad)
    elif reduce == "prod":
        own = _prod_input(along, grad, input, src, include_self) if needs[0] else None
        each = _prod_src(along, grad, input, src, result, include_self) if needs[1] else None
    elif reduce == "mean":
        own = grad / _counts(along, grad, src, include_self)
        each = along.read(own)
    else:
        of_input, of_src, count = _hits(along, input, src, result)
        own, each = of_input * (grad / count), of_src * along.read(grad / count)
    return own if include_self or own is None else along.clear(own), each


def _scatter_reduce_gradients(
    grad: Any, input: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool, result: Any, needs: Any, xp: Any
) -> Any:  # fmt: skip
    along, used = _Along(dim, index, xp, False), xp.cut(src, index.shape)
    own, each = _gradients(along, grad, input, used, result, reduce, include_self, needs)
    return own, None if each is None else xp.fill_up(each, tuple(src.shape))


@differentiable(along_dim(lazy("index.scatter", "scatter_reduce")), node="ScatterReduceBackward0", inplace=True,
                **joint_rules(_scatter_reduce_gradients, "input", "src"))  # fmt: skip
def _scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor: ...


@op_forms()
def scatter_reduce(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, src: Tensor = ABSENT, reduce: str = ABSENT, *,
                   include_self: bool = True) -> OpCall:  # fmt: skip
    """A copy with the elements of `src` reduced into it at the indices along `dim`: sum, prod, mean, amax, amin.

    >>> torch.zeros(2).scatter_reduce(0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), "sum")
    tensor([3., 3.])
    """
    arguments = _scatter_arguments("scatter", input, dim, index, src)
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce[0] == "a" and input._array.dtype.kind == "c":
        raise not_implemented(f"scatter_gather_tensor_cpu_reduce_{reduce}", input._array.dtype)
    return OPS["_scatter_reduce"], (*arguments, reduce, include_self)


# ----- Whole slices -------------------------------------------------------------------------------------------------


def _index_reduce_gradients(
    grad: Any, input: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool, result: Any, needs: Any, xp: Any
) -> Any:  # fmt: skip
    return _gradients(_Along(dim, index, xp, True), grad, input, source, result, reduce, include_self, needs)


@differentiable(along_dim(lazy("index.scatter", "index_reduce")), node="IndexReduceBackward0", inplace=True,
                **joint_rules(_index_reduce_gradients, "input", "source"))  # fmt: skip
@traits(refuses={"bc": "index_func_"})
def _index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool
) -> Tensor: ...


@op_forms()
def index_reduce(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, source: Tensor = ABSENT, reduce: str = ABSENT, *,
                 include_self: bool = True) -> OpCall:  # fmt: skip
    """A copy with the slices of `source` reduced into it at the indices along `dim`: prod, mean, amax, amin.

    >>> torch.ones(2).index_reduce(0, torch.tensor([0, 0]), torch.tensor([2.0, 3.0]), "prod")
    tensor([6., 1.])
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    warn_once("index_reduce() is in beta and the API may change at any time.")
    need_source_dtype("index_reduce_", input, source)
    dim = wrap_dim(dim, input.dim())
    need_vector_index("index_reduce_", index)
    need_slices(input, source, dim)
    if not source._array.ndim and index._array.size != 1:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    need_index_count("index_reduce_", index, source, dim)
    index = index if index._array.ndim else index.reshape(1)
    return OPS["_index_reduce"], (input, dim, index, source, reduce, include_self)


def _slices(input: Any, dim: int, index: Any) -> tuple[Any, Any]:
    """A fresh copy, and the slices of it that an index along `dim` selects."""
    out = np.array(input)
    return out, (slice(None),) * dim + (index,) if input.ndim else (...,)


def _index_copy_array(input: Any, dim: int, index: Any, source: Any) -> Any:
    out, selection = _slices(input if input.flags.c_contiguous else input.copy(), dim, index)
    if out.size:
        out[selection] = source.reshape(()) if not input.ndim else source
    return out


def _copied_source(grad: Any, dim: int, index: Any, source_shape: Any, xp: Any) -> Any:
    return xp.reshape(xp._index_select(grad, dim, index), source_shape)


@linear(_index_copy_array, node="IndexCopyBackward0", inplace=True,
        input=lambda grad, dim, index, xp: xp._index_fill(grad, dim, index, 0),
        source=_copied_source)  # fmt: skip
def _index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor: ...


@op_forms()
def index_copy(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, source: Tensor = ABSENT) -> OpCall:
    """A copy with slices of `source` written at the indices along `dim`.

    >>> torch.zeros(3).index_copy(0, torch.tensor([2, 0]), torch.tensor([5.0, 6.0]))
    tensor([6., 0., 5.])
    """
    dim = wrap_dim(dim, input.dim())
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"index_copy_(): Expected a long tensor for index, but got {dtypes.LEGACY[index.dtype]}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"index_copy_(): self and source expected to have the same dtype, but got (self) {dtypes.LEGACY[input.dtype]} and "
            f"(source) {dtypes.LEGACY[source.dtype]}"
        )
    if source.dim() != input.dim() and source.dim() and input.dim():
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.dim()}), destination dimensionality ({input.dim()})"
        )
    if index.dim() > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.dim()})")
    if not source.dim() and index.numel() != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.numel()})")
    if source.dim() and index.numel() != source.shape[dim]:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({source.shape[dim]})"
        )
    slices = [" ".join(str(n) for d, n in enumerate(t.shape) if d != dim) for t in (input, source)]
    if slices[0] != slices[1]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{slices[0]} at dimension {dim} and source slice shape: {slices[1]} at dimension 0."
        )
    n = input.shape[dim] if input.dim() else 1
    indices = values_of(index)
    if (
        indices.size
        and _reaches(input, dim)
        and not 0 <= indices.item(indices.argmin()) <= indices.item(indices.argmax()) < n
    ):
        bad = indices[(indices < 0) | (indices >= n)][0]
        raise IndexError(f"index_copy_(): index {bad} is out of bounds for dimension {dim} with size {n}")
    return OPS["_index_copy"], (input, dim, index if index.dim() == 1 else index.reshape(-1), source)


def _index_fill_array(input: Any, dim: int, index: Any, value: Any) -> Any:
    out, selection = _slices(input, dim, index)
    if not index.size or not out.size:
        return out
    out[selection] = (
        value if isinstance(value, float) and out.dtype.kind == "f" else np.asarray(value).astype(out.dtype)
    )
    return out


@differentiable(_index_fill_array, node="IndexFillBackward0", inplace=True,
                input=lambda grad, dim, index, xp: xp._index_fill(grad, dim, index, 0))  # fmt: skip
@traits(expanded="tensor[mask] = scalar")
def _index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor: ...


@linear(_index_fill_array, node="IndexFillBackward1", inplace=True,
        input=lambda grad, dim, index, xp: xp._index_fill(grad, dim, index, 0),
        value=lambda grad, dim, index, value_dtype, xp: xp.cast(xp._sum_all(xp._index_select(grad, dim, index)), value_dtype))  # fmt: skip
@traits(expanded="tensor[mask] = scalar")
def _index_fill_tensor(input: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor: ...


def _reaches(input: Tensor, dim: int) -> bool:
    """Whether an index along a dimension selects any element. PyTorch does not check one that selects none."""
    return 0 not in input.shape[:dim] + input.shape[dim + 1 :]


@op_forms(out=False)
def index_fill(input: Tensor, dim: int = ABSENT, index: Tensor = ABSENT, value: Any = ABSENT) -> OpCall:
    """A copy with one value in the slices selected by the indices along `dim`.

    >>> torch.zeros(3).index_fill(0, torch.tensor([0, 2]), 1)
    tensor([1., 0., 1.])
    """
    dim = wrap_dim(dim, input.dim())
    if isinstance(value, Tensor) and value.dim():
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    if index.dtype is not dtypes.int64:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    if isinstance(value, Tensor) and value.is_complex() and not input.is_complex():
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
    n = input.shape[dim] if input.dim() else 1
    array = values_of(index).reshape(-1)
    low, high = extremes(array) if array.size and _reaches(input, dim) else (-n, n - 1)
    if low < -n or high >= n:
        bad = array[(array < -n) | (array >= n)][0]
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {n}")
    name = "_index_fill_tensor"
    if not isinstance(value, Tensor):
        if isinstance(value, complex) and not input.is_complex():
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        name, value = "_index_fill", dtypes.number_for(value, input.dtype)
    indices = index if index.dim() == 1 else index.reshape(-1)
    if low < 0:
        indices = indices % n
    if isinstance(value, Tensor) and index._level is None:
        indices = indices.unique()  # so that the value's gradient counts each slice once
    return OPS[name], (input, dim, indices, value)


# ----- Masks --------------------------------------------------------------------------------------------------------


def _unmasked(grad: Any, mask: Any, sizes: tuple[int, ...]) -> Any:
    """The gradient under the mask, in order, and zeros for unused elements of the source."""
    out = np.zeros(int(np.prod(sizes, dtype=np.int64)), grad.dtype)
    picked = grad[mask]
    out[: picked.size] = picked
    return out.reshape(sizes)


@linear(_unmasked, node="MaskedScatterBackwardBackward0",
        input=lambda grad, mask, xp: xp._masked_scatter(xp.zeros_for(grad, mask.shape), mask, grad))  # fmt: skip
def _masked_scatter_backward(input: Tensor, mask: Tensor, sizes: tuple[int, ...]) -> Tensor: ...


@linear(lazy("index.scatter", "masked_scatter"), node="MaskedScatterBackward0", inplace=True,
        input=lambda grad, mask, xp: xp.where(mask, 0.0, grad),
        source=lambda grad, mask, source_shape, xp: xp._masked_scatter_backward(grad, mask, source_shape))  # fmt: skip
def _masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...


@op_forms(out=False)
def masked_scatter(in_place: bool, input: Tensor, mask: Tensor, source: Tensor) -> OpCall:
    """A copy with elements of `source`, in order, where the mask is True.

    >>> torch.zeros(3).masked_scatter(torch.tensor([True, False, True]), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    names = [dtypes.LEGACY[t.dtype] for t in (mask, input, source)]
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {names[0]}")
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got{names[1]} and {names[2]}"
        )
    shape = tuple(input.shape) if in_place else broadcast_shape(tuple(input.shape), tuple(mask.shape))
    wide, over = (t if tuple(t.shape) == shape else t.expand(shape) for t in (input, mask))
    return OPS["_masked_scatter"], (wide, over, source)
