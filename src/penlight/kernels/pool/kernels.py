"""Pooling as compiled loops, see Note [Compiled loops] in compiler/loops.py. The NumPy version is windows.py.

The bounds of windows are computed once per problem and cached as a table of integers: for each window along each of three
dimensions its begin, its end, and its factor of the divisor. Sequences and images have leading dimensions of size one. The table
is data, so the kernels clamp the values they read from it to the sizes of a plane.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, prod
from typing import Any

import numpy as np

from ..compiler.loops import Floats, Ints, can_compile, checked, compile_loops
from ..copies import contiguous
from ..waiting_threads import over
from .windows import Problem, Sizes

_GRAIN = 1 << 15  # window elements per thread, at least
_LANES = 8  # per vector
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _rows(
    table: Ints, planes: int, rows: int, depth: int, height: int
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """For each row of windows of a plane: its indices, and its begin and end along two dimensions."""
    for d in range(planes):
        d_first, d_last = max(0, table[3 * d]), min(depth, table[3 * d + 1])
        for h in range(rows):
            at = 3 * (planes + h)
            h_first, h_last = max(0, table[at]), min(height, table[at + 1])
            yield d, h, d_first, d_last, h_first, h_last


def _share(table: Ints, planes: int, d: int, h: int) -> int:
    """A row's factor of the divisor of its windows."""
    return table[3 * d + 2] * table[3 * (planes + h) + 2]


def _windows(
    table: Ints, planes: int, rows: int, columns: int, depth: int, height: int, width: int
) -> Iterator[tuple[int, int, int, int, int, int, int, int]]:
    """For each window of a plane: its index, its begin and end along three dimensions, and the divisor."""
    for d, h, d_first, d_last, h_first, h_last in _rows(table, planes, rows, depth, height):
        share = _share(table, planes, d, h)
        for w in range(columns):
            at = 3 * (planes + rows + w)
            w_first, w_last = max(0, table[at]), min(width, table[at + 1])
            window = (d * rows + h) * columns + w
            yield window, d_first, d_last, h_first, h_last, w_first, w_last, share * table[at + 2]


def _lines(
    d_first: int, d_last: int, d_step: int, h_first: int, h_last: int, h_step: int, height: int
) -> Iterator[int]:
    """The rows of a plane that contain elements of a window."""
    for i in range(d_first, d_last, d_step):
        for j in range(h_first, h_last, h_step):
            yield i * height + j


def _fill(out: Floats, start: int, count: int, value: float) -> None:
    for i in range(count):
        out[start + i] = value


def _copy(x: Floats, start: int, out: Floats, to: int, count: int) -> None:
    for i in range(count):
        out[to + i] = x[start + i]


def _largest(
    begin: int, end: int, x: Floats, values: Floats, indices: Ints, table: Ints, planes: int, rows: int, columns: int,
    depth: int, height: int, width: int, d_step: int, h_step: int, w_step: int,
) -> None:  # fmt: skip
    """`planes`, `rows` and `columns` are the sizes of a result."""
    for plane in range(begin, end):
        for window, d_first, d_last, h_first, h_last, w_first, w_last, _ in _windows(
            table, planes, rows, columns, depth, height, width
        ):
            best = -inf
            where = (d_first * height + h_first) * width + w_first
            for line in _lines(d_first, d_last, d_step, h_first, h_last, h_step, height):
                for k in range(w_first, w_last, w_step):
                    value = x[plane * depth * height * width + line * width + k]
                    if value > best or value != value:  # the last of several NaNs
                        best = value
                        where = line * width + k
            values[plane * planes * rows * columns + window] = best
            indices[plane * planes * rows * columns + window] = where


def _mean(
    begin: int, end: int, x: Floats, out: Floats, table: Ints, planes: int, rows: int, columns: int, depth: int,
    height: int, width: int, override: int,
) -> None:  # fmt: skip
    for plane in range(begin, end):
        for window, d_first, d_last, h_first, h_last, w_first, w_last, count in _windows(
            table, planes, rows, columns, depth, height, width
        ):
            total = 0.0
            for line in _lines(d_first, d_last, 1, h_first, h_last, 1, height):
                for k in range(w_first, w_last):
                    total += x[plane * depth * height * width + line * width + k]
            out[plane * planes * rows * columns + window] = total / (override if override != 0 else count)


