"""The assembler: encodings as GNU's disassembler reads them."""

import pytest

from penlight.kernels.compiler.asm import (
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    RAX,
    RBX,
    RCX,
    RDI,
    RSP,
    Address,
    Assembler,
    Pooled,
)

# An instruction, and its bytes, which objdump 2.40 prints as the same instruction.
ENCODINGS = [
    (lambda a: a.binary("vaddps", 1, 2, 3), "c4e16c58cb"),
    (lambda a: a.binary("vsubps", 9, 10, 11), "c4412c5ccb"),
    (lambda a: a.move(1, 9), "c4c17c10c9"),
    (lambda a: a.store(Address(R9, R10, 96), 13), "c4017c11ac1160000000"),
    (lambda a: a.broadcast(3, Address(RSP, None, 8)), "c4e27d189c2408000000"),
    (lambda a: a.broadcast(3, 9), "c4c27d18d9"),
    (lambda a: a.load_some(1, 2, Address(RDI, RAX)), "c4e26d2c8c0700000000"),
    (lambda a: a.store_some(Address(RDI, RAX), 9, 10), "c462352e940700000000"),
    (lambda a: a.halves(9, 10, 10, 0x01), "c4432d06ca01"),
    (lambda a: a.store_pair(Address(R14), 9), "c4417b118c2600000000"),
    (lambda a: a.binary("vunpcklps", 10, 8, 9), "c4413c14d1"),
    (lambda a: a.binary("vunpckhps", 1, 12, 3), "c4e11c15cb"),
    (lambda a: a.binary("vhaddps", 1, 2, 9), "c4c16f7cc9"),
    (lambda a: a.binary("vhaddpd", 1, 2, 9), "c4c16d7cc9"),
    (lambda a: a.broadcast_long(15, Address(RCX, None, 8)), "c4627d19bc2108000000"),
    (lambda a: a.halves(12, 10, 11, 0x31), "c4432d06e331"),
    (lambda a: a.pick(2, 9, 1, 0xDD), "c4e134c6d1dd"),
    (lambda a: a.pairs(9, 3, 0xD8), "c463fd01cbd8"),
    (lambda a: a.move_half(12, Address(R15)), "c4417810a42700000000"),
    (lambda a: a.store_half(Address(R15, None, 8), 9), "c44178118c2708000000"),
    (lambda a: a.binary("vaddpd", 9, 10, 11), "c4412d58cb"),
    (lambda a: a.binary("vfmadd231pd", 9, 10, 11), "c442adb8cb"),
    (lambda a: a.join(9, 10, 11), "c4432d18cb01"),
    (lambda a: a.join(9, 10, Address(R11, RAX, 16)), "c4432d188c031000000001"),
    (lambda a: a.store_upper(Address(R9, R10, 8), 13), "c4037d19ac110800000001"),
    (lambda a: a.load_part(R9, Address(RDI, RAX), 1), "440fb68c0700000000"),
    (lambda a: a.load_part(RBX, Address(R9), 2), "410fb79c2100000000"),
    (lambda a: a.load_part(RCX, Address(RDI, R10, 8, 4), 4), "428b8c9708000000"),
    (lambda a: a.load_part(R12, Address(RDI, RAX, 0, 8), 8), "4c8ba4c700000000"),
    (lambda a: a.store_part(Address(RDI, RAX), RBX, 1), "40889c0700000000"),
    (lambda a: a.store_part(Address(RDI), R9, 2), "6644898c2700000000"),
    (lambda a: a.store_part(Address(R12), RCX, 4), "41898c2400000000"),
    (lambda a: a.store_part(Address(RDI, RAX, 0, 8), R13, 8), "4c89acc700000000"),
    (lambda a: a.forget_upper(), "c5f877"),
    (lambda a: a.load_register(RDI, Address(RDI, None, 16)), "488bbc2710000000"),
    (lambda a: a.store_register(Address(RSP, None, 8), R9), "4c898c2408000000"),
    (lambda a: a.copy_register(R10, RDI), "4c8bd7"),
    (lambda a: a.add(R9, Address(RSP, None, 4)), "4c038c2404000000"),
    (lambda a: a.add(RAX, R15), "4903c7"),
    (lambda a: a.multiply(RCX, R9), "490fafc9"),
    (lambda a: a.multiply_number(R9, R9, 5), "4d69c905000000"),
    (lambda a: a.add_number(R9, -32), "4981c1e0ffffff"),
    (lambda a: a.shift_left(R9, 2), "49c1e102"),
    (lambda a: a.shift_right(R9, 6), "49c1f906"),
    (lambda a: a.negate(R9), "49f7d9"),
    (lambda a: a.load_number(R9, 5), "49c7c105000000"),
    (lambda a: a.load_number(RCX, -1), "48c7c1ffffffff"),
    (lambda a: a.zero(R12), "4d33e4"),
    (lambda a: a.compare_numbers(R9, Address(RSP, None, 8)), "4c3b8c2408000000"),
    (lambda a: a.compare_number(R9, 6), "4981f906000000"),
    (lambda a: a.add_to_memory(Address(R12, None, 8), RAX), "4901842408000000"),
    (lambda a: a.call(RAX), "ffd0"),
    (lambda a: a.push(RBX), "53"),
    (lambda a: a.push(R12), "4154"),
    (lambda a: a.pop(R12), "415c"),
    (lambda a: a.leave(), "c3"),
]


@pytest.mark.parametrize("write, code", ENCODINGS, ids=[code for _, code in ENCODINGS])
def test_encoding(write, code):
    asm = Assembler()
    write(asm)
    assert asm.code.hex() == code


def test_jumps_lead_to_labels_before_and_after():
    asm = Assembler()
    asm.jump("end")
    asm.label("start")
    asm.zero(RAX)
    asm.jump("start", "less")
    asm.label("end")
    asm.leave()
    assert asm.finish()[:15].hex() == "e909000000" + "4833c0" + "0f8cf7ffffff" + "c3"


@pytest.mark.parametrize(
    "when, code",
    [("", "e9"), ("less", "0f8c"), ("not less", "0f8d"), ("not zero", "0f85"), ("zero", "0f84"), ("not below", "0f83")],
)
def test_conditions_of_jumps(when, code):
    asm = Assembler()
    asm.jump("end", when)
    asm.label("end")
    assert asm.finish().hex().startswith(code + "00000000")


def test_constants_lie_behind_the_code_once():
    asm = Assembler()
    asm.move(1, Pooled(0x3F800000))
    asm.binary("vaddps", 2, 1, Pooled(0x3F800000))
    asm.binary("vaddps", 2, 1, Pooled(0x40000000))
    code = asm.finish()
    assert len(code) == 32 + 64
    assert code[32:] == bytes.fromhex("0000803f" * 8 + "00000040" * 8)
    assert int.from_bytes(code[5:9], "little") + 9 == 32
    assert int.from_bytes(code[14:18], "little") + 18 == 32
    assert int.from_bytes(code[23:27], "little") + 27 == 64
