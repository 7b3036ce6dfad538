"""The generator behind every random number: MT19937 with the state of PyTorch's CPU generator."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np

from ..lazy import lazy_import
from . import MOST_FROM_BLOCK

F = TypeVar("F", bound=Callable[..., Any])
executable = lazy_import(globals(), "executable", "..executable")
machine = lazy_import(globals(), "machine", "..native")
twister = lazy_import(globals(), "twister", ".twister")

BLOCK = 624  # words that the twister makes at a time
PIECE = 26 * BLOCK  # draws per pass of the fills: 130 kB of raw words fit in the cache
_LARGE_PIECE = 4 * PIECE  # the same in machine code
STATE_SIZE = 5056
DEFAULT_SEED = 67280421310721

# PyTorch's state of a CPU generator: a C struct, padding included.
_STATE = np.dtype(
    {
        "names": [
            "seed",
            "left",
            "seeded",
            "next",
            "words",
            "normal",
            "has_normal",
            "float_normal",
            "has_float_normal",
        ],
        "formats": ["<u8", "<i4", "<i4", "<u8", ("<u8", BLOCK), "<f8", "<i4", "<f4", "u1"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": STATE_SIZE,
    }
)
_NO_WORDS = np.zeros(BLOCK, np.uint64)
_NOTHING = np.zeros(0, np.float32)
_LOW24 = np.uint64(0xFFFFFF)
_HIGH21 = np.uint64(0x1FFFFF << 32)
_F32_SCALE = np.float32(2.0**-24)


def unit53(words: np.ndarray) -> np.ndarray:
    """The lower 53 bits of each pair of draws as multiples of 2**-53 below 1, in float64."""
    if not machine.available():
        pairs = words.astype("<u4").view(
            "<u8"
        )  # the first draw is the lower half here, and the upper half of the result
        bits = pairs << 32
        bits &= _HIGH21
        pairs >>= 32
        bits |= pairs
        return bits.view(np.int64) * 2.0**-53
    out = np.empty(words.size // 2)
    if out.size:
        pairs = words.astype(np.uint32, copy=False)[: 2 * out.size].view(np.float64)
        machine.kernel(twister.uniform53, flat=True, double=True).run(0, out.size, pairs, out)
    return out


def one_at_a_time(function: F) -> F:
    """Decorate a function of an engine so that it holds the engine's lock. See Note [No draw twice]."""

    @wraps(function)
    def run(engine: Engine, *args: Any) -> Any:
        with engine.lock:
            return function(engine, *args)

    return run  # type: ignore[return-value]


