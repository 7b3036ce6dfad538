"""What ufuncs are in machine code: the functions of native kernels that do the same. See Note [Bodies as machine code] in traced.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _angles as angles
from . import _errors as errors
from . import _float64 as of_doubles
from . import _functions as f
from . import _powers as powers
from ._build import Value


class Untraceable(Exception):
    """Raised by a stand-in that is asked for more than it can do."""


def _sign(x: Value) -> Value:
    one = f.full(x, 1.0)
    return f.where(f.is_nan(x), x, f.only(f.greater(x, 0.0), one) - f.only(f.less(x, 0.0), one))


def _power(x: Any, exponent: Any) -> Value:
    if isinstance(x, Value) and not isinstance(exponent, Value):
        product = powers.whole_power(x, int(exponent)) if exponent == int(exponent) else None
        if product is not None:
            return product
    return _of_values(powers.power)(x, exponent)


def _short_power(x: Any, exponent: Any) -> Value:
    """Of doubles: a square or a cube."""
    if not isinstance(x, Value) or exponent not in (2.0, 3.0):
        raise Untraceable
    return x * x if exponent == 2 else x * x * x


def _of_values(function: Callable[[Value, Value], Value]) -> Callable[[Any, Any], Value]:
    """A function of two values as one of which either may be a number."""

    def run(a: Any, b: Any) -> Value:
        if not isinstance(a, Value):
            return function(f.full(b, a), b)
        return function(a, b if isinstance(b, Value) else f.full(a, b))

    return run


UFUNCS: dict[np.ufunc, Callable[..., Value]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.divide: lambda a, b: a / b,
    np.negative: lambda a: -a,
    np.square: lambda a: a * a,
    np.reciprocal: lambda a: 1.0 / a,
    np.sqrt: f.sqrt,
    np.power: _power,
    np.abs: f.absolute,
    np.sign: _sign,
    np.exp: f.exp,
    np.expm1: f.expm1,
    np.log1p: f.log1p,
    np.log: f.log,
    np.tanh: f.tanh,
    np.exp2: f.exp2,
    np.log2: f.log2,
    np.log10: f.log10,
    np.sin: angles.sin,
    np.cos: angles.cos,
    np.tan: angles.tan,
    np.arcsin: angles.asin,
    np.arccos: angles.acos,
    np.arctan: angles.atan,
    np.sinh: angles.sinh,
    np.cosh: angles.cosh,
    np.arcsinh: angles.asinh,
    np.arccosh: angles.acosh,
    np.arctanh: angles.atanh,
    np.floor: lambda a: a.builder.emit("floor", a),
    np.ceil: lambda a: a.builder.emit("ceil", a),
    np.trunc: lambda a: a.builder.emit("trunc", a),
    np.rint: lambda a: a.builder.emit("nearest", a),
    np.arctan2: _of_values(angles.atan2),
    np.hypot: _of_values(angles.hypot),
    np.logaddexp: _of_values(angles.logaddexp),
    np.fmod: _of_values(angles.fmod),
    np.remainder: _of_values(angles.remainder),
    np.floor_divide: _of_values(angles.floor_divide),
    np.copysign: _of_values(lambda a, b: f.with_sign_of(b, f.absolute(a))),
    np.maximum: lambda a, b: f.maximum(a, b) if isinstance(a, Value) else f.limited_below(b, a),
    np.minimum: lambda a, b: f.minimum(a, b) if isinstance(a, Value) else f.limited_above(b, a),
}  # fmt: skip
# The same in kernels of float64, Note [Kernels of float64]; what is not here is NumPy's there.
UFUNCS_OF_DOUBLES: dict[np.ufunc, Callable[..., Value]] = {
    ufunc: UFUNCS[ufunc]
    for ufunc in (np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.reciprocal, np.sqrt, np.abs)
    + (np.sign, np.floor, np.ceil, np.trunc, np.rint, np.copysign, np.maximum, np.minimum)
    + (np.fmod, np.remainder, np.floor_divide)
} | {
    np.exp: of_doubles.exp, np.log: of_doubles.log, np.tanh: of_doubles.tanh, np.power: _short_power,
    np.expm1: of_doubles.expm1, np.log1p: of_doubles.log1p, np.sin: of_doubles.sin, np.cos: of_doubles.cos,
}  # fmt: skip
# Those whose results have no more digits than their operands.
EXACT = frozenset(
    (np.negative, np.abs, np.sign, np.floor, np.ceil, np.trunc, np.rint, np.copysign, np.maximum, np.minimum)
)
# Those that give masks; with their operands exchanged they are the others.
COMPARISONS: dict[np.ufunc, tuple[Callable[..., Value], Callable[..., Value]]] = {
    np.less: (f.less, f.greater),
    np.less_equal: (f.at_most, f.at_least),
    np.greater: (f.greater, f.less),
    np.greater_equal: (f.at_least, f.at_most),
    np.equal: (f.equal, f.equal),
    np.not_equal: (f.not_equal, f.not_equal),
}
# And those of one operand.
INQUIRIES: dict[np.ufunc, Callable[..., Value]] = {
    np.isnan: f.is_nan,
    np.isinf: lambda a: f.equal(f.absolute(a), float("inf")),
    np.isfinite: lambda a: f.less(f.absolute(a), float("inf")),
    np.signbit: lambda a: a.builder.emit("vpsrad", a, 31),
}
LOGICAL: dict[np.ufunc, str] = {
    np.bitwise_or: "vorps", np.bitwise_and: "vandps", np.bitwise_xor: "vxorps",
    np.logical_or: "vorps", np.logical_and: "vandps", np.logical_xor: "vxorps",
}  # fmt: skip
# Functions that are no ufuncs, by their names: of float32, and of float64.
SPECIAL: dict[str, Callable[[Value], Value]] = {"erf": f.erf, "erfc": errors.erfc, "erfinv": errors.erfinv}
SPECIAL_OF_DOUBLES: dict[str, Callable[[Value], Value]] = {"erf": of_doubles.erf}