def _mean_back(
    begin: int, end: int, grad: Floats, out: Floats, table: Ints, planes: int, rows: int, columns: int, depth: int,
    height: int, width: int, override: int, *, tiled: bool,
) -> None:  # fmt: skip
    """`tiled`: the windows tile the plane without gaps, so each element is written once."""
    for plane in range(begin, end):
        base = plane * depth * height * width
        if not tiled:
            _fill(out, base, depth * height * width, 0.0)
        for window, d_first, d_last, h_first, h_last, w_first, w_last, count in _windows(
            table, planes, rows, columns, depth, height, width
        ):
            part = grad[plane * planes * rows * columns + window] / (override if override != 0 else count)
            for line in _lines(d_first, d_last, 1, h_first, h_last, 1, height):
                for k in range(w_first, w_last):
                    if tiled:
                        out[base + line * width + k] = part
                    else:
                        out[base + line * width + k] += part


# ----- Windows of one size at equal distances -------------------------------------------------------------------------
#
# All windows of a row are done at once, with vectors along it: one element of each window at a time. If windows reach beyond the
# plane, each row is first copied to a buffer with a border.


def _largest_sliding(
    begin: int, end: int, x: Floats, values: Floats, indices: Ints, table: Ints, offsets: Floats, best: Floats,
    positions: Floats, border: Floats, planes: int, rows: int, columns: int, depth: int, height: int, width: int,
    inside: int, wide: int, *, taps: tuple[int, ...], reach: int, stride: int, d_step: int, h_step: int, bordered: bool,
    pad: int,
) -> None:  # fmt: skip
    """`taps` are the offsets of a window's elements from its first along a row. `offsets` holds for each window the offset of its
    first element, and of its first element inside the plane. Positions are floats until a row is done. `wide` is the number of
    computed windows per row, in full vectors: a tail would be done one by one, with a branch for each element."""
    span = (wide - 1) * stride + reach + 1
    for plane in range(begin, end):
        base = plane * depth * height * width
        edge, first = plane * span, plane * wide
        if bordered:
            _fill(border, edge, span, -inf)
        for d, h, d_first, d_last, h_first, h_last in _rows(table, planes, rows, depth, height):
            start = float((d_first * height + h_first) * width)
            for w in range(wide):
                best[first + w] = -inf
                positions[first + w] = start + offsets[wide + w]
            for line in _lines(d_first, d_last, d_step, h_first, h_last, h_step, height):
                if bordered:
                    _copy(x, base + line * width, border, edge + pad, inside)
                source, at = (border, edge) if bordered else (x, base + line * width)
                origin = float(line * width)
                for w in range(wide):
                    top, where, offset = best[first + w], positions[first + w], offsets[w]
                    for tap in taps:
                        value = source[at + tap + w * stride]
                        position = offset + (origin + tap)
                        if value > top or value != value:  # the last of several NaNs
                            top = value
                            where = position
                    best[first + w] = top
                    positions[first + w] = where
            out = ((plane * planes + d) * rows + h) * columns
            for w in range(columns):
                values[out + w] = best[first + w]
                indices[out + w] = int(positions[first + w])


def _mean_sliding(
    begin: int, end: int, x: Floats, out: Floats, table: Ints, counts: Floats, border: Floats, planes: int, rows: int,
    columns: int, depth: int, height: int, width: int, span: int, pad: int, inside: int,
    *, taps: tuple[int, ...], stride: int, bordered: bool, overridden: bool,
) -> None:  # fmt: skip
    """`counts` are the divisors of the sums, one for each row of a window, or one for all if `overridden`."""
    for plane in range(begin, end):
        base, edge = plane * depth * height * width, plane * span
        if bordered:
            _fill(border, edge, span, 0.0)
        for d, h, d_first, d_last, h_first, h_last in _rows(table, planes, rows, depth, height):
            first = ((plane * planes + d) * rows + h) * columns
            _fill(out, first, columns, 0.0)
            for line in _lines(d_first, d_last, 1, h_first, h_last, 1, height):
                if bordered:
                    _copy(x, base + line * width, border, edge + pad, inside)
                source, at = (border, edge) if bordered else (x, base + line * width)
                for w in range(columns):
                    total = out[first + w]
                    for tap in taps:
                        total += source[at + tap + w * stride]
                    out[first + w] = total
            factor = 1.0 if overridden else float(_share(table, planes, d, h))
            for w in range(columns):
                out[first + w] /= factor * counts[w]


