"""Pooling in NumPy, and the geometry of windows for all implementations.

NumPy is fast on long contiguous arrays and slow on many short strided rows. So each element of the window is first copied, for
all windows, to a contiguous buffer, and all arithmetic runs over full buffers, some planes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import index_width
from ..conv.im2col import overlap, share, spans
from ..numpy_warnings import silent

Sizes = tuple[int, ...]
_BLOCK = 1 << 16  # results in a block: a few buffers of this many elements fit in a core's own cache


class Problem(NamedTuple):
    """Windows over the last dimensions of arrays of a shape. If `kernel` is None, they divide these evenly into `out` windows."""

    shape: Sizes
    out: Sizes
    kernel: Sizes | None
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    include_pad: bool
    dtype: Any

    @property
    def sizes(self) -> Sizes:
        """The sizes of a plane."""
        return self.shape[-len(self.out) :]

    def bounds(self) -> list[np.ndarray]:
        """For each dimension the begin, the end and the count of the elements of each window."""
        if self.kernel is None:
            return [np.stack((first, last, last - first), 1) for first, last in map(_even, self.sizes, self.out)]
        result = []
        for n, o, k, s, p, d in zip(
            self.sizes, self.out, self.kernel, self.stride, self.padding, self.dilation, strict=True
        ):
            first = np.arange(o) * s - p
            last = first + (k - 1) * d + 1
            inside = first + np.maximum(-(first // d), 0) * d  # the first element that is not before the plane
            count = np.minimum(last, n + p) - first if self.include_pad else np.minimum(last, n) - inside
            result.append(np.stack((inside, np.minimum(last, n), count), 1))
        return result

    def counts(self, override: int | None) -> np.ndarray | int:
        """The divisor of each window's sum: a scalar if it is the same for all."""
        if override is not None:
            return override
        result = np.ones(self.out, np.int64)
        for count in np.ix_(*[bound[:, 2] for bound in self.bounds()]):
            result = result * count
        return int(result.flat[0]) if (result == result.flat[0]).all() else result


def _even(n: int, o: int) -> tuple[np.ndarray, np.ndarray]:
    """Of o windows over n elements, the i-th covers floor(i * n / o) to ceil((i + 1) * n / o)."""
    return np.arange(o) * n // o, -(-(np.arange(1, o + 1) * n) // o)


