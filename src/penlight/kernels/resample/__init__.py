"""Resizing along spatial dims: every mode is a sparse matrix per dim, applied one dim at a time.

An `AxisMap` is such a matrix: for each output position the input positions it reads and their weights. Its transpose is another
`AxisMap`, so that the backward pass is the forward pass of the transposed maps, and exact.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import prod

import numpy as np

from .. import index_width
from ..conv.im2col import Ints
from ..numpy_warnings import silent
from ..pool import adaptive_avg_pool, adaptive_avg_pool_backward
from ..rows import in_float32

_NEAREST = ("nearest", "nearest-exact")
_LINEAR = ("linear", "bilinear", "trilinear")
# Output positions that share one small dense matrix.
_CHUNK = 64


class AxisMap:
    """A sparse matrix ``(len(indices), size)``: row ``o`` holds `weights[o]` in the columns `indices[o]`.

    `valid` marks the entries that are used, if not all are.
    """

    def __init__(self, size: int, indices: np.ndarray, weights: np.ndarray, valid: np.ndarray | None = None) -> None:
        self.size, self.indices, self.weights, self.valid = size, indices, weights, valid
        # Single weights that are all one are a plain selection.
        self.picks = indices.shape[1] == 1 and bool((weights == 1).all()) and (valid is None or bool(valid.all()))
        self.same = self.picks and len(indices) == size and bool((indices[:, 0] == np.arange(size)).all())

    @cached_property
    def transposed(self) -> AxisMap:
        """The transpose: for each input position, the output positions that read it."""
        count, taps = self.indices.shape
        rows = np.repeat(np.arange(count), taps)
        columns, weights = self.indices.reshape(-1), self.weights.reshape(-1)
        if self.valid is not None:
            keep = self.valid.reshape(-1)
            rows, columns, weights = rows[keep], columns[keep], weights[keep]
        order = np.argsort(columns, kind="stable")
        rows, columns, weights = rows[order], columns[order], weights[order]
        counts = index_width.bincount(columns, minlength=self.size)
        position = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (self.size, max(int(counts.max(initial=0)), 1))
        indices, values = np.zeros(shape, np.intp), np.zeros(shape, weights.dtype)
        indices[columns, position], values[columns, position] = rows, weights
        return AxisMap(count, indices, values, np.arange(shape[1]) < counts[:, None])

    @cached_property
    def blocks(self) -> list[tuple[slice, slice, np.ndarray]]:
        """The matrix as dense blocks of rows: (rows, columns, block). The inputs of neighbouring outputs are close together."""
        result = []
        valid = np.ones(self.indices.shape, np.bool_) if self.valid is None else self.valid
        for start in range(0, len(self.indices), _CHUNK):
            rows = slice(start, min(start + _CHUNK, len(self.indices)))
            keep = valid[rows]
            taken = self.indices[rows][keep]
            low, high = (int(taken.min()), int(taken.max()) + 1) if taken.size else (0, 1)
            block = np.zeros((rows.stop - start, high - low), self.weights.dtype)
            # This runs once per geometry, for at most a few hundred entries, two of which may be one element.
            np.add.at(block, (np.nonzero(keep)[0], taken - low), self.weights[rows][keep])
            result.append((rows, slice(low, high), block))
        return result

    def apply(self, x: np.ndarray, axis: int, finite: bool) -> np.ndarray:
        """Multiply along one dim. Dense blocks are used only for finite `x`, since they also multiply by zeros."""
        if self.picks:
            return x.take(self.indices[:, 0], axis)
        shape = (*x.shape[:axis], len(self.indices), *x.shape[axis + 1 :])
        source = x.reshape(prod(x.shape[:axis]), self.size, prod(x.shape[axis + 1 :]))
        if not finite:
            return self._apply_sparse(source).reshape(shape)
        if source.shape[2] == 1:
            # Along the last dim the rows of all planes form one matrix.
            flat = np.empty((len(source), len(self.indices)), x.dtype)
            for rows, columns, block in self.blocks:
                np.matmul(source[:, columns, 0], block.T, out=flat[:, rows])
            return flat.reshape(shape)
        out = np.empty((len(source), len(self.indices), source.shape[2]), x.dtype)
        for rows, columns, block in self.blocks:
            np.matmul(block, source[:, columns], out=out[:, rows])
        return out.reshape(shape)

    def _apply_sparse(self, source: np.ndarray) -> np.ndarray:
        """One entry of all rows at a time, on ``(outer, size, inner)``, reading only the inputs of each row."""
        total = np.zeros((len(source), len(self.indices), source.shape[2]), source.dtype)
        for tap in range(self.indices.shape[1]):
            part = source.take(self.indices[:, tap], 1)
            part *= self.weights[:, tap, None]
            if self.valid is not None:
                part[:, ~self.valid[:, tap]] = 0
            total += part
        return total


def _step(size: int, out: int, align_corners: bool, scale: float | None, real: type[np.floating]) -> np.floating:
    """The distance of neighbouring outputs in the input, computed in the array's own precision."""
    if align_corners:
        return real(size - 1) / real(out - 1) if out > 1 else real(0)
    return real(1.0 / scale) if scale else real(size) / real(out)


