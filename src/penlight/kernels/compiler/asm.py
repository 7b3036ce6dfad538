"""An assembler for the few x86-64 instructions that the native kernels are made of.

Vectors are AVX2's: eight float32, or four float64, in a `ymm` register. Each method of `Assembler` appends one instruction to `code`.
Jumps go to labels; constants follow the code and are addressed relative to the instruction.

Note [Encoding]
A vector instruction consists of the three-byte VEX prefix (C4), its opcode, and ModRM with its operands. The prefix holds,
inverted, the high bits of the register numbers and the second source (vvvv); `space` selects the opcode table (1: 0F, 2: 0F 38,
3: 0F 3A), `pp` the legacy prefix it replaces (0: none, 1: 66). Instructions on addresses and counters have the one-byte REX
prefix (4x) instead. Every memory operand has a four-byte displacement: longer, but one form.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

# General registers by their numbers.
RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 = range(16)
NAMES = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *[f"r{n}" for n in range(8, 16)])
ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)  # of the first six arguments of a call; the others are on the stack
SAVED = (RBX, RBP, R12, R13, R14, R15)  # which a function preserves


class Address(NamedTuple):
    """Memory at base + step * scale + offset bytes; `step`, a register like `base`, may be None, `scale` is 1, 2, 4 or 8."""

    base: int
    step: int | None = None
    offset: int = 0
    scale: int = 1

    def moved(self, offset: int) -> Address:
        """The address plus an offset in bytes."""
        return self._replace(offset=self.offset + offset)


class Pooled(NamedTuple):
    """A constant after the code: a 32-bit pattern repeated eight times, or a 64-bit one repeated four times if it is `wide` or
    needs more bits."""

    bits: int
    wide: bool = False

    def packed(self) -> bytes:
        """Its bytes in a 256-bit register."""
        return struct.pack("<Q", self.bits) * 4 if self.wide or self.bits >> 32 else struct.pack("<I", self.bits) * 8


Operand = int | Address | Pooled  # a ymm register's number, or memory

_W = 0x80  # OR-ed into `pp`: the prefix's bit W, which a few instructions need
# name: (opcode, space, pp) of instructions `name target, first, second`, whose second source may be memory.
_BINARY = {
    "vaddps": (0x58, 1, 0), "vsubps": (0x5C, 1, 0),
    "vxorps": (0x57, 1, 0), "vaddpd": (0x58, 1, 1),
    "vfmadd231ps": (0xB8, 2, 1), "vfmadd231pd": (0xB8, 2, 1 | _W),
    "vunpcklps": (0x14, 1, 0), "vunpckhps": (0x15, 1, 0), "vhaddps": (0x7C, 1, 3), "vhaddpd": (0x7C, 1, 1),
}  # fmt: skip
# Modes of rounding to an integer.
ROUNDINGS = {"nearest": 0, "floor": 1, "ceil": 2, "trunc": 3}


# Conditions of jumps, moves and bytes: the low four bits of their opcodes. "above" compares unsigned: negative integers are above all others.
CONDITIONS = {
    "below": 0x2, "not below": 0x3, "equal": 0x4, "not equal": 0x5, "not above": 0x6, "above": 0x7, "not negative": 0x9,
    "unordered": 0xA, "ordered": 0xB, "less": 0xC, "not less": 0xD, "not greater": 0xE, "greater": 0xF,
    "zero": 0x4, "not zero": 0x5,
}  # fmt: skip


class Assembler:
    """Machine code under construction."""

    def __init__(self) -> None:
        self.code = bytearray()
        self._labels: dict[str, int] = {}
        self._jumps: list[tuple[int, str]] = []  # offset of a displacement, and its label
        self._pooled: list[tuple[int, int, Pooled]] = []  # its offset, the end of its instruction, the constant

    # Vectors

    def binary(self, name: str, target: int, first: int, second: Operand) -> None:
        """target = first `name` second."""
        opcode, space, pp = _BINARY[name]
        self._vector(opcode, space, pp, target, second, first)

    def move(self, target: int, source: Operand) -> None:
        """Load a vector from memory, or copy a register."""
        self._vector(0x10, 1, 0, target, source)  # vmovups

    def store(self, target: Address, source: int) -> None:
        """Write a vector to memory."""
        self._vector(0x11, 1, 0, source, target)  # vmovups

    def broadcast(self, target: int, source: Operand) -> None:
        """All lanes from one float in memory, or from a register's lowest lane."""
        self._vector(0x18, 2, 1, target, source)  # vbroadcastss

    def broadcast_long(self, target: int, source: Address) -> None:
        """All four pairs of lanes from 64 bits in memory."""
        self._vector(0x19, 2, 1, target, source)  # vbroadcastsd

    def load_some(self, target: int, mask: int, source: Address) -> None:
        """Load the lanes that the mask selects; 0 in the others, whose memory is not touched."""
        self._vector(0x2C, 2, 1, target, source, mask)  # vmaskmovps

    def store_some(self, target: Address, mask: int, source: int) -> None:
        """Write the lanes that the mask selects."""
        self._vector(0x2E, 2, 1, source, target, mask)  # vmaskmovps

    def store_pair(self, target: Address, source: int) -> None:
        """Write the lowest 64 bits."""
        self._vector(0x11, 1, 3, source, target, wide=False)  # vmovsd

    def halves(self, target: int, first: int, second: int, order: int) -> None:
        """Each half of the target is one of the sources' four halves, selected by a hexadecimal digit of `order`."""
        self._vector(0x06, 3, 1, target, second, first, bytes((order,)))  # vperm2f128

    def pick(self, target: int, first: int, second: int, order: int) -> None:
        """Within each half, two lanes of `first`, then two of `second`, each selected by two bits of `order`."""
        self._vector(0xC6, 1, 0, target, second, first, bytes((order,)))  # vshufps

    def pairs(self, target: int, source: Operand, order: int) -> None:
        """Permute the four pairs of lanes, each selected by two bits of `order`."""
        self._vector(0x01, 3, 1 | _W, target, source, tail=bytes((order,)))  # vpermpd

    def move_half(self, target: int, source: Address) -> None:
        """Load the lower four lanes; the upper ones become 0."""
        self._vector(0x10, 1, 0, target, source, wide=False)  # vmovups

    def store_half(self, target: Address, source: int) -> None:
        """Write the lower four lanes."""
        self._vector(0x11, 1, 0, source, target, wide=False)  # vmovups

    def join(self, target: int, low: int, high: int | Address) -> None:
        """The lower halves of two registers, or of one and four floats in memory."""
        self._vector(0x18, 3, 1, target, high, low, b"\x01")  # vinsertf128

    def store_upper(self, target: int | Address, source: int) -> None:
        """Write the upper four lanes to memory, or to a register's lower four."""
        self._vector(0x19, 3, 1, source, target, tail=b"\x01")  # vextractf128

    def forget_upper(self) -> None:
        """Zero the upper halves, before returning to SSE code, which would be slow otherwise."""
        self.code += b"\xc5\xf8\x77"  # vzeroupper

    # Addresses and counters

    def load_register(self, target: int, source: Address) -> None:
        """Load a 64-bit integer."""
        self._general(b"\x8b", target, source)

    def store_register(self, target: Address, source: int) -> None:
        """Store a 64-bit integer."""
        self._general(b"\x89", source, target)

    def load_part(self, target: int, source: Address, size: int) -> None:
        """Load 1, 2, 4 or 8 bytes; the register's other bytes become 0."""
        opcode = {1: b"\x0f\xb6", 2: b"\x0f\xb7"}.get(size, b"\x8b")
        self._general(opcode, target, source, wide=size == 8)

    def store_part(self, target: Address, source: int, size: int) -> None:
        """Store the lowest 1, 2, 4 or 8 bytes."""
        if size == 2:
            self.code += b"\x66"
        opcode = b"\x88" if size == 1 else b"\x89"
        self._general(opcode, source, target, wide=size == 8)

    def copy_register(self, target: int, source: int) -> None:
        self._general(b"\x8b", target, source)

    def add(self, target: int, source: int | Address) -> None:
        self._general(b"\x03", target, source)

    def add_to_memory(self, target: Address, source: int) -> None:
        self._general(b"\x01", source, target)

    def call(self, register: int) -> None:
        """Call the function at an address in one of the first eight registers."""
        self.code += bytes((0xFF, 0xD0 + register))

    def go_to(self, register: int) -> None:
        """Jump to the address in one of the first eight registers."""
        self.code += bytes((0xFF, 0xE0 + register))

    def multiply(self, target: int, source: int | Address) -> None:
        self._general(b"\x0f\xaf", target, source)

    def divide(self, by: int) -> None:
        """Divide `rax` by a register, rounded towards 0; `rdx` is the remainder."""
        self.code += b"\x48\x99"
        self._general(b"\xf7", 7, by)

    def add_number(self, target: int, number: int) -> None:
        self._general(b"\x81", 0, target, struct.pack("<i", number))

    def load_number(self, target: int, number: int) -> None:
        self._general(b"\xc7", 0, target, struct.pack("<i", number))

    def multiply_number(self, target: int, source: int | Address, number: int) -> None:
        self._general(b"\x69", target, source, struct.pack("<i", number))

    def shift_left(self, target: int, count: int) -> None:
        self._general(b"\xc1", 4, target, bytes((count,)))

    def shift_right(self, target: int, count: int) -> None:
        self._general(b"\xc1", 7, target, bytes((count,)))

    def zero(self, target: int) -> None:
        self._general(b"\x33", target, target)

    def negate(self, target: int) -> None:
        self._general(b"\xf7", 3, target)

    def compare_numbers(self, first: int, second: int | Address) -> None:
        self._general(b"\x3b", first, second)

    def compare_number(self, first: int, number: int) -> None:
        self._general(b"\x81", 7, first, struct.pack("<i", number))

    def push(self, register: int) -> None:
        self.code += bytes((0x41, 0x50 + register - 8)) if register > 7 else bytes((0x50 + register,))

    def pop(self, register: int) -> None:
        self.code += bytes((0x41, 0x58 + register - 8)) if register > 7 else bytes((0x58 + register,))

    def leave(self) -> None:
        self.code += b"\xc3"

    # Jumps

    def label(self, name: str) -> None:
        """A label for the next instruction."""
        self._labels[name] = len(self.code)

    def jump(self, to: str, when: str = "") -> None:
        """Jump to a label: always, or under one of CONDITIONS after a comparison or an arithmetic instruction."""
        self.code += (bytes((0x0F, 0x80 | CONDITIONS[when])) if when else b"\xe9") + bytes(4)
        self._jumps.append((len(self.code) - 4, to))

    def finish(self) -> bytes:
        """The code with its constants, all addresses filled in."""
        for offset, name in self._jumps:
            struct.pack_into("<i", self.code, offset, self._labels[name] - offset - 4)
        self.code += bytes(-len(self.code) % 32)
        homes: dict[bytes, int] = {}
        for offset, end, constant in self._pooled:
            packed = constant.packed()
            if packed not in homes:
                homes[packed] = len(self.code)
                self.code += packed
            struct.pack_into("<i", self.code, offset, homes[packed] - end)
        return bytes(self.code)

    # See Note [Encoding]

    def _vector(
        self, opcode: int, space: int, pp: int, register: int, other: Operand, second: int = 0, tail: bytes = b"",
        wide: bool = True,
    ) -> None:  # fmt: skip
        upper = other if type(other) is int else other.base if type(other) is Address else 0
        index = other.step if type(other) is Address and other.step is not None else 0
        first = (register < 8) << 7 | (index < 8) << 6 | (upper < 8) << 5 | space
        self.code += bytes((0xC4, first, (~second & 15) << 3 | wide << 2 | pp, opcode))
        self._operand(register, other, tail)

    def _general(self, opcode: bytes, register: int, other: Operand, tail: bytes = b"", wide: bool = True) -> None:
        upper = other > 7 if type(other) is int else type(other) is Address and other.base > 7
        index = type(other) is Address and other.step is not None and other.step > 7
        self.code += bytes((0x40 | wide << 3 | (register > 7) << 2 | index << 1 | upper, *opcode))
        self._operand(register, other, tail)

    def _operand(self, register: int, other: Operand, tail: bytes) -> None:
        """ModRM and the bytes after it; `tail` is the instruction's last bytes."""
        low = (register & 7) << 3
        if isinstance(other, int):
            self.code.append(0xC0 | low | other & 7)
        elif isinstance(other, Pooled):
            self.code.append(low | 5)
            self._pooled.append((len(self.code), len(self.code) + 4 + len(tail), other))
            self.code += bytes(4)
        else:
            index = RSP if other.step is None else other.step  # 4 as the index in SIB means none
            scale = (other.scale.bit_length() - 1) << 6
            self.code += bytes((0x80 | low | 4, scale | (index & 7) << 3 | other.base & 7))
            self.code += struct.pack("<i", other.offset)
        self.code += tail


# A function that adds rsi to the integer at rdi atomically and returns its old value: lock xadd [rdi], rsi; mov rax, rsi; ret.
TAKE = b"\xf0\x48\x0f\xc1\x37\x48\x89\xf0\xc3"


def fetch(offset: int) -> bytes:
    """A function that returns the integer at an offset from the address it is given."""
    asm = Assembler()
    asm.load_register(RAX, Address(RDI, None, offset))
    asm.leave()
    return asm.finish()
