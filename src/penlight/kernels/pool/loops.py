"""Pooling as loops in machine code, see Note [Compiled loops] in native/loops.py. The same in NumPy: pool.py.

Where windows begin and end is worked out once for each geometry and kept, as a table of whole numbers: three sizes of the result, three of a
plane, three distances between the taps of a window, then for each window along each dimension its begin, its end and its share in what the
sum is divided by. Sequences and images have dimensions of size one in front. So one kernel serves windows that slide and windows that divide
a plane evenly. Whoever calls these functions has asked `suits`.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod

import numpy as np

from ..native.loops import Floats, Ints, run_of
from ..waiting_threads import over

Sizes = tuple[int, ...]
_GRAIN = 1 << 15  # taps that are worth sharing
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _largest(begin: int, end: int, x: Floats, values: Floats, places: Ints, g: Ints) -> None:
    depth, height, width = g[3], g[4], g[5]
    d_step, h_step, w_step = g[6], g[7], g[8]
    rows = 9 + 3 * g[0]
    columns = rows + 3 * g[1]
    last = columns + 3 * g[2]
    at = begin * g[0] * g[1] * g[2]
    for plane in range(begin, end):
        base = plane * depth * height * width
        for d in range(9, rows, 3):
            d_first, d_last = g[d], g[d + 1]
            for h in range(rows, columns, 3):
                h_first, h_last = g[h], g[h + 1]
                for w in range(columns, last, 3):
                    w_first, w_last = g[w], g[w + 1]
                    best = -inf
                    where = (d_first * height + h_first) * width + w_first
                    for i in range(d_first, d_last, d_step):
                        for j in range(h_first, h_last, h_step):
                            row = (i * height + j) * width
                            for k in range(base + row + w_first, base + row + w_last, w_step):
                                value = x[k]
                                if value > best or value != value:  # of several NaNs the last
                                    best = value
                                    where = k - base
                    values[at] = best
                    places[at] = where
                    at += 1


def _mean(begin: int, end: int, x: Floats, out: Floats, g: Ints, override: int) -> None:
    depth, height, width = g[3], g[4], g[5]
    rows = 9 + 3 * g[0]
    columns = rows + 3 * g[1]
    last = columns + 3 * g[2]
    at = begin * g[0] * g[1] * g[2]
    for plane in range(begin, end):
        base = plane * depth * height * width
        for d in range(9, rows, 3):
            d_first, d_last = g[d], g[d + 1]
            for h in range(rows, columns, 3):
                h_first, h_last = g[h], g[h + 1]
                share = g[d + 2] * g[h + 2]
                for w in range(columns, last, 3):
                    w_first, w_last = g[w], g[w + 1]
                    total = 0.0
                    for i in range(d_first, d_last):
                        for j in range(h_first, h_last):
                            row = base + (i * height + j) * width
                            for k in range(row + w_first, row + w_last):
                                total += x[k]
                    divisor = share * g[w + 2]
                    if override != 0:
                        divisor = override
                    out[at] = total / divisor
                    at += 1


def _mean_back(begin: int, end: int, grad: Floats, out: Floats, g: Ints, override: int) -> None:
    depth, height, width = g[3], g[4], g[5]
    rows = 9 + 3 * g[0]
    columns = rows + 3 * g[1]
    last = columns + 3 * g[2]
    at = begin * g[0] * g[1] * g[2]
    for plane in range(begin, end):
        base = plane * depth * height * width
        for i in range(base, base + depth * height * width):
            out[i] = 0.0
        for d in range(9, rows, 3):
            d_first, d_last = g[d], g[d + 1]
            for h in range(rows, columns, 3):
                h_first, h_last = g[h], g[h + 1]
                share = g[d + 2] * g[h + 2]
                for w in range(columns, last, 3):
                    w_first, w_last = g[w], g[w + 1]
                    divisor = share * g[w + 2]
                    if override != 0:
                        divisor = override
                    part = grad[at] / divisor
                    at += 1
                    for i in range(d_first, d_last):
                        for j in range(h_first, h_last):
                            row = base + (i * height + j) * width
                            for k in range(row + w_first, row + w_last):
                                out[k] += part


def _mean_back_tiled(begin: int, end: int, grad: Floats, out: Floats, g: Ints, override: int) -> None:
    """The same for windows that lie side by side and leave nothing out: each element is written once."""
    rows = 9 + 3 * g[0]
    columns = rows + 3 * g[1]
    last = columns + 3 * g[2]
    width = g[2]
    at = begin * g[3] * g[4] * g[5]
    source = begin * g[0] * g[1] * width
    for _ in range(begin, end):
        for d in range(9, rows, 3):
            for _ in range(g[d], g[d + 1]):
                row = source
                for h in range(rows, columns, 3):
                    share = g[d + 2] * g[h + 2]
                    for _ in range(g[h], g[h + 1]):
                        window = row
                        for w in range(columns, last, 3):
                            divisor = share * g[w + 2]
                            if override != 0:
                                divisor = override
                            part = grad[window] / divisor
                            window += 1
                            stop = at + g[w + 2]
                            while at < stop:
                                out[at] = part
                                at += 1
                    row += width
            source += g[1] * width


def _place(begin: int, end: int, grad: Floats, places: Ints, out: Floats, wrong: Ints, size: int, windows: int) -> None:
    """Zeros, and each gradient added at its place."""
    for plane in range(begin, end):
        base = plane * size
        for i in range(base, base + size):
            out[i] = 0.0
        for i in range(plane * windows, (plane + 1) * windows):
            where = places[i]
            if where < 0 or where >= size:
                wrong[0] = 1
            else:
                out[base + where] += grad[i]


def _unpool(begin: int, end: int, x: Floats, places: Ints, out: Floats, wrong: Ints, size: int, windows: int) -> None:
    """Zeros, and each element at its place."""
    for plane in range(begin, end):
        base = plane * size
        for i in range(base, base + size):
            out[i] = 0.0
        for i in range(plane * windows, (plane + 1) * windows):
            where = places[i]
            if where < 0 or where >= size:
                wrong[0] = 1
            else:
                out[base + where] = x[i]


def _pick(begin: int, end: int, x: Floats, places: Ints, out: Floats, wrong: Ints, size: int, windows: int) -> None:
    """The elements at the places."""
    for plane in range(begin, end):
        base = plane * size
        for i in range(plane * windows, (plane + 1) * windows):
            where = places[i]
            if where < 0 or where >= size:
                wrong[0] = 1
            else:
                out[i] = x[base + where]


class Geometry:
    """The table of a geometry, the shape of the result, and how many planes are worth sharing."""

    def __init__(self, shape: Sizes, steps: Sizes, bounds: list[np.ndarray]) -> None:
        dims = len(bounds)
        front, sizes = 3 - dims, shape[-dims:]
        lead, out = shape[:-dims], tuple(map(len, bounds))
        one = np.array([[0, 1, 1]] * front, np.int64).reshape(-1)
        head = (*(1,) * front, *out, *(1,) * front, *sizes, *(1,) * front, *steps)
        self.table = np.concatenate((np.array(head, np.int64), one, *[bound.reshape(-1) for bound in bounds]))
        self.input_shape, self.shape, self.planes = shape, (*lead, *out), prod(lead)
        taps = prod(int((-(-(b[:, 1] - b[:, 0]) // s)).sum()) for b, s in zip(bounds, steps, strict=True))
        self.grain = -(-_GRAIN // max(taps, 1))
        self.tiled = all(
            b[0, 0] == 0 and b[-1, 1] == n and (b[1:, 0] == b[:-1, 1]).all() and (b[:, 2] == b[:, 1] - b[:, 0]).all()
            for b, n in zip(bounds, sizes, strict=True)
            if len(b)
        )


@lru_cache(256)
def sliding(
    shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, include_pad: bool
) -> Geometry:
    """Windows of the same size at equal distances, of arrays of a shape."""
    sizes = shape[-len(kernel) :]
    out = output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode)
    bounds = []
    for n, k, s, p, d, o in zip(sizes, kernel, stride, padding, dilation, out, strict=True):
        first = np.arange(o) * s - p
        last = first + (k - 1) * d + 1
        inside = first + np.maximum(-(first // d), 0) * d  # the first tap that is not in front of the plane
        count = np.minimum(last, n + p) - first if include_pad else np.minimum(last, n) - inside
        bounds.append(np.stack((inside, np.minimum(last, n), count), 1))
    return Geometry(shape, dilation, bounds)


@lru_cache(256)
def even(shape: Sizes, out: Sizes) -> Geometry:
    """Windows that divide a plane evenly: of o over n elements the i-th goes from floor(i * n / o) to ceil((i + 1) * n / o)."""
    bounds = []
    for n, o in zip(shape[-len(out) :], out, strict=True):
        first, last = np.arange(o) * n // o, -(-(np.arange(1, o + 1) * n) // o)
        bounds.append(np.stack((first, last, last - first), 1))
    return Geometry(shape, (1,) * len(out), bounds)


def output_sizes(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Sizes:
    """How many windows there are in each dim. With `ceil_mode` the last may hang over, but must begin inside.

    >>> output_sizes((5, 6), (2, 2), (2, 2), (0, 0), (1, 1), True)
    (3, 3)
    """
    result = []
    for n, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        if ceil_mode and (count - 1) * s >= n + p:
            count -= 1
        result.append(count)
    return tuple(result)


def suits(x: np.ndarray) -> bool:
    """Whether machine code can pool this array."""
    return x.dtype in _FLOATS and x.size > 0 and type(x) is np.ndarray and run_of(_largest, x.dtype) is not None


def largest(x: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each window, and its position in the flattened plane."""
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    values, places = np.empty(geometry.shape, x.dtype), np.empty(geometry.shape, np.int64)
    over(run_of(_largest, x.dtype), geometry.planes, geometry.grain, x, values, places, geometry.table)
    return values, places


