"""NumPy's loops of Fourier transforms without the functions around them, which take longer than a short transform.

Each axis after the other, in NumPy's order. `scaling` is "backward", "ortho" or "forward" as NumPy has it. Where NumPy has no such loops,
`np.fft` serves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

import numpy as np

try:
    from numpy.fft import _pocketfft_umath as _loops  # type: ignore[attr-defined]
except ImportError:
    _loops: Any = None  # type: ignore[no-redef]

Array = np.ndarray[Any, Any]
Scaling = Literal["backward", "ortho", "forward"]

_COMPLEX = {np.dtype(t): np.dtype(c) for t, c in zip("fdFD", "FDFD")}
_REAL = {np.dtype(t): np.dtype(r) for t, r in zip("fdFD", "fdfd")}


@lru_cache(256)
def _factor(points: int, scaling: str, forward: bool, real: np.dtype[Any]) -> Any:
    """What results are multiplied by, in their precision."""
    if scaling == "ortho":
        return np.reciprocal(np.sqrt(points, dtype=real))
    return np.reciprocal(points, dtype=real) if (scaling == "forward") is forward else 1


@lru_cache(1)
def _available() -> bool:
    """Whether the loops are there and do what `np.fft` does."""
    x = np.arange(6.0).reshape(2, 3)
    z = x + 1j
    try:
        pairs = (
            (_along("fft", z, 1, 3, 3, z.dtype, 1), np.fft.fft(z)),
            (_along("ifft", z, 0, 2, 2, z.dtype, 1), np.fft.ifft(z, axis=0, norm="forward")),
            (_along("rfft_n_odd", x, 1, 3, 2, z.dtype, 1), np.fft.rfft(x)),
            (_along("rfft_n_even", x, 0, 2, 2, z.dtype, 1), np.fft.rfft(x, axis=0)),
            (_along("irfft", z, 1, 4, 4, x.dtype, 1), np.fft.irfft(z, 4, norm="forward")),
        )
        return all(np.array_equal(a, b) for a, b in pairs)
    except Exception:  # loops of other names or signatures
        return False


def _along(name: str, x: Array, axis: int, points: int, kept: int, dtype: np.dtype[Any], factor: Any) -> Array:
    out = np.empty_like(x, dtype, shape=(*x.shape[:axis], kept, *x.shape[axis + 1 :]))
    loop = getattr(_loops, name)
    if axis == x.ndim - 1:
        return loop(x, factor, out=out)  # type: ignore[no-any-return]
    return loop(x, factor, axes=[(axis,), (), (axis,)], out=out)  # type: ignore[no-any-return]


def _usable(x: Array) -> bool:
    return x.dtype in _COMPLEX and bool(x.size) and _available()


def transform(x: Array, axes: tuple[int, ...], forward: bool, scaling: Scaling) -> Array:
    """`fftn` or `ifftn` along these axes."""
    if not _usable(x):
        return (np.fft.fftn if forward else np.fft.ifftn)(x, None, axes, scaling)
    name, dtype, real = "fft" if forward else "ifft", _COMPLEX[x.dtype], _REAL[x.dtype]
    for axis in reversed(axes):
        points = x.shape[axis]
        x = _along(name, x, axis, points, points, dtype, _factor(points, scaling, forward, real))
    return x


def from_real(x: Array, axes: tuple[int, ...], scaling: Scaling) -> Array:
    """`rfftn` along these axes: along the last one half of the frequencies."""
    if not _usable(x):
        return np.fft.rfftn(x, None, axes, scaling)
    last = axes[-1]
    points = x.shape[last]
    name = "rfft_n_odd" if points % 2 else "rfft_n_even"
    factor = _factor(points, scaling, True, x.dtype)
    x = _along(name, x, last, points, points // 2 + 1, _COMPLEX[x.dtype], factor)
    return transform(x, axes[:-1], True, scaling) if len(axes) > 1 else x


def to_real(x: Array, axes: tuple[int, ...], points: int, scaling: Scaling) -> Array:
    """`irfftn` along these axes, with so many points along the last one."""
    if not _usable(x):
        return np.fft.irfftn(x, [*(x.shape[d] for d in axes[:-1]), points], axes, scaling)
    for axis in axes[:-1]:
        x = transform(x, (axis,), False, scaling)
    real = _REAL[x.dtype]
    return _along("irfft", x, axes[-1], points, points, real, _factor(points, scaling, False, real))