def _positions(size: int, out: int, align_corners: bool, scale: float | None, real: type[np.floating]) -> np.ndarray:
    """The fractional input index of each output."""
    step = _step(size, out, align_corners, scale, real)
    at = np.arange(out).astype(real)
    return step * at if align_corners else step * (at + real(0.5)) - real(0.5)


def _nearest(size: int, out: int, exact: bool, scale: float | None, real: type[np.floating], small: bool) -> AxisMap:
    """The nearest input of each output.

    PyTorch has a separate kernel for `small` images, which computes in float32 and has shortcuts for equal and doubled sizes. The
    choice matters if a given factor puts a position on the border between two inputs.
    """
    at = np.arange(out)
    step = _step(size, out, False, scale, np.float32 if small else real)
    if exact:
        at = np.floor(((at + 0.5) * float(step)).astype(step.dtype)).astype(np.intp)
    elif small and out == 2 * size:
        at //= 2
    elif not small or out != size:
        at = np.floor(at.astype(step.dtype) * step).astype(np.intp)
    return AxisMap(size, np.minimum(at, size - 1)[:, None], np.ones((out, 1), real))


def _linear(size: int, out: int, align_corners: bool, scale: float | None, real: type[np.floating]) -> AxisMap:
    if out == size:
        return AxisMap(size, np.arange(out)[:, None], np.ones((out, 1), real))
    at = _positions(size, out, align_corners, scale, real)
    if not align_corners:
        at = np.maximum(at, real(0))
    low = np.minimum(at.astype(np.intp), size - 1)
    part = np.clip(at - low.astype(real), real(0), real(1))
    return AxisMap(size, np.stack((low, np.minimum(low + 1, size - 1)), 1), np.stack((real(1) - part, part), 1))


def cubic_weights(t: np.ndarray, a: float = -0.75) -> list[np.ndarray]:
    """The weights of the four neighbours of a point at the fraction `t` between the inner two."""
    far, near, other = t + 1, t, 1 - t
    return [
        ((a * far - 5 * a) * far + 8 * a) * far - 4 * a,
        ((a + 2) * near - (a + 3)) * near * near + 1,
        ((a + 2) * other - (a + 3)) * other * other + 1,
        ((a * (other + 1) - 5 * a) * (other + 1) + 8 * a) * (other + 1) - 4 * a,
    ]


def _cubic(size: int, out: int, align_corners: bool, scale: float | None, real: type[np.floating]) -> AxisMap:
    at = _positions(size, out, align_corners, scale, real)
    low = np.minimum(np.floor(at).astype(np.intp), size - 1)
    part = np.clip(at - low.astype(real), real(0), real(1))
    indices = np.clip(low[:, None] + np.arange(-1, 3), 0, size - 1)
    return AxisMap(size, indices, np.stack(cubic_weights(part), 1).astype(real))