class Engine:
    """The stream of 32-bit draws, and the second half of the last pair of normal samples.

    >>> engine = Engine(0)
    >>> engine.random32(2)
    array([2357136044, 2546248239], dtype=uint32)
    """

    # Note [Blocks of draws]
    # NumPy's own MT19937 makes the words in C, always in full blocks of 624. `_words` holds the block being read and
    # `_next` the position in it, so a small draw is a slice. The state of NumPy's generator always corresponds to
    # `_words`: the state to save is that state and `_next`. Nothing is generated before the first draw (`_fresh`), so
    # seeding is cheap and does not even import numpy.random.
    #
    # Note [Uniform samples ahead]
    # For a small draw, calling NumPy takes longer than computing. So the first small draw converts the full block to samples,
    # float32 of one word each (`ahead24`) or float64 of two (`ahead53`), and later draws are slices of these. Without machine
    # code `_normals` holds float32 normal samples of each word and the word eight positions later: `_fill_ahead` in normal.py.
    #
    # Note [No draw twice]
    # Threads share the default generator. A thread holds `lock` while it advances the stream, so that no two threads get the same
    # draws. A block is never overwritten, so views of it need no lock. Another thread's draws may come between the draws of one op.
    __slots__ = (
        "__weakref__",
        "_bits",
        "_doubles",
        "_float_normal",
        "_fresh",
        "_memory",
        "_next",
        "_normal",
        "_normals",
        "_seed",
        "_singles",
        "_words",
        "lock",
    )

    def __init__(self, seed: int = DEFAULT_SEED) -> None:
        self._bits: Any = None  # a numpy.random.MT19937
        self._memory: tuple[Any, Any] = (None, None)  # `_bits`, and a view of its words
        self.lock = threading.RLock()  # Note [No draw twice]
        _engines.add(self)
        self.manual_seed(seed)

    def __del__(self) -> None:
        bits = getattr(self, "_bits", None)  # missing if Ctrl-C interrupted `__init__`
        if bits is not None and len(_spare) < _KEPT:
            _spare.append(bits)

    @one_at_a_time
    def manual_seed(self, seed: int) -> Engine:
        """Start the stream of a seed from -2**63 to 2**64 - 1; negative seeds wrap around."""
        if type(seed) is not int:
            if isinstance(seed, np.integer):
                raise TypeError("an integer is required")
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self._words = _NO_WORDS
        self._next = BLOCK
        self._fresh = True
        self._normal: float | None = None
        self._float_normal: float | None = None
        self._singles: tuple[np.ndarray, np.ndarray] = (_NOTHING, _NOTHING)  # Note [Uniform samples ahead]
        self._doubles: tuple[np.ndarray, int, np.ndarray] = (_NOTHING, 0, _NOTHING)
        self._normals: tuple[np.ndarray, np.ndarray] = (_NOTHING, _NOTHING)
        return self

    def seed(self) -> int:
        """Seed from the operating system's entropy; return the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that started this stream."""
        return self._seed

    def clone(self) -> Engine:
        """An independent engine in the same state."""
        return Engine().set_state(self.get_state())

    def _twister(self) -> Any:
        """NumPy's generator, seeded if nothing was drawn since `manual_seed`."""
        from numpy.random import MT19937, RandomState

        if self._bits is None:
            try:
                self._bits = _spare.pop()
            except IndexError:
                self._bits = MT19937(0)
        if self._fresh:
            RandomState(self._bits).seed(self._seed & 0xFFFFFFFF)
        return self._bits

    def unlock(self) -> None:
        """Release the locks of the engine and of NumPy's generator, which a thread that no longer exists may hold."""
        self.lock = threading.RLock()
        if self._bits is not None:
            self._bits.lock._at_fork_reinit()  # as Python's own modules do; NumPy >= 2.5 takes the lock even to read the state

    @one_at_a_time
    def get_state(self) -> np.ndarray:
        """The state as the 5056 bytes of `torch.get_rng_state()`."""
        twisted = self._twister().state
        state = np.zeros((), _STATE)
        state["seed"] = self._seed
        state["left"] = 1 if self._fresh else BLOCK + 1 - self._next
        state["seeded"] = 1
        state["next"] = 0 if self._fresh else self._next
        state["words"] = twisted["state"]["key"]
        if self._normal is not None:
            state["normal"], state["has_normal"] = self._normal, 1
        if self._float_normal is not None:
            state["float_normal"], state["has_float_normal"] = self._float_normal, 1
        return np.frombuffer(bytearray(state.tobytes()), np.uint8)

    def set_state(self, state: np.ndarray) -> Engine:
        """Continue from a state that `get_state` or PyTorch wrote."""
        if not isinstance(state, np.ndarray):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(state).__name__}")
        if state.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if not state.flags.c_contiguous:
            raise RuntimeError("RNG state must be contiguous")
        if state.size != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the input RNG state size to be "
                f"{state.size}"
            )
        fields = np.frombuffer(state.tobytes(), _STATE)[0]
        left, position = int(fields["left"]), int(fields["next"])
        fresh = left == 1 and position == 0
        if not fields["seeded"] or not (fresh or (1 <= position <= BLOCK and left == BLOCK + 1 - position)):
            raise RuntimeError("Invalid mt19937 state")
        self._load(int(fields["seed"]), fields["words"].astype(np.uint32), BLOCK if fresh else position, fresh)
        self._normal = float(fields["normal"]) if fields["has_normal"] else None
        self._float_normal = float(fields["float_normal"]) if fields["has_float_normal"] else None
        return self

    @one_at_a_time
    def _load(self, seed: int, key: np.ndarray, position: int, fresh: bool) -> None:
        """Set the twister's words, and regenerate the block being read."""
        self.manual_seed(seed)
        bits = self._twister()
        if fresh and np.array_equal(bits.state["state"]["key"], key):
            return
        self._fresh = False
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": BLOCK if fresh else 0}}
        if not fresh:
            self._words = bits.random_raw(BLOCK)
            self._next = position

    def raw(self, n: int) -> np.ndarray:
        """The next n draws as uint64 below 2**32; possibly a view of the block, so read-only."""
        with self.lock:
            start = self._next
            stop = start + n
            if stop <= BLOCK:
                self._next = stop
                return self._words[start:stop]
            missing = stop - BLOCK
            blocks = -(-missing // BLOCK)
            bits = self._generator()
            self._fresh = False
            made: np.ndarray = bits.random_raw(blocks * BLOCK)
            rest = self._words[start:]
            self._words = made if blocks == 1 else made[-BLOCK:].copy()
            self._next = missing - (blocks - 1) * BLOCK
            return np.concatenate((rest, made[:missing])) if rest.size else made[:missing]

    def ahead24(self, n: int) -> np.ndarray | None:
        """The next n draws as read-only multiples of 2**-24 below 1, float32. None if there are many, or if they exceed the block."""
        if n > MOST_FROM_BLOCK:
            return None
        with self.lock:
            start = self._next
            stop = start + n
            if stop > BLOCK:
                return None
            words, samples = self._singles
            if words is not self._words:
                samples = (self._words & _LOW24).astype(np.float32)
                samples *= _F32_SCALE
                self._singles = self._words, samples
            self._next = stop
            return samples[start:stop]

    def ahead53(self, n: int) -> np.ndarray | None:
        """Like `ahead24`: the next n pairs of draws as multiples of 2**-53 below 1, float64."""
        if n > MOST_FROM_BLOCK:
            return None
        with self.lock:
            start = self._next
            stop = start + 2 * n
            if stop > BLOCK:
                return None
            words, odd, samples = self._doubles
            if words is not self._words or odd != start & 1:
                odd = start & 1
                samples = unit53(self._words[odd : BLOCK - odd])
                self._doubles = self._words, odd, samples
            self._next = stop
            first = (start - odd) >> 1
            return samples[first : first + n]

    def _state(self) -> np.ndarray | None:
        """The words of NumPy's generator as a view of its memory; None without machine code."""
        if not executable.compiles():
            return None
        bits = self._twister() if self._fresh else self._bits
        of, state = self._memory
        if of is not bits:
            state = twister.state_of(bits)
            self._memory = bits, state
        return state

    def mark(self) -> tuple[Any, ...]:
        """The present position, for `go_back`."""
        state = self._state()
        kept = self._generator().state if state is None else state.copy()
        return kept, self._words, self._next, self._fresh

    def go_back(self, mark: tuple[Any, ...], used: int) -> None:
        """Continue `used` draws after a mark."""
        state = self._state()
        if state is None:
            self._generator().state = mark[0]
        else:
            state[...] = mark[0]
        self._words, self._next, self._fresh = mark[1:]
        self.raw(used)

    def _generator(self) -> Any:
        """NumPy's generator, seeded."""
        return self._twister() if self._fresh else self._bits

    @one_at_a_time
    def _natively(self, n: int) -> np.ndarray | None:
        """The next n draws, more than a block, as uint32 from machine code; None if there is none. See twister.py."""
        state = self._state()
        if state is None:
            return None
        if self._fresh:
            self._words, self._next, self._fresh = _NO_WORDS, BLOCK, False
        rest = self._words[self._next :]
        blocks = -(-(n - rest.size) // BLOCK)
        made = np.empty(rest.size + blocks * BLOCK, np.uint32)
        made[: rest.size] = rest
        twister.draw(state, blocks, made[rest.size :])
        self._words = made[-BLOCK:].astype(np.uint64)
        self._next = BLOCK - (made.size - n)
        return made[:n]

    def pieces(self, n: int) -> Iterator[np.ndarray]:
        """The next n draws in arrays that fit in the cache, each of even length if n is even.

        They are uint64 like those of `raw`, or uint32 if machine code has made them.
        """
        while n > BLOCK:
            words = self._natively(min(n, _LARGE_PIECE))
            if words is None:
                break
            yield words
            n -= words.size
        if not n:
            return
        # The first piece ends with a block if possible, so that the others are full blocks and need no copy.
        size = PIECE + ((BLOCK - self._next) & ~1)
        while n > size:
            yield self.raw(size)
            n -= size
            size = PIECE
        yield self.raw(n)

    def random32(self, n: int) -> np.ndarray:
        """The next n draws, as uint32."""
        if n <= PIECE:
            return self.raw(n).astype(np.uint32)
        out = np.empty(n, np.uint32)
        start = 0
        for words in self.pieces(n):
            out[start : start + words.size] = words
            start += words.size
        return out

    def random64(self, n: int) -> np.ndarray:
        """The next n pairs of draws as uint64; the first of a pair is the upper half."""
        out = np.empty(n, np.uint64)
        start = 0
        for words in self.pieces(2 * n):
            stop = start + words.size // 2
            pairs = words.astype("<u4").view("<u8")  # the first draw is the lower half: swap the halves
            np.left_shift(pairs, 32, out=out[start:stop])
            pairs >>= 32
            out[start:stop] |= pairs
            start = stop
        return out


_engines: WeakSet[Engine] = WeakSet()

# NumPy generators of deleted engines, reused for new engines: creating one takes fifty times as long as seeding it.
_spare: list[Any] = []
_KEPT = 8  # of them at most


def _unlock_all() -> None:
    """Release all engines' locks in a forked child, which lacks the parent's threads: one may have held a lock."""
    for engine in _engines:
        engine.unlock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock_all)
