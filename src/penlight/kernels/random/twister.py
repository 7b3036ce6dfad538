"""The Mersenne twister, eight words at a time, and what samples are made of its words. The same in NumPy: kernels/random/engine.py, kernels/random/uniform.py.

Each word depends on those 624, 623 and 227 words before it. So if all words stand one after the other, eight neighbours can be made at once.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from .. import call, executable
from ..compiler.rows import Rows
from ..compiler.values import as_float, as_integer, cast, logical_right
from ..native._x86 import RDI, RDX, RSI, Address, Assembler, Pooled

WORDS = 624  # of the state
_MIDDLE = 397
_UPPER, _MATRIX = 0x80000000, 0x9908B0DF
_FIRST_MASK, _SECOND_MASK = 0x9D2C5680, 0xEFC60000


def state_of(twister: Any) -> np.ndarray | None:
    """The words of a `numpy.random.MT19937`, as a view of its memory; None if they are not where they are expected.

    NumPy gives the address away, but a copy of the state, which it makes word by word, takes as long as making a hundred thousand of them.
    """
    address = twister.ctypes.state_address
    words: np.ndarray = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint32)), (WORDS,))
    return words if _is_there(words, twister) else None


_found: list[bool] = []


def _is_there(words: np.ndarray, twister: Any) -> bool:
    """Whether NumPy lays out its state as it did; looked at once."""
    if not _found:
        _found.append(np.array_equal(words, twister.state["state"]["key"]))
    return _found[0]


def draw(state: np.ndarray, blocks: int, out: np.ndarray) -> None:
    """Write the next so many blocks of words to `out`, uint32, and let `state` be what belongs to the last of them."""
    words = np.empty((blocks + 1) * WORDS, np.uint32)
    words[:WORDS] = state
    if not out.flags.c_contiguous or out.dtype != np.uint32 or out.size != blocks * WORDS:
        raise ValueError("draw() writes whole blocks of uint32")
    _twist()(blocks * WORDS // 8, words, out)
    state[...] = words[-WORDS:]


@lru_cache(1)
def _twist() -> Any:
    """Makes new words behind those that are there, and writes them tempered to `out`."""
    asm = Assembler()
    for pointer in (RSI, RDX):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    constants = {bits: 15 - i for i, bits in enumerate((_UPPER, _MATRIX, _FIRST_MASK, _SECOND_MASK))}
    for bits, register in constants.items():
        asm.move(register, Pooled(bits))
    asm.label("eight")
    asm.move(0, Address(RSI))
    asm.move(1, Address(RSI, None, 4))
    asm.binary("vxorps", 0, 0, 1)
    asm.binary("vandps", 0, 0, constants[_UPPER])
    asm.binary("vxorps", 0, 0, 1)  # the upper bit of the first, the others of the second
    asm.shift("vpsrld", 0, 0, 1)
    asm.shift("vpslld", 1, 1, 31)
    asm.shift("vpsrad", 1, 1, 31)
    asm.binary("vandps", 1, 1, constants[_MATRIX])
    asm.binary("vxorps", 0, 0, 1)
    asm.binary("vxorps", 0, 0, Address(RSI, None, 4 * _MIDDLE))
    asm.store(Address(RSI, None, 4 * WORDS), 0)
    for shift, count, mask in (
        ("vpsrld", 11, 0),
        ("vpslld", 7, _FIRST_MASK),
        ("vpslld", 15, _SECOND_MASK),
        ("vpsrld", 18, 0),
    ):
        asm.shift(shift, 1, 0, count)
        if mask:
            asm.binary("vandps", 1, 1, constants[mask])
        asm.binary("vxorps", 0, 0, 1)
    asm.store(Address(RDX), 0)
    asm.add_number(RSI, 32)
    asm.add_number(RDX, 32)
    asm.add_number(RDI, -1)
    asm.jump("eight", "not zero")
    asm.forget_upper()
    asm.leave()
    signature = f"vectors, words: written u32[8 * vectors + {WORDS}], out: written u32[8 * vectors]"
    return call.load(asm.finish(), signature)


def uniform24(b: Rows) -> None:
    """Multiples of 2**-24 in [0, 1) from words: the lower 24 bits of each."""
    words, out = b.array(), b.array()
    b.each(lambda: out.store(cast(as_integer(words.load()) & 0xFFFFFF, "f32") * 2.0**-24), unroll=4)


def uniform53(b: Rows) -> None:
    """Multiples of 2**-53 in [0, 1) from pairs of words, the first of which is the upper half: the lower 53 bits of each.

    As the lowest bits of 2**52 and of 2**84 they are numbers, whose sum is exact.
    """
    pairs, out = b.array(kind="float64"), b.array(kind="float64")

    def element() -> None:
        pair = as_integer(pairs.load())
        lower = as_float(logical_right(pair, 32) | 0x4330000000000000) - 2.0**52
        upper = as_float(logical_right(pair << 43, 43) | 0x4530000000000000) - 2.0**84
        out.store((upper + lower) * 2.0**-53)

    b.each(element)
