"""Elementwise work on large arrays: split over threads, in blocks that stay in the cache.

Note [Large elementwise work]
From LARGE elements on, or fewer if NumPy is slow at it (`least_size`), the generated ops (ops/machinery/generate.py) hand their kernel or rule to
this module instead of calling it.
Elementwise means that any part of the result depends on the same part of the operands only. So a ufunc runs on one range
for each thread, straight into its part of the result, and a rule like `grad * (1 - result * result)` runs on blocks of
BLOCK elements: its temporaries are as small as a block and stay in the cache, where whole ones would each be written to
memory and read again. Operands of one shape that are contiguous are cut as flat arrays, others along the first dimension,
with what broadcasts along it left whole. What cannot be cut, and what turns out not to be elementwise, runs in one piece.
A rule that was traced becomes a native kernel where that can be: Note [Bodies as machine code].
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

import numpy as np

from .fused import Program, program_of
from .lazy import lazy_import
from .numpy_warnings import hush, unhush
from .parallel import parallel_for, thread_count

faster_ufuncs = lazy_import(globals(), "faster_ufuncs", ".faster_ufuncs")
halves = lazy_import(globals(), "halves", ".copies.halves")
machine = lazy_import(globals(), "machine", ".native.operands")
sum_to = lazy_import(globals(), "sum_to", ".reduce.sum_to")
K = TypeVar("K", bound=Callable[..., Any])

LARGE = 1 << 15  # elements; below, not even the costliest function gains from a second thread
HALVES = 1 << 10  # elements that are 16-bit floats
COSTLY = 1 << 12  # elements of a rule that calls more than one machine instruction for each
OUTER = 1 << 17  # elements of two operands, multiplied; below, the result is small, or as large as one of them
BLOCK = 1 << 16  # elements of a block: a result and a temporary of them fit in a second-level cache
_CHEAP = (
    1 << 21
)  # elements; below, a function that is one machine instruction waits for memory, which a second thread does not speed up
_GRAIN = LARGE // 2  # elements; the least that a thread gets of a costly function or a rule
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))

_CHEAP_UFUNCS = frozenset(
    (np.add, np.subtract, np.multiply, np.divide, np.negative, np.maximum, np.minimum, np.abs, np.square, np.less, np.greater)
    + (np.less_equal, np.greater_equal, np.equal, np.not_equal, np.positive, np.sign, np.rint, np.floor, np.ceil, np.trunc)
    + (np.reciprocal, np.sqrt, np.logical_not, np.isfinite, np.isnan, np.isinf)
)  # fmt: skip


def _cut(values: tuple[Any, ...]) -> tuple[tuple[int, ...], int, list[Any], list[bool]] | None:
    """(shape of the result, length to cut, the values ready to be cut, which of them are cut), or None.

    Only where the result is contiguous in either way of computing it: a gradient's or a result's strides must not depend on its size.
    """
    arrays = [v for v in values if type(v) is np.ndarray and v.ndim]
    shape = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*[a.shape for a in arrays])
    flat, anchored = True, False
    for a in arrays:
        if a.dtype not in _FLOATS and a.dtype.kind != "b":
            return None
        if a.shape == shape and a.flags.c_contiguous:
            anchored = True
        elif a.flags.c_contiguous or not any(a.strides):
            flat = False
        else:
            return None
    if not anchored:
        return None
    if flat:
        ready = [v.reshape(-1) if type(v) is np.ndarray and v.ndim else v for v in values]
        return shape, arrays[0].size, ready, [type(v) is np.ndarray and v.ndim > 0 for v in values]
    parted = [type(v) is np.ndarray and v.ndim == len(shape) and v.shape[0] == shape[0] for v in values]
    return shape, shape[0], list(values), parted


# Ufuncs whose machine code is much faster than NumPy's loops: Note [Native kernels].
_NATIVE_UFUNCS = frozenset(
    (np.exp, np.expm1, np.log, np.log1p, np.tanh, np.exp2, np.log2, np.log10, np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan)
    + (np.logical_not, np.logical_and, np.logical_or, np.logical_xor, np.arctan2, np.sinh, np.cosh, np.arcsinh, np.arccosh, np.arctanh, np.copysign, np.power)
)  # fmt: skip


# What NumPy converts float16 to float32 for; for the rest it looks at bits.
_IN_SINGLE = (_NATIVE_UFUNCS | _CHEAP_UFUNCS) - {
    np.negative, np.positive, np.abs, np.sign, np.isfinite, np.isnan, np.isinf, np.copysign,
    np.logical_not, np.logical_and, np.logical_or, np.logical_xor,
}  # fmt: skip

# From how many elements on they are, where looking for the machine code does not take longer than it saves.
_FEW = 1 << 10
_SLOW_UFUNCS = frozenset(
    (np.expm1, np.log1p, np.exp2, np.log2, np.log10, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2, np.sinh, np.cosh)
    + (np.arcsinh, np.arccosh, np.arctanh, np.copysign)
)  # fmt: skip
_SOME = {np.exp: 1 << 13, np.log: 1 << 13, np.tanh: 1 << 12, np.power: 1 << 13, np.sin: 1 << 14, np.cos: 1 << 14}

# And those that are as fast in one thread, unless one operand is a row or a number for each row; shared between threads they are faster.
_NATIVE_SHARED = frozenset(
    (
        np.add,
        np.subtract,
        np.multiply,
        np.divide,
        np.negative,
        np.square,
        np.abs,
        np.reciprocal,
        np.sqrt,
        np.maximum,
        np.minimum,
    )
)
_SHARED_FROM = 1 << 17  # elements


def one_pass(kernel: K, least: int = 1 << 12) -> K:
    """Mark an elementwise kernel that is made of ufuncs on its operands only, so that arrays of that many elements are given to
    `run_function`."""
    kernel.one_pass = least  # type: ignore[attr-defined]
    return kernel


def least_size(kernel: Any) -> int:
    """From how many elements on a kernel is given to this module."""
    if type(kernel) is not np.ufunc:
        return int(kernel.one_pass)
    return _FEW if kernel in _SLOW_UFUNCS else _SOME.get(kernel, LARGE)


def run_function(kernel: Callable[..., Any], *operands: Any) -> Any:
    """kernel(*operands) of a kernel that `one_pass` has marked."""
    result = machine.run(kernel, operands)
    return kernel(*operands) if result is None else result


def run_ufunc(ufunc: Any, *operands: Any) -> Any:
    """ufunc(*operands), one of which may have LARGE elements, or the result, by several threads where that pays."""
    if _is_slow(ufunc, operands):
        result = machine.run(ufunc, operands)
        if result is not None:
            return result
    if ufunc in _IN_SINGLE and _are_halves(operands):
        return _by_singles(ufunc, operands)
    if ufunc in faster_ufuncs.FASTER and faster_ufuncs.fits(operands):
        return faster_ufuncs.run(ufunc, *operands)
    return _run_in_ranges(ufunc, operands)


def _are_halves(operands: tuple[Any, ...]) -> bool:
    """Whether all are contiguous arrays of float16 of one shape."""
    shape = getattr(operands[0], "shape", None)
    return all(
        [
            type(o) is np.ndarray and o.dtype == np.float16 and o.shape == shape and o.flags.c_contiguous
            for o in operands
        ]
    )


def _by_singles(ufunc: Any, operands: tuple[Any, ...]) -> Any:
    """A ufunc of halves, which NumPy computes in float32 too, one after the other."""
    flat = [o.reshape(-1) for o in operands]

    def part(low: int, high: int) -> Any:
        made = ufunc(*[halves.to_single(o[low:high]) for o in flat])
        return halves.to_half(made) if made.dtype == np.float32 else made

    token = hush()
    try:
        first = part(0, BLOCK)
        if first.size == flat[0].size:
            return first.reshape(operands[0].shape)
        result = np.empty(operands[0].shape, first.dtype)
        out = result.reshape(-1)
        out[:BLOCK] = first

        def body(low: int, high: int) -> None:
            for start in range(low + BLOCK, high + BLOCK, BLOCK):
                end = min(start + BLOCK, high + BLOCK)
                out[start:end] = part(start, end)

        parallel_for(body, out.size - BLOCK, BLOCK, blas=False)
        return result
    finally:
        unhush(token)


def run_into(ufunc: Any, *operands: Any) -> None:
    """Write ufunc(*operands[:-1]), of 16-bit floats mostly, into the last operand, which is contiguous and may be among the others."""
    *given, out = operands
    if machine.run(ufunc, tuple(given), out) is None:
        ufunc(*operands)


def _is_slow(ufunc: Any, operands: tuple[Any, ...]) -> bool:
    """Whether a ufunc takes NumPy longer than machine code: one that is cheap on 16-bit floats, on many elements, or if its operands
    are not contiguous arrays of one shape."""
    arrays = [o for o in operands if type(o) is np.ndarray and o.ndim]
    first = arrays[0]
    if first.dtype.kind in "iu":
        return False
    if first.dtype.itemsize == 2 or (ufunc in _NATIVE_UFUNCS and first.dtype.kind != "b"):
        return True
    if ufunc not in _NATIVE_SHARED:
        return False
    return first.size >= _SHARED_FROM or any(a.shape != first.shape or not a.flags.c_contiguous for a in arrays)


def _run_in_ranges(ufunc: Any, operands: tuple[Any, ...]) -> Any:
    size = max([getattr(o, "size", 1) for o in operands])
    grain = _CHEAP // 2 if ufunc in _CHEAP_UFUNCS else _GRAIN
    token = hush()
    try:
        if size < 2 * grain or thread_count() < 2:
            return ufunc(*operands)
        return _in_ranges(ufunc, operands, grain)
    finally:
        unhush(token)


def _in_ranges(ufunc: Any, operands: tuple[Any, ...], grain: int) -> Any:
    cut = _cut(operands)
    if cut is None or cut[1] < 2:
        return ufunc(*operands)
    shape, length, values, parted = cut
    probe = ufunc(*[v[:1] if p else v for v, p in zip(values, parted)])
    if type(probe) is not np.ndarray:
        return ufunc(*operands)
    result = np.empty(shape, probe.dtype)
    out = result if length == shape[0] else result.reshape(-1)

    def body(low: int, high: int) -> None:
        ufunc(*[v[low:high] if p else v for v, p in zip(values, parted)], out=out[low:high])

    parallel_for(body, length, max(1, length * grain // result.size), blas=False)
    return result


def _narrow(values: tuple[Any, ...]) -> bool:
    """Whether there are 16-bit floats among the values, which NumPy is slow at."""
    return any(type(v) is np.ndarray and v.dtype.itemsize == 2 for v in values)


def run_rule(rule: Callable[..., Any], *values: Any) -> Any:
    """rule(*values) of an elementwise op, whose gradient has at least LARGE elements, block by block and by several threads."""
    program = program_of(rule, values)
    if not isinstance(program, Program) or len(program.steps) > 1 or _narrow(values):
        result = machine.run(program if isinstance(program, Program) else rule, values)
        if result is not None:
            return result
    if program is False:
        return rule(*values)
    if isinstance(program, Program) and len(program.steps) == 1:
        ufunc, coded, _ = program.steps[0]
        return run_ufunc(ufunc, *[values[c] if type(c) is int else c[0] for c in coded])
    cut = _cut(values)
    if cut is None or cut[1] < 2:
        return rule(*values)
    shape, length, leaves, parted = cut
    flat = length != shape[0] or len(shape) == 1
    if program is True or not flat:
        return _run_opaque(rule, values, cut)
    assert not isinstance(program, bool)
    dtype = next(v.dtype for v in leaves if type(v) is np.ndarray and v.ndim and v.dtype.kind == "f")
    result = np.empty(shape, dtype)
    out = result.reshape(-1)

    def body(low: int, high: int) -> None:
        scratch = [np.empty(min(BLOCK, high - low), dtype) for _ in range(program.registers)]
        for start in range(low, high, BLOCK):
            end = min(start + BLOCK, high)
            if end - start < BLOCK and scratch:
                scratch = [s[: end - start] for s in scratch]
            program.run([v[start:end] if p else v for v, p in zip(leaves, parted)], scratch, out[start:end])

    parallel_for(body, length, _GRAIN, blas=False)
    return result


def run_rule_to(shape: tuple[int, ...], rule: Callable[..., Any], *values: Any) -> Any:
    """`run_rule` of a gradient that is to be summed to a shape: in the same pass where that can be, else as it is."""
    if shape == values[0].shape:
        return run_rule(rule, *values)
    program = program_of(rule, values)
    result = sum_to.run(program if isinstance(program, Program) else rule, values, shape)
    return run_rule(rule, *values) if result is None else result


def _run_opaque(rule: Callable[..., Any], values: tuple[Any, ...], cut: Any) -> Any:
    """A rule that could not be traced, on blocks whose results are copied together."""
    shape, length, leaves, parted = cut
    size = prod(shape)
    step = max(1, BLOCK * length // size)
    if size < 2 * BLOCK or step >= length:
        return rule(*values)
    first_values = [v[:step] if p else v for v, p in zip(leaves, parted)]
    first = rule(*first_values)
    expected = (step,) if length != shape[0] or len(shape) == 1 else (step, *shape[1:])
    if (
        type(first) is not np.ndarray
        or first.shape != expected
        or first.base is not None
        or any(first is v for v in first_values)
    ):
        return rule(*values)  # hands on an operand, or depends on more than its part
    result = np.empty(shape, first.dtype)
    out = result if length == shape[0] else result.reshape(-1)
    out[:step] = first

    def body(low: int, high: int) -> None:
        for start in range(low + step, high + step, step):
            end = min(start + step, high + step)
            out[start:end] = rule(*[v[start:end] if p else v for v, p in zip(leaves, parted)])

    parallel_for(body, length - step, max(step, _GRAIN * length // size), blas=False)
    return result
