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
        self._scalar(_ARITHMETIC[name], 1, 2 if type_ is F32 else 3, target, second, first)

    def sqrt(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x51, 1, 2 if type_ is F32 else 3, target, source, source)

    def round_float(self, type_: Type, target: int, source: int, way: str) -> None:
        self._scalar(0x0A if type_ is F32 else 0x0B, 3, 1, target, source, source, bytes((ROUNDINGS[way],)))

    def multiply_add(self, type_: Type, target: int, first: int, second: Operand) -> None:
        """target += first * second, rounded once."""
        self._scalar(0xB9, 2, 1 if type_ is F32 else 0x81, target, second, first)

    def flip_sign(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x57, 1, 0, target, Pooled(1 << 31 if type_ is F32 else 1 << 63), source)

    def drop_sign(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x54, 1, 0, target, Pooled((1 << 31) - 1 if type_ is F32 else (1 << 63) - 1), source)

    def copy_float(self, target: int, source: int) -> None:
        self._scalar(0x28, 1, 0, target, source)

    def load_float(self, type_: Type, target: int, source: Address | Pooled) -> None:
        if isinstance(source, Pooled) and not source.bits:
            self._scalar(0x57, 1, 0, target, target, target)
        else:
            self._scalar(0x10, 1, 2 if type_ is F32 else 3, target, source)

    def store_float(self, type_: Type, target: Address, source: int) -> None:
        self._scalar(0x11, 1, 2 if type_ is F32 else 3, source, target)

    def convert_float(self, target: int, source: int, to_double: bool) -> None:
        self._scalar(0x5A, 1, 2 if to_double else 3, target, source, source)

    def float_of_whole(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x57, 1, 0, target, target, target)  # else the result depends on what was there
        self._scalar(0x2A, 1, 0x82 if type_ is F32 else 0x83, target, source, target)

    def whole_of_float(self, type_: Type, target: int, source: Operand) -> None:
        self._scalar(0x2C, 1, 0x82 if type_ is F32 else 0x83, target, source)

    def compare_floats(self, type_: Type, first: int, second: Operand) -> None:
        self._scalar(0x2E, 1, 0 if type_ is F32 else 1, first, second)

    def compare_to_mask(self, type_: Type, target: int, first: int, second: Operand, relation: str) -> None:
        self._scalar(0xC2, 1, 2 if type_ is F32 else 3, target, second, first, bytes((_PREDICATES[relation],)))

    def mask_to_whole(self, target: int, source: int) -> None:
        """The lowest 32 bits of a vector register."""
        self._scalar(0x7E, 1, 1, source, target)

    def choose_float(self, type_: Type, target: int, no: int, yes: Operand, mask: int) -> None:
        self._scalar(0x4A if type_ is F32 else 0x4B, 3, 1, target, yes, no, bytes((mask << 4,)))

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
