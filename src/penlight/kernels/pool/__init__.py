"""Max and average pooling and their transposes, on raw arrays ``(N, C, *spatial)``."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ..conv.im2col import Ints, is_half, share, spans
from ..numpy_warnings import silent
from . import loops
from .loops import output_sizes as pool_output_sizes
from .windows import BLOCK, AdaptiveWindows, Planes, Windows, fill_largest, small_windows


def max_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each window, and where it is: int64 positions in the flattened plane.

    The first of equal elements is taken, and a NaN beats everything (the last one, if there are several).

    >>> import numpy as np
    >>> max_pool(np.array([[[1.0, 3.0, 2.0, 2.0]]]), (2,), (2,), (0,), (1,), False)
    (array([[[3., 2.]]]), array([[[1, 2]]]))
    """
    if is_half(x):
        values, indices = max_pool(x.astype(np.float32), kernel, stride, padding, dilation, ceil_mode)
        return values.astype(x.dtype), indices
    sizes = x.shape[2:]
    out = pool_output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode)
    if loops.suits(x):
        return loops.largest(x, loops.sliding(x.shape, kernel, stride, padding, dilation, ceil_mode, False))
    values = np.empty((*x.shape[:2], *out), x.dtype)
    indices = np.empty(values.shape, np.int64)
    if not values.size:
        return values, indices
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    geometry = small_windows if prod(out) <= 4096 else Windows
    windows = geometry(sizes, out, kernel, stride, padding, dilation)
    span = spans(out, kernel, stride, dilation)
    planes = Planes(x, padding, span, out, lowest)
    fill_largest(planes, windows, values, indices)
    return values, indices