def _antialiased(
    size: int, out: int, mode: str, align_corners: bool, scale: float | None, real: type[np.floating]
) -> AxisMap:
    """A filter that widens as the image shrinks: a triangle, a cubic of sharpness -0.5, or Lanczos' of three lobes."""
    step = _step(size, out, align_corners, scale, real)
    half = real({"bicubic": 2, "lanczos": 3}.get(mode, 1))
    support = half * step if step >= 1 else half
    inverse = real(1) / step if step >= 1 else real(1)
    center = step * (np.arange(out).astype(real) + real(0.5))
    first = np.maximum((center - support + real(0.5)).astype(np.intp), 0)
    last = np.minimum((center + support + real(0.5)).astype(np.intp), size)
    tap = np.arange(max(int((last - first).max()), 1))
    valid = tap < (last - first)[:, None]
    distance = np.abs((tap + (first[:, None] - center[:, None]) + real(0.5)) * inverse).astype(real)
    if mode == "lanczos":
        weights = np.where(distance < 3, np.sinc(distance) * np.sinc(distance / 3), 0)
    elif mode == "bicubic":
        a = -0.5
        inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        outer = ((distance - 5) * distance + 8) * distance * a - 4 * a
        weights = np.where(distance < 1, inner, np.where(distance < 2, outer, 0))
    else:
        weights = np.maximum(1 - distance, 0)
    weights = np.where(valid, weights, 0)
    total = weights.sum(1, keepdims=True)
    weights = np.divide(weights, total, out=weights, where=total != 0).astype(real)
    return AxisMap(size, np.where(valid, first[:, None] + tap, 0), weights, valid)


@lru_cache(maxsize=64)
def axis_map(
    size: int, out: int, mode: str, align_corners: bool, scale: float | None, antialias: bool, dtype: np.dtype,
    small: bool,
) -> AxisMap:  # fmt: skip
    """The matrix of one dim. The last few are cached: a network needs the same ones again and again."""
    real = dtype.type if dtype.kind == "f" else np.float32
    if mode in _NEAREST:
        return _nearest(size, out, mode == "nearest-exact", scale, real, small)
    if mode not in (*_LINEAR, "bicubic", "lanczos"):
        raise NotImplementedError(f"interpolation mode {mode!r} is not known")
    if antialias:
        if size == out:  # whatever the scale: PyTorch leaves such a dim unchanged
            return AxisMap(size, np.arange(size)[:, None], np.ones((size, 1), real))
        return _antialiased(size, out, mode, align_corners, scale, real)
    return (_cubic if mode == "bicubic" else _linear)(size, out, align_corners, scale, real)


@in_float32
def interpolate(
    x: np.ndarray, output_size: Ints, mode: str, align_corners: bool = False,
    scales: tuple[float | None, ...] | None = None, antialias: bool = False,
) -> np.ndarray:  # fmt: skip
    """Resize the spatial dims of ``(N, C, *spatial)``.

    `scales` are the user's factors, if they replace the ratio of sizes.

    >>> import numpy as np
    >>> interpolate(np.array([[[0.0, 1.0]]]), (4,), "linear")
    array([[[0.  , 0.25, 0.75, 1.  ]]])
    """
    if mode == "area":
        return adaptive_avg_pool(x, output_size)
    if x.dtype.kind != "f" and mode not in _NEAREST and tuple(output_size) != x.shape[2:]:
        raise TypeError(f"mode {mode!r} needs a floating point array, not {x.dtype}")
    maps = _maps(x.shape[2:], output_size, mode, align_corners, scales, antialias, x.dtype)
    return _apply_all(x, maps)


@in_float32
def interpolate_backward(
    grad: np.ndarray, input_shape: Ints, mode: str, align_corners: bool = False,
    scales: tuple[float | None, ...] | None = None, antialias: bool = False,
) -> np.ndarray:  # fmt: skip
    """The transpose of `interpolate`.

    >>> import numpy as np
    >>> interpolate_backward(np.ones((1, 1, 4)), (1, 1, 2), "linear")
    array([[[2., 2.]]])
    """
    if mode == "area":
        return adaptive_avg_pool_backward(grad, input_shape, len(input_shape) - 2)
    maps = _maps(input_shape[2:], grad.shape[2:], mode, align_corners, scales, antialias, grad.dtype)
    return _apply_all(grad, [m.transposed for m in maps])


