"""Sliding blocks: `unfold` (im2col) and its transpose `fold` (col2im), on ``(N, C, *spatial)``."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from ..numpy_warnings import silent
from ..rows import in_float32
from .im2col import Ints, all_columns, find_phases, share
from .positions import Positions, block_counts, find_blocks
from .strategies import MOST_FOLDED

__all__ = ["block_counts", "fold", "unfold"]
_BLOCK_BYTES = 1 << 20


def unfold(x: np.ndarray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> np.ndarray:
    """Copy every block to a column: ``(N, C * prod(kernel), blocks)``.

    >>> import numpy as np
    >>> unfold(np.arange(4.0).reshape(1, 1, 4), (2,), (1,), (0,), (1,))
    array([[[0., 1., 2.],
            [1., 2., 3.]]])
    """
    if x.size <= MOST_FOLDED and len(x):
        blocks = find_blocks(x.shape[1], x.shape[2:], kernel, dilation, padding, stride)
        if blocks is not None:
            return blocks.take(x).reshape(len(x), x.shape[1] * prod(kernel), -1)
    counts = block_counts(x.shape[2:], kernel, dilation, padding, stride)
    shape = (len(x), x.shape[1] * prod(kernel), prod(counts))
    if not prod(shape):
        return np.empty(shape, x.dtype)
    return all_columns(np.ascontiguousarray(x), padding, kernel, stride, dilation, counts).reshape(shape)


@in_float32
def fold(
    columns: np.ndarray, output_size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> np.ndarray:
    """Add up columns ``(N, C * prod(kernel), blocks)`` where they overlap: the transpose of `unfold`.

    >>> import numpy as np
    >>> fold(np.ones((1, 2, 3)), (4,), (2,), (1,), (0,), (1,))
    array([[[1., 2., 2., 1.]]])
    """
    shape = (len(columns), columns.shape[1] // prod(kernel), *output_size)
    if 0 < columns.size <= MOST_FOLDED:
        blocks = find_blocks(shape[1], output_size, kernel, dilation, padding, stride)
        if blocks is not None:
            return _add_by_positions(columns, blocks).reshape(shape)
    counts = block_counts(output_size, kernel, dilation, padding, stride)
    source = np.ascontiguousarray(columns).reshape(-1, prod(kernel), *counts)
    result = np.zeros(shape, columns.dtype)
    if not source.size:
        return result
    planes = result.reshape(-1, *output_size)
    if all(s > d * (k - 1) for k, d, s in zip(kernel, dilation, stride, strict=True)):
        _copy_blocks(source, planes, kernel, dilation, padding, stride)
    else:
        _add_up(source, planes, kernel, dilation, padding, stride)
    return result


def _add_by_positions(columns: np.ndarray, blocks: Positions) -> np.ndarray:
    """See Note [Convolution by positions]."""
    flat = columns.reshape(len(columns), -1)
    if blocks.back[1]:
        room, into = blocks.room(len(columns), columns.dtype)
        into[...] = flat
        flat = room
    with silent():
        return blocks.add_up(flat)


def _copy_blocks(
    source: np.ndarray, planes: np.ndarray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> None:
    """Blocks that do not overlap are copied."""
    for at, tap in enumerate(product(*map(range, kernel))):
        inside, outside = [], []
        for t, d, p, s, n, o in zip(tap, dilation, padding, stride, planes.shape[1:], source.shape[2:], strict=True):
            first = max(-((t * d - p) // s), 0)
            last = max(min(o, (n - 1 + p - t * d) // s + 1), first)
            inside.append(slice(first, last))
            outside.append(slice(first * s + t * d - p, None, s) if last > first else slice(0, 0))
        block = source[:, at][(slice(None), *inside)]
        planes[(slice(None), *outside)][(slice(None), *map(slice, block.shape[1:]))] = block


def _add_up(source: np.ndarray, planes: np.ndarray, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    """Overlapping blocks are added one kernel element at a time; see Note [Flat phases]."""
    counts, sizes = source.shape[2:], planes.shape[1:]
    phases = find_phases(counts, kernel, stride, dilation)
    targets = {name: phases.slices(name, padding, stride, sizes) for name in phases.names}
    each = max(1, _BLOCK_BYTES // (len(phases.taps) * phases.length * source.itemsize))
    inner = tuple(slice(n) for n in counts[1:])

    def body(low: int, high: int) -> None:
        wide = np.zeros((each, len(phases.taps), *phases.wide), source.dtype)
        sums = {name: np.empty((each, phases.size), source.dtype) for name in phases.names}
        for first in range(low * each, min(high * each, len(source)), each):
            last = min(first + each, len(source))
            n = last - first
            wide[(slice(n), slice(None), slice(None), *inner)] = source[first:last]
            taps = wide[:n].reshape(n, len(phases.taps), -1)
            for total in sums.values():
                total.fill(0)
            for tap, (name, shift) in enumerate(phases.taps):
                part = sums[name][:n, shift : shift + phases.length]
                np.add(part, taps[:, tap], out=part)
            for name, (inside, outside) in targets.items():
                total = sums[name][:n, : prod(phases.width)].reshape(n, *phases.width)
                planes[(slice(first, last), *outside)] = total[(slice(None), *inside)]

    with silent():
        share(body, -(-len(source) // each), source.size * 0.8)
