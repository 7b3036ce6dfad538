"""Vectorises innermost loops.

Note [Vector loops]
A loop over consecutive elements becomes two: one that does 8 or 4 iterations at a time, as many as one register has
lanes for the widest element, and then the original loop, for the rest. Each iteration does the same as before, so results are
bit-identical. This is allowed if all values that differ between iterations are loaded from or stored to memory at `base + index *
stride` with a constant stride, which is 1 for stores; and if an array that is stored to is accessed at one index only. Invariant
values are computed once and broadcast to all lanes.

A carried sum, product or extremum is split into partial results only if the function says `reassociated(range(...))`: each lane
reduces its share, of several vectors at a time if the loop is short, and halves are combined until one scalar is left. Integers
are only summed.

A loop that is not innermost is vectorised if the function says `simd(range(...))`, or `reassociated`: its inner loops run equally
often for all of its iterations, and carry vectors. With `simd` the function promises that no iteration stores what another one
loads.
"""

from __future__ import annotations

from collections.abc import Iterator

from .ir import FOLDS, I64, NEUTRAL, NOTHING, Builder, Op, Region, Type

_FLOAT_OPS = frozenset(("add", "sub", "mul", "div", "fma", "neg", "abs", "min", "max", "sqrt", "round"))
_STRIDES = (1, 2, 3, 4)  # of loads
# Vectors at a time that a loop with at most so many ops reduces, so that an operation need not wait for the previous one.
_UNROLLED = ((8, 4), (20, 2))


class _Refused(Exception):
    """A loop cannot be vectorised."""


class _Loop:
    """Facts about the values of a loop."""

    def __init__(self, region: Region, carried: int, mark: str) -> None:
        self.region = region
        self.ops = [*_all_ops(region)]
        self.inside = {*region.parameters, *self.ops}
        self.is_marked = bool(mark)
        self.step: dict[Op, int | None] = {region.parameters[0]: 1}  # an integer's increment; None: unknown
        self.varying: set[Op] = set()
        self.accessed: dict[str, set[Op]] = {}
        self.stored: set[str] = set()
        self.reductions: list[str] = []  # the one of FOLDS that updates each carried value
        for op in region.ops[:-1]:
            self.look(op)
        if mark != "simd" and any([len(self.accessed[buffer]) > 1 for buffer in self.stored]):
            raise _Refused
        self.carries(mark == "reassociated")
        if not self.stored and not carried:
            raise _Refused
        stored = [op.operands[1] for op in self.ops if op.name == "store"]
        self.lanes = 4 if any([op.type.element in ("f64", "i64") for op in (*self.varying, *stored)]) else 8

    def carries(self, reassociated: bool) -> None:
        parameters = self.region.parameters[1:]
        uses: dict[Op, int] = {}
        for op in self.ops:
            for operand in op.operands:
                uses[operand] = uses.get(operand, 0) + 1
        for parameter, value in zip(parameters, self.region.yielded, strict=True):
            if not reassociated or uses.get(parameter) != 1 or value not in self.varying or uses[value] != 1:
                raise _Refused
            if value.name == "fma" and value.operands[-1] is parameter:
                self.reductions.append("add")
            elif value.name == "add" or (value.name in FOLDS and value.type.is_float and parameter in value.operands):
                self.reductions.append(value.name)
            else:
                raise _Refused

    def steps(self, op: Op) -> int | None:
        return self.step.get(op, None) if op in self.inside else 0

    def broadcasts(self, *values: Op) -> bool:
        """Whether integers are loaded or carried vectors, or the same in all lanes."""
        vectors = self.varying.union(self.region.parameters[1:])
        return all([value in vectors or self.steps(value) == 0 for value in values])

    def look(self, op: Op) -> None:
        name, operands = op.name, op.operands
        if name == "result":
            return  # of an inner loop, which was already checked
        if op.regions or name == "call":
            self.loop_inside(op)
            return
        varying = [operand in self.varying or operand in self.region.parameters[1:] for operand in operands]
        if name in ("load", "store"):
            self.memory(op)
        elif name in ("idiv", "checked"):
            if any([self.steps(operand) != 0 for operand in operands]):
                raise _Refused
            self.step[op] = 0
        elif (
            name == "cast"
            and varying[0]
            and (operands[0].type.is_short or (op.type is I64 and not operands[0].type.is_float))
        ):
            self.vary(op, True)
        elif op.type is I64:
            self.whole(op, any(varying))
        elif name == "select":
            if any(varying) and not varying[0]:
                raise _Refused
            self.vary(op, any(varying))
        elif name == "cmp":
            if not operands[0].type.is_float and any([self.steps(operand) != 0 for operand in operands]):
                raise _Refused
            self.vary(op, any(varying))
        elif name == "bits":
            if any(varying) and not all(
                [v or operand.name == "const" for v, operand in zip(varying, operands, strict=True)]
            ):
                raise _Refused
            if any(varying) and len({_width(operand) for operand in operands if operand.name != "const"}) > 1:
                raise _Refused
            self.vary(op, any(varying))
        elif name == "cast":
            if not operands[0].type.is_float and (any(varying) or self.steps(operands[0]) != 0 or not op.type.is_float):
                raise _Refused
            self.vary(op, any(varying))
        elif name in _FLOAT_OPS and op.type.is_float:
            self.vary(op, any(varying))
        else:
            raise _Refused

    def loop_inside(self, op: Op) -> None:
        if op.name != "for" or not self.is_marked or any([self.steps(limit) != 0 for limit in op.operands[:3]]):
            raise _Refused
        (region,) = op.regions
        index, *carried = region.parameters
        if not all([parameter.type.is_float for parameter in carried]):
            raise _Refused
        self.step[index] = 0
        self.varying.update(
            carried, [result for result in self.ops if result.name == "result" and result.operands[0] is op]
        )
        for inner in region.ops[:-1]:
            self.look(inner)

    def vary(self, op: Op, does: bool) -> None:
        if does:
            self.varying.add(op)

    def whole(self, op: Op, varies: bool) -> None:
        if op.name not in ("add", "sub", "mul", "select"):
            raise _Refused
        if op.name == "select":
            varies = op.operands[0] in self.varying
        if varies and op.name != "mul" and self.broadcasts(*op.operands):
            self.varying.add(op)
            return
        if varies or op.name == "select":
            raise _Refused
        a, b = map(self.steps, op.operands)
        if a is None or b is None:
            self.step[op] = None
        elif op.name == "mul":
            first, second = op.operands
            self.step[op] = (
                0 if a == b == 0
                else a * second.attribute if second.name == "const"
                else b * first.attribute if first.name == "const" else None
            )  # fmt: skip
        else:
            self.step[op] = a + b if op.name == "add" else a - b

    def memory(self, op: Op) -> None:
        step = self.steps(op.operands[0])
        self.accessed.setdefault(op.attribute, set()).add(op.operands[0])
        if op.name == "store":
            value = op.operands[1]
            if step != 1 or not (value.type.is_float or value.type is I64):
                raise _Refused
            if value.type is I64 and not self.broadcasts(value):
                raise _Refused
            self.stored.add(op.attribute)
        elif step == 0:
            self.step[op] = 0
        elif step in _STRIDES and (op.type.is_float or step == 1):
            self.varying.add(op)
        else:
            raise _Refused


