"""Views operands that broadcast, or are slices of wider arrays, as rows of elements. See Note [Rows by their offsets] in compiler/rows.py."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..numpy_calls import contiguous_strides
from .strategies import LEAST_COLUMNS, MOST_OFFSETS


class Layout(NamedTuple):
    """The rows of some operands and of a contiguous result."""

    shape: tuple[int, ...]  # of the result
    columns: int
    outer: tuple[int, ...]  # sizes of the dimensions that index rows
    steps: tuple[tuple[int, ...], ...]  # each operand's strides along those, in bytes
    vectors: tuple[bool, ...]  # whether an operand is contiguous along a row; else it is a scalar there

    @property
    def rows(self) -> int:
        """The number of rows."""
        return prod(self.outer)

    def table(self) -> np.ndarray:
        """For each row, its byte offset in each operand."""
        table = np.zeros((*self.outer, len(self.steps)), np.int64)
        for column, apart in enumerate(self.steps):
            for dim, (count, step) in enumerate(zip(self.outer, apart)):
                if step:
                    along = (count,) + (1,) * (len(self.outer) - dim - 1)
                    table[..., column] += np.arange(0, count * step, step).reshape(along)
        return table.reshape(-1, len(self.steps))

    @property
    def is_small(self) -> bool:
        """Whether a plan keeps the table."""
        return self.rows * len(self.steps) <= MOST_OFFSETS


def _strides(array: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """An array's strides when it is broadcast to a shape."""
    added = len(shape) - array.ndim
    own = [0 if size == 1 else stride for size, stride in zip(array.shape, array.strides)]
    return (0,) * added + tuple(own)


def layout_of(
    arrays: list[np.ndarray], itemsizes: list[int], result: int | None = None, cut: int | None = None
) -> Layout | None:
    """The layout of operands that broadcast, with these item sizes, and of a result with elements of `result` bytes, if not None.

    A row spans the dimensions from `cut` on; if that is None, as many as are contiguous. Returns None if the contiguous
    dimensions are not the last ones, or if rows would be short. The operands' dimensions must be in memory order: then the
    result's are, too.
    """
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if 0 in shape:
        return None
    strides = [_strides(a, shape) for a in arrays]
    if not all(_ordered(own, shape) for own in strides) or any(
        step % size for own, size in zip(strides, itemsizes) for step in own
    ):
        return None  # kernels use offsets in elements
    if result is not None:
        strides.append(contiguous_strides(shape, result))
        itemsizes = [*itemsizes, result]
    dims: list[tuple[int, tuple[int, ...]]] = []  # size and strides, from the last dimension to the first
    inner = 0
    for i in range(len(shape) - 1, -1, -1):
        if cut is not None and i == cut - 1:
            inner = len(dims)
        if shape[i] == 1:
            continue
        steps = tuple([s[i] for s in strides])
        if len(dims) > inner and steps == tuple([dims[-1][0] * s for s in dims[-1][1]]):
            dims[-1] = dims[-1][0] * shape[i], dims[-1][1]
        else:
            dims.append((shape[i], steps))
    if not dims or inner > 1 or (cut is not None and not inner) or dims[0][0] < LEAST_COLUMNS:
        return None
    columns, along = dims[0]
    if any(step not in (0, size) for step, size in zip(along, itemsizes)):
        return None
    outer = dims[:0:-1]
    apart = tuple([tuple([steps[i] for _, steps in outer]) for i in range(len(strides))])
    return Layout(shape, columns, tuple([n for n, _ in outer]), apart, tuple([step > 0 for step in along]))


def _ordered(strides: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether strides decrease from dimension to dimension; of equal ones, sizes must. Broadcast dimensions do not count."""
    own = [(stride, size) for stride, size in zip(strides, shape, strict=True) if stride]
    return all(a >= b for a, b in pairwise(own)) and all(stride > 0 for stride, _ in own)
