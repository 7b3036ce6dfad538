"""Python functions on single numbers as machine code: what one element takes, compiled from the source that describes it.

Note [Compiled scalars]
Gamma, Poisson and binomial samples are made by rejection. How many draws one takes depends on the draws themselves, so that each starts where
the one before ended, and no two can be made at once: NumPy does not help. Series and continued fractions take as many terms as an element
needs, and what an element needs at all depends on its region. `kernels/rng_rejection.py` and the special functions of two arguments
say what one element takes as a Python function of numbers. Here such a function is read as a syntax tree and translated word by word
(`_translate.py`), with every number a float64 and every function of `math` that of the C library, which PyTorch calls as well. The Python function stays the specification. Where no machine code runs, samples are made by it, one by
one, and `kernels/lanes.py` does what it says to all elements of arrays at once.

What is understood: assignments to names, `if`, `while`, `for` over tables of the module, `continue`, `return`, arithmetic, comparisons, `and`, `or`,
`not`, functions of `math`, `abs`, numbers of the module and tables of them, polynomials (`horner`, `horner_monic` and `rational` of `special_common`), other
functions (their code is repeated), and `reader.uniform()` and `reader.normal()`. When the draws are used up, the sample in the making is
dropped, and whoever called goes on with it when there are more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import call
from . import _pages
from ._translate import Scalars, Translator
from ._x86 import R8, R9, R12, R13, R14, R15, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Address

_KEPT = (RBX, RBP, R12, R13, R14, R15)  # a function gives these back as it found them


class Sampler(Translator):
    """A function of a reader and of a row of a table."""

    def __init__(self, function: Callable[..., float]) -> None:
        super().__init__(function)
        self.start, self.kept_at_start = self.place(), self.place()

    def parameter(self, i: int, hot: bool) -> Address:
        return Address(RBP, None, 8 * i)

    def finish(self) -> bytes:
        """`run(count, table, draws, out, state)`, over the rows of a table of parameters.

        The state is an array of four 64-bit words: how many draws there are, the normal sample that is kept (NaN: none), and, when it returns, how
        many samples are left to make and how many draws were used.
        """
        whole = Scalars()
        _enter(whole, self.frame)
        whole.copy_register(RBX, RDI)
        for target, source in ((RBP, RSI), (R12, RDX), (R14, RCX), (R15, R8)):
            whole.load_register(target, Address(source, None, _pages.DATA_OFFSET))
        whole.load_register(R13, Address(R15))
        whole.shift_left(R13, 3)
        whole.add(R13, R12)
        whole.load(0, Address(R15, None, 8))
        whole.save(self.kept, 0)
        whole.label("next")
        whole.compare_number(RBX, 0)
        whole.jump("done", "zero")
        whole.store_register(self.start, R12)
        whole.load(0, self.kept)
        whole.save(self.kept_at_start, 0)
        whole.append(self.asm)
        whole.label("result")
        whole.save(Address(R14), 0)
        whole.add_number(R14, 8)
        whole.add_number(RBP, 8 * len(self.parameters))
        whole.add_number(RBX, -1)
        whole.jump("next")
        whole.label("used up")
        whole.load_register(R12, self.start)
        whole.load(0, self.kept_at_start)
        whole.save(self.kept, 0)
        whole.label("done")
        whole.load(0, self.kept)
        whole.save(Address(R15, None, 8), 0)
        whole.store_register(Address(R15, None, 16), RBX)
        whole.load_register(R9, Address(R15))
        whole.shift_left(R9, 3)
        whole.negate(R9)
        whole.add(R9, R13)
        whole.negate(R9)
        whole.add(R9, R12)
        whole.shift_right(R9, 3)
        whole.store_register(Address(R15, None, 24), R9)
        _return(whole, self.frame)
        return whole.finish()


def _over_columns(function: Callable[..., float], single: bool, own: bool) -> bytes:
    """`run(count, steps, out, *arrays)`, of at most three arrays; `steps` is how many bytes each goes on for an element.

    The arrays are of float32 if `single`; with `own`, it computes in that.
    """
    made = Translator(function, own)
    columns = (R12, R13, R15)[: len(made.parameters)]
    assert len(columns) == len(made.parameters)
    whole = Scalars()
    _enter(whole, made.frame)
    whole.copy_register(RBX, RDI)
    for target, source in ((RBP, RSI), (R14, RDX), *zip(columns, (RCX, R8, R9))):
        whole.load_register(target, Address(source, None, _pages.DATA_OFFSET))
    whole.label("next")
    for column, place in zip(columns, made.parameters):
        whole.single = single
        whole.load(0, Address(column))
        if single and not own:
            whole.to_double(0)
        whole.single = own
        whole.save(place, 0)
    whole.append(made.asm)
    whole.label("result")
    if single and not own:
        whole.to_single(0)
    whole.single = single
    whole.save(Address(R14), 0)
    whole.add_number(R14, 4 if single else 8)
    for i, column in enumerate(columns):
        whole.add(column, Address(RBP, None, 8 * i))
    whole.add_number(RBX, -1)
    whole.jump("next", "not zero")
    _return(whole, made.frame)
    return whole.finish()


def _enter(asm: Scalars, frame: int) -> None:
    for register in _KEPT:
        asm.push(register)
    asm.add_number(RSP, -frame)


def _return(asm: Scalars, frame: int) -> None:
    asm.add_number(RSP, frame)
    for register in reversed(_KEPT):
        asm.pop(register)
    asm.leave()


@lru_cache(None)
def compiled(function: Callable[..., float]) -> Any:
    """`run(count, table, draws, out, state)` (see `Sampler.finish`); None where that can't be had, as without the source."""

    def made() -> tuple[bytes, str]:
        sampler = Sampler(function)
        table = f"table: f64[count * {len(sampler.parameters)}]"
        return sampler.finish(), f"count, {table}, draws: f64, out: written f64[count], state: written f64[4]"

    return _loaded(made)


@lru_cache(None)
def over_columns(function: Callable[..., float], columns: int, single: bool = False, own: bool = False) -> Any:
    """`run(count, steps, out, *columns)` (see `_over_columns`); None where that can't be had."""
    element = "f32" if single else "f64"

    def made() -> tuple[bytes, str]:
        least = [f"(count if steps.item({i}) else 1)" for i in range(columns)]
        arrays = [f"c{i}: {element}[{least[i]}]" for i in range(columns)]
        return _over_columns(function, single, own), ", ".join(
            ["count", f"steps: i64[{columns}]", f"out: written {element}[count]", *arrays]
        )

    return _loaded(made)


def _loaded(made: Callable[[], tuple[bytes, str]]) -> Any:
    if not _pages.available():
        return None
    try:
        return call.load(*made())
    except OSError:  # no source, or no C library where it is expected
        return None


@lru_cache(None)
def steps(sizes: tuple[int, ...]) -> np.ndarray:
    """The steps of columns with elements of these sizes in bytes; 0 for one that is a number everywhere."""
    return np.array(sizes, np.int64)
