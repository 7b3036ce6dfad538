"""The transpose of a strided convolution in its input: one plain correlation per remainder modulo the stride."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from math import gcd

import numpy as np

from .im2col import Ints

# A phase's weights as slices of the flipped kernel, its border, and its results as slices of the input.
_Phase = tuple[tuple[slice, ...], Ints, tuple[slice, ...]]


@lru_cache(128)
def _phases(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[list[_Phase], list[tuple[slice, ...]], Ints]:
    """The correlations of `by_remainders`; the slices of the input that no kernel element reaches; and the kernel elements' dilation."""
    phases: list[list[tuple[slice, slice | None, int]]] = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        phases.append([])
        for start in range(min(s, n)):
            taps = [tap for tap in range(k) if (tap * d - start - p) % s == 0]
            # The flipped kernel has element k - 1 - m at index m.
            pick = slice(k - 1 - taps[-1], None, s // gcd(s, d)) if taps else None
            low = (taps[-1] * d - start - p) // s if taps else 0
            phases[-1].append((slice(start, None, s), pick, low))
    every = (slice(None), slice(None))
    found: list[_Phase] = []
    empty = []
    for phase in product(*phases):
        where = (*every, *[where for where, _, _ in phase])
        picks = [pick for _, pick, _ in phase if pick is not None]
        if len(picks) < len(phase):
            empty.append(where)
        else:
            found.append(((*every, *picks), tuple([low for _, _, low in phase]), where))
    return found, empty, tuple([d // gcd(s, d) for s, d in zip(stride, dilation, strict=True)])


# A correlation of a phase: its weights, its border, and the view of the input that it fills.
Correlation = tuple[np.ndarray, Ints, np.ndarray]


def flip(w: np.ndarray, groups: int) -> np.ndarray:
    """Weights ``(O, C // groups, *kernel)`` as ``(C, O // groups, *kernel reversed)``, a view if there is one group."""
    flipped = w[(slice(None), slice(None), *(slice(None, None, -1) for _ in w.shape[2:]))]
    if groups == 1:
        return flipped.swapaxes(0, 1)
    each, channels, kernel = w.shape[0] // groups, w.shape[1], w.shape[2:]
    return flipped.reshape(groups, each, channels, *kernel).swapaxes(1, 2).reshape(groups * channels, each, *kernel)


def by_remainders(
    grad: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int, x: np.ndarray,
    bias: np.ndarray | None, correlate: Callable[[list[Correlation], Ints], None],
) -> None:  # fmt: skip
    """Fill `x` by `correlate`, which gets the correlations of `grad` and their dilation.

    In one dim, input ``i`` gets ``grad[t] * w[k]`` from all ``t * s + k * d == i + p``. Inputs with
    ``(i + p) % s == r`` are reached by every ``s / gcd(s, d)``-th kernel element, each ``d / gcd(s, d)`` positions before the last.
    """
    flipped = flip(w, groups)
    phases, empty, steps = _phases(x.shape[2:], flipped.shape[2:], stride, padding, dilation)
    for where in empty:
        x[where] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    correlate([(flipped[pick], border, x[where]) for pick, border, where in phases], steps)
