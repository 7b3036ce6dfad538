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
_MOST_EXACT = 1 << 24  # elements of a plane whose positions float32 has exactly
_MOST_TAPS = 16  # along a row; they are written out one by one
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


# ----- Windows of one size at equal distances -------------------------------------------------------------------------
#
# All windows of a row are done at once, with vectors along it: a tap of each at a time. Where windows reach over the
# border, each row is copied to one that has the border around it.


def _largest_sliding(
    begin: int, end: int, x: Floats, values: Floats, places: Ints, table: Ints, offsets: Floats, codes: Floats,
    border: Floats, planes: int, rows: int, columns: int, depth: int, height: int, width: int, span: int, pad: int,
    inside: int, *, taps: tuple[int, ...], stride: int, d_step: int, h_step: int, bordered: bool,
) -> None:  # fmt: skip
    """`taps` are their distances from the first along a row. `offsets` says for each window where its first tap is, and
    where its first tap inside. Positions are floats until a row is done: `codes`."""
    for plane in range(begin, end):
        base = plane * depth * height * width
        edge, code = plane * span, plane * columns
        if bordered:
            for k in range(span):
                border[edge + k] = -inf
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                at = ((plane * planes + d) * rows + h) * columns
                start = float((d_first * height + h_first) * width)
                for w in range(columns):
                    values[at + w] = -inf
                    codes[code + w] = start + offsets[columns + w]
                for i in range(d_first, d_last, d_step):
                    for j in range(h_first, h_last, h_step):
                        row = (i * height + j) * width
                        if bordered:
                            for k in range(inside):
                                border[edge + pad + k] = x[base + row + k]
                        origin = float(row)
                        for w in range(columns):
                            best, where, offset = values[at + w], codes[code + w], offsets[w]
                            for tap in taps:
                                value = (
                                    border[edge + tap + w * stride] if bordered else x[base + row + tap + w * stride]
                                )
                                position = offset + (origin + tap)
                                if value > best or value != value:  # of several NaNs the last
                                    best = value
                                    where = position
                            values[at + w] = best
                            codes[code + w] = where
                for w in range(columns):
                    places[at + w] = int(codes[code + w])


def _mean_sliding(
    begin: int, end: int, x: Floats, out: Floats, table: Ints, counts: Floats, border: Floats, planes: int, rows: int,
    columns: int, depth: int, height: int, width: int, span: int, pad: int, inside: int,
    *, taps: tuple[int, ...], stride: int, bordered: bool, overridden: bool,
) -> None:  # fmt: skip
    """`counts` is what sums are divided by, once for each row of a window, or altogether if that is `overridden`."""
    for plane in range(begin, end):
        base = plane * depth * height * width
        edge = plane * span
        if bordered:
            for k in range(span):
                border[edge + k] = 0.0
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                at = ((plane * planes + d) * rows + h) * columns
                for w in range(columns):
                    out[at + w] = 0.0
                for i in range(d_first, d_last):
                    for j in range(h_first, h_last):
                        row = (i * height + j) * width
                        if bordered:
                            for k in range(inside):
                                border[edge + pad + k] = x[base + row + k]
                        for w in range(columns):
                            total = out[at + w]
                            for tap in taps:
                                total += (
                                    border[edge + tap + w * stride] if bordered else x[base + row + tap + w * stride]
                                )
                            out[at + w] = total
                share = 1.0 if overridden else float(table[3 * d + 2] * table[h_at + 2])
                for w in range(columns):
                    out[at + w] /= share * counts[w]


def _mean_back_sliding(
    begin: int, end: int, grad: Floats, out: Floats, table: Ints, counts: Floats, parts: Floats, border: Floats,
    planes: int, rows: int, columns: int, depth: int, height: int, width: int, span: int, pad: int, inside: int,
    *, taps: tuple[int, ...], stride: int, bordered: bool, overridden: bool, tiled: bool,
) -> None:  # fmt: skip
    """`tiled`: windows lie side by side and leave nothing out, so each element is written once."""
    for plane in range(begin, end):
        base = plane * depth * height * width
        edge = plane * span
        if not tiled:
            for i in range(depth * height * width):
                out[base + i] = 0.0
        if bordered:
            for k in range(span):
                border[edge + k] = 0.0
        for d in range(planes):
            d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
            for h in range(rows):
                h_at = 3 * (planes + h)
                h_first, h_last = max(0, table[h_at]), min(height, table[h_at + 1])
                at = ((plane * planes + d) * rows + h) * columns
                share = 1.0 if overridden else float(table[3 * d + 2] * table[h_at + 2])
                for w in range(columns):
                    parts[plane * columns + w] = grad[at + w] / (share * counts[w])
                for i in range(d_first, d_last):
                    for j in range(h_first, h_last):
                        row = (i * height + j) * width
                        if bordered:
                            for k in range(inside):
                                border[edge + pad + k] = out[base + row + k]
                        for tap in taps:  # the last first: so each element gets its windows in order
                            for w in range(columns):
                                part = parts[plane * columns + w]
                                if bordered:
                                    border[edge + tap + w * stride] += part
                                elif tiled:
                                    out[base + row + tap + w * stride] = part
                                else:
                                    out[base + row + tap + w * stride] += part
                        if bordered:
                            for k in range(inside):
                                out[base + row + k] = border[edge + pad + k]


