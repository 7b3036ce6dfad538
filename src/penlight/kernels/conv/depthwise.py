"""Correlation with one input channel per group: each kernel element is a shift, a scaling and an addition.

The images are stored as in Note [Flat phases], so that every kernel element is one long contiguous operation. The machine-code
version is kernels/conv/depthwise_compiled.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from .im2col import Ints, Phases, find_phases, share

# A block of channels, its result and one product fit in a core's own cache.
_BLOCK_BYTES = 1 << 18


class _Planes:
    """The channels of all images of a batch, as the phases of blocks of planes."""

    def __init__(self, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> None:
        self.x = x.reshape(-1, *x.shape[2:])
        self.phases = find_phases(out, kernel, stride, dilation)
        size = x.shape[2:]
        self.slices = {name: self.phases.slices(name, low, stride, size) for name in self.phases.names}
        self.each = max(1, _BLOCK_BYTES // (self.phases.size * x.itemsize))
        self.count = -(-len(self.x) // self.each)
        self.cost = x.itemsize / 4 * len(self.x) * self.phases.length * prod(kernel) * 0.3

    def blocks(self, low: int, high: int) -> Iterator[tuple[int, int, dict[Ints, np.ndarray]]]:
        """For blocks `low` to `high`: the first plane and the one past the last, and their flat phases."""
        width = self.phases.width
        flat = {name: np.zeros((self.each, self.phases.size), self.x.dtype) for name in self.slices}
        for block in range(low, high):
            first, last = block * self.each, min((block + 1) * self.each, len(self.x))
            for name, (inside, outside) in self.slices.items():
                plane = flat[name][: last - first, : prod(width)].reshape(last - first, *width)
                plane[(slice(None), *inside)] = self.x[(slice(first, last), *outside)]
            yield first, last, {name: a[: last - first] for name, a in flat.items()}


def _runs(phases: Phases, kernel: Ints) -> list[tuple[Ints, int, int, range]]:
    """The kernel elements in runs along the last dim but one: (phase, shift of the first, step between shifts, elements).

    A run is one `einsum`, whose inner loop multiplies and adds in a single pass. Along the last dim the shifts equal the step
    between elements, and einsum would loop over the kernel elements instead.
    """
    width = kernel[-1]
    column = width * kernel[-2] if len(kernel) > 1 else 1
    runs = []
    for start in range(len(phases.taps)):
        name, shift = phases.taps[start]
        if len(kernel) == 1:
            runs.append((name, shift, 1, range(start, start + 1)))
            continue
        same = [t for t in range(start, start - start % column + column, width) if phases.taps[t][0] == name]
        earlier = range(start - start % column + start % width, start, width)
        if any(phases.taps[t][0] == name for t in earlier):
            continue
        step = same[1] - start if len(same) > 1 else width
        jump = phases.taps[same[1]][1] - shift if len(same) > 1 else 0
        runs.append((name, shift, jump, range(start, same[-1] + 1, step)))
    return runs


def depthwise_correlate(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` ``(N, C * m, *spatial)`` the correlation of each channel with its own `m` kernels."""
    out_size, channels = out.shape[2:], x.shape[1]
    times = out.shape[1] // channels
    planes = _Planes(x, low, w.shape[2:], stride, dilation, out_size)
    phases = planes.phases
    # One row of weights per plane of the batch, so that blocks may span images.
    weight = np.tile(w.reshape(channels, times, -1), (len(x), 1, 1))
    add = None if bias is None else np.tile(bias.reshape(channels, times, 1), (len(x), 1, 1))
    inner = tuple(slice(n) for n in out_size[1:])
    whole = out.flags.c_contiguous
    target = (out if whole else np.empty(out.shape, out.dtype)).reshape(-1, times, *out_size)

    runs = _runs(phases, w.shape[2:])

    def body(first_block: int, last_block: int) -> None:
        total = np.empty((planes.each, times, phases.length), x.dtype)
        scaled = np.empty_like(total)
        for first, last, flat in planes.blocks(first_block, last_block):
            for at, (name, shift, step, run) in enumerate(runs):
                plane = flat[name]
                shape, item = (last - first, len(run), phases.length), plane.itemsize
                view = np.ndarray(shape, plane.dtype, plane, shift * item, (plane.strides[0], step * item, item))
                sums = (scaled if at else total)[: last - first]
                np.einsum("cma,cal->cml", weight[first:last, :, run.start : run.stop : run.step], view, out=sums)
                if at:
                    total[: last - first] += sums
            sums = total[: last - first]
            if add is not None:
                sums += add[first:last]
            target[first:last] = sums.reshape(last - first, times, *phases.wide)[
                (slice(None), slice(None), slice(None), *inner)
            ]

    share(body, planes.count, planes.cost * times)
    if not whole:
        out[...] = target.reshape(out.shape)


def depthwise_weight_grad(
    grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints
) -> np.ndarray:
    """The transpose of `depthwise_correlate` in its weights, ``(C * m, 1, *kernel)``."""
    out_size, channels = grad.shape[2:], x.shape[1]
    times = grad.shape[1] // channels
    planes = _Planes(x, low, kernel, stride, dilation, out_size)
    phases = planes.phases
    source = grad.reshape(-1, times, *out_size)
    inner = tuple(slice(n) for n in out_size[1:])
    result = np.empty((len(source), times, prod(kernel)), x.dtype)

    def body(first_block: int, last_block: int) -> None:
        wide = np.zeros((planes.each, times, *phases.wide), x.dtype)
        for first, last, flat in planes.blocks(first_block, last_block):
            wide[(slice(last - first), slice(None), slice(None), *inner)] = source[first:last]
            g = wide[: last - first].reshape(last - first, times, -1)
            for tap, (name, shift) in enumerate(phases.taps):
                plane = flat[name][:, shift : shift + phases.length, None]
                result[first:last, :, tap] = np.matmul(g, plane)[:, :, 0]

    share(body, planes.count, planes.cost * times)
    return result.reshape(len(x), -1, 1, *kernel).sum(0)
