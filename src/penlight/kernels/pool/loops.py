"""Pooling as loops, see Note [Compiled loops] in compiler/loops.py. The same in NumPy: kernels/pool/.

Where windows begin and end is worked out once for each geometry and kept, as a table of whole numbers: for each window
along each of three dimensions its begin, its end, and its share in what the sum is divided by. Sequences and images have
dimensions of size one in front. So one kernel serves windows that slide and windows that divide a plane evenly. The
tables are data, so the kernels limit what they read from them by the sizes of a plane. Whoever calls these functions has
asked `suits`.
"""

from __future__ import annotations

from functools import lru_cache
from math import inf, prod
from typing import Any

import numpy as np

from ..compiler.loops import Floats, Ints, can_compile, checked, compile_loops
from ..waiting_threads import over

Sizes = tuple[int, ...]
_GRAIN = 1 << 15  # taps that are worth sharing
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _largest(
    begin: int, end: int, x: Floats, values: Floats, places: Ints, table: Ints, planes: int, rows: int, columns: int,
    depth: int, height: int, width: int, d_step: int, h_step: int, w_step: int,
) -> None:  # fmt: skip
    """`planes`, `rows` and `columns` are the sizes of a result."""
    for plane in range(begin, end):
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                for w in range(columns):
                    w_at = 3 * (planes + rows + w)
                    w_first, w_last = max(0, table[w_at]), min(width, table[w_at + 1])
                    best = -inf
                    where = (d_first * height + h_first) * width + w_first
                    for i in range(d_first, d_last, d_step):
                        for j in range(h_first, h_last, h_step):
                            row = (i * height + j) * width
                            for k in range(w_first, w_last, w_step):
                                value = x[plane * depth * height * width + row + k]
                                if value > best or value != value:  # of several NaNs the last
                                    best = value
                                    where = row + k
                    at = ((plane * planes + d) * rows + h) * columns + w
                    values[at] = best
                    places[at] = where


def _mean(
    begin: int, end: int, x: Floats, out: Floats, table: Ints, planes: int, rows: int, columns: int, depth: int,
    height: int, width: int, override: int,
) -> None:  # fmt: skip
    for plane in range(begin, end):
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                share = table[3 * d + 2] * table[h_at + 2]
                for w in range(columns):
                    w_at = 3 * (planes + rows + w)
                    w_first, w_last = max(0, table[w_at]), min(width, table[w_at + 1])
                    total = 0.0
                    for i in range(d_first, d_last):
                        for j in range(h_first, h_last):
                            row = ((plane * depth + i) * height + j) * width
                            for k in range(w_first, w_last):
                                total += x[row + k]
                    divisor = share * table[w_at + 2]
                    if override != 0:
                        divisor = override
                    out[((plane * planes + d) * rows + h) * columns + w] = total / divisor


def _mean_back(
    begin: int, end: int, grad: Floats, out: Floats, table: Ints, planes: int, rows: int, columns: int, depth: int,
    height: int, width: int, override: int, *, tiled: bool,
) -> None:  # fmt: skip
    """`tiled`: windows lie side by side and leave nothing out, so each element is written once."""
    for plane in range(begin, end):
        if not tiled:
            for i in range(depth * height * width):
                out[plane * depth * height * width + i] = 0.0
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                share = table[3 * d + 2] * table[h_at + 2]
                for w in range(columns):
                    w_at = 3 * (planes + rows + w)
                    w_first, w_last = max(0, table[w_at]), min(width, table[w_at + 1])
                    divisor = share * table[w_at + 2]
                    if override != 0:
                        divisor = override
                    part = grad[((plane * planes + d) * rows + h) * columns + w] / divisor
                    for i in range(d_first, d_last):
                        for j in range(h_first, h_last):
                            row = ((plane * depth + i) * height + j) * width
                            for k in range(w_first, w_last):
                                if tiled:
                                    out[row + k] = part
                                else:
                                    out[row + k] += part


