"""NumPy's inner loops of Fourier transforms, without the Python functions around them, which take longer than a short transform.

Axes are transformed one by one, in NumPy's order, in the input's precision: without scaling, `np.fft` uses double precision for
single, which takes several times as long and differs from PyTorch's results. `scaling` is "backward", "ortho" or "forward", as in
NumPy. If NumPy has no such loops, `np.fft` is used.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..strategy import Strategy, apply

try:
    from numpy.fft import _pocketfft_umath as _loops  # type: ignore[attr-defined]
except ImportError:
    _loops: Any = None  # type: ignore[no-redef]

Array = np.ndarray[Any, Any]
Scaling = Literal["backward", "ortho", "forward"]
Ints = tuple[int, ...]
Step = tuple[
    Any, Array, Ints, np.dtype[Any], "list[Ints] | None"
]  # a loop, its factor, its result's shape and dtype, and its axes

_COMPLEX = {np.dtype(t): np.dtype(c) for t, c in zip("fdFD", "FDFD")}
_REAL = {np.dtype(t): np.dtype(r) for t, r in zip("fdFD", "fdfd")}


@lru_cache(256)
def _factor(points: int, scaling: str, forward: bool, real: np.dtype[Any]) -> Any:
    """The factor of the results, in their precision."""
    if scaling == "ortho":
        return np.reciprocal(np.sqrt(points, dtype=real))
    return np.reciprocal(points, dtype=real) if (scaling == "forward") is forward else 1


@lru_cache(1)
def _available() -> bool:
    """Whether the loops exist and do the same as `np.fft`."""
    x = np.arange(6.0).reshape(2, 3)
    z = x + 1j
    try:
        pairs = (
            (_along("fft", z, 1, 3, z.dtype), np.fft.fft(z)),
            (_along("ifft", z, 0, 2, z.dtype), np.fft.ifft(z, axis=0, norm="forward")),
            (_along("rfft_n_odd", x, 1, 2, z.dtype), np.fft.rfft(x)),
            (_along("rfft_n_even", x, 0, 2, z.dtype), np.fft.rfft(x, axis=0)),
            (_along("irfft", z, 1, 4, x.dtype), np.fft.irfft(z, 4, norm="forward")),
        )
        return all(np.array_equal(a, b) for a, b in pairs)
    except Exception:  # loops of other names or signatures
        return False


def _along(name: str, x: Array, axis: int, kept: int, dtype: np.dtype[Any]) -> Array:
    return _run(x, (_step(name, x.shape, axis, kept, dtype, 1),))


def _step(name: str, shape: Ints, axis: int, kept: int, dtype: np.dtype[Any], factor: Any) -> Step:
    """A loop along one axis of an array, whose result has `kept` elements there."""
    where = None if axis == len(shape) - 1 else [(axis,), (), (axis,)]
    return (
        getattr(_loops, name),
        np.asarray(factor, _REAL[dtype]),
        (*shape[:axis], kept, *shape[axis + 1 :]),
        dtype,
        where,
    )


def _run(x: Array, steps: tuple[Step, ...]) -> Array:
    for loop, factor, shape, dtype, where in steps:
        out = np.empty(shape, dtype)
        if where is None:
            loop(x, factor, out)
        else:
            loop(x, factor, out, axes=where)
        x = out
    return x


def _usable(x: Array) -> bool:
    return x.dtype in _COMPLEX and bool(x.size) and _available()


@lru_cache(512)
def _complex_steps(shape: Ints, axes: Ints, forward: bool, scaling: str, dtype: np.dtype[Any]) -> tuple[Step, ...]:
    name, made, real = "fft" if forward else "ifft", _COMPLEX[dtype], _REAL[dtype]
    return tuple(
        _step(name, shape, axis, shape[axis], made, _factor(shape[axis], scaling, forward, real)) for axis in axes
    )


@lru_cache(512)
def _half_steps(shape: Ints, axes: Ints, scaling: str, dtype: np.dtype[Any]) -> tuple[Step, ...]:
    last, made = axes[-1], _COMPLEX[dtype]
    points = shape[last]
    name = "rfft_n_odd" if points % 2 else "rfft_n_even"
    first = _step(name, shape, last, points // 2 + 1, made, _factor(points, scaling, True, dtype))
    return first, *_complex_steps(first[2], axes[-2::-1], True, scaling, made)


@lru_cache(512)
def _real_steps(shape: Ints, axes: Ints, points: int, scaling: str, dtype: np.dtype[Any]) -> tuple[Step, ...]:
    real, last = _REAL[dtype], axes[-1]
    final = _step("irfft", shape, last, points, real, _factor(points, scaling, False, real))
    return *_complex_steps(shape, axes[:-1], False, scaling, dtype), final


def transform(x: Array, axes: Ints, forward: bool, scaling: Scaling) -> Array:
    """`fftn` or `ifftn` along these axes. All results of this module are contiguous."""
    if not _usable(x):
        return (np.fft.fftn if forward else np.fft.ifftn)(x, None, axes, scaling)
    return _run(x, _complex_steps(x.shape, axes[::-1], forward, scaling, x.dtype))


def _mirrored(x: Array, axes: Ints, scaling: Scaling) -> Array:
    half = from_real(x, axes, scaling)
    points, axis = x.shape[axes[0]], axes[0]
    out = np.empty(x.shape, half.dtype)
    kept = half.shape[axis]
    lead = (slice(None),) * axis
    out[(*lead, slice(kept))] = half
    np.conjugate(half[(*lead, slice(points - kept, 0, -1))], out[(*lead, slice(kept, None))])
    return out


# fmt: off
# Mirroring turns zeros of the second half into -0. Below 1024 elements it takes as long as the full transform.
BOTH_HALVES = (
    Strategy(lambda x, axes, _: len(axes) == 1 and x.size >= 1024 and _usable(x), _mirrored, "1.1 to 8 times all frequencies"),
    Strategy(None, lambda x, axes, scaling: transform(x, axes, True, scaling), "several axes, few elements"),
)
# fmt: on


def both_halves(x: Array, axes: Ints, scaling: Scaling) -> Array:
    """`fftn` of real input along these axes: along one axis the second half of the frequencies mirrors the first."""
    return apply(BOTH_HALVES, x, axes, scaling)


def from_real(x: Array, axes: Ints, scaling: Scaling) -> Array:
    """`rfftn` along these axes: along the last one half of the frequencies."""
    if not _usable(x):
        return np.fft.rfftn(x, None, axes, scaling)
    return _run(x, _half_steps(x.shape, axes, scaling, x.dtype))


def to_real(x: Array, axes: Ints, points: int, scaling: Scaling) -> Array:
    """`irfftn` along these axes, with so many points along the last one."""
    if not _usable(x):
        return np.fft.irfftn(x, [*(x.shape[d] for d in axes[:-1]), points], axes, scaling)
    return _run(x, _real_steps(x.shape, axes, points, scaling, x.dtype))