# ----- Elements at indices --------------------------------------------------------------------------------------------


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
        self.counts = bounds[-1][:, 2]
        self._prepared: dict[Any, Any] = {}
        self.input_shape, self.shape, self.planes = shape, (*lead, *out), prod(lead)
        taps = prod(int((-(-(b[:, 1] - b[:, 0]) // s)).sum()) for b, s in zip(bounds, steps, strict=True))
        self.grain = -(-_GRAIN // max(taps, 1))
        self.tiled = all(
            b[0, 0] == 0 and b[-1, 1] == n and (b[1:, 0] == b[:-1, 1]).all() and (b[:, 2] == b[:, 1] - b[:, 0]).all()
            for b, n in zip(bounds, sizes, strict=True)
            if len(b)
        )

    def prepared(self, what: str, dtype: np.dtype, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        """A kernel, and its arguments behind the first arrays; made once."""
        key = what, dtype, override
        found = self._prepared.get(key)
        if found is None:
            found = self._prepared[key] = self._prepare(*key)
        return found

    def _prepare(self, what: str, dtype: np.dtype, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        if what == "largest":
            return compile_loops(_largest, dtype), (self.table, *self.sizes, *self.steps)
        arguments = self.table, *self.sizes, override or 0
        if what == "mean":
            return compile_loops(_mean, dtype), arguments
        return compile_loops(_mean_back, dtype, tiled=self.tiled), arguments


class Sliding(Geometry):
    """The same for windows of one size at equal distances: how a row of them lies in a row of a plane."""

    def __init__(
        self, shape: Sizes, kernel: int, stride: int, padding: int, steps: Sizes, bounds: list[np.ndarray]
    ) -> None:
        super().__init__(shape, steps, bounds)
        columns, width, reach = self.shape[-1], shape[-1], (kernel - 1) * steps[-1]
        span = max(columns - 1, 0) * stride + reach + 1
        self.offsets = np.concatenate((np.arange(columns) * stride - padding, bounds[-1][:, 0]))
        self.stride, self.taps = stride, tuple(range(0, reach + 1, steps[-1]))
        self.bordered = padding > 0 or span > width
        self.row = span, padding, max(min(width, span - padding), 0)
        self.border = (self.planes * span,) if self.bordered else None

    def _prepare(self, what: str, dtype: np.dtype, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        known: dict[str, Any] = {"taps": self.taps, "stride": self.stride, "bordered": self.bordered}
        if what == "largest":
            if prod(self.sizes[3:]) > _MOST_EXACT:
                return super()._prepare(what, dtype, override)
            known |= {"d_step": self.steps[0], "h_step": self.steps[1]}
            run = compile_loops(_largest_sliding, dtype, **known)
            scratch = (self.planes * self.shape[-1],), self.border
            return run, (self.table, self.offsets.astype(dtype), *scratch, *self.sizes, *self.row)
        divisors = (self.counts if override is None else np.full(self.counts.shape, override)).astype(dtype)
        known["overridden"] = override is not None
        if what == "mean":
            run = compile_loops(_mean_sliding, dtype, **known)
            return run, (self.table, divisors, self.border, *self.sizes, *self.row)
        known |= {"taps": self.taps[::-1], "tiled": self.tiled and not self.bordered}
        run = compile_loops(_mean_back_sliding, dtype, **known)
        parts = (self.planes * self.shape[-1],)
        return run, (self.table, divisors, parts, self.border, *self.sizes, *self.row)


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
    if kernel[-1] > _MOST_TAPS:
        return Geometry(shape, dilation, bounds)
    return Sliding(shape, kernel[-1], stride[-1], padding[-1], dilation, bounds)


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


def _plain(x: np.ndarray) -> np.ndarray:
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)


def largest(x: np.ndarray, geometry: Geometry) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each window, and its position in the flattened plane."""
    run, arguments = geometry.prepared("largest", x.dtype, None)
    made = over(run, geometry.planes, geometry.grain, _plain(x), geometry.shape, geometry.shape, *arguments)
    return made[:2]  # type: ignore[no-any-return]


def mean(x: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """The mean of each window, or its sum divided by a number."""
    run, arguments = geometry.prepared("mean", x.dtype, override)
    made = over(run, geometry.planes, geometry.grain, _plain(x), geometry.shape, *arguments)
    return made if type(made) is np.ndarray else made[0]  # type: ignore[no-any-return]


def mean_back(grad: np.ndarray, geometry: Geometry, override: int | None) -> np.ndarray:
    """Each element's share of its windows' gradients."""
    run, arguments = geometry.prepared("mean_back", grad.dtype, override)
    made = over(run, geometry.planes, geometry.grain, _plain(grad), geometry.input_shape, *arguments)
    return made if type(made) is np.ndarray else made[0]  # type: ignore[no-any-return]


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
