"""Slow NumPy ufuncs composed of faster ones, used without machine code.

Note [Ufuncs by faster ones]
For float32 NumPy has vectorised `exp`, `log`, `sin`, `cos`, `tanh` and arithmetic; for other functions it calls the C library for each element, which takes
5 to 25 ns. Each function here makes a few passes over a block that fits in the first-level cache, at 0.2 ns an element for arithmetic. The results are
accurate to some units in the last place. `fmod`, `remainder`, `floor_divide` and `nextafter` are exact: in float64, a quotient of two float32 numbers that is
below 2**24 and not an integer is not rounded to one. The functions in `ALSO_DOUBLE` are faster in float64 too. A function returns False for a block with
elements that it can't handle (infinities, NaN, division by zero): NumPy's ufunc then computes the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from numpy._core._multiarray_umath import __cpu_features__ as _features  # type: ignore[import-not-found]
except ImportError:
    _features = {}

from .elementwise.strategies import FASTER_FROM
from .numpy_warnings import hush, unhush
from .rows import each_block

Array = np.ndarray
_BLOCK = 1 << 13  # elements
_FLOAT: np.dtype[Any] = np.dtype(np.float32)
_DOUBLE: np.dtype[Any] = np.dtype(np.float64)
_MOST_QUOTIENT = float(1 << 24)
_LOG_2 = math.log(2.0)
_INTEGERS = {4: np.int32, 8: np.int64}
_MOST_SQUARES = {
    4: 1e37,
    8: 1e300,
}  # their sums, which are far from infinite and, if they are more than the reciprocal, from 0


def _log1p(x: Array, out: Array) -> None:
    """log(1 + x) for -1 < x < inf: the logarithm of the rounded sum, and a correction for its rounding error."""
    whole = x + np.float32(1)
    lost = whole - np.float32(1)
    np.subtract(x, lost, lost)
    lost /= whole
    np.log(whole, out)
    out += lost


def log1p(x: Array, out: Array) -> bool:
    """log(1 + x)."""
    if not (x.min() > -1 and x.max() < np.inf):
        return False
    _log1p(x, out)
    return True


def expm1(x: Array, out: Array) -> bool:
    """exp(x) - 1 = tanh(x / 2) * (exp(x) + 1)."""
    larger = np.exp(x)
    larger += np.float32(1)
    np.tanh(x * np.float32(0.5), out)
    out *= larger
    return True


def _half_exp(x: Array) -> Array:
    """exp(abs(x)) / 2, which overflows only where cosh(x) does."""
    root = np.abs(x)
    root *= np.float32(0.5)
    np.exp(root, root)
    half = root * np.float32(0.5)
    half *= root
    return half


def cosh(x: Array, out: Array) -> bool:
    """(exp(x) + exp(-x)) / 2."""
    half = _half_exp(x)
    np.divide(np.float32(0.25), half, out)
    out += half
    return True


def sinh(x: Array, out: Array) -> bool:
    """tanh(x / 2) * (cosh(x) + 1)."""
    cosh(x, out)
    out += np.float32(1)
    out *= np.tanh(x * np.float32(0.5))
    return True


def tan(x: Array, out: Array) -> bool:
    """sin(x) / cos(x)."""
    np.sin(x, out)
    out /= np.cos(x)
    return True


def arctanh(x: Array, out: Array) -> bool:
    """log1p(2 x / (1 - x)) / 2 for the absolute value, with the sign of x."""
    size = np.abs(x)
    if not size.max() < 1:
        return False
    rest = np.float32(1) - size
    size += size
    size /= rest
    _log1p(size, out)
    out *= np.float32(0.5)
    np.copysign(out, x, out)
    return True


def arcsinh(x: Array, out: Array) -> bool:
    """log1p(x + x**2 / (1 + sqrt(1 + x**2))) for the absolute value, with the sign of x."""
    size = np.abs(x)
    if not size.max() < 1e18:
        return False
    square = size * size
    root = square + np.float32(1)
    np.sqrt(root, root)
    root += np.float32(1)
    square /= root
    size += square
    _log1p(size, out)
    np.copysign(out, x, out)
    return True


def _logaddexp(x: Array, y: Array, out: Array, unit: float) -> bool:
    """max(x, y) + log1p(exp(-distance)), for logarithms to the base exp(`unit`)."""
    distance = x - y
    np.abs(distance, distance)
    if not distance.max() < np.inf:
        return False
    distance *= -unit
    np.exp(distance, distance)
    _log1p(distance, out)
    out /= unit
    out += np.maximum(x, y)
    return True


def logaddexp(x: Array, y: Array, out: Array) -> bool:
    """log(exp(x) + exp(y))."""
    return _logaddexp(x, y, out, 1.0)


def logaddexp2(x: Array, y: Array, out: Array) -> bool:
    """log2(2**x + 2**y)."""
    return _logaddexp(x, y, out, _LOG_2)


def hypot(x: Array, y: Array, out: Array) -> bool:
    """sqrt(x**2 + y**2), where no square is out of range."""
    np.multiply(x, x, out)
    out += y * y
    most = _MOST_SQUARES[x.itemsize]
    if not (out.max() < most and out.min() > 1 / most):
        return False
    np.sqrt(out, out)
    return True


def _quotient(rounding: Any, x: Array, y: Array) -> Array | None:
    """The quotients in float64, rounded to integers; None if one may be inexact or is undefined."""
    quotient: Array = np.divide(x, y, dtype=np.float64)
    if not (quotient.max() < _MOST_QUOTIENT and quotient.min() > -_MOST_QUOTIENT and np.isfinite(y).all()):
        return None
    rounding(quotient, quotient)
    return quotient


def _remainder(rounding: Any, x: Array, y: Array, out: Array) -> bool:
    quotient = _quotient(rounding, x, y)
    if quotient is None:
        return False
    quotient *= y
    np.subtract(x, quotient, quotient)
    out[...] = quotient
    return True


def floor_divide(x: Array, y: Array, out: Array) -> bool:
    """floor(x / y)."""
    quotient = _quotient(np.floor, x, y)
    if quotient is None:
        return False
    out[...] = quotient
    return True


def remainder(x: Array, y: Array, out: Array) -> bool:
    """x - floor(x / y) * y; unlike NumPy's, a zero is positive."""
    return _remainder(np.floor, x, y, out)