def _mean_back_sliding(
    begin: int, end: int, grad: Floats, out: Floats, table: Ints, counts: Floats, shares: Floats, border: Floats,
    planes: int, rows: int, columns: int, depth: int, height: int, width: int, span: int, pad: int, inside: int,
    *, taps: tuple[int, ...], stride: int, bordered: bool, overridden: bool, tiled: bool,
) -> None:  # fmt: skip
    """`tiled`: the windows tile the plane without gaps, so each element is written once."""
    for plane in range(begin, end):
        base, edge = plane * depth * height * width, plane * span
        if not tiled:
            _fill(out, base, depth * height * width, 0.0)
        if bordered:
            _fill(border, edge, span, 0.0)
        for d, h, d_first, d_last, h_first, h_last in _rows(table, planes, rows, depth, height):
            first = ((plane * planes + d) * rows + h) * columns
            factor = 1.0 if overridden else float(_share(table, planes, d, h))
            for w in range(columns):
                shares[plane * columns + w] = grad[first + w] / (factor * counts[w])
            for line in _lines(d_first, d_last, 1, h_first, h_last, 1, height):
                if bordered:
                    _copy(out, base + line * width, border, edge + pad, inside)
                target, at = (border, edge) if bordered else (out, base + line * width)
                for tap in taps:  # the last first, so that each element accumulates its windows in order
                    for w in range(columns):
                        share = shares[plane * columns + w]
                        if tiled:
                            target[at + tap + w * stride] = share
                        else:
                            target[at + tap + w * stride] += share
                if bordered:
                    _copy(border, edge + pad, out, base + line * width, inside)


# ----- Elements at indices --------------------------------------------------------------------------------------------


def _at_indices(
    begin: int, end: int, x: Floats, indices: Ints, out: Floats, wrong: Ints, size: int, windows: int, *, does: str
) -> None:
    """Each plane starts as zeros, and elements are added or written at their indices; or elements are read there."""
    for plane in range(begin, end):
        base = plane * size
        if does != "read":
            _fill(out, base, size, 0.0)
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


# ----- Problems and their kernels -------------------------------------------------------------------------------------


def compiles() -> bool:
    """Whether machine code runs here."""
    return can_compile(_largest)


def supports(dtype: np.dtype) -> bool:
    """Whether there is machine code for arrays of a dtype."""
    return dtype in _FLOATS


