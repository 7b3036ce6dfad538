"""The Mersenne twister as a vector kernel, and uniform samples from its words. The same in NumPy: engine.py and uniform.py.

Each word depends on the words 624, 623 and 227 before it. So in one contiguous array, eight neighbouring words can be computed together.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import native
from ..compiler.rows import Rows
from ..compiler.values import as_float, as_integer, cast, logical_right

WORDS = 624  # of the state
_MIDDLE = 397
_UPPER, _MATRIX = 0x80000000, 0x9908B0DF
_FIRST_MASK, _SECOND_MASK = 0x9D2C5680, 0xEFC60000


def state_of(twister: Any) -> np.ndarray | None:
    """The words of a `numpy.random.MT19937` as a view of its memory; None if its layout is not the expected one.

    NumPy publishes the address. Its own copy of the state takes as long as generating a hundred thousand words.
    """
    address = twister.ctypes.state_address
    words: np.ndarray = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint32)), (WORDS,))
    return words if _has_expected_layout(words, twister) else None


_found: list[bool] = []


def _has_expected_layout(words: np.ndarray, twister: Any) -> bool:
    """Whether these are the words of NumPy's state; checked once."""
    if not _found:
        _found.append(np.array_equal(words, twister.state["state"]["key"]))
    return _found[0]


def draw(state: np.ndarray, blocks: int, out: np.ndarray) -> None:
    """Write the next blocks of words to `out` (uint32), and advance `state` to the last of them."""
    words = np.empty((blocks + 1) * WORDS, np.uint32)
    words[:WORDS] = state
    if not out.flags.c_contiguous or out.dtype != np.uint32 or out.size != blocks * WORDS:
        raise ValueError("draw() writes whole blocks of uint32")
    native.kernel(twist, flat=True).run(0, out.size, words.view(np.float32), out.view(np.float32))
    state[...] = words[-WORDS:]


def twist(b: Rows) -> None:
    """Append new words to the present ones, and write them tempered to `out`."""
    words, out = b.array(), b.array()
    following, middle, new = words.ahead(1), words.ahead(_MIDDLE), words.ahead(WORDS)

    def element() -> None:
        first, second = as_integer(words.load()), as_integer(following.load())
        joined = (first ^ second) & _UPPER ^ second  # the upper bit of the first, the others of the second
        odd = second << 31 >> 31
        word = logical_right(joined, 1) ^ (odd & _MATRIX) ^ as_integer(middle.load())
        new.store(as_float(word))
        word ^= logical_right(word, 11)
        word ^= word << 7 & _FIRST_MASK
        word ^= word << 15 & _SECOND_MASK
        word ^= logical_right(word, 18)
        out.store(as_float(word))

    b.each(element, unroll=1)


def uniform24(b: Rows) -> None:
    """Multiples of 2**-24 in [0, 1) from words: the lower 24 bits of each."""
    words, out = b.array(), b.array()
    b.each(lambda: out.store(cast(as_integer(words.load()) & 0xFFFFFF, "f32") * 2.0**-24), unroll=4)


def uniform53(b: Rows) -> None:
    """Multiples of 2**-53 in [0, 1): the lower 53 bits of each pair of words, of which the first is the upper half.

    The halves become the lowest bits of 2**52 and of 2**84, so no conversion from integers is needed, and all sums are exact.
    """
    pairs, out = b.array(), b.array()

    def element() -> None:
        pair = as_integer(pairs.load())
        lower = as_float(logical_right(pair, 32) | 0x4330000000000000) - 2.0**52
        upper = as_float(logical_right(pair << 43, 43) | 0x4530000000000000) - 2.0**84
        out.store((upper + lower) * 2.0**-53)

    b.each(element)
