"""The array sizes that a kernel requires, so that every index is in bounds.

Note [Bounds]
Every index gets an interval. Its ends are polynomials in the kernel's integer arguments, none of which is negative; an unknown
end is None. A loop's index lies between the loop's limits; sums, differences and products follow from their operands; `min` and
`max` with a known value bound an unknown one; `checked` lies within its extent. Each buffer's size must exceed the largest index
of each load and store: this is a requirement, which `kernels/call.py` evaluates before the kernel runs. The code itself contains
no checks, so no optimisation can remove one. An index without an interval, such as a loaded value that was neither checked nor
clamped, is refused when the kernel is built.

If two limits cannot be compared, `a` is used as the limit of `min(a, b)`: the first is the one that matters.
"""

from __future__ import annotations

from typing import NamedTuple

from .ir import BOOL, LOADS, STORES, U8, Kernel, Op, Region

Polynomial = dict[tuple[str, ...], int]  # the coefficient of each product of arguments


class Unbounded(Exception):
    """An index of a kernel has no known bounds."""


class Interval(NamedTuple):
    """Two polynomials; the upper one is included."""

    low: Polynomial | None
    high: Polynomial | None


class Requirements(NamedTuple):
    """For each accessed buffer, its minimum number of elements, an expression of the kernel's arguments. And conditions on the
    arguments alone."""

    sizes: dict[str, str]
    conditions: tuple[str, ...]