class Loops:
    """Kernels that process one window at a time, for any windows."""

    def __init__(self, problem: Problem) -> None:
        bounds = problem.bounds()
        dims = len(bounds)
        lead, sizes, steps = problem.shape[:-dims], problem.shape[-dims:], problem.dilation
        front, out = 3 - dims, tuple(map(len, bounds))
        one = np.array([[0, 1, 1]] * front, np.int64).reshape(-1)
        self.problem, self.dtype = problem, problem.dtype
        self.table = np.concatenate((one, *[bound.reshape(-1) for bound in bounds]))
        self.sizes = (*(1,) * front, *out, *(1,) * front, *sizes)  # of a result, and of a plane
        self.steps = (*(1,) * front, *steps)  # between the elements of a window
        self.counts = bounds[-1][:, 2]
        self.begins = bounds[-1][:, 0]
        self.input_shape, self.shape, self.planes = problem.shape, (*lead, *out), prod(lead)
        taps = prod(int((-(-(b[:, 1] - b[:, 0]) // s)).sum()) for b, s in zip(bounds, steps, strict=True))
        self.grain = -(-_GRAIN // max(taps, 1))
        self.tiled = all(
            b[0, 0] == 0 and b[-1, 1] == n and (b[1:, 0] == b[:-1, 1]).all() and (b[:, 2] == b[:, 1] - b[:, 0]).all()
            for b, n in zip(bounds, sizes, strict=True)
            if len(b)
        )
        self._kept: dict[Any, Any] = {}

    def _prepared(self, what: str, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        """A kernel, and its arguments after the first arrays; made once."""
        found = self._kept.get((what, override))
        if found is None:
            found = self._kept[what, override] = self._prepare(what, override)
        return found

    def _prepare(self, what: str, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        if what == "largest":
            return compile_loops(_largest, self.dtype), (self.table, *self.sizes, *self.steps)
        arguments = self.table, *self.sizes, override or 0
        if what == "mean":
            return compile_loops(_mean, self.dtype), arguments
        return compile_loops(_mean_back, self.dtype, tiled=self.tiled), arguments

    def max_pool(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest element of each window, and its index in the flattened plane."""
        run, arguments = self._prepared("largest", None)
        made = over(run, self.planes, self.grain, contiguous(x), self.shape, self.shape, *arguments)
        return made[:2]

    def avg_pool(self, x: np.ndarray, override: int | None) -> np.ndarray:
        """The mean of each window, or its sum divided by a scalar."""
        run, arguments = self._prepared("mean", override)
        made = over(run, self.planes, self.grain, contiguous(x), self.shape, *arguments)
        return made if type(made) is np.ndarray else made[0]

    def avg_pool_backward(self, grad: np.ndarray, override: int | None) -> np.ndarray:
        """Each element's share of its windows' gradients."""
        run, arguments = self._prepared("mean_back", override)
        made = over(run, self.planes, self.grain, contiguous(grad), self.input_shape, *arguments)
        return made if type(made) is np.ndarray else made[0]


class VectorLoops(Loops):
    """Kernels that process all windows of a row at once. The windows have one size and equal distances."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        assert problem.kernel is not None
        kernel, stride, padding, step = problem.kernel[-1], problem.stride[-1], problem.padding[-1], self.steps[-1]
        columns, width, reach = self.shape[-1], problem.shape[-1], (kernel - 1) * step
        span = max(columns - 1, 0) * stride + reach + 1
        self.offsets = np.stack((np.arange(columns) * stride - padding, self.begins))
        self.stride, self.taps = stride, tuple(range(0, reach + 1, step))
        self.bordered = padding > 0 or span > width
        self.row = span, padding, max(min(width, span - padding), 0)
        self.border = (self.planes * span,) if self.bordered else None

    def _prepare(self, what: str, override: int | None) -> tuple[Any, tuple[Any, ...]]:
        known: dict[str, Any] = {"taps": self.taps, "stride": self.stride, "bordered": self.bordered}
        row = (self.planes * self.shape[-1],)
        if what == "largest":
            columns, (span, padding, inside) = self.shape[-1], self.row
            wide = -(-columns // _LANES) * _LANES
            bordered = self.bordered or wide > columns
            known |= {"d_step": self.steps[0], "h_step": self.steps[1], "bordered": bordered, "pad": padding}
            run = compile_loops(_largest_sliding, self.dtype, reach=self.taps[-1], **known)
            offsets = np.zeros((2, wide), self.dtype)
            offsets[:, :columns] = self.offsets
            best, border = (self.planes * wide,), (self.planes * (span + (wide - columns) * self.stride),)
            return run, (self.table, offsets, best, best, border if bordered else None, *self.sizes, inside, wide)
        divisors = (self.counts if override is None else np.full(self.counts.shape, override)).astype(self.dtype)
        known["overridden"] = override is not None
        if what == "mean":
            run = compile_loops(_mean_sliding, self.dtype, **known)
            return run, (self.table, divisors, self.border, *self.sizes, *self.row)
        known |= {"taps": self.taps[::-1], "tiled": self.tiled and not self.bordered}
        run = compile_loops(_mean_back_sliding, self.dtype, **known)
        return run, (self.table, divisors, row, self.border, *self.sizes, *self.row)


def at_indices(does: str, x: np.ndarray, indices: np.ndarray, shape: Sizes, dims: int) -> np.ndarray | None:
    """Zeros of a shape with elements added or written at flat indices of their planes; or elements read there. None if an index
    is out of bounds."""
    size, windows = prod((x.shape if does == "read" else shape)[-dims:]), prod(indices.shape[-dims:])
    run = compile_loops(_at_indices, x.dtype, does=does)
    arrays = contiguous(x), contiguous(indices), tuple(shape), np.zeros(1, np.int64)
    out, wrong = over(run, indices.size // windows, -(-_GRAIN // (windows + size)), *arrays, size, windows)
    return None if wrong.item() else out
