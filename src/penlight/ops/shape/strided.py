"""Windows with arbitrary strides into a tensor's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd import views
from ...autograd.node import Edge, Node
from ...kernels import index_width
from ...tensor import Tensor
from ...tensor.conjugates import Marked, marks_of, with_marks
from ...tensor.memory import root_of, storage_offset_of
from ..machinery.arguments import sizes
from ..machinery.declare import OPS, linear, method
from ..machinery.dispatch import new_node
from ..machinery.guards import lazy, unrecorded, unrecorded_view
from ..machinery.op import traits
from .slicing import SHORT, at

__all__ = ["as_strided"]

# Note [Windows of memory]
# as_strided reads the memory behind a tensor, regardless of the tensor's own shape. Its derivative treats that memory as one flat array:
# the window's gradient is added into it, then the tensor's own elements are read from it. Both steps are `_window_to_tensor`;
# `_tensor_to_window` is its transpose.


def _as_strided_array(input: Any, size: Any, stride: Any, storage_offset: int) -> Any:
    offset = storage_offset - storage_offset_of(input)
    itemsize = input.itemsize
    return views.strided_window(input, size, tuple([s * itemsize for s in stride]), offset)


def _offsets(size: Sequence[int], stride: Sequence[int], start: int) -> Any:
    """The offset in flat memory of each element of a strided window."""
    offsets = np.full(tuple(size), start, np.int64)
    for d, (n, s) in enumerate(zip(size, stride)):
        offsets += (np.arange(n) * s).reshape((-1, *(1,) * (len(size) - d - 1)))
    return offsets


def _flat_map(geometry: tuple[Any, ...], window: tuple[Any, ...]) -> tuple[Any, Any, int]:
    low = min(geometry[2], window[2])
    tensor_offsets = _offsets(geometry[0], geometry[1], geometry[2] - low)
    window_offsets = _offsets(window[0], window[1], window[2] - low)
    span = 1 + max((int(p.max()) for p in (tensor_offsets, window_offsets) if p.size), default=0)
    return tensor_offsets, window_offsets, span


_add_up = lazy("index.scatter", "index_put_add")


def _overlaps(offsets: Any) -> bool:
    return offsets.size > 1 and int(index_width.bincount(offsets.ravel()).max()) > 1


def _no_overlap(size: Sequence[int], stride: Sequence[int]) -> bool:
    """Whether no two elements of a window share an offset: each stride exceeds the extent of all shorter ones."""
    reach = 0
    for s, n in sorted(zip(stride, size)):
        if n > 1:
            if s <= reach:
                return False
            reach += (n - 1) * s
    return True


def _stacked_dim(size: Sequence[int], stride: Sequence[int]) -> int | None:
    """The short dimension without which no elements of a window share an offset; -1 if none is needed, None if there is no such dimension."""
    if _no_overlap(size, stride):
        return -1
    for d in sorted(range(len(size)), key=lambda d: size[d]):
        if size[d] <= SHORT and _no_overlap((*size[:d], *size[d + 1 :]), (*stride[:d], *stride[d + 1 :])):
            return d
    return None


def _start_inside(geometry: Any, window: Any) -> int | None:
    """The start of a window in a dense tensor that contains all of the window's elements; None if there is no such tensor."""
    shape, strides, start = geometry
    step = 1
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1 and s != step:
            return None
        step *= n
    begin = window[2] - start
    if 0 in window[0] or begin < 0 or begin + sum([(n - 1) * s for n, s in zip(*window[:2])]) >= step:
        return None
    return begin


def _window_to_tensor_array(input: Any, geometry: Any, window: Any) -> Any:
    begin = _start_inside(geometry, window)
    loop = None if begin is None else _stacked_dim(*window[:2])
    if begin is not None and loop is not None:
        out = np.zeros(geometry[0], input.dtype)
        part = views.strided_window(out, window[0], tuple([s * out.itemsize for s in window[1]]), begin)
        if loop < 0:
            part[...] = input
        else:
            for k in range(window[0][loop]):
                part[at(loop, k)] += input[at(loop, k)]
        return out
    tensor_offsets, window_offsets, span = _flat_map(geometry, window)
    if _overlaps(window_offsets):
        flat = _add_up((span,), (window_offsets.ravel(),), input.ravel())
    else:
        flat = np.zeros(span, input.dtype)
        flat[window_offsets] = input
    if _overlaps(tensor_offsets):
        flat /= np.maximum(index_width.bincount(tensor_offsets.ravel(), minlength=span), 1).astype(flat.real.dtype)
    shape, strides, start = geometry
    begin = start - min(start, window[2])
    return views.strided_window(flat, shape, tuple([s * flat.itemsize for s in strides]), begin)


