"""Float64 inside of native kernels: where float32 would lose what the result depends on.

Eight floats become two values of four doubles each, a lower and an upper half.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ._build import Value
from ._x86 import Pooled

Halves = tuple[Value, Value]


def double(number: float) -> Pooled:
    """A float64 as an operand. Numbers whose bits would be few, those near 0 or below 0, cannot be."""
    bits = int(struct.unpack("<Q", struct.pack("<d", number))[0])
    if not bits >> 32:
        raise ValueError(f"{number} is no constant that native kernels have in float64")
    return Pooled(bits)


def widened(x: Value) -> Halves:
    """Eight floats as doubles."""
    b = x.builder
    return b.emit("vcvtps2pd", x), b.emit("vcvtps2pd", b.emit("swap halves", x))


def narrowed(halves: Halves) -> Value:
    """Doubles rounded to floats."""
    b = halves[0].builder
    low, high = (b.emit("vcvtpd2ps", half) for half in halves)
    return b.emit("join", low, high)


def lowest_words(halves: Halves) -> Value:
    """The lower 32 bits of each double."""
    b = halves[0].builder
    return b.emit("reorder", b.emit("pick", *halves, 0x88), 0xD8)


def fma(a: Value, b: Value | Pooled, c: Value) -> Value:
    """a * b + c of doubles, rounded once."""
    return a.builder.emit("fma of doubles", a, b, c)


def fnma(a: Value, b: Value | Pooled, c: Value) -> Value:
    """c - a * b of doubles, rounded once."""
    return a.builder.emit("fnma of doubles", a, b, c)


def of_halves(function: Callable[..., Value], *values: Value) -> Value:
    """A function of doubles on floats; one half after the other, which needs fewer registers."""
    low = function(*[v.builder.emit("vcvtps2pd", v) for v in values])
    b = low.builder
    low = b.emit("vcvtpd2ps", low)
    high = function(*[b.emit("vcvtps2pd", b.emit("swap halves", v)) for v in values])
    return b.emit("join", low, b.emit("vcvtpd2ps", high))


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """The sum of coefficients[i] * x**i of doubles, by Horner's rule."""
    *rest, last = coefficients
    result = x.builder.emit("constant", double(last))
    for coefficient in reversed(rest):
        result = fma(result, x, x.builder.emit("constant", double(coefficient)))
    return result
