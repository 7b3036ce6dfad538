"""Padding of trailing dims, and its transpose, on raw arrays.

`pads` is a pair (before, after) for each of the last ``len(pads)`` dims, in the order of the dims. A negative amount
crops. As in PyTorch, a circular border repeats the cropped input, and a mirrored one the full input.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from .copies.convert import is_half
from .copies.order import astype
from .numpy_calls import broadcast_to
from .numpy_warnings import silent

Pads = Sequence[tuple[int, int]]
MODES = ("constant", "reflect", "replicate", "circular")


def pad(x: np.ndarray, pads: Pads, mode: str = "constant", value: float | complex = 0) -> np.ndarray:
    """`x` with a border.

    >>> import numpy as np
    >>> pad(np.arange(3.0), [(1, 2)], "reflect")
    array([1., 0., 1., 2., 1., 0.])
    >>> pad(np.arange(3.0), [(-1, 1)], "constant", 9.0)
    array([1., 2., 9.])
    """
    pads = tuple(pads)
    lead = x.ndim - len(pads)
    cropped, shape, interior, borders = _plan(x.shape, pads, mode)
    if cropped and mode in ("constant", "circular"):
        x = x[_crop(lead, pads)]
    if mode == "constant":
        if x.shape == shape:
            return astype(x, x.dtype)
        out = np.empty(shape, x.dtype) if value else np.zeros(shape, x.dtype)
        if value:
            np.copyto(out, value, casting="unsafe")
    else:
        out = np.empty(shape, x.dtype)
    out[interior] = x
    for target, source in borders:
        border = out[target]
        border[...] = broadcast_to(out[source], border.shape)
    if cropped and mode in ("reflect", "replicate"):
        out = out[_crop(lead, pads)].copy()
    return out


_Slices = tuple[slice, ...]


@lru_cache(256)
def _plan(
    sizes: tuple[int, ...], pads: Pads, mode: str
) -> tuple[bool, tuple[int, ...], _Slices, list[tuple[_Slices, _Slices]]]:
    """Whether anything is cropped, the result's shape, the input's slice in it, and each border with the slice that it copies."""
    _check(sizes, pads, mode)
    lead = len(sizes) - len(pads)
    cropped = any(low < 0 or high < 0 for low, high in pads)
    if cropped and mode in ("constant", "circular"):
        sizes = np.empty(sizes, np.bool_)[_crop(lead, pads)].shape
    shape = (*sizes[:lead], *(n + max(a, 0) + max(b, 0) for n, (a, b) in zip(sizes[lead:], pads, strict=True)))
    borders = []
    if mode != "constant":
        for axis, (low, high) in enumerate(pads, lead):
            sides = _borders(mode, max(low, 0), max(high, 0), sizes[axis])
            borders += [(_along(axis, target), _along(axis, source)) for target, source in sides]
    return cropped, shape, _interior(lead, pads, sizes), borders


def pad_backward(grad: np.ndarray, input_shape: tuple[int, ...], pads: Pads, mode: str = "constant") -> np.ndarray:
    """The transpose of `pad` (with value 0): every border element is added to the element it is a copy of.

    >>> import numpy as np
    >>> pad_backward(np.ones(6), (3,), [(1, 2)], "reflect")
    array([2., 3., 1.])
    """
    if mode != "constant" and is_half(grad.dtype):
        return pad_backward(grad.astype(np.float32), input_shape, pads, mode).astype(grad.dtype)
    lead = grad.ndim - len(pads)
    cropped = any(low < 0 or high < 0 for low, high in pads)
    if mode == "constant":
        return pad(grad, [(-low, -high) for low, high in pads])
    if mode == "circular":
        shape = tuple(n + min(a, 0) + min(b, 0) for n, (a, b) in zip(input_shape[lead:], pads, strict=True))
        sizes, total = (*input_shape[:lead], *shape), grad.copy()
    else:
        sizes = input_shape
        total = pad(grad, [(max(-low, 0), max(-high, 0)) for low, high in pads]) if cropped else grad.copy()
    with silent():
        for axis in reversed(range(lead, grad.ndim)):
            low, high = pads[axis - lead]
            for target, source in _borders(mode, max(low, 0), max(high, 0), sizes[axis]):
                part = total[_along(axis, target)]
                if mode == "replicate":
                    part = part.sum(axis, keepdims=True)
                total[_along(axis, source)] += part
    result = total[_interior(lead, pads, sizes)]
    if cropped and mode == "circular":
        return pad(result, [(max(-low, 0), max(-high, 0)) for low, high in pads])
    return result.copy()


def _check(shape: tuple[int, ...], pads: Pads, mode: str) -> None:
    """Raise unless every dim has a size after padding and enough elements for its border."""
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    lead = len(shape) - len(pads)
    for axis, (low, high) in enumerate(pads, lead):
        size = shape[axis]
        left = size + min(low, 0) + min(high, 0)
        if size + low + high < 0 or (left < 0 and mode in ("constant", "circular")):
            raise RuntimeError(
                f"The input size {size}, plus negative padding {low} and {high}, resulted in a negative output size, "
                f"which is invalid. Check dimension {axis} of your input."
            )
        if mode == "reflect" and max(low, high) >= size and max(low, high) > 0:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({low}, {high}) at dimension {axis} of input {list(shape)}"
            )
        if mode == "circular" and max(low, high) > left:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "replicate" and max(low, high) > 0 and not size:
            raise RuntimeError(f"Expected a non-empty dimension {axis} to replicate, but got input {list(shape)}")


def _along(axis: int, where: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, where)


def _crop(lead: int, pads: Pads) -> tuple[slice, ...]:
    """`x` cropped by the negative amounts."""
    return (*(slice(None),) * lead, *(slice(max(-a, 0), -max(-b, 0) or None) for a, b in pads))


def _interior(lead: int, pads: Pads, sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The slice of the result that holds the input, between positive borders."""
    slices = (slice(max(low, 0), max(low, 0) + n) for (low, _), n in zip(pads, sizes[lead:], strict=True))
    return (*(slice(None),) * lead, *slices)


def _borders(mode: str, low: int, high: int, size: int) -> list[tuple[slice, slice]]:
    """For a dim of `size` between borders: each border, and the slice that it copies (one element, if replicated)."""
    end = low + size
    if mode == "replicate":
        sides = [(slice(0, low), slice(low, low + 1)), (slice(end, end + high), slice(end - 1, end))]
    elif mode == "circular":
        sides = [(slice(0, low), slice(size, size + low)), (slice(end, end + high), slice(low, low + high))]
    else:
        # Mirrored around the first and the last element.
        first = slice(2 * low, low, -1)
        last = slice(end - 2, end - 2 - high if end - 2 - high >= 0 else None, -1)
        sides = [(slice(0, low), first), (slice(end, end + high), last)]
    return [side for side, amount in zip(sides, (low, high), strict=True) if amount]
