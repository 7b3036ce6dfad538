"""Parts of a tensor as views: an index, a range, a tuple of parts, a diagonal, sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.function_code import pytorch_names_only
from ...autograd import views
from ...tensor import Tensor
from ..machinery.arguments import ABSENT, as_int, wrap_dim
from ..machinery.declare import linear, method
from ..machinery.op import traits

__all__ = ["chunk", "diagonal", "narrow", "select", "split", "split_with_sizes", "tensor_split", "unbind"]

# ----- One index or a range --------------------------------------------------------------------------------------------------------


def at(dim: int, what: Any) -> tuple[Any, ...]:
    """An index that takes `what` along one dimension. The ellipsis makes a 0-d result an array that shares memory."""
    return (*(slice(None),) * dim, what, ...) if dim else (what, ...)


def _put(grad: Any, shape: tuple[int, ...], index: tuple[Any, ...]) -> Any:
    """Zeros of a shape with a gradient in one part."""
    out = np.zeros(shape, grad.dtype)
    out[index] = grad
    return out


@linear(lambda input, dim, index: input[at(dim, index) if dim else (index, ...)], view=True, node="SelectBackward0",
        input=lambda grad, input_shape, dim, index, xp: xp._select_backward(grad, input_shape, dim, index))  # fmt: skip
def _select(input: Tensor, dim: int, index: int) -> Tensor: ...


@linear(lambda input, shape, dim, index: _put(input, shape, at(dim, index)), node="SelectBackwardBackward0",
        input=lambda grad, dim, index, xp: xp._select(grad, dim, index))  # fmt: skip
def _select_backward(input: Tensor, shape: tuple[int, ...], dim: int, index: int) -> Tensor: ...


def _slice_array(input: Any, dim: int, start: int, end: int, step: int) -> Any:
    part = input[at(dim, slice(start, end, step))]
    if step != 1 and not part.shape[dim]:  # NumPy drops the step of an empty slice
        strides = [s * step if d == dim else s for d, s in enumerate(part.strides)]
        part = views.strided_window(part, part.shape, tuple(strides), 0)
    return part


@linear(_slice_array, view=True, node="SliceBackward0",
        input=lambda grad, input_shape, dim, start, end, step, xp: xp._slice_backward(grad, input_shape, dim, start, end, step))  # fmt: skip
def _slice(input: Tensor, dim: int, start: int, end: int, step: int) -> Tensor: ...


@linear(lambda input, shape, dim, start, end, step: _put(input, shape, at(dim, slice(start, end, step))),
        node="SliceBackwardBackward0",
        input=lambda grad, dim, start, end, step, xp: xp._slice(grad, dim, start, end, step))  # fmt: skip
def _slice_backward(input: Tensor, shape: tuple[int, ...], dim: int, start: int, end: int, step: int) -> Tensor: ...


@method
def select(input: Tensor, dim: int = ABSENT, index: int = ABSENT) -> Tensor:
    """One index along a dimension, without that dimension; a view.

    >>> torch.arange(4).view(2, 2).select(1, 0)
    tensor([0, 2])
    """
    if input.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, input.dim()), as_int(index)
    n = input.shape[dim]
    if not -n <= index < n:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return _select(input, dim, index % n)


@method
def narrow(input: Tensor, dim: int = ABSENT, start: Any = ABSENT, length: int = ABSENT) -> Tensor:
    """`length` indices along a dimension from `start` on; a view.

    >>> torch.arange(5).narrow(0, 1, 3)
    tensor([1, 2, 3])
    """
    if input.dim() == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.dim() or start.dtype.category != dtypes.INTEGRAL):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim, start, length = wrap_dim(dim, input.dim()), as_int(start), as_int(length)
    n = input.shape[dim]
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start = start + n if start < 0 else start
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return _slice(input, dim, start, start + length, 1)


def _join(grads: Any, shape: tuple[int, ...], dim: int, lengths: Sequence[int], xp: Any) -> Any:
    """The gradients of parts joined along a dimension; missing ones are zeros."""
    known = next(g for g in grads if g is not None)
    gradients = []
    for g, n in zip(grads, lengths):
        gradients.append(xp.zeros_for(known, (*shape[:dim], n, *shape[dim + 1 :])) if g is None else g)
    return xp._cat(gradients, dim)


def _lengths(n: int, size: int) -> list[int]:
    """The lengths of parts of `size` that divide `n` indices."""
    if size == 0:
        return [0]
    return [min(size, n - start) for start in range(0, n, size)] or [0]


def _split_array(input: Any, split_size: int, dim: int) -> Any:
    return _split_sizes_array(input, _lengths(input.shape[dim], split_size), dim)


def _split_sizes_array(input: Any, split_sizes: Sequence[int], dim: int) -> Any:
    views, start = [], 0
    for n in split_sizes:
        views.append(input[at(dim, slice(start, start + n))])
        start += n
    return views


@linear(_split_array, view=True, multi=True, node="SplitBackward0",
        input=lambda grads, input_shape, split_size, dim, xp: _join(grads, input_shape, dim, _lengths(input_shape[dim], split_size), xp))  # fmt: skip
def _split(input: Tensor, split_size: int, dim: int) -> tuple[Tensor, ...]: ...


@linear(_split_sizes_array, view=True, multi=True, node="SplitWithSizesBackward0",
        input=lambda grads, input_shape, split_sizes, dim, xp: _join(grads, input_shape, dim, split_sizes, xp))  # fmt: skip
def _split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]: ...


def _unbind_rule(grads: Any, input_shape: tuple[int, ...], dim: int, xp: Any) -> Any:
    known = next(g for g in grads if g is not None)
    rest = input_shape[:dim] + input_shape[dim + 1 :]
    return xp._stack([xp.zeros_for(known, rest) if g is None else g for g in grads], dim)


@linear(lambda input, dim: [input[at(dim, i)] for i in range(input.shape[dim])], view=True, multi=True, node="UnbindBackward0",
        input=_unbind_rule)  # fmt: skip
@traits(hides=("self_sym_sizes",))
def _unbind(input: Tensor, dim: int) -> tuple[Tensor, ...]: ...


@method
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All indices along a dimension as a tuple of views.

    >>> torch.arange(3).unbind()
    (tensor(0), tensor(1), tensor(2))
    """
    if input.dim() == 0:
        views.edge_of(input)  # PyTorch checks the history first
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    return _unbind(input, wrap_dim(dim, input.dim()))


