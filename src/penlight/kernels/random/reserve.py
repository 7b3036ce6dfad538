"""Several blocks of an engine's draws, made at once by machine code."""

from __future__ import annotations

import numpy as np

from ..lazy import lazy_import

native = lazy_import(globals(), "native", "..native")
twister = lazy_import(globals(), "twister", ".twister")

_BLOCK = 624  # words that the twister makes at a time
_COUNT = 16  # blocks made at a time: 40 kB of words


class Reserve:
    """The block that an engine is reading, the ones that follow, and the samples made of their words."""

    # Note [Reserves of draws]
    # A draw of a thousand numbers would take some twenty calls to make its two blocks and turn them to samples, each
    # longer than what it computes. So many blocks are made at once, and such draws are slices of them. An engine does
    # not depend on its reserve: whenever it comes to another block, that becomes its `_words`, and the twister's state
    # becomes the one that belongs to it. So all other ways to draw, and to save the state, are as without a reserve,
    # and after any of them that leaves the block, `_words` is another array than the reserve's: that is how the
    # engine notices that the reserve is of no more use.
    __slots__ = ("_doubles", "_singles", "block", "blocks", "draws", "state", "states", "wide")

    def __init__(self, state: np.ndarray, current: np.ndarray) -> None:
        self.state = state  # the twister's memory
        self.draws = np.empty((_COUNT + 1) * _BLOCK, np.uint32)
        self.draws[:_BLOCK] = current
        self.states = twister.draw_ahead(state, _COUNT, self.draws[_BLOCK:]).reshape(-1, _BLOCK)
        self.wide = self.draws.astype(np.uint64)
        self.blocks = [current, *self.wide[_BLOCK:].reshape(_COUNT, _BLOCK)]
        self.block = 0  # which of them the engine is reading
        self._singles: np.ndarray | None = None
        self._doubles: list[np.ndarray | None] = [None, None]

    def singles(self) -> np.ndarray:
        """All draws as multiples of 2**-24 below 1, float32. Not to be written to, nor are the others."""
        samples = self._singles
        if samples is None:
            samples = self._singles = np.empty(self.draws.size, np.float32)
            native.over_elements(twister.uniform24, self.draws.view(np.float32), samples)
        return samples

    def doubles(self, odd: int) -> np.ndarray:
        """The pairs of draws from the first or the second on as multiples of 2**-53 below 1, float64."""
        samples = self._doubles[odd]
        if samples is None:
            pairs = self.draws[odd : self.draws.size - odd].view(np.float64)
            samples = self._doubles[odd] = np.empty(pairs.size)
            native.kernel(twister.uniform53, flat=True).run(0, samples.size, pairs, samples)
        return samples