def _sum(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    made = dict(a)
    for term, coefficient in b.items():
        made[term] = made.get(term, 0) + sign * coefficient
    return {term: coefficient for term, coefficient in made.items() if coefficient}


def _product(a: Polynomial, b: Polynomial) -> Polynomial:
    made: Polynomial = {}
    for first, x in a.items():
        for second, y in b.items():
            term = tuple(sorted(first + second))  # quotients, which begin with a bracket, come first
            made[term] = made.get(term, 0) + x * y
    return {term: coefficient for term, coefficient in made.items() if coefficient}


def _is_positive(a: Polynomial) -> bool:
    """Whether a polynomial is at least 0 for all arguments."""
    return all([coefficient >= 0 for coefficient in a.values()])


def _is_less(a: Polynomial, b: Polynomial) -> bool:
    """Whether a <= b is provable."""
    return _is_positive(_sum(b, a, -1)) or any(
        [
            term[0] in _QUOTIENTS and coefficient > 0 and _is_less(_undivided(a, term), b)
            for term, coefficient in a.items()
            if term
        ]
    )


# The dividends of quotients, by the quotients' text. Quotients appear in polynomials as if they were arguments.
_QUOTIENTS: dict[str, Polynomial] = {}


def _quotient(a: Polynomial, divisor: int) -> Polynomial:
    """A polynomial divided by an integer, rounded down."""
    name = f"(({written(a)}) // {divisor})"
    _QUOTIENTS[name] = a
    return {(name,): 1}


def _undivided(a: Polynomial, term: tuple[str, ...]) -> Polynomial:
    """A polynomial that is no smaller, with the dividend in place of a quotient."""
    rest = {other: coefficient for other, coefficient in a.items() if other != term}
    return _sum(rest, _product(_QUOTIENTS[term[0]], {term[1:]: a[term]}))


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
        self.known: dict[Op, Interval] = {}
        self.sizes: dict[str, list[Polynomial]] = {}
        self.not_negative: list[Polynomial] = []
        self._sources: set[Op] = set()  # the values that indices are computed from
        self._limits: dict[Op, tuple[Op, ...]] = {}  # of loops, by their indices
        for op in kernel.arguments:
            if not op.type.is_float:
                self.known[op] = Interval({(op.attribute,): 1}, {(op.attribute,): 1})
        self.region(kernel.body)

    def region(self, region: Region) -> None:
        for op in region.ops:
            if op.name in LOADS or op.name in STORES:
                if not self.kernel.buffers[op.attribute].strided:
                    self.require(op)
            elif op.name == "for":
                self.loop(op)
            elif op.type.register == "general" and op.name != "result":
                self.known[op] = self.interval(op)
            for inner in op.regions:
                self.region(inner)

    def loop(self, op: Op) -> None:
        low, high, step = [self.known.get(limit, _ANY) for limit in op.operands[:3]]
        if step.low is None or not _is_less(_ONE, step.low):
            if step.low is None:
                raise Unbounded(f"{self.kernel.name}: the step of a loop is not known to be positive")
            self.not_negative.append(_sum(step.low, _ONE, -1))
            self.use(op.operands[2])
        below = None if high.high is None else _sum(high.high, _ONE, -1)
        self.known[op.regions[0].parameters[0]] = Interval(low.low, below)
        self._limits[op.regions[0].parameters[0]] = op.operands[:2]

    def use(self, op: Op) -> None:
        """Require that the arguments this is computed from are not negative."""
        waiting = [op]
        while waiting:
            op = waiting.pop()
            if op not in self._sources and self.known.get(op, _ANY) != _ANY:
                self._sources.add(op)
                waiting += self._limits.get(op, op.operands[op.name in ("select", "checked") :])

    def require(self, op: Op) -> None:
        low, high = self.known.get(op.operands[0], _ANY)
        is_masked = op.name.endswith("_masked")
        if is_masked:
            high = self.masked(op)
        if low is None or high is None:
            raise Unbounded(
                f"{self.kernel.name}: the index of {op.name} {op.attribute} is neither made of sizes nor checked"
            )
        self.use(op.operands[0])
        if not _is_positive(low):
            self.not_negative.append(low)
        elements = 0 if is_masked else 1
        if op.name == "load_vector":
            elements += (op.type.lanes - 1) * op.operands[1].attribute
        elif op.name == "store_vector":
            elements = op.operands[1].type.lanes
        self.sizes.setdefault(op.attribute, []).append(_sum(high, {(): elements}))

    def masked(self, op: Op) -> Polynomial:
        """One past the last index of a masked access: its own index, minus that of its mask, plus the mask's limit."""
        start, end = op.operands[-1].operands
        rest, below = _summands(op.operands[0]), self.known.get(end, _ANY).high
        for part in _summands(start):
            if part not in rest:
                raise Unbounded(f"{self.kernel.name}: the mask of {op.name} {op.attribute} is none of its index")
            rest.remove(part)
        for part in rest:
            below = _added(below, self.known.get(part, _ANY).high)
        if below is None:
            raise Unbounded(f"{self.kernel.name}: the end of {op.name} {op.attribute} is not known")
        self.use(end)
        return below

    def positive(self, op: Op, interval: Interval) -> bool:
        """Require that a value is greater than 0, by a condition on the arguments; return whether that is possible."""
        if interval.low is None:
            return False
        self.use(op)
        if not _is_less(_ONE, interval.low):
            self.not_negative.append(_sum(interval.low, _ONE, -1))
        return True

    def interval(self, op: Op) -> Interval:
        if op.name == "const":
            number: Polynomial = {(): op.attribute} if op.attribute else {}
            return Interval(number, number)
        operands = [self.known.get(operand, _ANY) for operand in op.operands]
        match op.name, operands:
            case "cast", _ if op.operands[0].type in (BOOL, U8):
                return Interval({}, {(): 1 if op.operands[0].type is BOOL else 255})
            case "checked", [_, extent]:
                if extent.high is not None and self.positive(op.operands[1], extent):
                    return Interval({}, _sum(extent.high, _ONE, -1))
            case "add", [a, b]:
                return Interval(_added(a.low, b.low), _added(a.high, b.high))
            case "sub", [a, b]:
                remainder_of = _divisor_of_remainder(op)
                if remainder_of is not None:
                    below = self.known.get(remainder_of, _ANY)
                    if below.high is not None and self.positive(remainder_of, below):
                        return Interval({}, _sum(below.high, _ONE, -1))
                return Interval(_added(a.low, b.high, -1), _added(a.high, b.low, -1))
            case "mul", [a, b]:
                return self.product(op, a, b)
            case "idiv", [a, b] if _is_at_least_0(a) and _is_at_least_0(b):
                divisor = op.operands[1]
                if divisor.name == "const" and divisor.attribute > 1 and a.high is not None:
                    return Interval({}, _quotient(a.high, divisor.attribute))
                return Interval({}, a.high)
            case "min", [a, b]:
                low = _least(a.low, b.low)
                high = b.high if a.high is None else a.high if b.high is None else _smaller(b.high, a.high) or b.high
                return Interval(low, high)
            case "max", [a, b]:
                low = b.low if a.low is None else a.low if b.low is None else _larger(b.low, a.low) or b.low
                high = None if a.high is None or b.high is None else _larger(a.high, b.high)
                return Interval(low, high)
            case "select", [_, a, b]:
                return Interval(
                    _least(a.low, b.low), None if a.high is None or b.high is None else _larger(a.high, b.high)
                )
        return _ANY

    def product(self, op: Op, a: Interval, b: Interval) -> Interval:
        for one, other in (op.operands, op.operands[::-1]):
            if one.name == "idiv" and one.operands[1] is other and _is_at_least_0(self.known[one]):
                # A multiple of an integer, at most as large as the dividend.
                return Interval({}, self.known.get(one.operands[0], _ANY).high)
        if _is_at_least_0(a) and _is_at_least_0(b):
            assert a.low is not None and b.low is not None
            return Interval(_product(a.low, b.low), _multiplied(a.high, b.high))
        for factor, exact in ((a, b), (b, a)):
            if exact.low is not None and exact.low == exact.high and _is_positive(exact.low):
                return Interval(_multiplied(factor.low, exact.low), _multiplied(factor.high, exact.low))
        return _ANY


_ANY = Interval(None, None)


def _summands(op: Op) -> list[Op]:
    """The terms of a sum."""
    return [*_summands(op.operands[0]), *_summands(op.operands[1])] if op.name == "add" else [op]


def _added(a: Polynomial | None, b: Polynomial | None, sign: int = 1) -> Polynomial | None:
    return None if a is None or b is None else _sum(a, b, sign)


def _multiplied(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    return None if a is None or b is None else _product(a, b)


def _is_at_least_0(a: Interval) -> bool:
    return a.low is not None and _is_positive(a.low)


def _smaller(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return a if _is_less(a, b) else b if _is_less(b, a) else None


def _larger(a: Polynomial, b: Polynomial) -> Polynomial | None:
    return b if _is_less(a, b) else a if _is_less(b, a) else None


def _least(a: Polynomial | None, b: Polynomial | None) -> Polynomial | None:
    """A lower limit of the smaller of two values with these lower limits."""
    if a is None or b is None:
        return None
    smaller = _smaller(a, b)
    return smaller if smaller is not None else {} if _is_positive(a) and _is_positive(b) else None


def _divisor_of_remainder(op: Op) -> Op | None:
    """The `b` of a - a // b * b, the form of a remainder in IR."""
    a, multiple = op.operands
    if multiple.name == "mul" and multiple.operands[0].name == "idiv":
        quotient, divisor = multiple.operands
        if quotient.operands[0] is a and quotient.operands[1] is divisor:
            return divisor
    return None


def requirements(kernel: Kernel) -> Requirements:
    """The requirements on a kernel's arguments and the sizes of its arrays. Raises `Unbounded`."""
    found = _Bounds(kernel)
    sizes = {}
    for name, all_of_it in found.sizes.items():
        least = [written(p) for p in _maximal(all_of_it)]
        sizes[name] = least[0] if len(least) == 1 else f"max({', '.join(least)})"
    negative = [op.attribute for op in kernel.arguments if op in found._sources and not op.type.is_float]
    conditions = [f"{' | '.join(negative)} >= 0"] if negative else []
    largest = _maximal([_sum({}, p, -1) for p in found.not_negative])
    conditions += [f"{written(_sum({}, p, -1))} >= 0" for p in largest]
    return Requirements(sizes, tuple(conditions))


def _maximal(polynomials: list[Polynomial]) -> list[Polynomial]:
    """The polynomials that no other one exceeds for all arguments."""
    kept: list[Polynomial] = []
    for p in polynomials:
        if not any([_is_less(p, other) for other in kept]):
            kept = [other for other in kept if not _is_less(other, p)]
            kept.append(p)
    return kept
