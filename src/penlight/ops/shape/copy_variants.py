"""Copies with one part replaced (`select_scatter` etc.), copies of views (`view_copy` etc.), filled diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.docstrings import documented
from ...autograd import modes, views
from ...layout import contiguous_format
from ...tensor import Tensor, wrap
from ..conversion import fill_into, view_as_complex, view_as_real
from ..machinery import dispatch
from ..machinery.arguments import ABSENT, with_pytorch_names, wrap_dim
from ..machinery.array_namespace import both
from ..machinery.declare import install_method, linear, method
from ..machinery.in_place import in_place_class
from . import slicing, strided, transpose
from .views import _alias, expand, squeeze, unsqueeze, view

__all__ = [
    "alias_copy", "as_strided_copy", "as_strided_scatter", "detach_copy", "diagonal_copy", "diagonal_scatter",
    "expand_copy", "narrow_copy", "permute_copy", "select_copy", "select_scatter", "slice_copy", "slice_inverse",
    "slice_scatter", "split_copy", "split_with_sizes_copy", "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy",
    "unfold_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_copy", "view_as_complex_copy",
    "view_as_real_copy", "view_copy"
]  # fmt: skip

# ----- One part replaced --------------------------------------------------------------------------------------------


def _replaced(input: Any, window: Any, src: Any) -> Any:
    """A copy of an array with `src` in the window selected by a function."""
    out = np.array(input, order="C")
    part = window(out)
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = {list(part.shape)}"
        )
    part[...] = src
    return out


def _window(dim: int, what: Any) -> Any:
    return lambda array: array[(slice(None),) * dim + (what, ...)]


@linear(lambda input, src, dim, index: _replaced(input, _window(dim, index), src), node="SelectScatterBackward0",
        input=lambda grad, src_shape, dim, index, xp: xp._select_scatter(grad, xp.zeros_for(grad, src_shape), dim, index),
        src=lambda grad, dim, index, src_dtype, xp: xp.cast(xp._select(grad, dim, index), src_dtype))  # fmt: skip
def _select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor: ...


@method
def select_scatter(input: Tensor, src: Tensor, dim: int = ABSENT, index: int = ABSENT) -> Tensor:
    """A copy in which `src` replaces `select(dim, index)`.

    >>> torch.zeros(2, 2).select_scatter(torch.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    axis, n = wrap_dim(dim, input.dim()), input.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {axis}"
        )
    return _select_scatter(input, src, axis, index % n)


@linear(lambda input, src, dim, start, end, step: _replaced(input, _window(dim, slice(start, end, step)), src),
        node="SliceScatterBackward0",
        input=lambda grad, src_shape, dim, start, end, step, xp:
            xp._slice_scatter(grad, xp.zeros_for(grad, src_shape), dim, start, end, step),
        src=lambda grad, dim, start, end, step, src_dtype, xp: xp.cast(xp._slice(grad, dim, start, end, step), src_dtype))  # fmt: skip
def _slice_scatter(input: Tensor, src: Tensor, dim: int, start: int, end: int, step: int) -> Tensor: ...


def _bounds(n: int, start: int | None, end: int | None, step: int) -> tuple[int, int, int]:
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last, step = slice(start, end, step).indices(n)
    return first, max(first, last), step