def _tensor_to_window_array(input: Any, geometry: Any, window: Any) -> Any:
    begin = _start_inside(geometry, window)
    if begin is not None:
        contiguous = np.ascontiguousarray(input)
        return views.strided_window(
            contiguous, window[0], tuple([s * contiguous.itemsize for s in window[1]]), begin
        ).copy()
    tensor_offsets, window_offsets, span = _flat_map(geometry, window)
    if _overlaps(tensor_offsets):
        flat = _add_up((span,), (tensor_offsets.ravel(),), input.ravel())
        flat /= np.maximum(index_width.bincount(tensor_offsets.ravel(), minlength=span), 1).astype(flat.real.dtype)
    else:
        flat = np.zeros(span, input.dtype)
        flat[tensor_offsets] = input
    return flat[window_offsets]


@linear(_window_to_tensor_array, node="AsStridedBackwardBackward0",
        input=lambda grad, geometry, window, xp: xp._tensor_to_window(grad, geometry, window))  # fmt: skip
def _window_to_tensor(input: Tensor, geometry: Any, window: Any) -> Tensor: ...


@linear(_tensor_to_window_array, node="AsStridedCopyBackward0",
        input=lambda grad, geometry, window, xp: xp._window_to_tensor(grad, geometry, window))  # fmt: skip
def _tensor_to_window(input: Tensor, geometry: Any, window: Any) -> Tensor: ...


@linear(lambda input, size, stride, storage_offset, geometry: _as_strided_array(input, size, stride, storage_offset),
        view=True, node="AsStridedBackward0",
        input=lambda grad, geometry, size, stride, storage_offset, xp:
            xp._window_to_tensor(grad, geometry, (size, stride, storage_offset)))  # fmt: skip
@traits(keeps_finite=("op",))
def _as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int, geometry: Any) -> Tensor: ...


def _as_strided_jvp(tangents: dict[str, Any], env: dict[str, Any], xp: Any) -> Any:
    """The same window of a tangent that has its tensor's layout; for another layout, its elements are gathered."""
    tangent, (shape, strides, start) = tangents["input"], env["geometry"]
    if all(n == 1 or s == own for n, s, own in zip(shape, strides, tangent.stride())):
        offset = tangent.storage_offset() + env["storage_offset"] - start
        return xp._as_strided(tangent, env["size"], env["stride"], offset, geometry_of(tangent))
    return xp._tensor_to_window(tangent, env["geometry"], (env["size"], env["stride"], env["storage_offset"]))


OPS["_as_strided"].jvp = _as_strided_jvp


def geometry_of(tensor: Tensor) -> tuple[Any, Any, int]:
    if tensor._level is not None:
        return (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    return (tensor._array.shape, tensor.stride(), storage_offset_of(tensor._array))


def check_window(size: tuple[int, ...], stride: tuple[int, ...], offset: int, itemsize: int, nbytes: int) -> None:
    """Refuse a strided window that exceeds its memory."""
    last = offset
    for n, s in zip(size, stride):
        if n <= 0 or s < 0:
            break
        last += (n - 1) * s
    else:
        if offset >= 0 and (last + 1) * itemsize <= nbytes and len(size) == len(stride):
            return
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if stride and min(stride) < 0:
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    if size and min(size) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    need = offset + sum([(n - 1) * s for n, s in zip(size, stride)]) + 1 if 0 not in size else 0
    if need * itemsize > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {itemsize} requiring a "
            f"storage size of {need * itemsize} are out of bounds for storage of size {nbytes}"
        )


@method
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """A window of the memory behind a tensor, with any shape and strides in elements; a view.

    >>> torch.arange(6).as_strided((2, 2), (3, 1))
    tensor([[0, 1],
            [3, 4]])
    """
    size, stride = sizes((size,)), sizes((stride,))
    if type(input) is Marked:
        marks = marks_of(input)
        return with_marks(as_strided(with_marks(input, *marks), size, stride, storage_offset), *marks)
    if input._level is None and unrecorded((input,)):
        array = input._array
        start, itemsize = storage_offset_of(array), array.itemsize
        offset = start if storage_offset is None else storage_offset
        check_window(size, stride, offset, itemsize, root_of(array).nbytes)
        window = views.strided_window(array, size, tuple([s * itemsize for s in stride]), offset - start)
        return unrecorded_view(input, window)
    geometry = geometry_of(input)
    offset = geometry[2] if storage_offset is None else storage_offset
    nbytes = root_of(input._array).nbytes if input._level is None else input.untyped_storage().nbytes()
    check_window(size, stride, offset, input._array.itemsize, nbytes)
    return _as_strided(input, size, stride, offset, geometry)


def as_strided_node(base: Tensor, view: Tensor, base_edge: Edge) -> Node:
    """The node that leads from a view to its base by strides alone, for a view whose own history was replaced by a write."""
    node = new_node(OPS["_as_strided"].Backward)
    node.next_functions = (base_edge,)
    node._shape = view._array.shape
    node.s_size, node.s_stride, node.s_storage_offset = geometry_of(view)
    node.s_geometry = geometry_of(base)
    return node
