"""Instructions on single numbers, and registers for the values in them: what `loops.py` translates to.

A `Value` is written and read by instructions in a list. When all are known, each gets a register for as long as it is needed, from its first
instruction to its last, or to the end of a loop that it is carried around; if there are too few registers, those that are used least, and in
the outermost loops, get a place on the stack. This is the linear scan of Poletto and Sarkar.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from .. import executable
from ._x86 import (
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    ROUNDINGS,
    RSI,
    RSP,
    Address,
    Assembler,
    Operand,
    Pooled,
)

_KEPT = (RBX, RBP, R12, R13, R14, R15)  # a function gives these back as it found them
_FREE = (RSI, RDI, R8, R9, R10, R11)  # these are lost when another function is called
_PASSED = (RDI, RSI, RDX, RCX, R8, R9)  # the first six arguments
_FLOATS = tuple(range(3, 16))  # xmm registers, all of which are lost in a call
_W = 0x80
_PER_LOOP = 8  # how often a loop is thought to go round
SIZES = {"f4": 4, "f8": 8, "i8": 8, "u1": 1}

_ARITHMETIC = {"+": 0x58, "*": 0x59, "-": 0x5C, "/": 0x5E, "min": 0x5D, "max": 0x5F}
# Jumps after a comparison of whole numbers, and of floats, where "not" holds beside NaN.
_WHOLE = {"<": 0x8C, "<=": 0x8E, ">": 0x8F, ">=": 0x8D, "==": 0x84, "!=": 0x85}
_FLOAT = {">": 0x87, ">=": 0x83, "not >": 0x86, "not >=": 0x82}


class Value:
    """A number in the making: a whole one of 64 bits, or a float."""

    __slots__ = ("first", "home", "is_float", "last", "weight")

    def __init__(self, is_float: bool) -> None:
        self.is_float = is_float
        self.first, self.last, self.weight = -1, -1, 0
        self.home: int | Address = 0


class Step(NamedTuple):
    """An instruction: what it is called, what it writes, what it reads, and whatever else it has to know."""

    name: str
    target: Value | None
    sources: tuple[Any, ...]
    more: Any = None


class _Emitter(Assembler):
    """The instructions on single floats, of one of the two sizes."""

    def __init__(self, single: bool) -> None:
        super().__init__()
        self.single = single

    def scalar(self, text: str, opcode: int, target: int, second: Operand, first: int = 0, space: int = 1, pp: int | None = None,
               tail: bytes = b"") -> None:  # fmt: skip
        if pp is None:
            pp = 2 if self.single else 3
        self._vector(text, opcode, space, pp, target, second, first, tail, wide=False)

    def constant(self, value: float) -> Pooled:
        form = ("<f", "<I") if self.single else ("<d", "<Q")
        return Pooled(struct.unpack(form[1], struct.pack(form[0], value))[0])

    def number(self, target: int, number: int) -> None:
        if -(1 << 31) <= number < 1 << 31:
            self.load_number(target, number)
        else:
            self.wide_number(target, number)

    def wide_number(self, target: int, number: int) -> None:
        self._raw(
            bytes((0x48 | (target > 7), 0xB8 + (target & 7))) + struct.pack("<q", number), f"mov {target}, {number}"
        )

    def subtract(self, target: int, source: int | Address) -> None:
        self._general(f"sub r{target}, {source}", b"\x2b", target, source)

    def move_when(self, condition: int, target: int, source: int | Address) -> None:
        self._general(f"cmov {condition:#x} r{target}, {source}", bytes((0x0F, condition)), target, source)

    def jump_when(self, opcode: int, to: str) -> None:
        self._raw(bytes((0x0F, opcode)) + bytes(4), f"jump {opcode:#x} {to}")
        self._jumps.append((len(self.code) - 4, to))


class Program:
    """Instructions in the making. `single`: computed in float32."""

    def __init__(self, single: bool) -> None:
        self.single = single
        self.steps: list[Step] = []
        self.loops: list[tuple[int, int]] = []  # where they begin and end
        self._depths: list[int] = []
        self._open: list[int] = []
        self._labels = 0

    # While it is being written

    def value(self, is_float: bool) -> Value:
        return Value(is_float)

    def add(self, name: str, target: Value | None, *sources: Any, more: Any = None) -> Value:
        """Append an instruction; what it writes."""
        self.steps.append(Step(name, target, sources, more))
        self._depths.append(len(self._open))
        return target  # type: ignore[return-value]

    def label(self) -> str:
        self._labels += 1
        return f"label {self._labels}"

    def begin_loop(self) -> None:
        self._open.append(len(self.steps))

    def end_loop(self) -> None:
        self.loops.append((self._open.pop(), len(self.steps) - 1))

    # When it is complete

    def _intervals(self) -> list[Value]:
        """All values, with the instructions between which each is needed."""
        found: dict[Value, None] = {}
        for place, step in enumerate(self.steps):
            for value in (step.target, *step.sources):
                if isinstance(value, Value):
                    if value.first < 0:
                        value.first = place
                        found[value] = None
                    value.last = place
                    value.weight += _PER_LOOP ** self._depths[place]
        changed = True
        while changed:  # loops that hold loops
            changed = False
            for value in found:
                for first, last in self.loops:
                    if value.first < first <= value.last < last:  # known before, and read in the next round, too
                        value.last, changed = last, True
                    elif first < value.first <= last < value.last:  # perhaps written in an earlier round
                        value.first, changed = first, True
        return sorted(found, key=lambda value: value.first)

    def _assign(self) -> int:
        """Give each value its register or its place; how many places there are."""
        calls = [place for place, step in enumerate(self.steps) if step.name == "call"]
        places = 0
        active: list[Value] = []
        for value in self._intervals():
            active = [other for other in active if other.last > value.first]
            crossed = any(value.first < place < value.last for place in calls)
            registers = (() if crossed else _FLOATS) if value.is_float else _KEPT if crossed else _FREE + _KEPT
            taken = {other.home for other in active if other.is_float == value.is_float}
            free = [register for register in registers if register not in taken]
            if free:
                value.home = free[0]
                active.append(value)
                continue
            rivals = [o for o in active if o.is_float == value.is_float and o.home in registers]
            least = min(rivals, key=lambda o: o.weight, default=value)
            place = Address(RSP, None, 8 * places)
            places += 1
            if least.weight < value.weight:
                value.home, least.home = least.home, place
                active.remove(least)
                active.append(value)
            else:
                value.home = place
        return places

    def finish(self, parameters: list[tuple[Value, str]]) -> bytes:
        """The code of a function of these parameters: "whole", "array" (by its `id`; the value is where its data are) or "number"."""
        known = tuple(value for value, _ in parameters)
        self.steps[:0] = [Step("known", None, known)] * 2  # all at once, so that no two share a register
        self._depths[:0] = [0, 0]
        self.loops = [(first + 2, last + 2) for first, last in self.loops]
        places = self._assign()
        asm = _Emitter(self.single)
        whole = [value for value, kind in parameters if kind != "number"]
        numbers = [value for value, kind in parameters if kind == "number"]
        frame = 8 * (places + len(_PASSED) + len(numbers))
        frame += 8 if frame % 16 == 0 else 0  # with six registers and the way back on it, the stack stays aligned to 16
        for register in _KEPT:
            asm.push(register)
        asm.add_number(RSP, -frame)
        for i, register in enumerate(_PASSED):
            asm.store_register(Address(RSP, None, 8 * (places + i)), register)
        for i in range(len(numbers)):
            if self.single:
                asm.scalar("vcvtsd2ss {}, {}", 0x5A, i, i, i, pp=3)
            asm.store_one(Address(RSP, None, 8 * (places + len(_PASSED) + i)), i, not self.single)
        for i, value in enumerate(numbers):
            self._put(asm, value, Address(RSP, None, 8 * (places + len(_PASSED) + i)))
        kinds = [kind for _, kind in parameters if kind != "number"]
        for i, (value, kind) in enumerate(zip(whole, kinds, strict=True)):
            passed = places + i if i < len(_PASSED) else frame // 8 + len(_KEPT) + 1 + i - len(_PASSED)
            asm.load_register(RAX, Address(RSP, None, 8 * passed))
            if kind == "array":
                asm.load_register(RAX, Address(RAX, None, executable.DATA_OFFSET))
            if isinstance(value.home, Address):
                asm.store_register(value.home, RAX)
            else:
                asm.copy_register(value.home, RAX)
        for i, step in enumerate(self.steps):
            follows = self.steps[i + 1] if i + 1 < len(self.steps) else None
            if step.name == "jump" and follows is not None and follows.name == "label" and follows.more == step.more:
                continue
            getattr(self, "_" + _METHODS.get(step.name, step.name))(asm, step)
        asm.add_number(RSP, frame)
        for register in reversed(_KEPT):
            asm.pop(register)
        asm.leave()
        return asm.finish()

    # Operands

    def _put(self, asm: _Emitter, value: Value, source: Address) -> None:
        """A float from memory to where it belongs."""
        if isinstance(value.home, Address):
            asm.load_one(0, source, not self.single)
            asm.store_one(value.home, 0, not self.single)
        else:
            asm.load_one(value.home, source, not self.single)

    def _whole(self, asm: _Emitter, source: Any, spare: int) -> int:
        """A whole number in a register: its own, or the spare one."""
        if isinstance(source, int):
            asm.number(spare, source)
            return spare
        if isinstance(source.home, Address):
            asm.load_register(spare, source.home)
            return spare
        return int(source.home)

    def _float(self, asm: _Emitter, source: Any, spare: int) -> int:
        """A float in a register."""
        operand = self._operand(asm, source)
        if isinstance(operand, int):
            return operand
        if isinstance(operand, Pooled) and not operand.bits:
            asm.scalar("vxorps {}, {}", 0x57, spare, spare, spare, pp=0)
            return spare
        asm.scalar("vmov {}, {}", 0x10, spare, operand)
        return spare

    def _operand(self, asm: _Emitter, source: Any) -> Operand:
        return source.home if isinstance(source, Value) else asm.constant(source)

    def _target(self, step: Step, spare: int) -> int:
        assert step.target is not None
        return spare if isinstance(step.target.home, Address) else step.target.home

    def _done(self, asm: _Emitter, step: Step, register: int) -> None:
        """Write the result to its place, if that is on the stack."""
        assert step.target is not None
        home = step.target.home
        if isinstance(home, Address):
            if step.target.is_float:
                asm.store_one(home, register, not self.single)
            else:
                asm.store_register(home, register)
        elif home != register:
            asm.copy_register(home, register)

    # Instructions

    def _known(self, asm: _Emitter, step: Step) -> None:
        """The parameters are where they belong."""

    def _label(self, asm: _Emitter, step: Step) -> None:
        asm.label(step.more)

    def _jump(self, asm: _Emitter, step: Step) -> None:
        asm.jump(step.more)

    def _jump_if(self, asm: _Emitter, step: Step) -> None:
        """Whole numbers: to a label if a relation holds."""
        relation, to = step.more
        first, second = step.sources
        register = self._whole(asm, first, RAX)
        if isinstance(second, int) and -(1 << 31) <= second < 1 << 31:
            asm.compare_number(register, second)
        elif isinstance(second, int):
            asm.compare_numbers(register, self._whole(asm, second, RCX))
        else:
            asm.compare_numbers(register, second.home)
        asm.jump_when(_WHOLE[relation], to)

    def _float_jump(self, asm: _Emitter, step: Step) -> None:
        """Floats: ">", ">=", or that those don't hold; "==" and "!=" look at NaN apart."""
        relation, to = step.more
        first, second = step.sources
        register = self._float(asm, first, 0)
        operand = self._operand(asm, second)
        asm.scalar("vucomis {}, {}", 0x2E, register, operand, pp=0 if self.single else 1)
        if relation == "==":
            apart = self.label()
            asm.jump_when(0x8A, apart)
            asm.jump_when(0x84, to)
            asm.label(apart)
        elif relation == "!=":
            asm.jump_when(0x8A, to)
            asm.jump_when(0x85, to)
        else:
            asm.jump_when(_FLOAT[relation], to)

    def _move(self, asm: _Emitter, step: Step) -> None:
        assert step.target is not None
        (source,) = step.sources
        if step.target.is_float:
            target = self._target(step, 0)
            operand = self._operand(asm, source)
            if isinstance(operand, int):
                asm.scalar("vmovaps {}, {}", 0x28, target, operand, pp=0)
            else:
                target = self._float(asm, source, target)
            self._done(asm, step, target)
            return
        if isinstance(source, int):
            target = self._target(step, RAX)
            asm.number(target, source)
            self._done(asm, step, target)
        else:
            self._done(asm, step, self._whole(asm, source, RAX))

    def _whole_arithmetic(self, asm: _Emitter, step: Step) -> None:
        first, second = step.sources
        if isinstance(first, int) and step.name != "-":
            first, second = second, first
        target = self._target(step, RAX)
        if isinstance(second, Value) and second.home == target and first is not second:
            if step.name == "-":
                target = RAX
            else:
                first, second = second, first
        source = self._whole(asm, first, target)
        if step.name == "*" and isinstance(second, int) and second > 0 and second & (second - 1) == 0:
            if source != target:
                asm.copy_register(target, source)
            asm.shift_left(target, second.bit_length() - 1)
        else:
            if source != target:
                asm.copy_register(target, source)
            if isinstance(second, int):
                if step.name == "*":
                    asm.multiply_number(target, second)
                else:
                    asm.add_number(target, second if step.name == "+" else -second)
            else:
                {"+": asm.add, "-": asm.subtract, "*": asm.multiply}[step.name](target, second.home)
        self._done(asm, step, target)

    def _division(self, asm: _Emitter, step: Step) -> None:
        """Of numbers that are not negative: the quotient, or the rest."""
        first, second = step.sources
        if isinstance(first, int):
            asm.number(RAX, first)
        else:
            self._done_in(asm, RAX, first)
        if isinstance(second, int):
            asm.number(RCX, second)
        else:
            self._done_in(asm, RCX, second)
        asm.divide(RCX)
        self._done(asm, step, RAX if step.name == "//" else RDX)

    def _done_in(self, asm: _Emitter, register: int, source: Value) -> None:
        if isinstance(source.home, Address):
            asm.load_register(register, source.home)
        else:
            asm.copy_register(register, source.home)

    def _whole_choice(self, asm: _Emitter, step: Step) -> None:
        first, second = step.sources
        if isinstance(first, int):
            first, second = second, first
        other = self._whole(asm, second, RCX)
        self._done_in(asm, RAX, first)
        asm.compare_numbers(RAX, other)
        asm.move_when(0x4F if step.name == "smaller" else 0x4C, RAX, other)
        self._done(asm, step, RAX)

    def _float_arithmetic(self, asm: _Emitter, step: Step) -> None:
        """The result, in Python's words: `min` and `max` are the first unless the second is less, or more."""
        first, second = step.sources
        name = step.name[1:]
        if name in ("min", "max"):
            first, second = second, first
        target = self._target(step, 0)
        left = self._float(asm, first, 1)
        asm.scalar(f"{name} {{}}, xmm{left}, {{}}", _ARITHMETIC[name], target, self._operand(asm, second), left)
        self._done(asm, step, target)

    def _float_function(self, asm: _Emitter, step: Step) -> None:
        target = self._target(step, 0)
        source = self._float(asm, step.sources[0], 1)
        name = step.name
        if name == "sqrt":
            asm.scalar("vsqrt {}, {}", 0x51, target, source, source)
        elif name in ("abs", "negative"):
            sign = 1 << (31 if self.single else 63)
            opcode, mask = (0x54, sign - 1) if name == "abs" else (0x57, sign)
            asm.scalar(f"{name} {{}}, {{}}", opcode, target, Pooled(mask), source, pp=0)
        else:
            opcode, tail = 0x0A if self.single else 0x0B, bytes((ROUNDINGS[name],))
            asm.scalar(f"{name} {{}}, {{}}", opcode, target, source, source, space=3, pp=1, tail=tail)
        self._done(asm, step, target)

    def _fused(self, asm: _Emitter, step: Step) -> None:
        """The first times the second plus the third, rounded once."""
        first, second, third = step.sources
        operand = self._operand(asm, first)
        if isinstance(operand, int):
            asm.scalar("vmovaps {}, {}", 0x28, 0, operand, pp=0)
        else:
            self._float(asm, first, 0)
        factor = self._float(asm, second, 1)
        pp = 1 if self.single else 1 | _W
        asm.scalar("vfmadd213 {}, {}", 0xA9, 0, self._operand(asm, third), factor, space=2, pp=pp)
        if isinstance(step.target.home, Address):  # type: ignore[union-attr]
            self._done(asm, step, 0)
        else:
            asm.scalar("vmovaps {}, {}", 0x28, step.target.home, 0, pp=0)  # type: ignore[union-attr]

    def _to_float(self, asm: _Emitter, step: Step) -> None:
        target = self._target(step, 0)
        asm.scalar("vxorps {}, {}", 0x57, target, target, target, pp=0)  # or it would wait for what was there
        asm.scalar("vcvtsi2s {}, {}", 0x2A, target, step.sources[0].home, target, pp=(2 if self.single else 3) | _W)
        self._done(asm, step, target)

    def _to_whole(self, asm: _Emitter, step: Step) -> None:
        target = self._target(step, RAX)
        source = self._float(asm, step.sources[0], 0)
        asm.scalar("vcvtts2si {}, {}", 0x2C, target, source, pp=(2 if self.single else 3) | _W)
        self._done(asm, step, target)

    def _place(self, asm: _Emitter, base: Value, index: Any, kind: str, offset: int) -> Address:
        size = SIZES[kind]
        start = self._whole(asm, base, RAX)
        if isinstance(index, int):
            return Address(start, None, size * (index + offset))
        return Address(start, self._whole(asm, index, RCX), size * offset, size)

    def _load(self, asm: _Emitter, step: Step) -> None:
        base, index = step.sources
        kind, offset = step.more
        place = self._place(asm, base, index, kind, offset)
        if kind in ("i8", "u1"):
            target = self._target(step, RAX)
            asm.load_part(target, place, SIZES[kind])
        else:
            target = self._target(step, 0)
            asm.load_one(target, place, kind == "f8")
            if (kind == "f4") != self.single:
                self._convert(asm, target, target, kind == "f4")
        self._done(asm, step, target)

    def _store(self, asm: _Emitter, step: Step) -> None:
        base, index, source = step.sources
        kind, offset = step.more
        place = self._place(asm, base, index, kind, offset)
        if kind in ("i8", "u1"):
            asm.store_part(place, self._whole(asm, source, RDX), SIZES[kind])
            return
        register = self._float(asm, source, 0)
        if (kind == "f4") != self.single:
            self._convert(asm, 0, register, self.single)
            register = 0
        asm.store_one(place, register, kind == "f8")

    def _convert(self, asm: _Emitter, target: int, source: int, widened: bool) -> None:
        asm.scalar("vcvts2s {}, {}", 0x5A, target, source, source, pp=2 if widened else 3)

    def _call(self, asm: _Emitter, step: Step) -> None:
        for i, source in enumerate(step.sources):
            operand = self._operand(asm, source)
            if isinstance(operand, int):
                asm.scalar("vmovaps {}, {}", 0x28, i, operand, pp=0)
            else:
                self._float(asm, source, i)
        asm.wide_number(RAX, step.more)
        asm.call(RAX)
        target = self._target(step, 0)
        if target:
            asm.scalar("vmovaps {}, {}", 0x28, target, 0, pp=0)
        self._done(asm, step, target)


_METHODS = {
    "+": "whole_arithmetic", "-": "whole_arithmetic", "*": "whole_arithmetic", "//": "division", "%": "division",
    "smaller": "whole_choice", "larger": "whole_choice", "f+": "float_arithmetic", "f-": "float_arithmetic",
    "f*": "float_arithmetic", "f/": "float_arithmetic", "fmin": "float_arithmetic", "fmax": "float_arithmetic",
    "sqrt": "float_function", "abs": "float_function", "negative": "float_function", "floor": "float_function",
    "ceil": "float_function", "nearest": "float_function", "trunc": "float_function",
}  # fmt: skip
