"""Runs IR in NumPy: the definition of the IR's meaning, and the fallback where no machine code runs.

Note [Iterations as threads]
A parallel loop runs all of its iterations at once. Each is a thread, and a value is an array with one element for each active
thread, or with a single one if all threads agree. A condition splits the threads in two; a loop drops each thread that has
finished. So the number of NumPy calls is that of the longest path through the kernel, not that of its iterations. Every index is
checked against its buffer. A vector has a second dimension, its lanes.

This module shares only the table of ops with the rest of the compiler, since tests compare machine code with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..fma import fused
from .ir import FOLDS, OPS, Kernel, Op, Region, value_of

Array = np.ndarray[Any, Any]
_BLOCK = 1 << 13  # iterations of a parallel loop that run at once: their values should fit in a cache

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "pow": np.power, "sin": np.sin, "cos": np.cos,
    "acos": np.arccos, "tanh": np.tanh,
}  # fmt: skip


class Threads:
    """The threads of a region, and their values. Values of enclosing regions are fetched at their first use."""

    __slots__ = ("count", "index", "outer", "values")

    def __init__(self, count: int, outer: Threads | None = None, index: Array | None = None) -> None:
        self.count, self.outer, self.index = count, outer, index
        self.values: dict[Op, Array] = {}

    def __getitem__(self, op: Op) -> Array:
        try:
            return self.values[op]
        except KeyError:
            assert self.outer is not None
            value = self.outer[op]
            if self.index is not None and len(value) > 1:
                value = value.take(self.index, 0)
            self.values[op] = value
            return value

    def full(self, op: Op) -> Array:
        """A value with an element for each thread."""
        value = self[op]
        return value if len(value) == self.count else np.repeat(value, self.count, 0)

    def some(self, index: Array) -> Threads:
        return Threads(len(index), self, index)


def interpret(
    kernel: Kernel, arguments: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]] = FUNCTIONS
) -> None:
    """Run a kernel on arrays and scalars, by parameter name. `functions` are the targets of `call` ops."""
    machine = _Interpreter(kernel, arguments, functions)
    threads = Threads(1)
    for op in kernel.arguments:
        threads.values[op] = np.array([arguments[op.attribute]], op.type.dtype)
    with np.errstate(all="ignore"):
        machine.region(kernel.body, threads)


class _Interpreter:
    def __init__(
        self, kernel: Kernel, arguments: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.buffers = {name: arguments[name].reshape(-1) for name in kernel.buffers}
        for name, buffer in kernel.buffers.items():
            if buffer.type.element in ("bf16", "bool"):  # by their bits
                self.buffers[name] = self.buffers[name].view("i2" if buffer.type.element == "bf16" else "u1")
        self.functions = functions
        self.is_split = False  # whether inside a parallel loop

    def region(self, region: Region, threads: Threads) -> list[Array]:
        """Run a region; return its yielded values."""
        values = threads.values
        made: list[Array] = []  # by the latest loop or condition
        for op in region.ops:
            name = op.name
            row = OPS[name]
            if row.numpy is not None:
                operands = [threads[operand] for operand in op.operands]
                value = row.numpy(*operands) if op.attribute is None else row.numpy(*operands, op.attribute)
                # A select of a narrower and a wider array is as wide as the threads; NumPy has broadcast it.
                values[op] = value if value.dtype == op.type.dtype else value.astype(op.type.dtype)
            elif name == "yield":
                return [threads[operand] for operand in op.operands]
            elif name == "result":
                values[op] = made[op.attribute]
            elif op.regions:
                made = getattr(self, "_" + name)(op, threads)
            else:
                getattr(self, "_" + name)(op, threads)
        raise AssertionError("a region without a yield")

    # Values

    def _const(self, op: Op, threads: Threads) -> None:
        if op not in threads.values:
            value = value_of(op.attribute, op.type)
            value = np.array([value], op.type.dtype)
            threads.values[op] = value if op.type.lanes == 1 else np.repeat(value[:, None], op.type.lanes, 1)

    def _fma(self, op: Op, threads: Threads) -> None:
        a, b, c = [threads[operand] for operand in op.operands]
        threads.values[op] = fused(a, b, c)

    def _cast(self, op: Op, threads: Threads) -> None:
        value = threads[op.operands[0]]
        dtype = op.type.dtype
        if op.type.element in ("i32", "i64") and value.dtype.kind == "f":
            limit = 2.0 ** (8 * dtype.itemsize - 1)
            inside = (value >= -limit) & (value < limit)  # values outside become the minimum
            threads.values[op] = np.where(inside, np.where(inside, value, 0).astype(dtype), np.iinfo(dtype).min)
        elif op.operands[0].type.element == "bf16":
            threads.values[op] = (value.astype(np.int32) << 16).view(dtype)
        else:
            threads.values[op] = value.astype(dtype)

    def _bitcast(self, op: Op, threads: Threads) -> None:
        threads.values[op] = np.ascontiguousarray(threads[op.operands[0]]).view(op.type.dtype)

    def _call(self, op: Op, threads: Threads) -> None:
        value = self.functions[op.attribute](*[threads[operand] for operand in op.operands])
        threads.values[op] = np.asarray(value, op.type.dtype)

    # Memory

    def _at(self, op: Op, threads: Threads) -> tuple[Array, Array]:
        buffer, index = self.buffers[op.attribute], threads[op.operands[0]]
        if threads.count:
            self._inside(op, buffer, index)
        return buffer, index

    def _inside(self, op: Op, buffer: Array, index: Array) -> None:
        if index.size and (index.min() < 0 or index.max() >= buffer.size):
            raise IndexError(f"{op.name} {op.attribute}[{index.min()} .. {index.max()}] of {buffer.size}")

    def _load(self, op: Op, threads: Threads) -> None:
        buffer, index = self._at(op, threads)
        threads.values[op] = buffer.take(index)

    def _store(self, op: Op, threads: Threads) -> None:
        buffer, index = self._at(op, threads)
        if threads.count:
            buffer[index] = threads[op.operands[1]]

    def _load_vector(self, op: Op, threads: Threads) -> None:
        buffer, index = self.buffers[op.attribute], threads[op.operands[0]]
        index = index[:, None] + np.arange(op.type.lanes) * threads[op.operands[1]][0]
        self._inside(op, buffer, index)
        threads.values[op] = buffer.take(index)

    def _store_vector(self, op: Op, threads: Threads) -> None:
        buffer, value = self.buffers[op.attribute], op.operands[1]
        index = threads[op.operands[0]][:, None] + np.arange(value.type.lanes)
        self._inside(op, buffer, index)
        buffer[index] = threads[value]

    def _masked(self, op: Op, threads: Threads) -> tuple[Array, Array, Array]:
        """The buffer of a masked access, the indices of its lanes, and which lanes are active."""
        buffer, mask = self.buffers[op.attribute], threads[op.operands[-1]]
        index, mask = np.broadcast_arrays(threads[op.operands[0]][:, None] + np.arange(mask.shape[1]), mask)
        self._inside(op, buffer, index[mask])
        return buffer, index, mask

    def _load_masked(self, op: Op, threads: Threads) -> None:
        buffer, index, mask = self._masked(op, threads)
        threads.values[op] = np.zeros(index.shape, op.type.dtype)
        threads.values[op][mask] = buffer.take(index[mask])

    def _store_masked(self, op: Op, threads: Threads) -> None:
        buffer, index, mask = self._masked(op, threads)
        buffer[index[mask]] = np.broadcast_to(threads[op.operands[1]], mask.shape)[mask]

    # Lanes

    def _lanes_below(self, op: Op, threads: Threads) -> None:
        start, end = (threads[operand][:, None] for operand in op.operands)
        threads.values[op] = start + np.arange(op.type.lanes) < end

    def _splat(self, op: Op, threads: Threads) -> None:
        threads.values[op] = np.repeat(threads[op.operands[0]][:, None], op.type.lanes, 1)

    def _reduce(self, op: Op, threads: Threads) -> None:
        value = threads[op.operands[0]]
        while value.shape[1] > 1:
            value = FOLDS[op.attribute](*np.split(value, 2, 1))
        threads.values[op] = value[:, 0]

    # Control

    def _if(self, op: Op, threads: Threads) -> list[Array]:
        condition = threads[op.operands[0]]
        if len(condition) == 1 or condition.all() or not condition.any():
            whole = Threads(threads.count, threads)
            return self.region(op.regions[0 if condition.all() else 1], whole)
        where = [condition.nonzero()[0], (~condition).nonzero()[0]]
        both = [self.region(region, threads.some(index)) for region, index in zip(op.regions, where, strict=True)]
        made = []
        for yes, no in zip(*both, strict=True):
            joined = np.empty(threads.count, yes.dtype)
            joined[where[0]] = yes
            joined[where[1]] = no
            made.append(joined)
        return made

    def _while(self, op: Op, threads: Threads) -> list[Array]:
        return self._loop(op, threads, [threads.full(operand) for operand in op.operands], None)

    def _for(self, op: Op, threads: Threads) -> list[Array]:
        if op.attribute == "parallel" and not self.is_split:
            self._parallel(op, threads)
            return []
        low, high, step = [threads.full(operand) for operand in op.operands[:3]]
        carried = [threads.full(operand) for operand in op.operands[3:]]
        return self._loop(op, threads, [low, *carried], (high, step))[1:]

    def _parallel(self, op: Op, threads: Threads) -> None:
        low, high, step = [int(threads[operand][0]) for operand in op.operands[:3]]
        self.is_split = True
        (region,) = op.regions
        for first in range(low, high, _BLOCK * step):
            index = np.arange(first, min(first + _BLOCK * step, high), step)
            inner = Threads(len(index), threads)
            inner.values[region.parameters[0]] = index
            self.region(region, inner)
        self.is_split = False

    def _loop(self, op: Op, threads: Threads, state: list[Array], limits: tuple[Array, Array] | None) -> list[Array]:
        """Run a loop until its last thread has finished. `state` are the carried values; in a `for` the first is the index."""
        count = threads.count
        results = [np.empty((count, *value.shape[1:]), value.dtype) for value in state]
        index = np.arange(count)
        inner = Threads(count, threads)
        body = op.regions[-1]
        while len(index):
            goes_on = self._test(op, inner, state, limits, index)
            if not goes_on.all():
                through = (~goes_on).nonzero()[0]
                for result, value in zip(results, state, strict=True):
                    result[index[through]] = value[through]
                left = goes_on.nonzero()[0]
                state = [value.take(left, 0) for value in state]
                index = index.take(left)
                if not len(index):
                    break
                inner = threads.some(index)
            inner.values.update(zip(body.parameters, state, strict=True))
            made = self.region(body, inner)
            if limits is not None:
                made = [state[0] + limits[1][index], *made]
            state = [value if len(value) == len(index) else np.repeat(value, len(index), 0) for value in made]
        return results

    def _test(
        self, op: Op, inner: Threads, state: list[Array], limits: tuple[Array, Array] | None, index: Array
    ) -> Array:  # fmt: skip
        if limits is not None:
            return np.asarray(state[0] < limits[0][index])
        inner.values.update(zip(op.regions[0].parameters, state, strict=True))
        (goes_on,) = self.region(op.regions[0], inner)
        return goes_on if len(goes_on) == len(index) else np.repeat(goes_on, len(index))
