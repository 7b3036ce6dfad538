"""Normal samples from uniform ones. The same in NumPy, with the coefficients: kernels/random/box_muller.py, Note [The same digits].

Here a fused multiply-add is one instruction, as it is in PyTorch's kernel.
"""

from __future__ import annotations

from ..compiler.rows import Array, Rows
from ..compiler.values import (
    Value,
    as_float,
    as_integer,
    cast,
    fma,
    fnma,
    is_odd,
    polynomial,
    rounded,
    sqrt,
    where,
)
from . import box_muller as spec


def _log_coefficients() -> tuple[float, ...]:
    """From the constant term on, as `polynomial` has them."""
    return tuple([*spec._LOG_STEPS, *[float(column[0, 0]) for column in spec._LAST_STEPS]])[::-1]


def _trig_coefficients(row: int) -> tuple[float, ...]:
    lead = float(spec._TRIG_LEAD[row - 1, 0])
    return tuple([lead, *[float(column[row, 0]) for column in spec._LAST_STEPS]])[::-1]


def box_muller(b: Rows) -> None:
    """Rows of 16: eight samples that become radii, and eight that become angles; to be called with eight columns."""
    radii, angles = b.split(2)
    b.each(lambda: _rotated(_radius(1.0 - radii.load()), *_angle(angles.load()), radii, angles))


def _radius(rest: Value) -> Value:
    """sqrt(-2 log(rest))."""
    bits = as_integer(rest)
    steps = (bits - int(spec._HALF_ROOT)) >> 23
    exponent = cast(steps, "f32")
    x = as_float(bits - (steps << 23)) - 1.0
    square = x * x
    y = polynomial(x, _log_coefficients()) * x
    log = fma(y, square, exponent * float(spec._LN2_LOW))
    log = log - square * 0.5 + x + exponent * float(spec._LN2_HIGH)
    return sqrt(log * -2.0)


def _angle(v: Value) -> tuple[Value, Value]:
    """(2 pi v less the nearest multiple of pi / 2, how many of those)."""
    turns = rounded(v * 4.0 + 0.5, "floor")
    t = v * float(spec._TWO_PI)
    first, second, third = (float(part) for part in spec._HALF_PI)
    t = t - turns * first - turns * second
    return fnma(turns, third, t), cast(turns, "i32")


def _rotated(radius: Value, t: Value, turns: Value, first: Array, second: Array) -> None:
    """Store the radius times the cosine and the sine."""
    square = t * t
    cosine = fma(polynomial(square, _trig_coefficients(1)) * square, square, -(square * 0.5)) + 1.0
    sine = fma(polynomial(square, _trig_coefficients(2)) * square, t, t)
    odd = is_odd(turns)
    cosine, sine = where(odd, sine, cosine), where(odd, cosine, sine)
    sine = as_float(as_integer(sine) ^ ((turns & 2) << 30))
    cosine = as_float(as_integer(cosine) ^ (((turns + 1) & 2) << 30))
    first.store(cosine * radius + 0.0)  # -0 becomes 0
    second.store(sine * radius + 0.0)