def fmod(x: Array, y: Array, out: Array) -> bool:
    """x - trunc(x / y) * y."""
    if not _remainder(np.trunc, x, y, out):
        return False
    np.copysign(out, x, out)
    return True


def nextafter(x: Array, y: Array, out: Array) -> bool:
    """The bits of x as an integer, plus or minus one."""
    if not (np.abs(x).min() > 0 and y.min() > -np.inf):  # also False for NaN
        return False
    kind = _INTEGERS[x.itemsize]
    away = y > x
    away ^= x < 0
    step = away.astype(kind)
    step += step
    step -= 1
    step *= x != y
    np.add(x.view(kind), step, out.view(kind))
    return True


FASTER: dict[Any, Callable[..., bool]] = {
    np.log1p: log1p, np.expm1: expm1, np.cosh: cosh, np.sinh: sinh, np.tan: tan, np.arctanh: arctanh, np.arcsinh: arcsinh,
    np.logaddexp: logaddexp, np.logaddexp2: logaddexp2, np.remainder: remainder, np.fmod: fmod, np.floor_divide: floor_divide,
    np.nextafter: nextafter, np.hypot: hypot,
}  # fmt: skip
ALSO_DOUBLE = {np.logaddexp, np.logaddexp2, np.nextafter, np.hypot}
_BY_AVX512 = frozenset((np.log1p, np.expm1, np.cosh, np.sinh, np.tan, np.arctanh, np.arcsinh))
# With AVX-512 NumPy vectorises these itself, and takes a fifth of the time.
AS_THEY_ARE = _BY_AVX512 if _features.get("AVX512_SKX") else frozenset()


def run(ufunc: Any, *operands: Any) -> Any:
    """ufunc(*operands), by a faster function if there is one and the operands fit."""
    token = hush()
    try:
        faster = FASTER.get(ufunc)
        return ufunc(*operands) if faster is None or not fits(ufunc, operands) else _in_blocks(faster, ufunc, operands)
    finally:
        unhush(token)


def _in_blocks(faster: Any, ufunc: Any, operands: Any) -> Array:
    first = next(o for o in operands if type(o) is np.ndarray)
    is_array = [type(o) is np.ndarray for o in operands]
    flat = [o.reshape(-1) if whole else np.full(_BLOCK, o, first.dtype) for o, whole in zip(operands, is_array)]
    result = np.empty(first.shape, first.dtype)
    out = result.reshape(-1)

    def body(part: slice) -> None:
        operands = [x[part] if whole else x[: part.stop - part.start] for x, whole in zip(flat, is_array)]
        if not faster(*operands, out[part]):
            ufunc(*operands, out[part])

    each_block(body, out.size, 1, block=_BLOCK)
    return result


def fits(ufunc: Any, operands: tuple[Any, ...]) -> bool:
    """Whether the operands are scalars and large contiguous arrays of one shape, in a dtype for which a faster function exists."""
    shape, dtype = None, _FLOAT
    if ufunc in AS_THEY_ARE:
        return False
    for operand in operands:
        if type(operand) is np.ndarray:
            if shape is None and operand.dtype == _DOUBLE and ufunc in ALSO_DOUBLE:
                dtype = _DOUBLE
            if operand.dtype != dtype or operand.size < FASTER_FROM or not operand.flags.c_contiguous:
                return False
            if shape is not None and operand.shape != shape:
                return False
            shape = operand.shape
        elif type(operand) is not float and type(operand) is not int:
            return False
    return shape is not None
