"""Convolutions of small images and their transposes, in as few NumPy calls as possible.

Note [Convolution by positions]
For each geometry, a cached table holds the flat index of the input that each kernel element meets at each position. One `take`
with this table gives the columns of a small batch, borders included: positions outside the image index a zero that follows it.
The transpose multiplies first, then takes the products that belong to each element of the input by the inverse table, and adds
them up. Missing products are added as zeros and never multiplied, so infinities survive.

For many images with few positions each, the images become the last dimension, so that the elements at a position are contiguous.
They are then taken together, and one product of large matrices replaces many small ones.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import index_width
from ..linalg import blas
from ..numpy_warnings import silent
from .im2col import Ints
from .strategies import (
    LEAST_RESULTS,
    MOST_MATRICES,
    MOST_NARROW_TAKEN,
    MOST_POSITIONS,
    MOST_PRODUCTS,
    MOST_TAKEN,
    NARROW,
)


def block_counts(sizes: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Ints:
    """How many positions a kernel has in each dim."""
    dims = zip(sizes, kernel, dilation, padding, stride, strict=True)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in dims])


class Positions:
    """The index tables of one geometry: images with these channels and this size, a kernel and its positions."""

    def __init__(
        self, channels: int, size: Ints, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints
    ) -> None:
        plane = prod(size)
        positions, valid = np.zeros(1, np.intp), np.ones(1, bool)
        step = plane
        count = len(size)
        for i, (n, k, o, s, p, d) in enumerate(zip(size, kernel, out, stride, padding, dilation)):
            step //= n
            at = np.add.outer(np.arange(k) * d - p, np.arange(o) * s)
            at = at.reshape([m if j == i else 1 for m, half in ((k, 0), (o, 1)) for j in range(count)])
            positions, valid = positions + at * step, valid & (at >= 0) & (at < n)
        self.size = channels * plane
        every = np.add.outer(np.arange(channels) * plane, positions.reshape(-1))
        self.complete = bool(valid.all())
        self.columns = every if self.complete else np.where(valid.reshape(-1), every, self.size)
        self.columns = np.ascontiguousarray(self.columns.reshape(-1))

    def take(self, x: np.ndarray) -> np.ndarray:
        """The columns of images, flattened: ``(N, channels * taps * positions)``."""
        if self.complete:
            return x.reshape(len(x), -1).take(self.columns, 1)
        padded = np.zeros((len(x), self.size + 1), x.dtype)
        padded[:, :-1] = x.reshape(len(x), -1)
        return padded.take(self.columns, 1)

    def take_beside(self, x: np.ndarray) -> np.ndarray:
        """Like `take`, with the images as the last dimension: ``(channels * taps * positions, N)``."""
        beside = np.zeros((self.size + 1, len(x)), x.dtype)
        beside[:-1] = x.reshape(len(x), -1).T
        return beside.take(self.columns, 0)

    @cached_property
    def back(self) -> tuple[np.ndarray, bool]:
        """For each element of an image, the indices of its columns, padded with an index past the end where it has fewer than
        others; and whether any are padded."""
        owner = np.flatnonzero(self.columns < self.size)
        element = self.columns[owner]
        order = element.argsort(kind="stable")
        element, owner = element[order], owner[order]
        counts = index_width.bincount(element, minlength=self.size)
        rank = np.arange(len(element)) - np.repeat(np.cumsum(counts) - counts, counts)
        table = np.full((max(int(counts.max(initial=0)), 1), self.size), self.columns.size)
        table[rank, element] = owner
        return table, bool((table == self.columns.size).any())

    def room(self, count: int, dtype: Any, beside: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """A buffer for the columns that `add_up` adds, followed by zeros if needed; and the view of the columns in it."""
        size = self.columns.size
        if beside:
            room = np.empty((size + 1, count), dtype)
            room[size] = 0
            return room, room[:size]
        if not self.back[1]:
            room = np.empty((count, size), dtype)
            return room, room
        room = np.empty((count, size + 1), dtype)
        room[:, size] = 0
        return room, room[:, :size]

    def add_up(self, room: np.ndarray) -> np.ndarray:
        """The sums of the columns' elements for each input element: ``(N, channels * size)``."""
        table = self.back[0]
        if len(table) == 1:
            return room.take(table[0], 1)
        return np.add.reduce(room.take(table, 1), 1, room.dtype)

    def add_beside(self, room: np.ndarray) -> np.ndarray:
        """Like `add_up`, with the images as the last dimension: ``(channels * size, N)``."""
        return np.add.reduce(room.take(self.back[0], 0))


