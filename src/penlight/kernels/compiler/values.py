"""The vectors of a kernel, as values with operators. The functions of math.py and angles.py are made of these.

    def softplus(x: Value) -> Value:
        return where(greater(x, 20.0), x, log1p(exp(x)))

A plain number as an operand is a constant of the other operand's type. `greater` and the like return masks.
"""

from __future__ import annotations

from collections.abc import Callable

from .ir import Builder, Op, Type

Number = int | float


class Value:
    """A vector, and the builder that records operations on it."""

    __slots__ = ("build", "op")

    def __init__(self, build: Builder, op: Op) -> None:
        self.build, self.op = build, op

    @property
    def type(self) -> Type:
        return self.op.type

    @property
    def is_double(self) -> bool:
        """Whether it is of float64."""
        return self.op.type.element == "f64"

    def made(self, name: str, *others: Value | Number, attribute: object = None, element: str = "") -> Value:
        """An op on this value and others; the result has its type, or lanes of another element."""
        type_ = Type.of(element, self.type.lanes) if element else self.type
        operands = [other.op if isinstance(other, Value) else self.build.const(other, self.type) for other in others]
        return Value(self.build, self.build.op(name, type_, self.op, *operands, attribute=attribute))

    def __add__(self, other: Value | Number) -> Value:
        return self.made("add", other)

    def __radd__(self, other: Number) -> Value:
        return self.made("add", other)

    def __sub__(self, other: Value | Number) -> Value:
        return self.made("sub", other)

    def __rsub__(self, other: Number) -> Value:
        return full(self, other) - self

    def __mul__(self, other: Value | Number) -> Value:
        return self.made("mul", other)

    def __rmul__(self, other: Number) -> Value:
        return self.made("mul", other)

    def __truediv__(self, other: Value | Number) -> Value:
        return self.made("div", other)

    def __rtruediv__(self, other: Number) -> Value:
        return full(self, other) / self

    def __neg__(self) -> Value:
        return self.made("neg")

    # Masks, and the bits of integers

    def __and__(self, other: Value | int) -> Value:
        return self.made("bits", other, attribute="and")

    def __or__(self, other: Value | int) -> Value:
        return self.made("bits", other, attribute="or")

    def __xor__(self, other: Value | int) -> Value:
        return self.made("bits", other, attribute="xor")

    def __invert__(self) -> Value:
        return self.made("bits", 1 if self.type.element == "bool" else -1, attribute="xor")

    def __lshift__(self, count: int) -> Value:
        return self.made("shift", attribute=f"left {count}")

    def __rshift__(self, count: int) -> Value:
        """An arithmetic shift, which keeps the sign."""
        return self.made("shift", attribute=f"signed {count}")


# ----- Types ----------------------------------------------------------------------------------------------------------


def full(like: Value, number: float) -> Value:
    """A scalar in all lanes."""
    return Value(like.build, like.build.const(number, like.type))


def full_bits(like: Value, bits: int) -> Value:
    """The float with these bits in all lanes."""
    return Value(like.build, like.build.bits(bits, like.type))


def cast(x: Value, element: str) -> Value:
    """The lanes converted."""
    return x.made("cast", element=element)


def as_integer(x: Value) -> Value:
    """The bits of floats as integers."""
    return x.made("bitcast", element="i64" if x.is_double else "i32")


def as_float(x: Value) -> Value:
    """The floats that have these bits."""
    return x.made("bitcast", element="f64" if x.type.element == "i64" else "f32")


def logical_right(x: Value, count: int) -> Value:
    """A logical shift of integers, which shifts in zeros."""
    return x.made("shift", attribute=f"right {count}")


# ----- Arithmetic -----------------------------------------------------------------------------------------------------


def fma(a: Value, b: Value | float, c: Value | float) -> Value:
    """a * b + c, rounded once."""
    return a.made("fma", b, c)


def fnma(a: Value, b: Value | float, c: Value | float) -> Value:
    """c - a * b, rounded once."""
    return (-a).made("fma", b, c)


def sqrt(x: Value) -> Value:
    """The square root."""
    return x.made("sqrt")


def absolute(x: Value) -> Value:
    """The absolute value."""
    return x.made("abs")


def rounded(x: Value, way: str) -> Value:
    """x rounded to the "nearest" integer (halves to even), by "floor", "ceil" or "trunc"."""
    return x.made("round", attribute=way)


def smaller(a: Value, b: Value | float) -> Value:
    """a if a < b, else b; so b for NaN."""
    return a.made("min", b)


def larger(a: Value, b: Value | float) -> Value:
    """a if a > b, else b; so b for NaN."""
    return a.made("max", b)