def _at_indices(
    begin: int, end: int, x: Floats, indices: Ints, out: Floats, wrong: Ints, size: int, windows: int, *, does: str
) -> None:
    """Each plane has zeros, and elements are added to it at their indices, or written there; or they are read there."""
    for plane in range(begin, end):
        base = plane * size
        if does != "read":
            for i in range(size):
                out[base + i] = 0.0
        for i in range(windows):
            at = plane * windows + i
            index = checked(indices[at], size)
            if index != indices[at]:
                wrong[0] = 1
            elif does == "add":
                out[base + index] += x[at]
            elif does == "write":
                out[base + index] = x[at]
            else:
                out[at] = x[base + index]


class Geometry:
    """The table of a geometry, the shape of the result, and how many planes are worth sharing."""

    def __init__(self, shape: Sizes, steps: Sizes, bounds: list[np.ndarray]) -> None:
        dims = len(bounds)
        front, sizes = 3 - dims, shape[-dims:]
        lead, out = shape[:-dims], tuple(map(len, bounds))
        one = np.array([[0, 1, 1]] * front, np.int64).reshape(-1)
        self.table = np.concatenate((one, *[bound.reshape(-1) for bound in bounds]))
        self.sizes = (*(1,) * front, *out, *(1,) * front, *sizes)  # of a result, and of a plane
        self.steps = (*(1,) * front, *steps)  # between the taps of a window
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
    return x.dtype in _FLOATS and x.size > 0 and type(x) is np.ndarray and can_compile(_largest)


def _run(kernel: Any, x: np.ndarray, geometry: Geometry, *arguments: Any, **known: Any) -> Any:
    run = compile_loops(kernel, x.dtype, **known)
    return over(run, geometry.planes, geometry.grain, _plain(x), *arguments)


def _plain(x: np.ndarray) -> np.ndarray:
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


def largest(x: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each window, and its position in the flattened plane."""
    arrays = geometry.shape, geometry.shape, geometry.table
    return _run(_largest, x, geometry, *arrays, *geometry.sizes, *geometry.steps)  # type: ignore[no-any-return]


def mean(x: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """The mean of each window, or its sum divided by a number."""
    arguments = geometry.shape, geometry.table, *geometry.sizes, override or 0
    return _run(_mean, x, geometry, *arguments)  # type: ignore[no-any-return]


def mean_back(grad: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """Each element's share of its windows' gradients."""
    arguments = geometry.input_shape, geometry.table, *geometry.sizes, override or 0
    return _run(_mean_back, grad, geometry, *arguments, tiled=geometry.tiled)  # type: ignore[no-any-return]


def _at(does: str, x: np.ndarray, indices: np.ndarray, shape: Sizes, planes: Sizes, dims: int) -> np.ndarray | None:
    """Run the last kernel for planes of such a shape; None if it cannot, or an index is outside."""
    size, windows = prod(planes[-dims:]), prod(indices.shape[-dims:])
    if indices.dtype != np.int64 or not windows or not size:
        return None
    run = compile_loops(_at_indices, x.dtype, does=does)
    arrays = _plain(x), _plain(indices), tuple(shape), np.zeros(1, np.int64)
    out, wrong = over(run, indices.size // windows, -(-_GRAIN // (windows + size)), *arrays, size, windows)
    return None if wrong.item() else out


def place(grad: np.ndarray, indices: np.ndarray, shape: Sizes, dims: int) -> np.ndarray | None:
    """Zeros, and each gradient added at its index of a flattened plane."""
    return _at("add", grad, indices, shape, shape, dims)


def unpool(x: np.ndarray, indices: np.ndarray, shape: Sizes, dims: int) -> np.ndarray | None:
    """Zeros, and each element at its index."""
    return _at("write", x, indices, shape, shape, dims)


def pick(x: np.ndarray, indices: np.ndarray, dims: int) -> np.ndarray | None:
    """The elements of each plane at the indices."""
    return _at("read", x, indices, indices.shape, x.shape, dims)