@pytorch_names_only
@method
def split(
    input: Tensor, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None
) -> tuple[Tensor, ...]:
    """Parts along a dimension: of one size (the last may be smaller), or of the given sizes; views.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    if split_size_or_sections is None:
        if split_size is None:
            raise TypeError("split() missing 1 required positional argument: 'split_size_or_sections'")
        split_size_or_sections = split_size  # the method's name for it
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(input, split_size_or_sections, dim)
    if input.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim, size = wrap_dim(dim, input.dim()), as_int(split_size_or_sections)
    if size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if size == 0 and input.shape[dim]:
        raise RuntimeError(
            f"split_size can only be 0 if dimension size is 0, but got dimension size of {input.shape[dim]}"
        )
    return _split(input, size, dim)


@method
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of the given sizes along a dimension; views.

    >>> torch.split_with_sizes(torch.arange(5), [2, 3])
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if input.dim() == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    shape = input._array.shape
    dim, lengths = wrap_dim(dim, len(shape)), tuple([n if type(n) is int else as_int(n) for n in split_sizes])
    n = shape[dim]
    if lengths and min(lengths) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(lengths)}"
        )
    if sum(lengths) != n:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(lengths)}"
        )
    return _split_with_sizes(input, lengths, dim)


@method
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` parts of equal size along a dimension (the last may be smaller); views.

    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if input.dim() == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = as_int(chunks)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    shape = input._array.shape
    dim = wrap_dim(dim, len(shape))
    n = shape[dim]
    size = -(-n // chunks)
    if size == 0:
        return split_with_sizes(input, [0] * chunks, dim)
    return _split(input, size, dim)


@method
def tensor_split(
    input: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None,
    tensor_indices_or_sections: Any = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Parts along a dimension: a number of nearly equal ones, or cut at the given indices.

    >>> torch.arange(5).tensor_split(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    if indices_or_sections is None:
        named = (indices, sections, tensor_indices_or_sections)
        indices_or_sections = next((value for value in named if value is not None), None)
    if input.dim() == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, input.dim())
    n = input.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = [0, *(min(max(i + n if i < 0 else i, 0), n) for i in map(as_int, indices_or_sections)), n]
        return tuple(_slice(input, dim, a, max(a, b), 1) for a, b in pairwise(cuts))
    sections = as_int(indices_or_sections)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    size, extra = divmod(n, sections)
    ends = [0]
    for i in range(sections):
        ends.append(ends[-1] + size + (i < extra))
    return tuple(_slice(input, dim, a, b, 1) for a, b in pairwise(ends))


# ----- Diagonals and sliding windows --------------------------------------------------------------------------------


@linear(lambda input, offset, dim1, dim2: np.diagonal(input, offset, dim1, dim2) if input.flags.writeable is False
        else _writable(np.diagonal(input, offset, dim1, dim2)), view=True, node="DiagonalBackward0",
        input=lambda grad, input_shape, offset, dim1, dim2, xp: xp._diagonal_backward(grad, input_shape, offset, dim1, dim2))  # fmt: skip
def _diagonal(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor: ...


def _writable(array: Any) -> Any:
    """A writable diagonal: NumPy returns diagonals read-only although they share memory."""
    array.flags.writeable = True
    return array


def _put_diagonal(grad: Any, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Any:
    out = np.zeros(shape, grad.dtype)
    _writable(np.diagonal(out, offset, dim1, dim2))[...] = grad
    return out


@linear(_put_diagonal, node="DiagonalBackwardBackward0",
        input=lambda grad, offset, dim1, dim2, xp: xp._diagonal(grad, offset, dim1, dim2))  # fmt: skip
def _diagonal_backward(input: Tensor, shape: tuple[int, ...], offset: int, dim1: int, dim2: int) -> Tensor: ...


@method
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dimensions, as the last dimension; a view.

    >>> torch.arange(4).view(2, 2).diagonal()
    tensor([0, 3])
    """
    dim1, dim2 = wrap_dim(dim1, input.dim()), wrap_dim(dim2, input.dim())
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diagonal(input, offset, dim1, dim2)


