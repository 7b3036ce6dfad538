"""Which elements a grid's coordinates mean, and with which weights. The same in NumPy: `_Sampler` in kernels/grid_sample/.

One row is one dim's coordinates of one image. Each of them gets one, two or four taps: the number of an element, times how far elements are apart
in a plane, as 32-bit integers; a weight; and, if it is asked for, the weight's derivative by the coordinate.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..compiler import values as f
from ..compiler.rows import Rows
from ..compiler.values import Value
from ..native import kernel

OUTSIDE = -(1 << 28)  # the number of an element outside: negative, even if those of other dims are added
COUNTS = {"nearest": 1, "bilinear": 2, "bicubic": 4}
_A = -0.75  # the sharpness of cubic interpolation


@lru_cache(None)
def run_of(mode: str, padding: str, align_corners: bool, dims: int, slopes: bool) -> Any:
    """The compiled function: call it with 0, rows, columns, and coordinates, sizes, scales, distances, numbers, weights and slopes."""
    options = {"mode": mode, "padding": padding, "align_corners": align_corners, "dims": dims, "slopes": slopes}
    return kernel(_taps, **options).run


def _taps(b: Rows, mode: str, padding: str, align_corners: bool, dims: int, slopes: bool) -> None:
    count = COUNTS[mode]
    coordinates, sizes, scales, steps = b.array(), b.per_row(), b.per_row(), b.per_row(kind="int32")
    numbers, weights = b.parts(count, kind="int32"), b.parts(count)
    changes = b.parts(count) if slopes else []
    clear = (
        dims == 3
    )  # in two dims a weight is taken times the 0 outside, which shows coordinates that are not finite; as in PyTorch

    def put(i: int, at: Value, weight: Value, change: Value | None) -> None:
        inside = None
        if padding == "zeros":
            inside = f.at_least(at, 0.0) & f.less(at, sizes.get())
        elif mode == "bilinear":  # the neighbour of the last element has weight zero
            at = f.smaller(at, sizes.get() - 1.0)
        number = f.cast(at, "i32") * steps.get()
        if inside is not None:
            number = f.where(inside, number, f.full(number, OUTSIDE))
        numbers[i].store(number)
        if not clear:
            inside = None
        weights[i].store(weight if inside is None else f.only(inside, weight))
        if change is not None:
            changes[i].store(change if inside is None else f.only(inside, change))

    def body() -> None:
        at = coordinates.load() + 1.0
        at = at * scales.get() if align_corners else f.fma(at, scales.get(), -0.5)
        if mode == "bicubic":
            _cubic(at, sizes, scales, padding, align_corners, slopes, put)
            return
        slope = None
        if padding != "zeros":
            at, slope = _border(at, sizes.get(), dims, padding, align_corners)
        if mode == "nearest":
            put(0, f.rounded(at, "nearest"), f.full(at, 1.0), None)
            return
        low = f.rounded(at, "floor")
        part = at - low
        change = None
        if slopes:
            change = scales.get() if slope is None else scales.get() * slope
        put(0, low, 1.0 - part, None if change is None else -change)
        put(1, low + 1.0, part, change)

    b.each(body)


@lru_cache(None)
def run_of_planes(mode: str, padding: str, align_corners: bool) -> Any:
    """The same for both dims of images at once, without slopes: call it with 0, images, places, the ids of the grid, of numbers and of
    weights, which are those of all pairs of taps, and with the height and the width."""
    return kernel(_pairs, mode=mode, padding=padding, align_corners=align_corners).run


def _pairs(b: Rows, mode: str, padding: str, align_corners: bool) -> None:
    grid = b.pairs()
    count = COUNTS[mode]
    numbers, weights = b.parts(count**2, kind="int32"), b.parts(count**2)
    sizes = b.number(), b.number()

    def taps(at: Value, size: Value) -> list[tuple[Value, Value]]:
        at, _ = _placed(at, size, padding, align_corners)
        if mode == "nearest":
            return [(number(f.rounded(at, "nearest"), size), f.full(at, 1.0))]
        low = f.rounded(at, "floor")
        part = at - low
        return [(number(low, size), 1.0 - part), (number(low + 1.0, size), part)]

    def number(at: Value, size: Value) -> Value:
        if padding != "zeros":
            return f.cast(at if mode == "nearest" else f.smaller(at, size - 1.0), "i32")
        inside, number = f.at_least(at, 0.0) & f.less(at, size), f.cast(at, "i32")
        return f.where(inside, number, f.full(number, OUTSIDE))

    def body() -> None:
        across, down = grid.load_pairs()
        columns, rows = taps(across, sizes[1]()), taps(down, sizes[0]())
        step = f.cast(sizes[1](), "i32")
        for i, (row, row_weight) in enumerate(rows):
            start = row * step
            if padding == "zeros":
                start = f.where(f.less(row, 0), row, start)  # a negative number stays what it is
            for j, (column, column_weight) in enumerate(columns):
                numbers[i * count + j].store(start + column)
                weights[i * count + j].store(row_weight * column_weight)

    b.each(body)


def _placed(at: Value, size: Value, padding: str, align_corners: bool) -> tuple[Value, Value]:
    """Where in an image of two dims a coordinate is, and the derivative of that."""
    scale = (size - 1.0 if align_corners else size) * 0.5
    at = at + 1.0
    at = at * scale if align_corners else f.fma(at, scale, -0.5)
    if padding == "zeros":
        return at, scale
    at, slope = _border(at, size, 2, padding, align_corners)
    return at, scale * slope


@lru_cache(None)
def run_of_slopes(padding: str, align_corners: bool) -> Any:
    """The gradient of a grid for bilinear sampling of two dims: call it with 0, images, places, the grid as pairs of float32 (in float64), what `products`
    in gather.py made for each tap, the result (images, 2, places), the height and the width."""
    return kernel(_slopes, padding=padding, align_corners=align_corners).run


def _slopes(b: Rows, padding: str, align_corners: bool) -> None:
    grid, along, out = b.pairs(), b.parts(4), b.parts(2)
    sizes = b.number(), b.number()

    def one(near: Value, far: Value, part: Value) -> Value:
        return f.fma(far, part, near * (1.0 - part))

    def body() -> None:
        across, down = grid.load_pairs()
        x, x_slope = _placed(across, sizes[1](), padding, align_corners)
        y, y_slope = _placed(down, sizes[0](), padding, align_corners)
        x, y = x - f.rounded(x, "floor"), y - f.rounded(y, "floor")
        out[0].store(one(along[1].load() - along[0].load(), along[3].load() - along[2].load(), y) * x_slope)
        out[1].store(one(along[2].load() - along[0].load(), along[3].load() - along[1].load(), x) * y_slope)

    b.each(body)


def _border(at: Value, size: Value, dims: int, padding: str, align_corners: bool) -> tuple[Value, Value]:
    """Coordinates brought inside as the padding mode says, and the slope of that."""
    sign = f.full(at, 1.0)
    last = size - 1.0
    if padding == "reflection":
        low, span = (0.0, last) if align_corners else (-0.5, size)
        shifted = at - low
        distance = f.absolute(shifted)
        flips = f.rounded(distance / span, "floor")
        rest = distance - flips * span
        half = flips * 0.5
        even = f.equal(half, f.rounded(half, "floor"))
        at = f.where(even, rest, span - rest) + low
        sign = f.where(even ^ f.less(shifted, 0.0), sign, -sign)
    inside = f.greater(at, 0.0) & f.less(at, last)
    # The instructions give their second operand for NaN.
    zero = f.full(at, 0.0)
    if dims == 2:
        at = f.smaller(f.larger(at, zero), last)
    else:
        at = f.larger(f.smaller(at, last), zero)
    return at, f.only(inside, sign)


def _cubic(at: Value, sizes: Any, scales: Any, padding: str, align_corners: bool, slopes: bool, put: Any) -> None:
    """Four neighbours, each brought inside on its own. See `cubic_weights` in kernels/resample/."""
    low = f.rounded(at, "floor")
    part = at - low
    for i in range(4):
        x = (part + 1.0, part, 1.0 - part, 2.0 - part)[i]
        if i in (0, 3):
            weight = ((x * _A - 5 * _A) * x + 8 * _A) * x - 4 * _A
            slope = (x * (3 * _A) - 10 * _A) * x + 8 * _A if slopes else None
        else:
            weight = (x * (_A + 2) - (_A + 3)) * x * x + 1.0
            slope = (x * (3 * (_A + 2)) - 2 * (_A + 3)) * x if slopes else None
        if slope is not None:
            slope = (slope if i < 2 else -slope) * scales.get()
        index = low + (i - 1.0)
        if padding != "zeros":
            index, _ = _border(index, sizes.get(), 2, padding, align_corners)
        put(i, index, weight, slope)