def _maps(
    sizes: Ints, out: Ints, mode: str, align_corners: bool, scales: tuple[float | None, ...] | None, antialias: bool,
    dtype: np.dtype,
) -> list[AxisMap]:  # fmt: skip
    """The maps of all dims."""
    small = len(out) == 2 and sum(out) <= 128
    dims = zip(sizes, out, scales or (None,) * len(out), strict=True)
    return [axis_map(n, o, mode, align_corners, scale, antialias, dtype, small) for n, o, scale in dims]


def _apply_all(x: np.ndarray, maps: list[AxisMap]) -> np.ndarray:
    """Apply the maps of the spatial dims, those that shrink first."""
    given = x
    x = np.ascontiguousarray(x)
    if not x.size:
        return np.zeros((*x.shape[:2], *(len(m.indices) for m in maps)), x.dtype)
    with silent():
        finite = all(m.picks for m in maps) or bool(np.isfinite(np.vdot(x, x)))
        order = sorted(range(len(maps)), key=lambda i: (len(maps[i].indices) / maps[i].size, -i))
        for i in order:
            if not maps[i].same:
                x = maps[i].apply(x, i + 2, finite)
    return x.copy() if x is given else x


# ----- Resizing images of bytes by lines and cubics in integers, as PyTorch does ---------------------------------
# Weights of 16 bits, each pass rounded to bytes.


_MAX_SHIFT = 22


@lru_cache(maxsize=32)
def _integer_weights(
    size: int, out: int, mode: str, align_corners: bool, scale: float | None, antialias: bool
) -> tuple[list[tuple[slice, slice, np.ndarray]], int]:
    """The dense blocks of an axis map in units of 2**-shift, and the shift: the largest that keeps weights in 16 bits."""
    blocks = axis_map(size, out, mode, align_corners, scale, antialias, np.dtype(np.float64), False).blocks
    largest = max(float(block.max(initial=0)) for _, _, block in blocks)
    shift = 0
    while shift < _MAX_SHIFT and int(0.5 + largest * 2 ** (shift + 1)) < 2**15:
        shift += 1
    whole = [(rows, columns, np.trunc(b * 2**shift + np.copysign(0.5, b))) for rows, columns, b in blocks]
    return whole, shift


def _resize_last(
    x: np.ndarray, out: int, mode: str, align_corners: bool, scale: float | None, antialias: bool
) -> np.ndarray:
    """Resize the last dim of an array of bytes."""
    blocks, shift = _integer_weights(x.shape[-1], out, mode, align_corners, scale, antialias)
    result = np.empty((*x.shape[:-1], out), x.dtype)
    for rows, columns, block in blocks:
        sums = x[..., columns].astype(np.float64) @ block.T  # exact: far below 2**53
        sums += 2.0 ** (shift - 1)
        np.floor(sums * 2.0**-shift, out=sums)
        result[..., rows] = sums.clip(0, 255)
    return result


def interpolate_bytes(
    x: np.ndarray, output_size: Ints, mode: str, align_corners: bool, scales: tuple[float | None, ...] | None, antialias: bool
) -> np.ndarray:  # fmt: skip
    """Resize images ``(N, C, H, W)`` of bytes: along the width, then the rounded result along the height.

    >>> import numpy as np
    >>> interpolate_bytes(np.array([[[[0, 255]]]], np.uint8), (1, 3), "bilinear", False, None, False)
    array([[[[  0, 128, 255]]]], dtype=uint8)
    """
    if not x.size:
        return np.zeros((*x.shape[:2], *output_size), x.dtype)
    down, across = scales or (None, None)
    found = x
    if output_size[1] != x.shape[3]:
        found = _resize_last(found, output_size[1], mode, align_corners, across, antialias)
    if output_size[0] != x.shape[2]:
        transposed = np.ascontiguousarray(found.swapaxes(2, 3))
        found = _resize_last(transposed, output_size[0], mode, align_corners, down, antialias).swapaxes(2, 3)
    return np.array(found, order="C")
