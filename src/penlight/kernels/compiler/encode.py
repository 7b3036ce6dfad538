"""The instructions on scalars, as bytes. See Note [Encoding] in native/_x86.py."""

from __future__ import annotations

import struct

from ..native._x86 import ROUNDINGS, Address, Assembler, Operand, Pooled
from .ir import F32, Type

_ARITHMETIC = {"add": 0x58, "mul": 0x59, "sub": 0x5C, "min": 0x5D, "div": 0x5E, "max": 0x5F}
_WHOLE = {"add": b"\x03", "sub": b"\x2b", "mul": b"\x0f\xaf", "and": b"\x23", "or": b"\x0b", "xor": b"\x33"}
_WHOLE_NUMBER = {"add": 0, "or": 1, "and": 4, "sub": 5, "xor": 6, "cmp": 7}  # the extension of opcode 81
_PREDICATES = {"eq": 0x00, "lt": 0x11, "le": 0x12, "unordered": 0x03, "ne": 0x04}
# Conditions of jumps, moves and bytes: the low four bits of their opcodes.
CONDITIONS = {
    "below": 0x2, "not below": 0x3, "equal": 0x4, "not equal": 0x5, "not above": 0x6, "above": 0x7, "not negative": 0x9,
    "unordered": 0xA, "ordered": 0xB, "less": 0xC, "not less": 0xD, "not greater": 0xE, "greater": 0xF,
}  # fmt: skip
OPPOSITE = {
    "below": "not below", "equal": "not equal", "above": "not above", "unordered": "ordered", "less": "not less",
    "greater": "not greater",
}  # fmt: skip


def _is_wide(type_: Type) -> bool:
    """Whether a vector takes 32 bytes, not 16."""
    return type_.lanes == 8 or (type_.lanes == 4 and type_.element != "f32")


OPPOSITE |= {second: first for first, second in OPPOSITE.items()}


