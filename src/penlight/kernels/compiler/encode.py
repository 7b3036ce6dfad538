"""The instructions on scalars, as bytes. See Note [Encoding] in asm.py."""

from __future__ import annotations

import struct

from .asm import CONDITIONS, ROUNDINGS, Address, Assembler, Operand, Pooled
from .ir import F32, Type

_ARITHMETIC = {"add": 0x58, "mul": 0x59, "sub": 0x5C, "min": 0x5D, "div": 0x5E, "max": 0x5F}
_INTEGER = {"add": b"\x03", "sub": b"\x2b", "mul": b"\x0f\xaf", "and": b"\x23", "or": b"\x0b", "xor": b"\x33"}
_IMMEDIATE = {"add": 0, "or": 1, "and": 4, "sub": 5, "xor": 6, "cmp": 7}  # the extension of opcode 81
_PREDICATES = {"eq": 0x00, "lt": 0x11, "le": 0x12, "unordered": 0x03, "ne": 0x04}
OPPOSITE = {
    "below": "not below", "equal": "not equal", "above": "not above", "unordered": "ordered", "less": "not less",
    "greater": "not greater",
}  # fmt: skip


_SIZES = {"f64": 8, "i64": 8, "f16": 2, "bf16": 2, "i16": 2, "i8": 1, "u8": 1}  # of elements whose size is not 4 bytes
# On integers: (opcode, space).
_INTEGER_LANES = {
    ("add", "i32"): (0xFE, 1), ("sub", "i32"): (0xFA, 1), ("mul", "i32"): (0x40, 2), ("add", "i64"): (0xD4, 1),
    ("sub", "i64"): (0xFB, 1),
}  # fmt: skip
_SHIFTS = {"right": 2, "signed": 4, "left": 6}  # the extensions of opcodes 72 and 73
# Conversions of vectors from one element to another: (opcode, space, prefix).
_CONVERSIONS = {
    ("f32", "f64"): (0x5A, 1, 0), ("f64", "f32"): (0x5A, 1, 1), ("f32", "i32"): (0x5B, 1, 2), ("i32", "f32"): (0x5B, 1, 0),
    ("f16", "f32"): (0x13, 2, 1), ("u8", "i32"): (0x31, 2, 1), ("i16", "i32"): (0x23, 2, 1), ("bf16", "f32"): (0x33, 2, 1),
    ("i32", "i64"): (0x25, 2, 1), ("i16", "i64"): (0x24, 2, 1), ("i8", "i64"): (0x22, 2, 1), ("u8", "i64"): (0x32, 2, 1),
}  # fmt: skip
_MIRRORED = {"lt": 0x1E, "le": 0x1D}  # the predicates of exchanged operands


def _is_wide(type_: Type) -> bool:
    """Whether a vector takes 32 bytes, not 16 or 8. A mask is at most as wide as the vectors that were compared."""
    return type_.lanes * _SIZES.get(type_.element, 4) == 32 or (type_.element == "bool" and type_.lanes > 1)


OPPOSITE |= {second: first for first, second in OPPOSITE.items()}