def _all_ops(region: Region) -> Iterator[Op]:
    """The ops of a region and of nested regions, with the parameters of these."""
    for op in region.ops:
        yield op
        for inner in op.regions:
            yield from inner.parameters
            yield from _all_ops(inner)


def _width(op: Op) -> str:
    """The element that has the width of a mask's lanes."""
    while op.name == "bits":
        op = next(operand for operand in op.operands if operand.name != "const")
    return op.operands[0].type.element if op.name == "cmp" else ""


class _Writer:
    """Builds the loop over vectors."""

    def __init__(self, build: Builder, loop: _Loop) -> None:
        self.build, self.loop = build, loop
        self.scalars: dict[Op, Op] = {}
        self.vectors: dict[Op, Op] = {}
        self.results: dict[Op, list[Op]] = {}  # of inner loops

    def type(self, type_: Type) -> Type:
        return Type.of(type_.element, self.loop.lanes)

    def scalar(self, op: Op) -> Op:
        """A value in the first lane."""
        return self.scalars[op] if op in self.loop.inside else op

    def vector(self, op: Op) -> Op:
        """A value in all lanes."""
        found = self.vectors.get(op)
        if found is None:
            type_, build = self.type(op.type), self.build
            if op.name == "const":
                found = build.bits(op.attribute, type_)
            else:
                found = build.op("splat", type_, self.scalar(op))
            self.vectors[op] = found
        return found

    def op(self, op: Op) -> None:
        build = self.build
        if op.name == "store":
            at, value = self.scalar(op.operands[0]), self.vector(op.operands[1])
            build.op("store_vector", NOTHING, at, value, attribute=op.attribute)
            return
        if op.regions:
            self.loop_inside(op)
            return
        if op.name == "result":
            self.vectors[op] = self.results[op.operands[0]][op.attribute]
            return
        if op not in self.loop.varying:
            self.scalars[op] = build.op(op.name, op.type, *map(self.scalar, op.operands), attribute=op.attribute)
        if op.name == "load" and (op.type.is_float or op in self.loop.varying):
            stride = build.const(self.loop.steps(op.operands[0]) or 0, I64)
            at = self.scalar(op.operands[0])
            self.vectors[op] = build.op("load_vector", self.type(op.type), at, stride, attribute=op.attribute)
        elif op in self.loop.varying:
            operands = map(self.vector, op.operands)
            self.vectors[op] = build.op(op.name, self.type(op.type), *operands, attribute=op.attribute)

    def loop_inside(self, op: Op) -> None:
        """A loop whose index is the same in all lanes."""
        build, (region,) = self.build, op.regions
        starts = tuple(map(self.vector, op.operands[3:]))
        parameters = tuple([Op("parameter", type_) for type_ in (I64, *[start.type for start in starts])])
        build.begin(parameters, True)
        self.scalars[region.parameters[0]] = parameters[0]
        self.vectors.update(zip(region.parameters[1:], parameters[1:], strict=True))
        for inner in region.ops[:-1]:
            self.op(inner)
        made = build.end(parameters, tuple(map(self.vector, region.yielded)))
        self.results[op] = build.control("for", (*map(self.scalar, op.operands[:3]), *starts), None, made)