class Code(Assembler):
    """Machine code in the making, without a listing: its text would take longer than the code."""

    def _vector(
        self, text: str, opcode: int, space: int, pp: int, register: int, other: Operand, second: int = 0,
        tail: bytes = b"", wide: bool = True,
    ) -> None:  # fmt: skip
        upper = other if type(other) is int else other.base if type(other) is Address else 0
        index = other.step if type(other) is Address and other.step is not None else 0
        first = (register < 8) << 7 | (index < 8) << 6 | (upper < 8) << 5 | space
        self.code += bytes((0xC4, first, (~second & 15) << 3 | wide << 2 | pp, opcode))
        self._operand(register, other, tail)

    def _scalar(
        self, opcode: int, space: int, pp: int, target: int, other: Operand, second: int = 0, tail: bytes = b""
    ) -> None:
        self._vector("", opcode, space, pp, target, other, second, tail, False)

    # Floats

    def arithmetic(self, name: str, type_: Type, target: int, first: int, second: Operand) -> None:
        if type_.element == "i64":
            self._vector("", {"add": 0xD4, "sub": 0xFB}[name], 1, 1, target, second, first)
        else:
            self._packed(_ARITHMETIC[name], 1, type_, target, second, first)

    def _packed(
        self, opcode: int, space: int, type_: Type, target: int, other: Operand, second: int = 0, tail: bytes = b""
    ) -> None:
        """An instruction that has forms for one float and for as many as a register has lanes."""
        if type_.lanes == 1:
            self._scalar(opcode, space, 2 if type_ is F32 else 3, target, other, second, tail)
        else:
            self._vector("", opcode, space, type_.element == "f64", target, other, second, tail, _is_wide(type_))

    def _bitwise(self, opcode: int, type_: Type, target: int, first: int, second: Operand) -> None:
        self._vector("", opcode, 1, 0, target, second, first, wide=_is_wide(type_))

    def sqrt(self, type_: Type, target: int, source: int) -> None:
        self._packed(0x51, 1, type_, target, source, source if type_.lanes == 1 else 0)

    def round_float(self, type_: Type, target: int, source: int, way: str) -> None:
        opcode = (0x0A if type_.lanes == 1 else 0x08) + (type_.element == "f64")
        second = source if type_.lanes == 1 else 0
        self._vector("", opcode, 3, 1, target, source, second, bytes((ROUNDINGS[way],)), _is_wide(type_))

    def multiply_add(self, type_: Type, target: int, first: int, second: Operand) -> None:
        """target += first * second, rounded once."""
        opcode = 0xB9 if type_.lanes == 1 else 0xB8
        self._vector("", opcode, 2, 1 if type_.element == "f32" else 0x81, target, second, first, wide=_is_wide(type_))

    def flip_sign(self, type_: Type, target: int, source: int) -> None:
        self._bitwise(0x57, type_, target, source, Pooled(1 << 31 if type_.element == "f32" else 1 << 63))

    def drop_sign(self, type_: Type, target: int, source: int) -> None:
        bits = (1 << 31) - 1 if type_.element == "f32" else (1 << 63) - 1
        self._bitwise(0x54, type_, target, source, Pooled(bits))

    def copy_float(self, type_: Type, target: int, source: int) -> None:
        self._vector("", 0x28, 1, 0, target, source, wide=_is_wide(type_))

    def load_float(self, type_: Type, target: int, source: Address | Pooled) -> None:
        if isinstance(source, Pooled) and not source.bits:
            self._scalar(0x57, 1, 0, target, target, target)
        elif type_.lanes > 1:
            self._vector("", 0x10, 1, 0, target, source, wide=_is_wide(type_))
        else:
            self._packed(0x10, 1, type_, target, source)

    def store_float(self, type_: Type, target: Address, source: int) -> None:
        if type_.lanes > 1:
            self._vector("", 0x11, 1, 0, source, target, wide=_is_wide(type_))
        else:
            self._packed(0x11, 1, type_, source, target)

    def convert_float(self, type_: Type, target: int, source: int) -> None:
        """A float32 to this type if it is float64, or a float64 to float32."""
        if type_.lanes > 1:
            self._vector("", 0x5A, 1, 0 if type_.element == "f64" else 1, target, source)
        else:
            self._scalar(0x5A, 1, 2 if type_ is not F32 else 3, target, source, source)

    def float_of_whole(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x57, 1, 0, target, target, target)  # else the result depends on what was there
        self._scalar(0x2A, 1, 0x82 if type_ is F32 else 0x83, target, source, target)

    def whole_of_float(self, type_: Type, target: int, source: Operand) -> None:
        self._scalar(0x2C, 1, 0x82 if type_ is F32 else 0x83, target, source)

    def compare_floats(self, type_: Type, first: int, second: Operand) -> None:
        self._scalar(0x2E, 1, 0 if type_ is F32 else 1, first, second)

    def compare_to_mask(self, type_: Type, target: int, first: int, second: Operand, relation: str) -> None:
        self._packed(0xC2, 1, type_, target, second, first, bytes((_PREDICATES[relation],)))

    def mask_to_whole(self, target: int, source: int) -> None:
        """The lowest 32 bits of a vector register."""
        self._scalar(0x7E, 1, 1, source, target)

    def choose_float(self, type_: Type, target: int, no: int, yes: Operand, mask: int) -> None:
        opcode = 0x4A if type_.element == "f32" else 0x4B
        self._vector("", opcode, 3, 1, target, yes, no, bytes((mask << 4,)), _is_wide(type_))

    # Lanes

    def mask_logic(self, name: str, type_: Type, target: int, first: int, second: Operand) -> None:
        self._bitwise({"and": 0x54, "or": 0x56, "xor": 0x57}[name], type_, target, first, second)

    def widen_mask(self, target: int, source: int) -> None:
        """Four lanes of 32 bits as four of 64."""
        self._vector("", 0x25, 2, 1, target, source)

    def narrow_mask(self, target: int, source: int, spare: int) -> None:
        self.upper_half(spare, source)
        self._scalar(0xC6, 1, 0, target, spare, source, b"\x88")

    def upper_half(self, target: int, source: int) -> None:
        self._vector("", 0x19, 3, 1, source, target, tail=b"\x01")

    def join_halves(self, target: int, low: int, high: int) -> None:
        self._vector("", 0x18, 3, 1, target, high, low, b"\x01")

    def splat(self, type_: Type, target: int, source: int | Address) -> None:
        """A float in all lanes."""
        self._vector("", 0x18 if type_.element == "f32" else 0x19, 2, 1, target, source, wide=_is_wide(type_))

    def splat_whole(self, target: int, source: int) -> None:
        self._scalar(0x6E, 1, 0x81, target, source)
        self._vector("", 0x59, 2, 1, target, target)

    def iota(self, target: int, step: int, spare: int, general: int) -> None:
        """0, step, 2 * step, 3 * step."""
        self.number(general, step)
        self._scalar(0x6E, 1, 0x81, target, general)
        self._scalar(0x73, 1, 1, 7, target, target, b"\x08")  # eight bytes further up
        self.number(general, 2 * step)
        self.splat_whole(spare, general)
        self._scalar(0xD4, 1, 1, spare, target, spare)
        self.join_halves(target, target, spare)

    def sum_lanes(self, type_: Type, target: int, source: int, spare: int) -> None:
        """All lanes added up, halves first."""
        if _is_wide(type_):
            self.upper_half(spare, source)
            self._scalar(0x58, 1, type_.element == "f64", target, spare, source)
            source = target
        if type_.element == "f32":
            self._scalar(0xC6, 1, 0, spare, source, source, b"\x0e")
            self._scalar(0x58, 1, 0, target, spare, source)
            self._scalar(0xC6, 1, 0, spare, target, target, b"\x01")
        else:
            self._scalar(0xC6, 1, 1, spare, source, source, b"\x01")
        self._scalar(0x58, 1, 2 if type_.element == "f32" else 3, target, spare, target)

    def load_strided(self, type_: Type, target: int, source: Address, stride: int, spare: int) -> None:
        """Elements so many apart; nothing behind the last one is read."""
        size, half = (4, 4) if type_.element == "f32" else (8, 2)
        if stride == 2:
            self.load_float(type_, target, source)
            self.load_float(type_, spare, source.moved(size * (type_.lanes - 1)))
            order = b"\xd8" if type_.element == "f32" else b"\x0a"
            self._packed(0xC6, 1, type_, target, spare, target, order)
            if _is_wide(type_):
                self._vector("", 0x01, 3, 0x81, target, target, tail=b"\xd8")  # the middle pairs change places
            return
        for part, first in ((target, 0), (spare, half))[: type_.lanes // half]:
            at = [source.moved(size * stride * (first + i)) for i in range(half)]
            self._scalar(0x10, 1, 2 if size == 4 else 3, part, at[0])
            if size == 4:
                for i in range(1, 4):
                    self._scalar(0x21, 3, 1, part, at[i], part, bytes((i << 4,)))
            else:
                self._scalar(0x16, 1, 1, part, at[1], part)
        if type_.lanes > half:
            self.join_halves(target, target, spare)

    # Whole numbers

    def _general(
        self, text: str, opcode: bytes, register: int, other: Operand, tail: bytes = b"", wide: bool = True
    ) -> None:
        upper = other > 7 if type(other) is int else type(other) is Address and other.base > 7
        index = type(other) is Address and other.step is not None and other.step > 7
        self.code += bytes((0x40 | wide << 3 | (register > 7) << 2 | index << 1 | upper, *opcode))
        self._operand(register, other, tail)

    def whole(self, name: str, target: int, source: int | Address) -> None:
        """target = target `name` source."""
        self._general("", _WHOLE[name], target, source)

    def whole_number(self, name: str, target: int, number: int) -> None:
        """The same with a number of 32 bits, for all names but "mul"; "cmp" only compares."""
        self._general("", b"\x81", _WHOLE_NUMBER[name], target, struct.pack("<i", number))

    def multiply_by(self, target: int, source: int | Address, number: int) -> None:
        self._general("", b"\x69", target, source, struct.pack("<i", number))

    def is_zero(self, register: int) -> None:
        """Compare a register with 0, faster."""
        self._general("", b"\x85", register, register)

    def divide_signed(self, by: int) -> None:
        """`rax` by a register, rounded to 0; `rdx` is the remainder."""
        self._raw(b"\x48\x99", "")
        self._general("", b"\xf7", 7, by)

    def number(self, target: int, number: int) -> None:
        if number == 0:
            self._general("", b"\x33", target, target, wide=False)
        elif -(1 << 31) <= number < 1 << 31:
            self._general("", b"\xc7", 0, target, struct.pack("<i", number))
        else:
            self._raw(bytes((0x48 | (target > 7), 0xB8 + (target & 7))) + struct.pack("<q", number), "")

    def set_byte(self, target: int, condition: str) -> None:
        """A bool from the latest comparison."""
        self._general("", bytes((0x0F, 0x90 | CONDITIONS[condition])), 0, target, wide=False)
        self._general("", b"\x0f\xb6", target, target, wide=False)

    def move_if(self, target: int, source: int | Address, condition: str) -> None:
        self._general("", bytes((0x0F, 0x40 | CONDITIONS[condition])), target, source)

    def jump_if(self, to: str, condition: str) -> None:
        self._raw(bytes((0x0F, 0x80 | CONDITIONS[condition])) + bytes(4), "")
        self._jumps.append((len(self.code) - 4, to))

    def _raw(self, code: bytes, text: str) -> None:
        self.code += code