class Code(Assembler):
    """The instructions that the compiler emits besides those of the assembler."""

    def _scalar(
        self, opcode: int, space: int, pp: int, target: int, other: Operand, second: int = 0, tail: bytes = b""
    ) -> None:
        self._vector(opcode, space, pp, target, other, second, tail, False)

    # Floats

    def arithmetic(self, name: str, type_: Type, target: int, first: int, second: Operand) -> None:
        if type_.element in ("i32", "i64"):
            opcode, space = _INTEGER_LANES[name, type_.element]
            self._vector(opcode, space, 1, target, second, first, wide=_is_wide(type_))
        else:
            self._packed(_ARITHMETIC[name], 1, type_, target, second, first)

    def _packed(
        self, opcode: int, space: int, type_: Type, target: int, other: Operand, second: int = 0, tail: bytes = b""
    ) -> None:
        """An instruction with a scalar form and a vector form."""
        if type_.lanes == 1:
            self._scalar(opcode, space, 2 if type_ is F32 else 3, target, other, second, tail)
        else:
            self._vector(opcode, space, type_.element == "f64", target, other, second, tail, _is_wide(type_))

    def _bitwise(self, opcode: int, type_: Type, target: int, first: int, second: Operand) -> None:
        self._vector(opcode, 1, 0, target, second, first, wide=_is_wide(type_))

    def sqrt(self, type_: Type, target: int, source: int) -> None:
        self._packed(0x51, 1, type_, target, source, source if type_.lanes == 1 else 0)

    def round_float(self, type_: Type, target: int, source: int, way: str) -> None:
        opcode = (0x0A if type_.lanes == 1 else 0x08) + (type_.element == "f64")
        second = source if type_.lanes == 1 else 0
        self._vector(opcode, 3, 1, target, source, second, bytes((ROUNDINGS[way],)), _is_wide(type_))

    def multiply_add(self, form: int, negated: bool, type_: Type, target: int, first: int, second: Operand) -> None:
        """A product and a sum, rounded once: target * second + first if the form is 132, target * first + second if it is
        213, first * second + target if it is 231; with `negated` the product is subtracted."""
        opcode = {132: 0x98, 213: 0xA8, 231: 0xB8}[form] + 4 * negated + (type_.lanes == 1)
        self._vector(opcode, 2, 1 if type_.element == "f32" else 0x81, target, second, first, wide=_is_wide(type_))

    def flip_sign(self, type_: Type, target: int, source: int) -> None:
        self._bitwise(0x57, type_, target, source, Pooled(1 << 31 if type_.element == "f32" else 1 << 63))

    def drop_sign(self, type_: Type, target: int, source: int) -> None:
        bits = (1 << 31) - 1 if type_.element == "f32" else (1 << 63) - 1
        self._bitwise(0x54, type_, target, source, Pooled(bits))

    def copy_float(self, type_: Type, target: int, source: int) -> None:
        self._vector(0x28, 1, 0, target, source, wide=_is_wide(type_))

    def load_float(self, type_: Type, target: int, source: Address | Pooled) -> None:
        if isinstance(source, Pooled) and not source.bits:
            self._scalar(0x57, 1, 0, target, target, target)
        elif type_.element == "u8":
            self._scalar(0x7E, 1, 2, target, source)
        elif type_.lanes > 1:
            self._vector(0x10, 1, 0, target, source, wide=_is_wide(type_))
        else:
            self._packed(0x10, 1, type_, target, source)

    def store_float(self, type_: Type, target: Address, source: int) -> None:
        if type_.element == "u8":
            self._scalar(0xD6, 1, 1, source, target)
        elif type_.lanes > 1:
            self._vector(0x11, 1, 0, source, target, wide=_is_wide(type_))
        else:
            self._packed(0x11, 1, type_, source, target)

    def load_masked(self, type_: Type, target: int, source: Address, mask: int) -> None:
        opcode = 0x2C + (type_.element in ("f64", "i64"))
        self._vector(opcode, 2, 1, target, source, mask, wide=_is_wide(type_))

    def store_masked(self, type_: Type, target: Address, source: int, mask: int) -> None:
        opcode = 0x2E + (type_.element in ("f64", "i64"))
        self._vector(opcode, 2, 1, source, target, mask, wide=_is_wide(type_))

    def store_halves(self, target: Operand, source: int) -> None:
        """Store eight floats as float16, rounded to nearest."""
        self._vector(0x1D, 3, 1, source, target, tail=b"\0")

    def convert_float(self, type_: Type, target: int, source: Operand, given: Type) -> None:
        """Convert a value to another type, which is float32 or float64 for a scalar; the source may be in memory if its elements
        are shorter than 32 bits."""
        if type(source) is not int or given.is_short:
            self._vector(*_CONVERSIONS[given.element, type_.element], target, source)
            if given.element == "bf16":
                self.shift_lanes(Type.of("i32", type_.lanes), target, target, "left", 16)
        elif given.element == "i32" and type_.element in ("i16", "u8"):
            self._bitwise(0x54, given, target, source, Pooled(0xFFFF if type_.element == "i16" else 0xFF))
            self._vector(0x2B, 2, 1, target, target, target)
            self._vector(0x00, 3, 0x81, target, target, tail=b"\x08")  # the lower half of either half
            if type_.element == "u8":
                self._vector(0x67, 1, 1, target, target, target)
        elif type_.element == "f16":
            self.store_halves(target, source)
        elif type_.lanes > 1:
            self._vector(*_CONVERSIONS[given.element, type_.element], target, source)
        else:
            self._scalar(0x5A, 1, 2 if type_ is not F32 else 3, target, source, source)

    def float_of_integer(self, type_: Type, target: int, source: int) -> None:
        self._scalar(0x57, 1, 0, target, target, target)  # else the result depends on the register's old value
        self._scalar(0x2A, 1, 0x82 if type_ is F32 else 0x83, target, source, target)

    def float_of_short(self, element: str, target: int, source: int) -> None:
        """A float16 or bfloat16, whose bits are in a general register, as float32."""
        self._scalar(0x6E, 1, 1, target, source)
        if element == "f16":
            self._scalar(0x13, 2, 1, target, target)
        else:
            self._scalar(0x72, 1, 1, 6, target, target, b"\x10")

    def load_signed(self, target: int, source: Address, size: int) -> None:
        """Load 1, 2 or 4 bytes, sign-extended."""
        self._general({1: b"\x0f\xbe", 2: b"\x0f\xbf", 4: b"\x63"}[size], target, source)

    def integer_of_float(self, type_: Type, target: int, source: Operand) -> None:
        self._scalar(0x2C, 1, 0x82 if type_ is F32 else 0x83, target, source)

    def compare_floats(self, type_: Type, first: int, second: Operand) -> None:
        self._scalar(0x2E, 1, 0 if type_ is F32 else 1, first, second)

    def compare_to_mask(
        self, type_: Type, target: int, first: int, second: Operand, relation: str, mirrored: bool = False
    ) -> None:
        """first < second, and the like; with `mirrored`, second < first."""
        predicate = (_MIRRORED if mirrored else _PREDICATES)[relation]
        self._packed(0xC2, 1, type_, target, second, first, bytes((predicate,)))

    def is_greater(self, type_: Type, target: int, first: int, second: Operand) -> None:
        """The mask of first > second, of integers."""
        opcode, space = (0x66, 1) if type_.element == "i32" else (0x37, 2)
        self._vector(opcode, space, 1, target, second, first, wide=_is_wide(type_))

    def shift_lanes(self, type_: Type, target: int, source: int, way: str, count: int) -> None:
        opcode = 0x72 if type_.element == "i32" else 0x73
        self._vector(opcode, 1, 1, _SHIFTS[way], source, target, bytes((count,)), _is_wide(type_))

    def mask_to_integer(self, target: int, source: int) -> None:
        """The lowest 32 bits of a vector register."""
        self._scalar(0x7E, 1, 1, source, target)

    def first_integer(self, target: int, source: int) -> None:
        """The first lane of 64 bits."""
        self._scalar(0x7E, 1, 0x81, source, target)

    def choose_float(self, type_: Type, target: int, no: int, yes: Operand, mask: int) -> None:
        opcode = 0x4A if type_.element in ("f32", "i32") else 0x4B
        self._vector(opcode, 3, 1, target, yes, no, bytes((mask << 4,)), _is_wide(type_))

    # Lanes

    def mask_logic(self, name: str, type_: Type, target: int, first: int, second: Operand) -> None:
        self._bitwise({"and": 0x54, "andn": 0x55, "or": 0x56, "xor": 0x57}[name], type_, target, first, second)

    def widen_mask(self, target: int, source: int) -> None:
        """Widen four lanes of 32 bits to 64."""
        self._vector(0x25, 2, 1, target, source)

    def narrow_mask(self, target: int, source: int, spare: int) -> None:
        self.store_upper(spare, source)
        self._scalar(0xC6, 1, 0, target, spare, source, b"\x88")

    def splat(self, type_: Type, target: int, source: int | Address) -> None:
        """A float in all lanes."""
        opcode = 0x18 if type_.element in ("f32", "i32") else 0x19
        self._vector(opcode, 2, 1, target, source, wide=_is_wide(type_))

    def lanes_below(self, type_: Type, target: int, count: int, spare: int) -> None:
        """A mask of the first `count` lanes, a general register."""
        narrow = type_.element in ("f32", "i32")
        order = Pooled(0x0706050403020100, True) if narrow else Pooled(0x03020100)
        self._vector(0x31 if narrow else 0x32, 2, 1, spare, order)
        self._scalar(0x6E, 1, 0x81, target, count)
        self._vector(0x58 if narrow else 0x59, 2, 1, target, target)
        self.is_greater(Type.of("i32" if narrow else "i64", type_.lanes), target, target, spare)

    def even_lanes(self, target: int, first: int, second: int) -> None:
        """Every second lane of two vectors of eight."""
        self.pick(target, first, second, 0x88)
        self.pairs(target, target, 0xD8)

    def splat_integer(self, target: int, source: int) -> None:
        self._scalar(0x6E, 1, 0x81, target, source)
        self._vector(0x59, 2, 1, target, target)

    def fold_lanes(self, name: str, type_: Type, target: int, source: int, spare: int) -> None:
        """Reduce all lanes, beginning with the lower half and the upper."""
        opcode, prefix = (
            (_ARITHMETIC[name], type_.element == "f64") if type_.is_float else (_INTEGER_LANES[name, "i64"][0], 1)
        )
        if _is_wide(type_):
            self.store_upper(spare, source)
            self._scalar(opcode, 1, prefix, target, spare, source)
            source = target
        if type_.element == "f32":
            self._scalar(0xC6, 1, 0, spare, source, source, b"\x0e")
            self._scalar(opcode, 1, 0, target, spare, source)
            self._scalar(0xC6, 1, 0, spare, target, target, b"\x01")
        else:
            self._scalar(0xC6, 1, 1, spare, source, source, b"\x01")
        self._scalar(opcode, 1, prefix + 2 if type_.is_float else prefix, target, spare, target)

    def load_strided(self, type_: Type, target: int, source: Address, stride: int, spare: int) -> None:
        """Load elements with a stride; nothing past the last one is read."""
        size, half = (4, 4) if type_.element == "f32" else (8, 2)
        if stride == 2:
            self.load_float(type_, target, source)
            self.load_float(type_, spare, source.moved(size * (type_.lanes - 1)))
            order = b"\xd8" if type_.element == "f32" else b"\x0a"
            self._packed(0xC6, 1, type_, target, spare, target, order)
            if _is_wide(type_):
                self.pairs(target, target, 0xD8)  # swap the middle pairs
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
            self.join(target, target, spare)

    # Integers

    def whole(self, name: str, target: int, source: int | Address) -> None:
        """target = target `name` source."""
        self._general(_INTEGER[name], target, source)

    def immediate(self, name: str, target: int, number: int) -> None:
        """target = target `name` a 32-bit constant, for all names but "mul"; "cmp" only compares."""
        self._general(b"\x81", _IMMEDIATE[name], target, struct.pack("<i", number))

    def is_zero(self, register: int) -> None:
        """Compare a register with 0, faster than `cmp`."""
        self._general(b"\x85", register, register)

    def address_of(self, target: int, source: Address) -> None:
        self._general(b"\x8d", target, source)

    def number(self, target: int, number: int) -> None:
        if number == 0:
            self._general(b"\x33", target, target, wide=False)
        elif -(1 << 31) <= number < 1 << 31:
            self.load_number(target, number)
        else:
            self.code += bytes((0x48 | (target > 7), 0xB8 + (target & 7))) + struct.pack("<q", number)

    def set_byte(self, target: int, condition: str) -> None:
        """A bool from the latest comparison."""
        self._general(bytes((0x0F, 0x90 | CONDITIONS[condition])), 0, target, wide=False)
        self._general(b"\x0f\xb6", target, target, wide=False)

    def move_if(self, target: int, source: int | Address, condition: str) -> None:
        self._general(bytes((0x0F, 0x40 | CONDITIONS[condition])), target, source)