def output_sizes(sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Sizes:
    """How many windows there are in each dim. With `ceil_mode` the last may reach beyond the end, but must begin inside.

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


class Planes:
    """The planes of a batch in blocks, with a border of `fill` wide enough for all windows."""

    def __init__(self, x: np.ndarray, low: Sizes, span: Sizes, out: Sizes, fill: float) -> None:
        sizes = x.shape[-len(out) :]
        self.x = np.ascontiguousarray(x).reshape(-1, *sizes)
        self.fill, self.span = fill, span
        self.padded = any(low) or any(m > n for m, n in zip(span, sizes, strict=True))
        self.border = overlap(sizes, low, span)
        self.each = max(1, _BLOCK // max(prod(out), 1))
        self.count = -(-len(self.x) // self.each)

    def blocks(self, low: int, high: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """For blocks `low` to `high`: the first plane, the one past the last, and the padded planes."""
        buffer = np.full((self.each, *self.span), self.fill, self.x.dtype) if self.padded else None
        for block in range(low, high):
            first, last = block * self.each, min((block + 1) * self.each, len(self.x))
            planes = self.x[first:last]
            if buffer is not None:
                into, source = self.border
                buffer[(slice(last - first), *into)] = planes[(slice(None), *source)]
                planes = buffer[: last - first]
            yield first, last, planes


# ----- Largest elements -------------------------------------------------------------------------------------------------


class _Taps:
    """The elements of a window: the offset of each in the padded plane, and its code.

    An element's code is its distance from the first one in the flattened input. Codes increase from element to element, so that
    the code of the best one so far is a running maximum. They are stored in the narrowest dtype. Windows that divide a plane
    evenly have sizes that differ by one or two: a short one repeats its last element, which changes neither the largest nor its
    index.
    """

    def __init__(self, problem: Problem) -> None:
        sizes, out, kernel = problem.sizes, problem.out, problem.kernel
        steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self.taps: list[tuple[Any, ...]] = []
        codes: list[Any] = []
        if kernel is None:
            ranges = list(map(_even, sizes, out))
            base = sum(np.ix_(*(r[0] * step for r, step in zip(ranges, steps, strict=True))), np.zeros(out, np.int64))
            for tap in product(*(range(int((last - first).max())) for first, last in ranges)):
                at = np.ix_(*(np.minimum(first + t, last - 1) for (first, last), t in zip(ranges, tap, strict=True)))
                self.taps.append((slice(None), *at))
                codes.append(sum((a * step for a, step in zip(at, steps, strict=True)), -base))
            self.code = _narrowest(int(codes[-1].max()))
            self.codes = [code.astype(self.code) for code in codes]
            self.base, self.start = base, np.zeros(out, self.code)
            return
        for tap in product(*map(range, kernel)):
            offsets = [t * d for t, d in zip(tap, problem.dilation, strict=True)]
            slices = (slice(a, a + (o - 1) * s + 1, s) for a, o, s in zip(offsets, out, problem.stride, strict=True))
            self.taps.append((slice(None), *slices))
            codes.append(sum(a * step for a, step in zip(offsets, steps, strict=True)))
        self.code = _narrowest(codes[-1])
        self.codes = [self.code(code) for code in codes]
        # The index of the first element, and the code of the first element that is not in the border before the input.
        self.base, self.start = np.zeros(out, np.int64), np.zeros(out, self.code)
        for i, (o, s, p, d) in enumerate(zip(out, problem.stride, problem.padding, problem.dilation, strict=True)):
            shape = [-1 if j == i else 1 for j in range(len(out))]
            begin = np.arange(o) * s - p
            self.base += (begin * steps[i]).reshape(shape)
            self.start += (np.maximum(-(begin // d), 0) * d * steps[i]).astype(self.code).reshape(shape)

    def largest(
        self, block: np.ndarray, best: np.ndarray, tap: np.ndarray, larger: np.ndarray, codes: np.ndarray,
        step: np.ndarray, careful: bool,
    ) -> None:  # fmt: skip
        """Fill `best` with the largest elements and `codes` with their codes, `careful` if there are NaNs."""
        np.copyto(best, block[self.taps[0]])
        np.copyto(codes, self.start)
        for where, code in zip(self.taps[1:], self.codes[1:], strict=True):
            np.copyto(tap, block[where])
            np.greater(tap, best, out=larger)
            if careful:
                np.logical_or(larger, np.isnan(tap), out=larger)
            np.maximum(best, tap, out=best)
            np.multiply(larger.view(np.uint8), code, out=step)
            np.maximum(codes, step, out=codes)


def _narrowest(code: int) -> type[np.unsignedinteger]:
    return next(t for t in (np.uint8, np.uint16, np.uint32, np.uint64) if code <= np.iinfo(t).max)


# ----- Means ------------------------------------------------------------------------------------------------------------


def _divide(sums: np.ndarray, divisor: np.ndarray | int) -> None:
    """Divide in place, towards zero for integers."""
    if sums.dtype.kind == "f":
        np.divide(sums, divisor, out=sums, casting="same_kind")
    else:
        quotient, rest = np.divmod(sums, divisor)
        sums[...] = quotient + ((rest != 0) & (quotient < 0))


def _box(block: np.ndarray, axis: int, kernel: int, stride: int, count: int) -> np.ndarray:
    """Sums of `kernel` neighbours along one dim, at every `stride`-th element."""
    where: list[slice] = [slice(None)] * block.ndim
    where[axis] = slice(0, (count - 1) * stride + 1, stride)
    total = block[tuple(where)].copy()
    tap = np.empty_like(total)
    for k in range(1, kernel):
        where[axis] = slice(k, k + (count - 1) * stride + 1, stride)
        np.copyto(tap, block[tuple(where)])
        np.add(total, tap, out=total)
    return total


def _unbox(block: np.ndarray, axis: int, kernel: int, stride: int, low: int, out: np.ndarray) -> None:
    """The transpose of `_box` after a border of `low` zeros, into `out`.

    Element ``i`` was part of the windows ``q`` with ``q * stride <= i + low < q * stride + kernel``. Elements with the same
    remainder modulo the stride belong to equally many windows, shifted by one from each to the next: so these are sums over
    neighbours again.
    """
    before = (kernel - 1) // stride
    after = max((out.shape[axis] - 1 + low) // stride + 1 - block.shape[axis], 0)
    where: list[slice] = [slice(None)] * out.ndim
    if before or after:
        size = block.shape[axis]
        wide = np.zeros((*block.shape[:axis], before + size + after, *block.shape[axis + 1 :]), block.dtype)
        where[axis] = slice(before, before + size)
        wide[tuple(where)] = block
        block = wide
    for start in range(min(stride, out.shape[axis])):
        where[axis] = slice(start, None, stride)
        target = out[tuple(where)]
        taps = -(-(kernel - (start + low) % stride) // stride)
        if taps <= 0:
            target[...] = 0
            continue
        where[axis] = slice((start + low) // stride - (taps - 1) + before, None)
        target[...] = _box(block[tuple(where)], axis, taps, 1, target.shape[axis])


def _even_sum(block: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Sums over windows that divide one dim evenly.

    Window ``i`` holds element ``j`` if ``[i n / o, (i + 1) n / o)`` and ``[j, j + 1)`` overlap, which is symmetric in the two:
    the transpose is the same function from `count` back to the size.
    """
    start, last = _even(block.shape[axis], count)
    length = last - start
    total = block.take(start, axis)
    for k in range(1, int(length.min())):
        total += block.take(start + k, axis)
    for k in range(int(length.min()), int(length.max())):
        where = np.flatnonzero(length > k)
        longer: tuple[Any, ...] = (*(slice(None),) * axis, where)
        total[longer] += block.take(start[where] + k, axis)
    return total


class NumPyWindows:
    """The functions of a problem, on arrays of its shape."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.shape = (*problem.shape[: -len(problem.out)], *problem.out)
        self._taps: _Taps | None = None

    def max_pool(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest element of each window, and its index in the flattened plane."""
        problem, out = self.problem, self.problem.out
        values, indices = np.empty(self.shape, x.dtype), np.empty(self.shape, np.int64)
        if not values.size:
            return values, indices
        if self._taps is None:
            self._taps = _Taps(problem)
        taps = self._taps
        if problem.kernel is None:
            span = problem.sizes
        else:
            span = spans(out, problem.kernel, problem.stride, problem.dilation)
        planes = Planes(x, problem.padding, span, out, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min)
        best, where = values.reshape(-1, *out), indices.reshape(-1, *out)

        def body(low: int, high: int) -> None:
            tap = np.empty((planes.each, *out), x.dtype)
            larger = np.empty(tap.shape, np.bool_)
            codes = np.empty(tap.shape, taps.code)
            step = np.empty(tap.shape, taps.code)
            for first, last, block in planes.blocks(low, high):
                n = last - first
                buffers = best[first:last], tap[:n], larger[:n], codes[:n], step[:n]
                taps.largest(block, *buffers, careful=False)
                if x.dtype.kind == "f" and np.isnan(best[first:last]).any():
                    taps.largest(block, *buffers, careful=True)
                np.add(taps.base, codes[:n], out=where[first:last])

        with silent():
            share(body, planes.count, values.size * len(taps.taps) * 2.0)
        return values, indices

    def avg_pool(self, x: np.ndarray, override: int | None) -> np.ndarray:
        """The mean of each window, or its sum divided by a scalar."""
        problem, out, kernel = self.problem, self.problem.out, self.problem.kernel
        result = np.empty(self.shape, x.dtype)
        if not result.size:
            return result
        divisor = problem.counts(override)
        if kernel is None:
            with silent():
                for axis in range(-1, -len(out) - 1, -1):
                    x = _even_sum(x, axis + x.ndim, out[axis])
                return np.divide(x, divisor, out=result)
        planes = Planes(x, problem.padding, spans(out, kernel, problem.stride, problem.dilation), out, 0)
        target = result.reshape(-1, *out)

        def body(low: int, high: int) -> None:
            for first, last, block in planes.blocks(low, high):
                for axis in reversed(range(len(kernel))):
                    block = _box(block, axis + 1, kernel[axis], problem.stride[axis], out[axis])
                _divide(block, divisor)
                target[first:last] = block

        with silent():
            share(body, planes.count, result.size * sum(kernel) * 2.0)
        return result

    def avg_pool_backward(self, grad: np.ndarray, override: int | None) -> np.ndarray:
        """Each element's share of its windows' gradients."""
        problem, sizes, kernel = self.problem, self.problem.sizes, self.problem.kernel
        result = np.empty(problem.shape, grad.dtype)
        if not grad.size or not result.size:
            result.fill(0)
            return result
        divisor = problem.counts(override)
        if kernel is None:
            with silent():
                grad = np.divide(grad, divisor, dtype=grad.dtype)
                for axis in range(-1, -len(sizes) - 1, -1):
                    grad = _even_sum(grad, axis + grad.ndim, sizes[axis])
            return np.ascontiguousarray(grad)
        source, target = grad.reshape(-1, *problem.out), result.reshape(-1, *sizes)
        each = max(1, 2 * _BLOCK // prod(sizes))

        def body(low: int, high: int) -> None:
            for first in range(low * each, min(high * each, len(source)), each):
                last = min(first + each, len(source))
                block = source[first:last] / divisor
                for axis in range(len(kernel)):
                    wide = (*block.shape[: axis + 1], sizes[axis], *block.shape[axis + 2 :])
                    into = target[first:last] if axis == len(kernel) - 1 else np.empty(wide, grad.dtype)
                    _unbox(block, axis + 1, kernel[axis], problem.stride[axis], problem.padding[axis], into)
                    block = into

        with silent():
            share(body, -(-len(source) // each), result.size * len(kernel) * 2.0)
        return result


# ----- Elements at indices ----------------------------------------------------------------------------------------------


def at_indices(does: str, x: np.ndarray, indices: np.ndarray, shape: Sizes, dims: int) -> np.ndarray:
    """Zeros of a shape with elements added or written at flat indices of their planes; or elements read there."""
    plane = (x.shape if does == "read" else shape)[-dims:]
    size, planes = prod(plane), prod(indices.shape[:-dims])
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        volume = "x".join(map(str, plane if dims > 1 else (*plane, 1)))
        raise RuntimeError(f"Found an invalid max index: {indices[wrong][0]} (output volumes are of size {volume})")
    at = indices.reshape(-1) + np.repeat(np.arange(planes) * size, prod(indices.shape[-dims:]))
    if does == "read":
        return x.reshape(-1).take(at).reshape(shape)
    if does == "add":
        return index_width.bincount(at, x.reshape(-1), planes * size).astype(x.dtype).reshape(shape)
    result = np.zeros(shape, x.dtype)
    result.reshape(-1)[at] = x.reshape(-1)
    return result


def fractional_max_pool(
    x: np.ndarray, kernel: Sizes, output_size: Sizes, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of pseudo-randomly placed windows, and its index in the flattened plane.

    `samples` ``(N, C, dims)`` are numbers in [0, 1) that place the windows of each plane. As in PyTorch, the width
    comes before the height if there are two dims, and the dims are in order if there are three.
    """
    dims = len(kernel)
    lead, sizes = x.shape[:-dims], x.shape[-dims:]
    planes = prod(lead)
    source, samples = x.reshape(planes, prod(sizes)), samples.reshape(planes, dims)
    steps = [prod(sizes[i + 1 :]) for i in range(dims)]
    base = np.zeros((planes, *(1,) * dims), np.int64)
    for i, (n, o, k) in enumerate(zip(sizes, output_size, kernel, strict=True)):
        at = np.full((planes, o), n - k, np.int64)
        if o > 1:
            alpha = samples.dtype.type(n - k) / samples.dtype.type(o - 1)
            sample = samples[:, 1 - i if dims == 2 else i, None]
            at[:, :-1] = ((np.arange(o - 1, dtype=samples.dtype) + sample) * alpha).astype(np.int64)
            at[:, :-1] -= (sample * alpha).astype(np.int64)
        base = base + (at * steps[i]).reshape(planes, *(o if j == i else 1 for j in range(dims)))
    base = base.reshape(planes, prod(output_size))
    best, where = np.take_along_axis(source, base, 1), base.copy()
    for tap in product(*map(range, kernel)):
        at = base + sum(t * step for t, step in zip(tap, steps, strict=True))
        value = np.take_along_axis(source, at, 1)
        better = (value > best) | np.isnan(value)
        np.copyto(best, value, where=better)
        np.copyto(where, at, where=better)
    return best.reshape(*lead, *output_size), where.reshape(*lead, *output_size)