@method
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A copy in which `src` replaces a slice along a dimension.

    >>> torch.zeros(4).slice_scatter(torch.ones(2), start=1, end=3)
    tensor([0., 1., 1., 0.])
    """
    axis = wrap_dim(dim, input.dim())
    return _slice_scatter(input, src, axis, *_bounds(input.shape[axis], start, end, step), out=out)


def _diagonal_window(offset: int, dim1: int, dim2: int) -> Any:
    return lambda array: slicing._writable(np.diagonal(array, offset, dim1, dim2))


@linear(lambda input, src, offset, dim1, dim2: _replaced(input, _diagonal_window(offset, dim1, dim2), src),
        node="DiagonalScatterBackward0",
        input=lambda grad, src_shape, offset, dim1, dim2, xp:
            xp._diagonal_scatter(grad, xp.zeros_for(grad, src_shape), offset, dim1, dim2),
        src=lambda grad, offset, dim1, dim2, src_dtype, xp: xp.cast(xp._diagonal(grad, offset, dim1, dim2), src_dtype))  # fmt: skip
def _diagonal_scatter(input: Tensor, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor: ...


@method
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy in which `src` replaces a diagonal.

    >>> torch.zeros(2, 2).diagonal_scatter(torch.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _diagonal_scatter(input, src, offset, wrap_dim(dim1, input.dim()), wrap_dim(dim2, input.dim()))


def _strided(array: Any, size: Sequence[int], stride: Sequence[int], offset: int) -> Any:
    """A strided window of a contiguous array, in elements."""
    contiguous = np.ascontiguousarray(array)
    return views.strided_window(contiguous, tuple(size), tuple(s * contiguous.itemsize for s in stride), offset)


def _strided_tensor(grad: Tensor, size: Any, stride: Any, offset: int) -> Tensor:
    return grad.as_strided(size, stride, grad.storage_offset() + offset)


both(
    "strided",
    lambda grad, size, stride, offset: _strided(grad, size, stride, offset).copy(),
    lambda grad, size, stride, offset: _strided_tensor(grad.contiguous(), size, stride, offset),
)


@linear(lambda input, src, size, stride, storage_offset:
            _replaced(input, lambda array: _strided(array, size, stride, storage_offset), src),
        node="AsStridedScatterBackward0",
        input=lambda grad, src_shape, size, stride, storage_offset, xp:
            xp._as_strided_scatter(grad, xp.zeros_for(grad, src_shape), size, stride, storage_offset),
        src=lambda grad, size, stride, storage_offset, src_dtype, xp: xp.cast(xp.strided(grad, size, stride, storage_offset), src_dtype))  # fmt: skip
def _as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int) -> Tensor: ...


@method
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A copy in which `src` replaces a strided window.

    >>> torch.zeros(4).as_strided_scatter(torch.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    if input._level is None:  # otherwise vmap checks the samples
        strided.check_window(tuple(size), tuple(stride), storage_offset or 0, input.element_size(), input._array.nbytes)
    return _as_strided_scatter(input, src, tuple(size), tuple(stride), storage_offset or 0)


# ----- Copies of views ----------------------------------------------------------------------------------------------


def _detached_copy(view: Tensor, suffix: str, copy: bool) -> Tensor:
    """A view op's result as a separate tensor; its history is the view's node, under another name."""
    if modes.slow() and (modes.inference.get() or not dispatch.unwatched()):
        return view.clone(memory_format=contiguous_format)
    out = wrap(view._array.copy() if copy else view._array)
    if not modes.is_grad_enabled():
        return out
    node, number = views.edge_of(view)
    if node is not None:
        name = type(node).__name__
        if not name.endswith("_copy") and not name.startswith("Unsafe"):
            node.__class__ = in_place_class(node, name + suffix if suffix else "Unsafe" + name)
        out._edge = (node, number)
    return out


_M = "torch.tensor([[1, 2], [3, 4]])"
_EXAMPLES = {
    "alias": (">>> torch.alias_copy(torch.tensor([1, 2]))", "tensor([1, 2])"),
    "as_strided": (">>> torch.as_strided_copy(torch.arange(4), (2,), (2,))", "tensor([0, 2])"),
    "diagonal": (f">>> torch.diagonal_copy({_M})", "tensor([1, 4])"),
    "expand": (">>> torch.expand_copy(torch.tensor([1]), (3,))", "tensor([1, 1, 1])"),
    "permute": (">>> torch.permute_copy(torch.zeros(2, 3), (1, 0)).shape", "torch.Size([3, 2])"),
    "select": (f">>> torch.select_copy({_M}, 0, 1)", "tensor([3, 4])"),
    "slice": (">>> torch.slice_copy(torch.arange(5), 0, 1, 3)", "tensor([1, 2])"),
    "split": (">>> torch.split_copy(torch.tensor([1, 2, 3]), 2)", "(tensor([1, 2]), tensor([3]))"),
    "split_with_sizes": (
        ">>> torch.split_with_sizes_copy(torch.tensor([1, 2, 3]), [1, 2])",
        "(tensor([1]), tensor([2, 3]))",
    ),
    "squeeze": (">>> torch.squeeze_copy(torch.zeros(1, 2)).shape", "torch.Size([2])"),
    "t": (">>> torch.t_copy(torch.zeros(2, 3)).shape", "torch.Size([3, 2])"),
    "transpose": (">>> torch.transpose_copy(torch.zeros(2, 3), 0, 1).shape", "torch.Size([3, 2])"),
    "unbind": (">>> torch.unbind_copy(torch.tensor([1, 2]))", "(tensor(1), tensor(2))"),
    "unfold": (">>> torch.unfold_copy(torch.arange(5), 0, 2, 3)", "tensor([[0, 1],", "        [3, 4]])"),
    "unsqueeze": (">>> torch.unsqueeze_copy(torch.zeros(2), 0).shape", "torch.Size([1, 2])"),
    "view": (">>> torch.view_copy(torch.zeros(4), (2, 2)).shape", "torch.Size([2, 2])"),
    "view_as_complex": (">>> torch.view_as_complex_copy(torch.tensor([1.0, 2.0]))", "tensor(1.+2.j)"),
    "view_as_real": (">>> torch.view_as_real_copy(torch.tensor(1 + 2j))", "tensor([1., 2.])"),
}


_INNER = {
    "split_copy": "split_copy_Tensor_out()",
    "split_with_sizes_copy": "split_with_sizes_copy_out()",
    "unbind_copy": "unbind_copy_int_out",
}


def _copying(name: str, view: Any) -> Any:
    """`select_copy` for `select`."""

    def make(input: Tensor, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        made = view(input, *args, **with_pytorch_names(kwargs))
        if not isinstance(made, tuple):
            return dispatch.given(name, _detached_copy(made, "_copy", True), out)
        copies = tuple([_detached_copy(m, "_copy", True) for m in made])
        if out is None:
            return copies
        if not isinstance(out, (tuple, list)):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        if len(out) != len(copies):
            raise RuntimeError(
                f"{_INNER.get(name, name)} expected an out= argument of size {len(copies)}, got size {len(out)}"
            )
        return tuple(dispatch.given(name, c, o) for c, o in zip(copies, out))

    make.__name__ = make.__qualname__ = name
    short = name.removesuffix("_copy")
    make.__doc__ = documented(f"`{short}` as a tensor with memory of its own.", *_EXAMPLES.get(short, ()))
    return make


def _slice_view(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    axis = wrap_dim(dim, input.dim())
    return slicing._slice(input, axis, *_bounds(input.shape[axis], start, end, step))


alias_copy = _copying("alias_copy", _alias)
as_strided_copy = _copying("as_strided_copy", strided.as_strided)
diagonal_copy = _copying("diagonal_copy", slicing.diagonal)
expand_copy = _copying("expand_copy", expand)
permute_copy = _copying("permute_copy", transpose.permute)
select_copy = _copying("select_copy", slicing.select)
slice_copy = _copying("slice_copy", _slice_view)
split_copy = _copying("split_copy", slicing.split)
split_with_sizes_copy = _copying("split_with_sizes_copy", slicing.split_with_sizes)
squeeze_copy = _copying("squeeze_copy", squeeze)
t_copy = _copying("t_copy", transpose.t)
transpose_copy = _copying("transpose_copy", transpose.transpose)
unbind_copy = _copying("unbind_copy", slicing.unbind)
unfold_copy = _copying("unfold_copy", slicing.unfold)
unsqueeze_copy = _copying("unsqueeze_copy", unsqueeze)
view_as_complex_copy = _copying("view_as_complex_copy", view_as_complex)
view_as_real_copy = _copying("view_as_real_copy", view_as_real)
view_copy = _copying("view_copy", view)


def detach_copy(input: Tensor) -> Tensor:
    """A copy outside of the graph.

    >>> torch.detach_copy(torch.ones(1, requires_grad=True)).requires_grad
    False
    """
    return input.detach().clone()


@linear(lambda input, dim, start, length: input[(slice(None),) * dim + (slice(start, start + length),)].copy(), node="NarrowCopyBackward0",
        input=lambda grad, input_shape, dim, start, length, xp:
            xp._slice_backward(grad, input_shape, dim, start, start + length, 1))  # fmt: skip
def _narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor: ...


@method
def narrow_copy(
    input: Tensor, dim: int = ABSENT, start: int = ABSENT, length: int = ABSENT, *, out: Tensor | None = None
) -> Tensor:
    """A copy of a part of a dimension.

    >>> torch.arange(4).narrow_copy(0, 1, 2)
    tensor([1, 2])
    """
    axis = wrap_dim(dim, input.dim())
    begin = start + input.shape[axis] if start < 0 else start
    input.narrow(axis, start, length)  # raises if it is out of range
    return _narrow_copy(input, axis, begin, length, out=out)


def _unsafe(name: str, view: Any) -> Any:
    def make(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return tuple([_detached_copy(m, "", False) for m in view(input, *args, **with_pytorch_names(kwargs))])

    make.__name__ = make.__qualname__ = name
    given = "[1, 2]" if name.endswith("sizes") else "2"
    make.__doc__ = documented(
        f"`{name.removeprefix('unsafe_')}` whose parts autograd does not take for views of one tensor.",
        f">>> torch.{name}(torch.tensor([1, 2, 3]), {given})",
        "(tensor([1]), tensor([2, 3]))" if name.endswith("sizes") else "(tensor([1, 2]), tensor([3]))",
    )
    install_method(name, make)
    return make


unsafe_chunk = _unsafe("unsafe_chunk", slicing.chunk)
unsafe_split = _unsafe("unsafe_split", slicing.split)
unsafe_split_with_sizes = _unsafe("unsafe_split_with_sizes", slicing.split_with_sizes)


@method
def slice_inverse(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """`src` with this tensor in one of its slices: taking that slice of the result gives this tensor.

    >>> torch.ones(2).slice_inverse(torch.zeros(4), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    return slice_scatter(src.detach(), input, dim, start, end, step)


# ----- Diagonals in place -------------------------------------------------------------------------------------------


@method
def fill_diagonal_(input: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Set the main diagonal to one value; `wrap` restarts it below, in a tall matrix.

    >>> torch.zeros(2, 2).fill_diagonal_(5)
    tensor([[5., 0.],
            [0., 5.]])
    """
    if type(wrap) is not bool:
        raise TypeError(f"fill_diagonal_(): argument 'wrap' (position 2) must be bool, not {type(wrap).__name__}")
    shape = input._array.shape
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and any(n != shape[0] for n in shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    if not wrap and type(fill_value) in (int, float) and views.writes_alone(input):
        array, length = input._array, min(input._array.shape)
        number = dtypes.number_for(fill_value, input.dtype, length == 1)
        fill_into(views.strided_window(array, (length,), (sum(array.strides),), 0), number)
        views.bump(input)
        return input
    strides = input.stride()
    length = min(input.shape)
    step = sum(strides)
    input.as_strided((length,), (step,), input.storage_offset()).fill_(fill_value)
    rows, columns = input.shape[0], input.shape[1]
    if wrap and input.dim() == 2 and rows > columns + 1:
        below = rows * columns - (columns * columns + columns)
        count = -(-below // (columns + 1))
        offset = strides[0] * (columns + 1)
        input.as_strided((count,), (step,), input.storage_offset() + offset).fill_(fill_value)
    return input