def mean(x: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """The mean of each window, or its sum divided by a number."""
    if not x.flags.c_contiguous:
        x = np.ascontiguousarray(x)
    result = np.empty(geometry.shape, x.dtype)
    over(run_of(_mean, x.dtype), geometry.planes, geometry.grain, x, result, geometry.table, override or 0)
    return result


def mean_back(grad: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """Each element's share of its windows' gradients."""
    if not grad.flags.c_contiguous:
        grad = np.ascontiguousarray(grad)
    result = np.empty(geometry.input_shape, grad.dtype)
    run = run_of(_mean_back_tiled if geometry.tiled else _mean_back, grad.dtype)
    over(run, geometry.planes, geometry.grain, grad, result, geometry.table, override or 0)
    return result


def _at_places(kernel: object, x: np.ndarray, places: np.ndarray, result: np.ndarray, size: int, windows: int) -> bool:
    """Run one of the last three kernels; whether it could, and all places are inside."""
    run = run_of(kernel, x.dtype)  # type: ignore[arg-type]
    if places.dtype != np.int64 or not windows:
        return False
    x, places = np.ascontiguousarray(x), np.ascontiguousarray(places)
    wrong = np.zeros(1, np.int64)
    grain = -(-_GRAIN // (windows + size))
    planes = places.size // windows
    over(run, planes, grain, x, places, result, wrong, size, windows)
    return not wrong.item()


def place(grad: np.ndarray, places: np.ndarray, shape: Sizes, dims: int) -> np.ndarray | None:
    """Zeros, and each gradient added at its place of a flattened plane."""
    result = np.empty(shape, grad.dtype)
    sizes = prod(shape[-dims:]), prod(places.shape[-dims:])
    return result if _at_places(_place, grad, places, result, *sizes) else None


def unpool(x: np.ndarray, places: np.ndarray, shape: Sizes, dims: int) -> np.ndarray | None:
    """Zeros, and each element at its place."""
    result = np.empty(shape, x.dtype)
    sizes = prod(shape[-dims:]), prod(places.shape[-dims:])
    return result if _at_places(_unpool, x, places, result, *sizes) else None


def pick(x: np.ndarray, places: np.ndarray, dims: int) -> np.ndarray | None:
    """The elements of each plane at the places."""
    result = np.empty(places.shape, x.dtype)
    sizes = prod(x.shape[-dims:]), prod(places.shape[-dims:])
    return result if _at_places(_pick, x, places, result, *sizes) else None
