"""torch.quasirandom: Sobol sequences, which cover a cube more evenly than random points. The direction numbers are SciPy's.

>>> import penlight as torch
>>> torch.quasirandom.SobolEngine(2).draw(3)
tensor([[0.0000, 0.0000],
        [0.5000, 0.5000],
        [0.7500, 0.2500]])
"""

from __future__ import annotations

from typing import Any

import numpy as np

import penlight

from ._common.arguments import explain as _explain
from .tensor import Tensor, wrap

__all__ = ["SobolEngine"]


class SobolEngine:
    """Draws the points of a Sobol sequence in a cube of `dimension` dimensions; with `scramble`, randomised by `seed`.

    >>> engine = torch.quasirandom.SobolEngine(1)
    >>> engine.fast_forward(2).draw()
    tensor([[0.7500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if dimension > self.MAXDIM or dimension < 1:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self.sobolstate = wrap(_directions(dimension, self.MAXBIT))
        self.shift = penlight.zeros(dimension, dtype=penlight.long)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `n` points, as rows."""
        dtype = dtype or penlight.get_default_dtype()
        parts = []
        if self.num_generated == 0 and n > 0:
            parts.append(self._first_point.to(dtype))
        rest = self._advance(n - len(parts), max(self.num_generated - 1, 0))
        if len(rest) or not parts:
            parts.append(wrap((rest.astype(np.float64) / 2**self.MAXBIT).astype(dtype.np)))
        self.num_generated += n
        result = penlight.cat(parts, dim=-2) if len(parts) > 1 else parts[0]
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Any = None) -> Tensor:
        """The next `2**m` points; together with those before, their number must be a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                f"The balance properties of Sobol' points require n to be a power of 2. {self.num_generated} points have been "
                f"previously generated, then: n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                "'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Restart the sequence."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points."""
        first = self.num_generated == 0
        self._advance(n - first, max(self.num_generated - 1, 0))
        self.num_generated += n
        return self

    def _advance(self, n: int, before: int) -> Any:
        """The next points as integers. Each is its predecessor XOR the direction number of the lowest 0 bit of the predecessor's index."""
        if n <= 0:
            return np.empty((0, self.dimension), np.int64)
        numbers = np.arange(before, before + n, dtype=np.int64)
        lowest = np.log2(~numbers & (numbers + 1)).astype(np.int64)
        steps = self.sobolstate._array.T[lowest]
        steps[0] ^= self.quasi._array
        points = np.bitwise_xor.accumulate(steps, axis=0)
        self.quasi = wrap(points[-1].copy())
        return points

    def _scramble(self) -> None:
        """A random shift, and random lower triangular matrices over bits that mix the directions."""
        generator = None
        if self.seed is not None:
            generator = penlight.Generator().manual_seed(self.seed)
        powers = 2 ** np.arange(self.MAXBIT, dtype=np.int64)
        bits = penlight.randint(2, (self.dimension, self.MAXBIT), generator=generator)._array
        self.shift = wrap(bits @ powers)
        size = (self.dimension, self.MAXBIT, self.MAXBIT)
        matrix = np.tril(penlight.randint(2, size, generator=generator)._array, -1) | np.eye(
            self.MAXBIT, dtype=np.int64
        )
        directions = (self.sobolstate._array[:, :, None] >> np.arange(self.MAXBIT)[::-1]) & 1  # highest bit first
        mixed = np.matmul(directions, matrix.transpose(0, 2, 1)) & 1
        self.sobolstate = wrap(mixed @ powers[::-1])

    def __repr__(self) -> str:
        words = [f"dimension={self.dimension}"]
        words += ["scramble=True"] if self.scramble else []
        words += [f"seed={self.seed}"] if self.seed is not None else []
        return f"{type(self).__name__}({', '.join(words)})"


def _directions(dimension: int, bits: int) -> Any:
    """The direction numbers of Joe and Kuo from SciPy, one row per dimension."""
    try:
        from scipy.stats import qmc
    except ImportError:
        raise ModuleNotFoundError(
            "torch.quasirandom.SobolEngine takes its direction numbers from SciPy. Install it: pip install scipy",
            name="scipy",
        ) from None
    return np.array(qmc.Sobol(dimension, scramble=False, bits=bits)._sv, dtype=np.int64)


_explain(globals())
