"""The vector functions that implement ufuncs in kernels. See Note [Bodies as machine code] in trace.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import angles, math, values as v
from .rows import Tracing
from .values import Value


class Untraceable(Exception):
    """Raised by a placeholder for an operation that it does not support."""


def partial(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function whose kernels are partial: Note [Partial functions] in math.py."""

    def run(*operands: Any) -> Value:
        result = function(*operands)
        assert isinstance(result.build, Tracing)
        result.build.partial = True
        return result

    return run


def _sign(x: Value) -> Value:
    one = v.full(x, 1.0)
    return v.where(v.is_nan(x), x, v.only(v.greater(x, 0.0), one) - v.only(v.less(x, 0.0), one))


def _power(x: Any, exponent: Any) -> Value:
    if isinstance(x, Value) and not isinstance(exponent, Value):
        product = math.integer_power(x, int(exponent)) if exponent == int(exponent) else None
        if product is not None:
            return product
    return partial(_of_values(math.power))(x, exponent)


def _short_power(x: Any, exponent: Any) -> Value:
    """For float64: a square or a cube."""
    if not isinstance(x, Value) or exponent not in (2.0, 3.0):
        raise Untraceable
    return x * x if exponent == 2 else x * x * x


def _of_values(function: Callable[[Value, Value], Value]) -> Callable[[Any, Any], Value]:
    """A function of two values, extended so that either may be a scalar."""

    def run(a: Any, b: Any) -> Value:
        if not isinstance(a, Value):
            return function(v.full(b, a), b)
        return function(a, b if isinstance(b, Value) else v.full(a, b))

    return run


def _limited(
    both: Callable[[Value, Any], Value], number: Callable[[Value, float], Value]
) -> Callable[[Any, Any], Value]:
    """A maximum or a minimum; of a scalar and a value, the value if it is NaN, or if both are 0."""
    return lambda a, b: both(a, b) if isinstance(a, Value) else both(b, a) if a != a else number(b, a)


UFUNCS: dict[np.ufunc, Callable[..., Value]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.negative: lambda a: -a,
    np.square: lambda a: a * a,
    np.reciprocal: lambda a: 1.0 / a,
    np.sqrt: v.sqrt,
    np.power: _power,
    np.abs: v.absolute,
    np.sign: _sign,
    np.exp: math.exp,
    np.expm1: math.expm1,
    np.log1p: math.log1p,
    np.log: math.log,
    np.tanh: math.tanh,
    np.exp2: math.exp2,
    np.log2: math.log2,
    np.log10: math.log10,
    np.sin: partial(angles.sin),
    np.cos: partial(angles.cos),
    np.tan: partial(angles.tan),
    np.arcsin: angles.asin,
    np.arccos: angles.acos,
    np.arctan: angles.atan,
    np.sinh: angles.sinh,
    np.cosh: angles.cosh,
    np.arcsinh: angles.asinh,
    np.arccosh: angles.acosh,
    np.arctanh: angles.atanh,
    np.floor: lambda a: v.rounded(a, "floor"),
    np.ceil: lambda a: v.rounded(a, "ceil"),
    np.trunc: lambda a: v.rounded(a, "trunc"),
    np.rint: lambda a: v.rounded(a, "nearest"),
    np.arctan2: _of_values(angles.atan2),
    np.hypot: _of_values(angles.hypot),
    np.logaddexp: _of_values(math.logaddexp),
    np.fmod: partial(_of_values(math.fmod)),
    np.remainder: partial(_of_values(math.remainder)),
    np.floor_divide: partial(_of_values(math.floor_divide)),
    np.copysign: _of_values(lambda a, b: v.with_sign_of(b, v.absolute(a))),
    np.maximum: _limited(v.maximum, v.at_least_number),
    np.minimum: _limited(v.minimum, v.at_most_number),
}  # fmt: skip
# The same in kernels of float64; NumPy runs those that are missing.
UFUNCS_OF_DOUBLES: dict[np.ufunc, Callable[..., Value]] = {
    ufunc: UFUNCS[ufunc]
    for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.reciprocal, np.sqrt, np.abs)
    + (np.sign, np.floor, np.ceil, np.trunc, np.rint, np.copysign, np.maximum, np.minimum)
    + (np.fmod, np.remainder, np.floor_divide, np.exp, np.log, np.tanh, np.expm1, np.log1p, np.sin, np.cos)
} | {np.power: _short_power}  # fmt: skip
# Ufuncs whose results have no more digits than their operands.
EXACT = frozenset(
    (np.negative, np.abs, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.copysign, np.maximum, np.minimum)
)
# Ufuncs that give masks, with the name for swapped operands.
COMPARISONS: dict[np.ufunc, tuple[Callable[..., Value], Callable[..., Value]]] = {
    np.less: (v.less, v.greater),
    np.less_equal: (v.at_most, v.at_least),
    np.greater: (v.greater, v.less),
    np.greater_equal: (v.at_least, v.at_most),
    np.equal: (v.equal, v.equal),
    np.not_equal: (v.not_equal, v.not_equal),
}
# Ufuncs of one operand that give masks.
INQUIRIES: dict[np.ufunc, Callable[..., Value]] = {
    np.isnan: v.is_nan,
    np.isinf: lambda a: v.equal(v.absolute(a), float("inf")),
    np.isfinite: lambda a: v.less(v.absolute(a), float("inf")),
    np.signbit: v.has_sign,
}
LOGICAL: dict[np.ufunc, Callable[[Value, Value], Value]] = {
    np.bitwise_or: Value.__or__, np.bitwise_and: Value.__and__, np.bitwise_xor: Value.__xor__,
    np.logical_or: Value.__or__, np.logical_and: Value.__and__, np.logical_xor: Value.__xor__,
}  # fmt: skip
# Functions that are not ufuncs, by name: for float32, and for float64.
SPECIAL: dict[str, Callable[[Value], Value]] = {"erf": math.erf, "erfc": math.erfc, "erfinv": math.erfinv}
SPECIAL_OF_DOUBLES: dict[str, Callable[[Value], Value]] = {"erf": math.erf}
