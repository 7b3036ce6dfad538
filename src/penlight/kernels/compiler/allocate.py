"""Registers and stack slots for the values of a kernel.

Note [Allocation]
A value has one register, or one stack slot, for its entire life. Liveness is one backward walk over the regions; a value that a
loop uses from outside lives throughout the loop. Then one forward walk assigns registers: if none is free, the value with the
fewest uses, weighted by loop depth, is spilled to a slot. After such a spill, registers are assigned again from the start without
that value, so that earlier values can use its register. Because a value has one location, a loop's iterations and a condition's
branches agree on it without moves. Values carried by a loop, and its results, share the locations of its parameters; a yielded
value gets the location of its parameter if that is free by then. Functions of the C library overwrite most registers, so values
that live across a call are in callee-saved registers, or in slots.

The constants that an innermost loop uses most are loaded before it, to registers that its values leave free.

The emitter needs no more registers than the scratch registers that are never given out, so allocation cannot fail.
`tests/kernels/compiler/check_allocation.py` proves each result.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple, Protocol

from .ir import NOTHING, Op, Region, results_at

_PER_LOOP = 8  # the assumed number of iterations of a loop
_AGAIN = 1  # how often registers are assigned again


class Slot(NamedTuple):
    """A slot on the stack, in units of 8 bytes."""

    number: int


class Register(NamedTuple):
    """A register of a class: "general" or "vector"."""

    kind: str
    number: int


Location = Register | Slot


class Target(NamedTuple):
    """The registers of each class: those that a call preserves, and those that it does not."""

    preserved: dict[str, tuple[int, ...]]
    lost: dict[str, tuple[int, ...]]

    @staticmethod
    def kind(op: Op) -> str:
        return op.type.register


class Reading(Protocol):
    """The values and vector constants that the code of an op reads; and the ops of a region, including those that only the machine needs."""

    def ops(self, region: Region) -> list[Op]: ...

    def sources(self, op: Op) -> tuple[Op, ...]: ...

    def constants(self, op: Op) -> list[Op]: ...


class Liveness:
    """Liveness: the last uses of values, and facts about each value."""

    def __init__(self, body: Region, reading: Reading) -> None:
        self.sources, self.ops = reading.sources, reading.ops
        self.dies: dict[Op, list[Op]] = {}  # values that are dead after an op
        self.at_entry: dict[
            int, list[Op]
        ] = {}  # values that a region does not need, though its op does; by the id of the region's list of ops
        self.after: dict[Op, set[Op]] = {}  # values that are live after a loop or a condition, without its results
        self.into_body: dict[Op, set[Op]] = {}  # values that are live after the test of a `while`
        self.live: set[Op] = set()  # all values that something reads
        self.crossing: set[Op] = set()  # values that live across a call
        self.weight: dict[Op, int] = {}
        self.hint: dict[Op, Op] = {}  # the parameter whose location a value should have
        self.same: dict[Op, Op] = {}  # results and parameters of loops that share the location of another
        self._free: dict[Op, set[Op]] = {}
        self._find_free(body)
        self.before = self._walk(body, set(), 0)
        self.live |= self.before
        for alias, root in self.same.items():
            self.weight[root] = self.weight.get(root, 0) + self.weight.get(alias, 0)
            if alias in self.crossing:
                self.crossing.add(root)

    def _find_free(self, region: Region) -> set[Op]:
        """The values that a region reads but does not define. Those of loops are stored."""
        read: set[Op] = set()
        for op in reversed(self.ops(region)):
            read.discard(op)
            if op.name == "yield":
                read.update([s for operand in op.operands for s in self._values(operand)])
            else:
                read.update(self.sources(op))
            if op.regions:
                inner: set[Op] = set()
                for part in op.regions:
                    inner |= self._find_free(part)
                if op.name != "if":
                    self._free[op] = inner
                read |= inner
        return read.difference(region.parameters)

    def _values(self, operand: Op) -> tuple[Op, ...]:
        """The values needed to yield an operand: none for a constant, and the sources of a comparison that is part of a condition."""
        return () if operand.name == "const" else self.sources(Op("yield", NOTHING, (operand,)))

    def _use(self, values: tuple[Op, ...], live: set[Op], depth: int) -> list[Op]:
        """Make values live; return those that were not."""
        last = [value for value in dict.fromkeys(values) if value not in live]
        for value in values:
            self.weight[value] = self.weight.get(value, 0) + _PER_LOOP**depth
        live.update(last)
        self.live.update(values)
        return last

    def _walk(self, region: Region, live: set[Op], depth: int) -> set[Op]:
        """Walk backwards through a region; `live` are the values live after its yield. Returns those live before the region."""
        results: list[Op] = []  # of the loop or condition that follows
        for op in reversed(self.ops(region)[:-1]):
            if op.name == "result":
                results.insert(0, op)
            elif op.regions:
                live = (self._if if op.name == "if" else self._loop)(op, results, live, depth)
                results = []
            elif op in live or op.type is NOTHING:
                live.discard(op)
                if op.name == "call":
                    self.crossing |= live
                self.dies[op] = self._use(self.sources(op), live, depth)
        return live

    def _yield(self, region: Region, needed: list[bool], live: set[Op], depth: int) -> set[Op]:
        """The values that are live before a region's yield, if some of its operands are needed."""
        live = set(live)
        for operand, is_needed in zip(region.yielded, needed, strict=True):
            if is_needed:
                self._use(self._values(operand), live, depth)
        return live

    def _if(self, op: Op, results: list[Op], live: set[Op], depth: int) -> set[Op]:
        used = [result in live for result in results]
        self.after[op] = after = live.difference(results)
        before = []
        for region in op.regions:
            for operand, result in zip(region.yielded, results, strict=True):
                if result in self.hint:
                    self.hint[operand] = self.hint[result]
            before.append(self._walk(region, self._yield(region, used, after, depth), depth))
        live = before[0] | before[1]
        for region, own in zip(op.regions, before, strict=True):
            self.at_entry[id(region.ops)] = [*(live - own)]
        self.dies[op] = self._use(self.sources(op), live, depth)
        return live

    def _loop(self, op: Op, results: list[Op], live: set[Op], depth: int) -> set[Op]:
        body, is_for = op.regions[-1], op.name == "for"
        self.after[op] = after = live.difference(results)
        throughout = after | self._free[op]
        if is_for:
            self._use(tuple([v for operand in op.operands[1:3] for v in self._values(operand)]), throughout, depth + 1)
            self._use(body.parameters[:1], throughout, depth + 1)
        carried = body.parameters[is_for:]
        self.hint.update(zip(body.yielded, carried, strict=True))
        self.same.update(zip(results, carried, strict=True))
        self.live.update(body.parameters, self._free[op])
        live = self._walk(body, self._yield(body, [True] * len(carried), throughout, depth + 1), depth + 1)
        if not is_for:
            test = op.regions[0]
            self.same.update(zip(test.parameters, carried, strict=True))
            self.live.update(test.parameters)
            self.into_body[op] = live.union(carried)
            live = self._walk(test, self._yield(test, [True], live.union(test.parameters), depth + 1), depth + 1)
            live -= set(test.parameters)
        live -= set(body.parameters)
        live |= throughout.difference(body.parameters)
        self.at_entry[id(body.ops)] = self._use(self.sources(op), live, depth)
        return live