def _unfold_array(input: Any, dimension: int, size: int, step: int) -> Any:
    if input.ndim == 0:
        return input.reshape(1)[:size]
    count = (input.shape[dimension] - size) // step + 1
    shape = (*input.shape[:dimension], count, *input.shape[dimension + 1 :], size)
    stride = input.strides[dimension]
    strides = (*input.strides[:dimension], stride * step, *input.strides[dimension + 1 :], stride)
    return views.strided_window(input, shape, strides, 0)


SHORT = 16  # elements in a window


def _fold_back(grad: Any, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Any:
    """The transpose of `unfold`: each window is added at its original position."""
    out = np.zeros(shape, grad.dtype)
    count = grad.shape[dimension] if shape else 1
    if not shape:
        return grad.sum()
    if not count or not size:
        return out
    if size <= SHORT:
        for k in range(size):
            out[at(dimension, slice(k, k + step * (count - 1) + 1, step))] += grad[..., k]
        return out
    windows = _unfold_array(out, dimension, size, step)
    together = -(-size // step)  # windows this many steps apart do not overlap
    if together < count:
        for k in range(together):
            part = at(dimension, slice(k, None, together))
            windows[part] += grad[part]
    else:
        for k in range(count):
            part = at(dimension, k)
            windows[part] += grad[part]
    return out


@linear(_unfold_array, view=True, node="UnfoldBackward0",
        input=lambda grad, input_shape, dimension, size, step, xp: xp._unfold_backward(grad, input_shape, dimension, size, step))  # fmt: skip
@traits(keeps_finite=("op",))
def _unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor: ...


@linear(_fold_back, node="UnfoldBackwardBackward0",
        input=lambda grad, dimension, size, step, xp: xp._unfold(grad, dimension, size, step))  # fmt: skip
def _unfold_backward(input: Tensor, shape: tuple[int, ...], dimension: int, size: int, step: int) -> Tensor: ...


def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Sliding windows along a dimension, as a new last dimension; a view.

    >>> torch.arange(4).unfold(0, 2, 1)
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    shape = input._array.shape
    dimension = wrap_dim(dimension, len(shape))
    n = shape[dimension] if shape else 1
    if step <= 0 or not 0 <= size <= n:
        views.history_first(input)
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {n} but size is {size}")
    return _unfold(input, dimension, size, step)


setattr(Tensor, "unfold", unfold)