def vectorised(build: Builder, limits: list[Op], values: tuple[Op, ...], region: Region, mark: str) -> list[Op] | None:
    """Append a loop as one over vectors and one over the rest; return its results. If that is not possible, append nothing and
    return None. `mark` is "reassociated", "simd" or nothing."""
    low, high, one = limits
    nested = any([op.regions for op in region.ops])
    if one.name != "const" or one.attribute != 1 or (nested and not mark):
        return None
    try:
        loop = _Loop(region, len(values), mark)
    except _Refused:
        return None
    neutral = [
        build.const(NEUTRAL[name], Type.of(value.type.element, loop.lanes))
        for name, value in zip(loop.reductions, values, strict=True)
    ]
    starts, first = neutral, low
    unrolled = [times for length, times in _UNROLLED if values and len(region.ops) <= length and not nested]
    for times in (*unrolled[:1], 1):
        found = _loop_over_vectors(build, loop, region, times, first, high, starts, neutral)
        while len(found) > 1:
            found = [
                [build.op(name, a.type, a, b) for name, a, b in zip(loop.reductions, *pair, strict=True)]
                for pair in zip(found[::2], found[1::2], strict=True)
            ]
        (starts,) = found
        by = build.const(times * loop.lanes, I64)
        count = build.op("max", I64, build.op("sub", I64, high, low), build.const(0, I64))
        first = build.op("add", I64, low, build.op("mul", I64, build.op("idiv", I64, count, by), by))
    totals = []
    for name, value, lanes in zip(loop.reductions, values, starts, strict=True):
        totals.append(build.op(name, value.type, value, build.op("reduce", value.type, lanes, attribute=name)))
    if first is high:
        return totals  # a known number of full vectors
    return build.control("for", (first, high, one, *totals), None, region)


def _loop_over_vectors(
    build: Builder, loop: _Loop, region: Region, times: int, first: Op, high: Op, starts: list[Op], neutral: list[Op]
) -> list[list[Op]]:
    """The loop over `times` vectors at a time; return the reduction of each of these. The first of them start from `starts`."""
    step = times * loop.lanes
    entering = [*starts, *neutral * (times - 1)]
    if first.name == high.name == "const" and high.attribute - first.attribute == step:  # once, which needs no loop
        made = _written(build, loop, region, times, first, entering)
    else:
        index, carried = Op("parameter", I64), [Op("parameter", op.type) for op in entering]
        build.begin((index, *carried), True)
        yielded = _written(build, loop, region, times, index, carried)
        inner = build.end((index, *carried), tuple(yielded))
        last = build.op("sub", I64, high, build.const(step - 1, I64))
        made = build.control("for", (first, last, build.const(step, I64), *entering), None, inner)
    return [made[i * len(starts) : (i + 1) * len(starts)] for i in range(times)]


def _written(build: Builder, loop: _Loop, region: Region, times: int, index: Op, carried: list[Op]) -> list[Op]:
    """Append a loop's body, for so many vectors from an index on; return the yielded values."""
    yielded: list[Op] = []
    count = len(carried) // times
    for i in range(times):
        writer = _Writer(build, loop)
        writer.scalars[region.parameters[0]] = build.op("add", I64, index, build.const(i * loop.lanes, I64))
        writer.vectors.update(zip(region.parameters[1:], carried[i * count : (i + 1) * count], strict=True))
        for op in region.ops[:-1]:
            writer.op(op)
        yielded += [writer.vectors[value] for value in region.yielded]
    return yielded