class Allocation:
    """The location of each value that something reads."""

    def __init__(self, body: Region, inputs: tuple[Op, ...], reading: Reading, target: Target) -> None:
        self.target, self.reading = target, reading
        self.life = Liveness(body, reading)
        # The registers of a class, those that a call does not preserve first; or only those that it preserves.
        self._registers = {
            (kind, crossing): tuple(
                [Register(kind, n) for n in (() if crossing else target.lost[kind]) + target.preserved[kind]]
            )
            for kind in target.lost
            for crossing in (False, True)
        }
        self._constants: dict[Op, list[Op]] = {}  # of innermost loops, most used first
        self._evicted: set[Op] = set()  # values that were spilled in favour of others
        self._walk(body, inputs)
        for _ in range(_AGAIN):
            known = len(self._evicted)
            if known:
                self._walk(body, inputs)
            if len(self._evicted) == known:
                break
        for alias, value in self.life.same.items():
            if value in self._locations:
                self._locations[alias] = self._locations[value]

    def _walk(self, body: Region, inputs: tuple[Op, ...]) -> None:
        self.held: dict[Op, dict[Op, Register]] = {}  # for each innermost loop, the constants that are in registers
        # Those of them that can be dropped, least used last.
        self._waiting: list[tuple[Register, dict[Op, Register], Op]] = []
        self.slots = 0
        self._locations: dict[Op, Location] = {}
        self._taken: dict[Register, Op] = {}
        for op in inputs:
            self._define(op)
        self._region(body)

    def root(self, op: Op) -> Op:
        """The value that represents all that share its location."""
        return self.life.same.get(op, op)

    def get(self, op: Op) -> Location | None:
        """The location of a value, or None if nothing reads it."""
        found = self._locations.get(op)
        return self._locations.get(self.root(op)) if found is None else found

    def __getitem__(self, op: Op) -> Location:
        return self._locations[op]

    def _slot(self, op: Op) -> Slot:
        self.slots += 1 if op.type.lanes == 1 else 4
        return Slot(self.slots - (1 if op.type.lanes == 1 else 4))

    def _define(self, op: Op, *wishes: Op) -> None:
        """Give a value a location, preferably one of the wishes if it is free."""
        if op not in self.life.live:
            return
        if op in self._evicted:
            self._locations[op] = self._slot(op)
            return
        kind, crossing = self.target.kind(op), op in self.life.crossing
        allowed, taken = self._registers[kind, crossing], self._taken
        hint = self.life.hint.get(op)
        for wish in wishes if hint is None else (hint, *wishes):
            wished = self.get(wish)
            if type(wished) is Register and wished not in taken and wished in allowed:
                self._take(op, wished)
                return
        for location in allowed:
            if location not in taken:
                self._take(op, location)
                return
        if self._waiting and kind == "vector" and not crossing:
            location, held, constant = self._waiting.pop()
            del held[constant]
            self._take(op, location)
            return
        weight = self.life.weight
        rivals = [other for location, other in taken.items() if location in allowed]
        least = min(rivals, key=lambda other: weight.get(other, 0), default=op)
        if weight.get(least, 0) < weight.get(op, 0):
            given = self._locations[least]
            assert isinstance(given, Register)
            self._locations[least] = self._slot(least)
            self._evicted.add(least)
            self._take(op, given)
        else:
            self._locations[op] = self._slot(op)

    def _take(self, op: Op, location: Register) -> None:
        self._locations[op] = location
        self._taken[location] = op

    def _kill(self, values: list[Op]) -> None:
        for value in values:
            root = self.root(value)
            location = self._locations.get(root)
            if isinstance(location, Register) and self._taken.get(location) is root:
                del self._taken[location]

    def _keep(self, taken: dict[Register, Op], live: set[Op]) -> None:
        """Keep only the registers of live values."""
        roots = {self.root(value) for value in live}
        self._taken = {
            location: value
            for location, value in taken.items()
            if value in roots and self._locations[value] == location
        }

    def _region(self, region: Region) -> None:
        dies, ops = self.life.dies, self.reading.ops(region)
        for i, op in enumerate(ops):
            if op.regions:
                (self._if if op.name == "if" else self._loop)(op, results_at(ops, i))
            elif op in dies:
                self._kill(dies[op])
                if op.type is not NOTHING:
                    self._define(op, *(op.operands[::-1] if op.name == "fma" else op.operands[:1]))

    def _if(self, op: Op, results: list[Op]) -> None:
        self._kill(self.life.dies[op])
        taken = self._taken
        for region in op.regions:
            self._taken = {location: value for location, value in taken.items() if self._locations[value] == location}
            self._kill(self.life.at_entry[id(region.ops)])
            self._region(region)
        self._keep(taken, self.life.after[op])
        for result, *yielded in zip(results, *[region.yielded for region in op.regions], strict=True):
            self._define(result, *yielded)

    def _loop(self, op: Op, results: list[Op]) -> None:
        body, life = op.regions[-1], self.life
        self._kill(life.at_entry[id(body.ops)])
        starts = op.operands if op.name == "while" else (op.operands[0], *op.operands[3:])
        for parameter, value in zip(body.parameters, starts, strict=True):
            self._define(parameter, value)
        if op.name == "while":
            self._region(op.regions[0])
            self._keep(self._taken, life.into_body[op])
        self._hold_constants(op, body)
        self._region(body)
        self._waiting = []
        self._keep(self._taken, life.after[op])
        for result in results:
            location = self.get(result)
            if isinstance(location, Register) and result in life.live:
                self._taken[location] = self.root(result)

    def _hold_constants(self, loop: Op, body: Region) -> None:
        """Keep the constants that an innermost loop uses most in registers that are still free."""
        if loop not in self._constants:
            uses: Counter[Op] = Counter()
            for op in body.ops:
                if op.regions or op.name == "call":
                    uses.clear()
                    break
                uses.update(self.reading.constants(op))
            self._constants[loop] = [constant for constant, count in uses.most_common() if count > 1]
        often = self._constants[loop]
        if often:
            free = [register for register in self._registers["vector", False] if register not in self._taken]
            self.held[loop] = held = dict(zip(often, reversed(free), strict=False))
            self._waiting = [(location, held, constant) for constant, location in held.items()]
            self._taken.update({location: constant for constant, location in held.items()})
