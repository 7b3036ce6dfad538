"""Dense arrays with permuted strides (transposes): views in memory order, so that elementwise kernels see contiguous arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

Order = tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(1024)
def _order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Order | None:
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], shape[d] > 1))
    step = itemsize
    for d in reversed(order):
        if shape[d] != 1 and strides[d] != step:
            return None
        step *= shape[d]
    return tuple(order), tuple(sorted(range(len(order)), key=order.__getitem__))


def order_of(array: np.ndarray) -> Order | None:
    """The permutation of an array's dimensions to memory order, and its inverse; None if there are gaps.

    >>> order_of(np.zeros((2, 3, 4)).transpose(2, 0, 1))
    ((1, 2, 0), (2, 0, 1))
    """
    return _order(array.shape, array.strides, array.itemsize)


def in_memory_order(kernel: Callable[..., Any], array: np.ndarray, *rest: Any) -> Any:
    """`kernel(array, *rest)` for an elementwise kernel: it sees a dense array in memory order, so its results have the same order."""
    order = order_of(array)
    if order is None:
        return kernel(array, *rest)
    found = kernel(array.transpose(order[0]), *rest)
    if found is None:
        return None
    return tuple([part.transpose(order[1]) for part in found]) if type(found) is tuple else found.transpose(order[1])


# Note [Layouts]
# The result of an elementwise function has the memory layout that PyTorch gives it. If operands of one shape are all contiguous,
# all channels last, or all dense with the same strides, the result gets their strides. Otherwise the result is dense, with its
# dimensions in the order of the first operand's strides; if two strides are equal or 0 (an expanded dimension), the next operand
# decides, and finally the order of dimensions. A copy is laid out in the same way, except that a copy of a dense array always
# keeps its strides. NumPy differs if operands disagree or are expanded, and in the strides of dimensions of size 1.

Operand = tuple[tuple[int, ...], tuple[int, ...], int]  # shape, strides in bytes, itemsize


class Layout(NamedTuple):
    """The memory order of dimensions, outermost first; its inverse; and the strides in elements, if the order does not imply them."""

    order: tuple[int, ...]
    back: tuple[int, ...]
    strides: tuple[int, ...] | None


def _strides_in(order: Sequence[int], shape: tuple[int, ...]) -> list[int]:
    step, strides = 1, [0] * len(shape)
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return strides


def _dense(order: Sequence[int], shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Layout:
    usual = _strides_in(order, shape)
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    return Layout(tuple(order), back, None if strides is None or [*strides] == usual else strides)


@lru_cache(1024)
def _copy_layout(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Layout:
    order = _order(shape, strides, itemsize)
    if order is not None:
        return _dense(order[0], shape, tuple([s // itemsize for s in strides]))
    return _dense(_sorted_dims(shape, [strides]), shape)


@lru_cache(4096)
def _layout(operands: tuple[Operand, ...]) -> Layout | None:
    """The layout of an elementwise result; None if the operands do not broadcast, or there is nothing to lay out."""
    try:
        shape = np.broadcast_shapes(*[o[0] for o in operands])
    except ValueError:
        return None
    if 0 in shape or len(shape) < 2:
        return None
    dims = range(len(shape))
    if all(o[0] == shape for o in operands):
        for order in ((*dims,), (0, 2, 3, 1)):
            if len(order) == len(shape) and all(_is_dense_in(order, *o) for o in operands):
                return _dense(order, shape)
        found = {_order(*o) for o in operands}
        strides = {tuple([s // itemsize for s in strides]) for _, strides, itemsize in operands}
        if None not in found and len(strides) == 1:
            return _dense(_order(*operands[0])[0], shape, *strides)  # type: ignore[index]
    return _dense(_sorted_dims(shape, [_broadcast_strides(shape, *o[:2]) for o in operands]), shape)


def _is_dense_in(order: Sequence[int], shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    for d in reversed(order):
        if shape[d] != 1 and strides[d] != step:
            return False
        step *= shape[d]
    return True


def _broadcast_strides(shape: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    missing = len(shape) - len(own)
    return [0] * missing + [s if n == to else 0 for n, to, s in zip(own, shape[missing:], strides)]


def _sorted_dims(shape: tuple[int, ...], strides: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions, outermost first: an insertion sort that skips pairs for which no operand decides."""

    def inside(a: int, b: int) -> int:
        """Positive if dimension b is inside a, negative if outside, 0 if undecided."""
        for steps in strides:
            if steps[a] and steps[b]:
                if steps[a] != steps[b]:
                    return 1 if steps[a] > steps[b] else -1
                if shape[a] > shape[b]:
                    return 1
        return 0

    inner = list(range(len(shape) - 1, -1, -1))
    for last in range(1, len(inner)):
        at = last
        for before in range(last - 1, -1, -1):
            side = inside(inner[before], inner[at])
            if side > 0:
                inner[before], inner[at], at = inner[at], inner[before], before
            elif side < 0:
                break
    return inner[::-1]


def _with_layout(array: np.ndarray, layout: Layout) -> np.ndarray:
    """Restore the layout's order of dimensions in an array whose dimensions are in memory order."""
    if layout.strides is None:
        return array if layout.order == tuple(range(array.ndim)) else array.transpose(layout.back)
    shape = [array.shape[d] for d in layout.back]
    return np.ndarray(shape, array.dtype, array, 0, [s * array.itemsize for s in layout.strides])