@lru_cache(32)
def find_positions(
    channels: int, size: Ints, kernel: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> Positions:
    """The index tables of a geometry, cached, since building them takes longer than using them."""
    return Positions(channels, size, kernel, out, stride, padding, dilation)


class Small:
    """A convolution of small images, and its transposes."""

    def __init__(self, x: Ints, w: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> None:
        self.positions = find_positions(x[1], x[2:], w[2:], out[2:], stride, padding, dilation)
        self.x, self.w, self.out = x, w, out
        each, rows, positions = w[0] // groups, prod(w[1:]), prod(out[2:])
        # Shapes of the matrices of weights, columns and results; a single group has no dimension.
        lead = () if groups == 1 else (groups,)
        self.weights, self.results = (*lead, each, rows), (x[0], *lead, each, positions)
        self.windows = (x[0], *lead, rows, positions)
        self.bias, self.shift = (*lead, each, 1), (-1, *(1,) * len(stride))
        # This is too little work for BLAS's own threads, which would compete with ours.
        multiply = np.matmul if prod(self.results) * rows <= MOST_PRODUCTS else blas.multiply
        # An inner size of one is faster without BLAS.
        self.forward, self.backward = (np.multiply if n == 1 else multiply for n in (rows, each))
        self.multiply = multiply
        self.beside = groups == 1 and x[0] > 3 and positions < LEAST_RESULTS

    def correlate(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """The result."""
        if self.beside:
            return self._correlate_beside(x, w, bias)
        columns = self.positions.take(x).reshape(self.windows)
        with silent():
            y = self.forward(w.reshape(self.weights), columns)
            if bias is not None:
                y += bias.reshape(self.bias)
        return y.reshape(self.out)

    def transpose(self, grad: np.ndarray, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        """The transpose in the input, and a bias."""
        if self.beside:
            return self._transpose_beside(grad, w, bias)
        positions = self.positions
        room, columns = positions.room(len(grad), grad.dtype)
        with silent():
            self.backward(
                w.reshape(self.weights).swapaxes(-1, -2), grad.reshape(self.results), columns.reshape(self.windows)
            )
            x = positions.add_up(room).reshape(self.x)
            if bias is not None:
                x += bias.reshape(self.shift)
        return x

    def weigh(self, grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The transpose in the weights."""
        if self.beside:
            with silent():
                total = blas.multiply(
                    self._results_beside(grad), self.positions.take_beside(x).reshape(self.weights[1], -1).T
                )
            return total.reshape(self.w)
        columns = self.positions.take(x).reshape(self.windows)
        with silent():
            total = self.multiply(grad.reshape(self.results), columns.swapaxes(-1, -2))
            total = total[0] if len(total) == 1 else np.add.reduce(total)
        return total.reshape(self.w)

    def _results_beside(self, grad: np.ndarray) -> np.ndarray:
        """Results or their gradient as a matrix, with the images as the last dimension."""
        return grad.reshape(len(grad), -1).T.reshape(self.out[1], -1)

    def _correlate_beside(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        columns = self.positions.take_beside(x).reshape(self.weights[1], -1)
        with silent():
            y = blas.multiply(w.reshape(self.weights), columns)
            if bias is not None:
                y += bias[:, None]
        return np.ascontiguousarray(y.reshape(-1, len(x)).T).reshape(self.out)

    def _transpose_beside(self, grad: np.ndarray, w: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
        room, columns = self.positions.room(len(grad), grad.dtype, True)
        with silent():
            blas.multiply(w.reshape(self.weights).T, self._results_beside(grad), columns.reshape(self.weights[1], -1))
            x = np.ascontiguousarray(self.positions.add_beside(room).T).reshape(self.x)
            if bias is not None:
                x += bias.reshape(self.shift)
        return x


@lru_cache(128)
def find_small(
    x: Ints, w: Ints, out: Ints | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Small | None:
    """The implementation for small images, if it suits; `out` may be omitted for a convolution that covers the full input."""
    if out is None:
        out = (x[0], w[0], *block_counts(x[2:], w[2:], dilation, padding, stride))
        return find_small(x, w, out, stride, padding, dilation, groups)
    if min(x) < 1 or min(w) < 1 or min(out) < 1:
        return None
    columns = x[1] * prod(w[2:]) * prod(out[2:])
    count = x[0] * columns
    narrow = groups == 1 and prod(out[2:]) > 1 and out[-1] <= NARROW
    if columns > MOST_POSITIONS or count > (MOST_NARROW_TAKEN if narrow else MOST_TAKEN):
        return None
    if x[0] * groups > MOST_MATRICES and not (groups == 1 and prod(out[2:]) < LEAST_RESULTS):
        return None
    if count * w[0] // groups > MOST_PRODUCTS and not narrow:
        return None
    if prod(x[1:]) * prod([min(-(-k // s), o) for k, s, o in zip(w[2:], stride, out[2:])]) > MOST_POSITIONS:
        return None
    return Small(x, w, out, stride, padding, dilation, groups)


@lru_cache(256)
def find_blocks(
    channels: int, size: Ints, kernel: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Positions | None:
    """The index tables of sliding blocks of small images, see fold.py."""
    out = block_counts(size, kernel, dilation, padding, stride)
    elements = channels * prod(kernel) * prod(out)
    if min(channels, *size, *out) < 1 or max(elements, channels * prod(size) * prod(kernel)) > MOST_POSITIONS:
        return None
    return find_positions(channels, size, kernel, out, stride, padding, dilation)