def max_pool_backward(grad: np.ndarray, indices: np.ndarray, input_shape: Ints, distinct: bool = False) -> np.ndarray:
    """Send each gradient to the element it came from: the transpose of picking the elements at `indices`.

    With `distinct` the caller promises that no two windows share an element, as when they do not overlap.
    """
    if is_half(grad):
        return max_pool_backward(grad.astype(np.float32), indices, input_shape, distinct).astype(grad.dtype)
    size, planes = prod(input_shape[2:]), prod(input_shape[:2])
    grad, indices = np.ascontiguousarray(grad), np.ascontiguousarray(indices)
    if loops.suits(grad):
        placed = loops.place(grad, indices, input_shape, len(input_shape) - 2)
        if placed is not None:
            return placed
    result = np.zeros(input_shape, grad.dtype)
    if not grad.size:
        return result
    flat = result.reshape(-1)
    source, where = grad.reshape(planes, -1), indices.reshape(planes, -1)
    each = max(1, 2 * BLOCK // source.shape[1])
    starts = np.arange(each)[:, None] * size

    def body(low: int, high: int) -> None:
        for first in range(low * each, min(high * each, planes), each):
            last = min(first + each, planes)
            at = (where[first:last] + starts[: last - first]).reshape(-1)
            block = flat[first * size : last * size]
            if distinct:
                block[at] = source[first:last].reshape(-1)
            else:
                block[...] = np.bincount(at, source[first:last].reshape(-1), len(block))[: len(block)]

    share(body, -(-planes // each), grad.size * 6.0)
    return result


def pick(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The elements of each plane at the flat `indices`: the transpose of `max_pool_backward` and of `max_unpool`."""
    if loops.suits(x):
        found = loops.pick(x, indices, x.ndim - 2)
        if found is not None:
            return found
    planes = prod(x.shape[:2])
    flat = x.reshape(planes, prod(x.shape[2:]))
    return (
        np.take_along_axis(flat, indices.reshape(planes, -1), 1).reshape(indices.shape)
        if x.size
        else x[:0].reshape(indices.shape)
    )


def max_unpool(x: np.ndarray, indices: np.ndarray, output_shape: Ints) -> np.ndarray:
    """Zeros, but each element of `x` at its place in the flattened plane; the last one wins where places are shared.

    >>> import numpy as np
    >>> max_unpool(np.array([[[3.0, 2.0]]]), np.array([[[1, 2]]]), (1, 1, 4))
    array([[[0., 3., 2., 0.]]])
    """
    if loops.suits(x):
        found = loops.unpool(x, indices, output_shape, len(output_shape) - 2)
        if found is not None:
            return found
    size, planes = prod(output_shape[2:]), prod(output_shape[:2])
    wrong = (indices < 0) | (indices >= size)
    if wrong.any():
        shape = "x".join(map(str, output_shape[2:] if len(output_shape) > 3 else (*output_shape[2:], 1)))
        raise RuntimeError(f"Found an invalid max index: {indices[wrong][0]} (output volumes are of size {shape})")
    result = np.zeros(output_shape, x.dtype)
    at = indices.reshape(planes, prod(indices.shape[2:])) + np.arange(planes)[:, None] * size
    result.reshape(-1)[at.reshape(-1)] = x.reshape(-1)
    return result


def _divisor(
    sizes: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, include_pad: bool, override: int | None
) -> np.ndarray | int:
    """What each window's sum is divided by: a number if it is the same for all."""
    if override is not None:
        return override
    fits = all((o - 1) * s + k <= n + 2 * p for n, o, k, s, p in zip(sizes, out, kernel, stride, padding, strict=True))
    if fits and (include_pad or not any(padding)):
        return prod(kernel)
    result = np.ones(out, np.int64)
    for i, (n, o, k, s, p) in enumerate(zip(sizes, out, kernel, stride, padding, strict=True)):
        first = np.arange(o) * s - p
        last = np.minimum(first + k, n + p)
        count = last - first if include_pad else np.minimum(last, n) - np.maximum(first, 0)
        result *= count.reshape([-1 if j == i else 1 for j in range(len(out))])
    return int(result.flat[0]) if (result == result.flat[0]).all() else result


def _divide(sums: np.ndarray, divisor: np.ndarray | int) -> None:
    """Divide in place, towards zero for integers."""
    if sums.dtype.kind == "f":
        np.divide(sums, divisor, out=sums, casting="same_kind")
    else:
        quotient, rest = np.divmod(sums, divisor)
        sums[...] = quotient + ((rest != 0) & (quotient < 0))


def _box(block: np.ndarray, axis: int, kernel: int, stride: int, count: int) -> np.ndarray:
    """Sums of `kernel` neighbours along one dim, at every `stride`-th place."""
    where: list[slice] = [slice(None)] * block.ndim
    where[axis] = slice(0, (count - 1) * stride + 1, stride)
    total = block[tuple(where)].copy()
    tap = np.empty_like(total)
    for k in range(1, kernel):
        where[axis] = slice(k, k + (count - 1) * stride + 1, stride)
        np.copyto(tap, block[tuple(where)])
        np.add(total, tap, out=total)
    return total


def avg_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The mean of each window.

    >>> import numpy as np
    >>> avg_pool(np.array([[[1.0, 3.0, 2.0, 2.0]]]), (2,), (2,), (0,), False, True)
    array([[[2., 2.]]])
    """
    if is_half(x):
        args = kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
        return avg_pool(x.astype(np.float32), *args).astype(x.dtype)
    ones = (1,) * len(kernel)
    if loops.suits(x):
        geometry = loops.sliding(x.shape, kernel, stride, padding, ones, ceil_mode, count_include_pad)
        return loops.mean(x, geometry, divisor_override)
    out = pool_output_sizes(x.shape[2:], kernel, stride, padding, ones, ceil_mode)
    result = np.empty((*x.shape[:2], *out), x.dtype)
    if not result.size:
        return result
    planes = Planes(x, padding, spans(out, kernel, stride, ones), out, 0)
    divisor = _divisor(x.shape[2:], out, kernel, stride, padding, count_include_pad, divisor_override)
    target = result.reshape(-1, *out)

    def body(low: int, high: int) -> None:
        for first, last, block in planes.blocks(low, high):
            for axis in reversed(range(len(kernel))):
                block = _box(block, axis + 1, kernel[axis], stride[axis], out[axis])
            _divide(block, divisor)
            target[first:last] = block

    with silent():
        share(body, planes.count, result.size * sum(kernel) * 2.0)
    return result


def avg_pool_backward(
    grad: np.ndarray, input_shape: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The transpose of `avg_pool`."""
    if is_half(grad):
        args = input_shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override
        return avg_pool_backward(grad.astype(np.float32), *args).astype(grad.dtype)
    out, sizes = grad.shape[2:], input_shape[2:]
    if loops.suits(grad):
        ones = (1,) * len(kernel)
        geometry = loops.sliding(input_shape, kernel, stride, padding, ones, ceil_mode, count_include_pad)
        return loops.mean_back(grad, geometry, divisor_override)
    result = np.empty(input_shape, grad.dtype)
    if not grad.size or not result.size:
        result.fill(0)
        return result
    divisor = _divisor(sizes, out, kernel, stride, padding, count_include_pad, divisor_override)
    source, target = grad.reshape(-1, *out), result.reshape(-1, *sizes)
    each = max(1, 2 * BLOCK // prod(sizes))

    def body(low: int, high: int) -> None:
        for first in range(low * each, min(high * each, len(source)), each):
            last = min(first + each, len(source))
            block = source[first:last] / divisor
            for axis in range(len(kernel)):
                wide = (*block.shape[: axis + 1], sizes[axis], *block.shape[axis + 2 :])
                into = target[first:last] if axis == len(kernel) - 1 else np.empty(wide, grad.dtype)
                _unbox(block, axis + 1, kernel[axis], stride[axis], padding[axis], into)
                block = into

    with silent():
        share(body, -(-len(source) // each), result.size * len(kernel) * 2.0)
    return result


def _unbox(block: np.ndarray, axis: int, kernel: int, stride: int, low: int, out: np.ndarray) -> None:
    """The transpose of `_box` after a border of `low` zeros, into `out`.

    Element ``i`` was part of the windows ``q`` with ``q * stride <= i + low < q * stride + kernel``. Those elements with
    the same remainder modulo the stride see the same number of windows, one further on from each to the next: they
    are sums over neighbours again.
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


def adaptive_max_pool(x: np.ndarray, output_size: Ints) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each of the windows that divide a plane evenly, and its position in the flattened plane."""
    if is_half(x):
        values, indices = adaptive_max_pool(x.astype(np.float32), output_size)
        return values.astype(x.dtype), indices
    sizes = x.shape[2:]
    if loops.suits(x):
        return loops.largest(x, loops.even(x.shape, output_size))
    if all(o and n % o == 0 for n, o in zip(sizes, output_size, strict=True)):
        kernel = tuple(n // o for n, o in zip(sizes, output_size, strict=True))
        ones = (1,) * len(kernel)
        return max_pool(x, kernel, kernel, (0,) * len(kernel), ones, False)
    values = np.empty((*x.shape[:2], *output_size), x.dtype)
    indices = np.empty(values.shape, np.int64)
    if values.size:
        planes = Planes(x, (0,) * len(sizes), sizes, output_size, 0)
        fill_largest(planes, AdaptiveWindows(sizes, output_size), values, indices)
    return values, indices


def _adaptive_sum(block: np.ndarray, axis: int, count: int) -> np.ndarray:
    """Sums over windows that divide one dim evenly.

    Window ``i`` holds element ``j`` if ``[i n / o, (i + 1) n / o)`` and ``[j, j + 1)`` overlap, which is the same with
    the roles exchanged: the transpose is the same function from `count` back to the size.
    """
    size = block.shape[axis]
    start = np.arange(count) * size // count
    length = -(-(np.arange(1, count + 1) * size) // count) - start
    total = block.take(start, axis)
    for k in range(1, int(length.min())):
        total += block.take(start + k, axis)
    for k in range(int(length.min()), int(length.max())):
        where = np.flatnonzero(length > k)
        total[(*(slice(None),) * axis, where)] += block.take(start[where] + k, axis)
    return total


def _adaptive_lengths(sizes: Ints, out: Ints) -> np.ndarray:
    """How many elements each window holds."""
    lengths = [-(-(np.arange(1, o + 1) * n) // o) - np.arange(o) * n // o for n, o in zip(sizes, out, strict=True)]
    result = np.ones(out, np.int64)
    for length in np.ix_(*lengths):
        result = result * length
    return result


def adaptive_avg_pool(x: np.ndarray, output_size: Ints) -> np.ndarray:
    """The mean of each of the windows that divide a plane evenly.

    >>> import numpy as np
    >>> adaptive_avg_pool(np.array([[[1.0, 2.0, 6.0]]]), (2,))
    array([[[1.5, 4. ]]])
    """
    if is_half(x):
        return adaptive_avg_pool(x.astype(np.float32), output_size).astype(x.dtype)
    sizes = x.shape[2:]
    if not x.size or 0 in output_size:
        return np.zeros((*x.shape[:2], *output_size), x.dtype)
    if loops.suits(x):
        return loops.mean(x, loops.even(x.shape, output_size), None)
    if all(n % o == 0 for n, o in zip(sizes, output_size, strict=True)):
        kernel = tuple(n // o for n, o in zip(sizes, output_size, strict=True))
        return avg_pool(x, kernel, kernel, (0,) * len(kernel), False, True)
    with silent():
        for axis in range(len(sizes), 0, -1):
            x = _adaptive_sum(x, axis + 1, output_size[axis - 1])
        x /= _adaptive_lengths(sizes, output_size)
    return np.ascontiguousarray(x)


def adaptive_avg_pool_backward(grad: np.ndarray, input_shape: Ints) -> np.ndarray:
    """The transpose of `adaptive_avg_pool`."""
    if is_half(grad):
        return adaptive_avg_pool_backward(grad.astype(np.float32), input_shape).astype(grad.dtype)
    sizes, out = input_shape[2:], grad.shape[2:]
    if not grad.size:
        return np.zeros(input_shape, grad.dtype)
    if loops.suits(grad):
        return loops.mean_back(grad, loops.even(input_shape, out), None)
    if all(n % o == 0 for n, o in zip(sizes, out, strict=True)):
        kernel = tuple(n // o for n, o in zip(sizes, out, strict=True))
        return avg_pool_backward(grad, input_shape, kernel, kernel, (0,) * len(kernel), False, True)
    with silent():
        grad = np.divide(grad, _adaptive_lengths(sizes, out), dtype=grad.dtype)
        for axis in range(len(sizes), 0, -1):
            grad = _adaptive_sum(grad, axis + 1, sizes[axis - 1])
    return np.ascontiguousarray(grad)


def fractional_max_pool(
    x: np.ndarray, kernel: Ints, output_size: Ints, samples: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of pseudo-randomly placed windows, and its position in the flattened plane.

    `samples` ``(N, C, dims)`` are numbers in [0, 1) that place the windows of each plane. As in PyTorch, the width
    comes before the height if there are two dims, and the dims are in order if there are three.
    """
    sizes, planes = x.shape[2:], prod(x.shape[:2])
    source, samples = x.reshape(planes, prod(sizes)), samples.reshape(planes, len(sizes))
    steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    base = np.zeros((planes, *(1,) * len(sizes)), np.int64)
    for i, (n, o, k) in enumerate(zip(sizes, output_size, kernel, strict=True)):
        at = np.full((planes, o), n - k, np.int64)
        if o > 1:
            alpha = samples.dtype.type(n - k) / samples.dtype.type(o - 1)
            sample = samples[:, 1 - i if len(sizes) == 2 else i, None]
            at[:, :-1] = ((np.arange(o - 1, dtype=samples.dtype) + sample) * alpha).astype(np.int64)
            at[:, :-1] -= (sample * alpha).astype(np.int64)
        base = base + (at * steps[i]).reshape(planes, *(o if j == i else 1 for j in range(len(sizes))))
    base = base.reshape(planes, prod(output_size))
    best, where = np.take_along_axis(source, base, 1), base.copy()
    for tap in product(*map(range, kernel)):
        at = base + sum(t * step for t, step in zip(tap, steps, strict=True))
        value = np.take_along_axis(source, at, 1)
        better = (value > best) | np.isnan(value)
        np.copyto(best, value, where=better)
        np.copyto(where, at, where=better)
    shape = (*x.shape[:2], *output_size)
    return best.reshape(shape), where.reshape(shape)