def in_layout(kernel: Callable[..., Any], *values: Any) -> Any:
    """`kernel(*values)` for an elementwise kernel, with results laid out as in PyTorch. See Note [Layouts].

    >>> x, y = np.zeros((2, 3, 4)).transpose(2, 0, 1), np.zeros((4, 2, 3))
    >>> in_layout(np.add, x, y).strides == x.strides
    True
    """
    layout = _layout(tuple([(v.shape, v.strides, v.itemsize) for v in values if type(v) is np.ndarray]))
    if layout is None:
        return kernel(*values)
    order, ndim = layout.order, len(layout.order)
    ordered = []
    for v in values:
        if type(v) is np.ndarray and v.ndim:
            v = (v if v.ndim == ndim else v.reshape((1,) * (ndim - v.ndim) + v.shape)).transpose(order)
        ordered.append(v)
    found = kernel(*ordered)
    if type(found) is tuple:
        return tuple([_with_layout(np.ascontiguousarray(part), layout) for part in found])
    return _with_layout(np.ascontiguousarray(found), layout)


@lru_cache(1024)
def _index_layout(own: Sequence[int], index: tuple[tuple[Any, Any] | None, ...], shape: tuple[int, ...]) -> Layout:
    arrays = [d for d, entry in enumerate(index) if entry is not None]
    given = [entry for entry in index if entry is not None]
    inner = max(len(entry[0]) for entry in given)
    first = arrays[0] if arrays[-1] - arrays[0] + 1 == len(arrays) else 0  # in front if they are not side by side
    rest = [s for d, s in enumerate(own) if d not in arrays]
    after = len(rest) - first
    steps = [[*rest[:first], *[0] * inner, *rest[first:]]]
    steps += [_broadcast_strides(shape, (*s, *[1] * after), (*t, *[0] * after)) for s, t in given]
    order = _sorted_dims(shape, steps)
    kept = order == [*range(len(shape))]  # contiguous: no stride is 0
    strides = _strides_in(order, tuple([n or 1 for n in shape]) if kept else shape)
    return _dense(order, shape)._replace(strides=tuple(strides))


def in_index_layout(found: np.ndarray, array: np.ndarray, index: tuple[Any, ...]) -> np.ndarray:
    """`found`, which is `array[index]`, laid out as in PyTorch: indexed dimensions are ordered by the strides of the indices.

    >>> x = np.zeros((2, 3, 4)).transpose(2, 0, 1)
    >>> in_index_layout(x[:, [0, 1]], x, (slice(None), np.array([0, 1]))).strides
    (8, 32, 64)
    """
    if any([type(i) is not slice and i.dtype.kind == "b" for i in index]):
        return found
    given = tuple([None if type(i) is slice else (i.shape, i.strides) for i in index])
    layout = _index_layout(array.strides, given, found.shape)
    return _with_layout(np.ascontiguousarray(found.transpose(layout.order)), layout)


def empty_like(array: np.ndarray, dtype: Any = None, make: Callable[..., np.ndarray] = np.empty) -> np.ndarray:
    """An uninitialised array laid out as a copy of `array`, or the result of `make(shape, dtype)` in that layout. See Note [Layouts].

    >>> empty_like(np.broadcast_to(np.zeros(3), (2, 3))).strides
    (24, 8)
    """
    dtype = array.dtype if dtype is None else dtype
    if array.size == 0 or array.flags.c_contiguous:
        return make(array.shape, dtype)
    layout = _copy_layout(array.shape, array.strides, array.itemsize)
    return _with_layout(make([array.shape[d] for d in layout.order], dtype), layout)


def laid_out_like(found: np.ndarray, array: np.ndarray) -> np.ndarray:
    """`found`, or a copy of it, laid out as a copy of `array`, which has its shape.

    >>> laid_out_like(np.ones((2, 3)), np.zeros((3, 2)).T).strides
    (8, 16)
    """
    if array.flags.c_contiguous and found.flags.c_contiguous:
        return found
    out = empty_like(array, found.dtype)
    if out.strides == found.strides:
        return found
    out[...] = found
    return out


def in_format(make: Callable[..., np.ndarray], shape: Sequence[int], dtype: Any, memory_format: Any) -> np.ndarray:
    """The result of `make(shape, dtype)`, in a memory format.

    >>> in_format(np.empty, (2, 3, 4, 5), np.int8, "torch.channels_last").strides
    (60, 1, 15, 3)
    """
    name = str(memory_format)
    if not name.startswith("torch.channels_last"):
        return make(shape, dtype)
    rank = 5 if name.endswith("3d") else 4
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {name[6:]} format")
    return make((shape[0], *shape[2:], shape[1]), dtype).transpose(0, rank - 1, *range(1, rank - 1))


def astype(array: np.ndarray, dtype: Any) -> np.ndarray:
    """A copy in another dtype, laid out as in PyTorch."""
    if array.flags.c_contiguous:
        return array.astype(dtype)
    out = empty_like(array, dtype)
    out[...] = array
    return out
