"""Proves that an allocation is right: whatever an op reads is still where it was put. See Note [Allocation].

The ops are gone through as the code runs, with a table of which value each location holds. An op may read a value
only from a location that holds it, and what it writes overwrites what was there. Behind a condition a location holds
what both branches leave in it; a loop begins with what both its entry and its end leave. Nothing here knows how
locations were chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penlight.kernels.compiler.allocate import Allocation, Location, Register
from penlight.kernels.compiler.ir import NOTHING, Kernel, Op, Region

State = dict[Location, Op]
Sources = Callable[[Op], tuple[Op, ...]]  # the values that the code of an op reads


class Overwritten(Exception):
    """A value is read where it no longer is."""


class _Checker:
    def __init__(self, locations: Allocation, sources: Sources) -> None:
        self.locations, self.sources = locations, sources
        self.held: dict[Op, Register] = {}  # the constants that the loop which is checked has in registers
        self.lost = {Register(kind, number) for kind, numbers in locations.target.lost.items() for number in numbers}

    def read(self, values: Iterable[Op], state: State, reader: Op) -> None:
        for value in values:
            held = state.get(self.locations[value])
            if held is None or self.locations.root(held) is not self.locations.root(value):
                raise Overwritten(f"{reader} reads {value} from {self.locations[value]}, which holds {held}")

    def put(self, values: Iterable[Op], state: State) -> None:
        for value in values:
            place = self.locations.get(value)
            if place is not None:
                state[place] = value

    def move(self, yielded: Iterable[Op], targets: Iterable[Op], state: State, reader: Op) -> None:
        """What is yielded goes to the locations of others, all at once."""
        pairs = [
            (value, target)
            for value, target in zip(yielded, targets, strict=True)
            if target in self.locations.life.live
        ]
        self.read([value for value, _ in pairs if value.name != "const"], state, reader)
        self.put([target for _, target in pairs], state)

    def region(self, region: Region, state: State) -> None:
        ops = self.locations.reading.ops(region)
        for i, op in enumerate(ops[:-1]):
            if op.regions:
                last = i + 1
                while ops[last].name == "result":
                    last += 1
                (self.condition if op.name == "if" else self.loop)(op, ops[i + 1 : last], state)
            elif op in self.locations.life.dies:
                self.read(self.sources(op), state, op)
                for constant in self.locations.reading.constants(op):
                    place = self.held.get(constant)
                    if place is not None and state.get(place) is not constant:
                        raise Overwritten(f"{op} reads {constant}, which is not in {place}")
                if op.name == "call":
                    for place in self.lost.intersection(state):
                        del state[place]
                if op.type is not NOTHING:
                    self.put([op], state)

    def condition(self, op: Op, results: list[Op], state: State) -> None:
        self.read(self.sources(op), state, op)
        ends = []
        for region in op.regions:
            end = dict(state)
            self.region(region, end)
            self.move(region.yielded, results, end, op)
            ends.append(end)
        state.clear()
        state.update(_common(*ends))

    def loop(self, op: Op, results: list[Op], state: State) -> None:
        body = op.regions[-1]
        counted = op.name == "for"
        starts = (op.operands[0], *op.operands[3:]) if counted else op.operands
        self.move(starts, body.parameters, state, op)
        state.update({place: constant for constant, place in self.locations.held.get(op, {}).items()})
        before: State = {}
        while before != state:  # until an iteration leaves all that the next one needs
            before = dict(state)
            end = dict(state)
            if counted:
                self.read([limit for limit in op.operands[1:3] if limit.name != "const"], end, op)
            else:
                self.region(op.regions[0], end)
                self.read(self.sources(Op("yield", NOTHING, op.regions[0].yielded)), end, op)
                left = dict(end)
            outer, self.held = self.held, self.locations.held.get(op, {})
            self.region(body, end)
            self.held = outer
            self.move(body.yielded, body.parameters[counted:], end, op)
            if counted:
                self.read([body.parameters[0]], end, op)
            merged = _common(state, end)
            state.clear()
            state.update(merged)
        if not counted:
            state.clear()
            state.update(left)
        self.put(results, state)


def _common(a: State, b: State) -> State:
    return {place: value for place, value in a.items() if b.get(place) is value}


def check(kernel: Kernel, inputs: Iterable[Op], locations: Allocation, sources: Sources) -> None:
    """Raise `Overwritten` if a value is read where it is no longer."""
    state: State = {}
    checker = _Checker(locations, sources)
    checker.put(inputs, state)
    checker.region(kernel.body, state)