def at_most_number(x: Value, high: float) -> Value:
    """min(x, high) for a scalar; NaN stays, and of 0 and -0 the result is x."""
    return smaller(full(x, high), x)


def at_least_number(x: Value, low: float) -> Value:
    """max(x, low) for a scalar; NaN stays, and of 0 and -0 the result is x."""
    return larger(full(x, low), x)


def clip(x: Value, low: float, high: float) -> Value:
    """x clamped to [low, high]; NaN stays."""
    return at_most_number(at_least_number(x, low), high)


def maximum(a: Value, b: Value | float) -> Value:
    """The larger; NaN if either is, as in NumPy and PyTorch."""
    return where(is_nan(a), a, larger(a, b))


def minimum(a: Value, b: Value | float) -> Value:
    """The smaller; NaN if either is."""
    return where(is_nan(a), a, smaller(a, b))


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """The sum of coefficients[i] * x**i, by Horner's rule."""
    *rest, second, first = coefficients
    result = fma(x, first, second)
    for coefficient in reversed(rest):
        result = fma(result, x, coefficient)
    return result


def with_sign_of(x: Value, size: Value) -> Value:
    """`size`, which is not negative, with the sign of x."""
    sign = -(1 << 63) if x.is_double else -(1 << 31)
    return as_float(as_integer(size) | (as_integer(x) & sign))


# ----- Comparisons ----------------------------------------------------------------------------------------------------


def _compared(a: Value, b: Value, relation: str) -> Value:
    return a.made("cmp", b, attribute=relation, element="bool")


def _beside(a: Value, b: Value | float) -> Value:
    return b if isinstance(b, Value) else full(a, b)


def less(a: Value, b: Value | float) -> Value:
    """The mask of a < b, false for NaN."""
    return _compared(a, _beside(a, b), "lt")


def greater(a: Value, b: Value | float) -> Value:
    """The mask of a > b, false for NaN."""
    return _compared(_beside(a, b), a, "lt")


def at_most(a: Value, b: Value | float) -> Value:
    """The mask of a <= b, false for NaN."""
    return _compared(a, _beside(a, b), "le")


def at_least(a: Value, b: Value | float) -> Value:
    """The mask of a >= b, false for NaN."""
    return _compared(_beside(a, b), a, "le")


def equal(a: Value, b: Value | float) -> Value:
    """The mask of a == b, false for NaN."""
    return _compared(a, _beside(a, b), "eq")


def not_equal(a: Value, b: Value | float) -> Value:
    """The mask of a != b, true for NaN."""
    return _compared(a, _beside(a, b), "ne")


def is_nan(a: Value) -> Value:
    """The mask of NaN."""
    return _compared(a, a, "unordered")


def has_sign(x: Value) -> Value:
    """The mask of elements with the sign bit set, including -0 and NaN."""
    return less(as_integer(x), 0)


def is_odd(whole: Value) -> Value:
    """The mask of odd integers."""
    return less(whole << (63 if whole.type.element == "i64" else 31), 0)


def where(mask: Value, yes: Value, no: Value) -> Value:
    """`yes` where a mask holds, else `no`."""
    return Value(yes.build, yes.build.op("select", yes.type, mask.op, yes.op, no.op))


def only(mask: Value, value: Value) -> Value:
    """`value` where a mask holds, else 0."""
    return where(mask, value, full(value, 0))


def without(mask: Value, value: Value) -> Value:
    """0 where a mask holds, else `value`."""
    return where(mask, full(value, 0), value)


# ----- Lanes ----------------------------------------------------------------------------------------------------------

Halves = tuple[Value, Value]


def half(x: Value, which: int) -> Value:
    """The lower (0) or the upper (1) half of the lanes."""
    type_ = Type.of(x.type.element, x.type.lanes // 2)
    return Value(x.build, x.build.op("half", type_, x.op, attribute=which))


def joined(low: Value, high: Value) -> Value:
    """The lanes of both."""
    type_ = Type.of(low.type.element, 2 * low.type.lanes)
    return Value(low.build, low.build.op("join", type_, low.op, high.op))


def widened(x: Value) -> Halves:
    """Floats as two values of float64."""
    return cast(half(x, 0), "f64"), cast(half(x, 1), "f64")


def narrowed(halves: Halves) -> Value:
    """Two values of float64 rounded to float32."""
    return joined(cast(halves[0], "f32"), cast(halves[1], "f32"))


def of_halves(function: Callable[..., Value], *values: Value) -> Value:
    """A function of float64 applied to float32, one half at a time, which needs fewer registers."""
    low, high = (cast(function(*[cast(half(v, which), "f64") for v in values]), "f32") for which in (0, 1))
    return joined(low, high)
