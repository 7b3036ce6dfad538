"""What a kernel requires of the sizes of its arrays, so that no index is outside.

Note [Bounds]
Every index gets an interval. Its ends are polynomials in the arguments of the kernel that are whole numbers, none of
which is negative. A loop's index lies between the loop's limits; sums, differences and products follow from their
operands; `checked` lies within its extent. The largest index of each load and store is what its buffer's size must
exceed: that is a requirement, which `call.py` evaluates before the kernel runs. No check is in the code itself, so no
optimisation can remove one. An index without an interval, such as a number that was loaded and not checked, is
refused when the kernel is built.
"""

from __future__ import annotations

from typing import NamedTuple

from .ir import Kernel, Op, Region

Polynomial = dict[tuple[str, ...], int]  # the coefficient of each product of arguments


class Unbounded(Exception):
    """An index of a kernel has no bounds that are known."""


class Interval(NamedTuple):
    """Two polynomials; the upper one is included."""

    low: Polynomial
    high: Polynomial


class Requirement(NamedTuple):
    """`expression`, of the kernel's arguments, must be less than the size of a buffer, or at least 0 if `buffer` is
    None."""

    buffer: str | None
    expression: str


def _sum(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    made = dict(a)
    for term, coefficient in b.items():
        made[term] = made.get(term, 0) + sign * coefficient
    return {term: coefficient for term, coefficient in made.items() if coefficient}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for first, x in a.items():
        for second, y in b.items():
            term = tuple(sorted(first + second))
            made[term] = made.get(term, 0) + x * y
    return {term: coefficient for term, coefficient in made.items() if coefficient}


def _is_positive(a: Polynomial) -> bool:
    """Whether a polynomial is at least 0 for all arguments."""
    return all([coefficient >= 0 for coefficient in a.values()])


def _is_less(a: Polynomial, b: Polynomial) -> bool:
    """Whether it can be told that a <= b."""
    return _is_positive(_sum(b, a, -1))


def written(a: Polynomial) -> str:
    """A polynomial as a Python expression."""
    made = ""
    for term, coefficient in sorted(a.items(), key=lambda item: -item[1]):
        factors = [] if abs(coefficient) == 1 and term else [str(abs(coefficient))]
        made += (" - " if coefficient < 0 else " + " if made else "") + " * ".join([*factors, *term])
    return made.strip() or "0"


_ONE: Polynomial = {(): 1}


class _Bounds:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.known: dict[Op, Interval | None] = {}
        self.found: dict[Requirement, None] = {}
        for op in kernel.arguments:
            if not op.type.is_float:
                self.known[op] = Interval({(op.attribute,): 1}, {(op.attribute,): 1})
        self.region(kernel.body)

    def region(self, region: Region) -> None:
        for op in region.ops:
            if op.name in ("load", "store"):
                self.require(op)
            elif op.name == "for":
                low, high = [self.known.get(limit) for limit in op.operands[:2]]
                if low is not None and high is not None:
                    self.known[op.regions[0].parameters[0]] = Interval(low.low, _sum(high.high, _ONE, -1))
            elif not op.type.is_float and op.name not in ("result", "cast"):
                self.known[op] = self.interval(op)
            for inner in op.regions:
                self.region(inner)

    def require(self, op: Op) -> None:
        found = self.known.get(op.operands[0])
        if found is None:
            raise Unbounded(
                f"{self.kernel.name}: the index of {op.name} {op.attribute} is neither made of sizes nor checked"
            )
        if not _is_positive(found.low):
            self.found[Requirement(None, written(found.low))] = None
        self.found[Requirement(op.attribute, written(found.high))] = None

    def interval(self, op: Op) -> Interval | None:
        if op.name == "const":
            number: Polynomial = {(): op.attribute} if op.attribute else {}
            return Interval(number, number)
        operands = [self.known.get(operand) for operand in op.operands]
        if op.name == "checked" and operands[1] is not None:
            extent = operands[1]
            self.found[Requirement(None, written(_sum(extent.low, _ONE, -1)))] = None
            return Interval({}, _sum(extent.high, _ONE, -1))
        if len(operands) != 2 or operands[0] is None or operands[1] is None:
            return None
        a, b = operands
        assert a is not None and b is not None
        match op.name:
            case "add":
                return Interval(_sum(a.low, b.low), _sum(a.high, b.high))
            case "sub":
                quotient = op.operands[1]
                if (
                    quotient.name == "mul"
                    and quotient.operands[0].name == "idiv"
                    and quotient.operands[0].operands[0] is op.operands[0]
                ):
                    divisor = self.known.get(quotient.operands[1])  # the remainder of a division
                    if (
                        quotient.operands[0].operands[1] is quotient.operands[1]
                        and divisor is not None
                        and _is_positive(a.low)
                    ):
                        return Interval({}, _sum(divisor.high, _ONE, -1))
                return Interval(_sum(a.low, b.high, -1), _sum(a.high, b.low, -1))
            case "mul" if _is_positive(a.low) and _is_positive(b.low):
                return Interval(_product(a.low, b.low), _product(a.high, b.high))
            case "idiv" if _is_positive(a.low) and _is_positive(b.low):
                return Interval({}, a.high)
            case "min":
                low = a.low if _is_less(a.low, b.low) else b.low if _is_less(b.low, a.low) else {}
                if _is_less(low, a.low) and _is_less(low, b.low):
                    return Interval(low, b.high if _is_less(b.high, a.high) or set(b.high) <= {()} else a.high)
            case "max":
                if _is_less(a.high, b.high) or _is_less(b.high, a.high):
                    return Interval(
                        b.low if _is_less(a.low, b.low) else a.low, b.high if _is_less(a.high, b.high) else a.high
                    )
        return None


def requirements(kernel: Kernel) -> tuple[Requirement, ...]:
    """What must hold of a kernel's arguments and the sizes of its arrays. Raises `Unbounded`."""
    return tuple(_Bounds(kernel).found)
