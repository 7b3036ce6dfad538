"""Some of NumPy's ufuncs by those of its others that are faster, where no machine code runs.

Note [Ufuncs by faster ones]
NumPy has vector instructions for `exp`, `log`, `sin`, `cos`, `tanh` and arithmetic of float32, and calls C's function for each element for the rest,
which takes 5 to 25 ns. Each function here is a few passes over a block that stays in the first-level cache, 0.2 ns each for arithmetic. They are
as exact as what they are made of: some units in the last place. `fmod`, `remainder` and `floor_divide` are exact, since a quotient of two float32 below 2**24 that
is no integer is rounded to none in float64; so is `nextafter`. Those in `ALSO_DOUBLE` are faster in float64, too. A block with numbers that a function is not made for (infinities, zeros that are divided by, NaN)
is left to NumPy's ufunc, which is what the functions say by returning False.
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
from .parallel import parallel_for

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
    """For -1 < x < inf: the logarithm of the rounded 1 + x, and what was rounded away."""
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
    """exp(abs(x)) / 2, which is not infinite before cosh(x) is."""
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
    """log1p(2 x / (1 - x)) / 2 of the absolute value."""
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
    """log1p(x + x**2 / (1 + sqrt(1 + x**2))) of the absolute value."""
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
    """The larger one + log1p(exp(-distance)), in logarithms of which `unit` is the one of the base."""
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
    """The same with powers of two."""
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
    """The whole quotients in float64; None if one of them may be rounded, or has no value."""
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
    """x - floor(x / y) * y; a 0 has no sign, unlike NumPy's."""
    return _remainder(np.floor, x, y, out)


def fmod(x: Array, y: Array, out: Array) -> bool:
    """x - trunc(x / y) * y."""
    if not _remainder(np.trunc, x, y, out):
        return False
    np.copysign(out, x, out)
    return True


def nextafter(x: Array, y: Array, out: Array) -> bool:
    """The bits of x as an integer, one more or one less."""
    if not (np.abs(x).min() > 0 and y.min() > -np.inf):  # with a NaN neither
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
# Those that are faster in this NumPy: with AVX-512 it has vector instructions for them, and takes a fifth of the time.
AS_THEY_ARE = _BY_AVX512 if _features.get("AVX512_SKX") else frozenset()


def run(ufunc: Any, *operands: Any) -> Any:
    """ufunc(*operands), by faster ones if there are such and the operands fit."""
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

    def body(low: int, high: int) -> None:
        for start in range(low, high, _BLOCK):
            end = min(start + _BLOCK, high)
            operands = [x[start:end] if whole else x[: end - start] for x, whole in zip(flat, is_array)]
            if not faster(*operands, out[start:end]):
                ufunc(*operands, out[start:end])

    parallel_for(body, out.size, 4 * _BLOCK, blas=False)
    return result


def fits(ufunc: Any, operands: tuple[Any, ...]) -> bool:
    """Whether operands are contiguous arrays of one shape and of a dtype that a faster ufunc is for, or numbers, and not few."""
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
