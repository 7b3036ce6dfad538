"""Window functions at the top level of torch: hann_window and others. `torch.signal.windows` has more."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...device import require_cpu
from ...tensor import Tensor, wrap
from ..machinery.guards import c_name, not_implemented

__all__ = ["bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window"]

Array = np.ndarray[Any, Any]


def _made(
    function: str, window_length: Any, periodic: bool, compute: Callable[[Array, int], Array], options: dict[str, Any]
) -> Tensor:
    """A window of a given length. `compute` maps the positions 0, 1, ... and the last position of a symmetric window to its values; a
    periodic window is a symmetric one with one more point, without its last."""
    dtype, device, grad = options.pop("dtype", None), options.pop("device", None), options.pop("requires_grad", False)
    for name in ("layout", "pin_memory"):
        options.pop(name, None)
    if options:
        raise TypeError(f"{function}() got an unexpected keyword argument '{next(iter(options))}'")
    require_cpu(device)
    dtype = dtypes.get_default_dtype() if dtype is None else dtypes.given(dtype)
    _check(function, window_length, dtype)
    if window_length <= 1:
        values = np.ones(window_length, dtype.np)
    else:
        count = window_length + bool(periodic)
        wide = np.float32 if dtype.itemsize == 2 else dtype.np
        values = compute(np.arange(count).astype(wide), count - 1).astype(dtype.np, copy=False)[:window_length].copy()
    made = wrap(values)
    return made._require_grad_() if grad else made


def _check(function: str, window_length: int, dtype: dtypes.dtype) -> None:
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function} expects floating point dtypes, got: TensorOptions(dtype={c_name(dtype)}, device=cpu, layout=Strided "
            "(default), requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if window_length < 0:
        raise RuntimeError(f"{function} requires non-negative window_length, got window_length={window_length}")
    if dtype.category == dtypes.COMPLEX:
        raise not_implemented("arange_cpu", dtype.np)


def _cosine(alpha: float, beta: float) -> Callable[[Array, int], Array]:
    return lambda positions, last: np.cos(positions * (2 * math.pi / last)) * -beta + alpha


def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Hann window: half of one minus a cosine, zero at the ends.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made("hann_window", window_length, periodic, _cosine(0.5, 0.5), options)


def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, **options: Any
) -> Tensor:
    """The Hamming window: `alpha - beta * cos`, which does not quite reach zero.

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    return _made("hamming_window", window_length, periodic, _cosine(alpha, beta), options)


def _blackman(positions: Array, last: int) -> Array:
    angles = positions * (math.pi / last)
    return np.cos(angles * 4) * 0.08 - np.cos(angles * 2) * 0.5 + 0.42


def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Blackman window: a sum of two cosines, with low side lobes.

    >>> torch.blackman_window(4, dtype=torch.float64)
    tensor([0.0000, 0.3400, 1.0000, 0.3400], dtype=torch.float64)
    """
    return _made("blackman_window", window_length, periodic, _blackman, options)


def _triangle(positions: Array, last: int) -> Array:
    rising = positions * (2.0 / last)
    half = (last >> 1) + 1
    rising[half:] = rising[half:] * -1 + 2
    return rising


def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """The Bartlett window: a triangle, zero at the ends.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return _made("bartlett_window", window_length, periodic, _triangle, options)


def kaiser(positions: Array, last: int, beta: float) -> Array:
    """The Kaiser window: a Bessel function over half an ellipse."""
    away = (positions.astype(np.float64) - last / 2) / (last / 2)
    return (np.i0(beta * np.sqrt(np.maximum(1 - away * away, 0))) / np.i0(beta)).astype(positions.dtype)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, **options: Any) -> Tensor:
    """The Kaiser window; `beta` trades the width of the main lobe for the height of the side lobes.

    >>> torch.kaiser_window(4, True, 2.0)
    tensor([0.4387, 0.8348, 1.0000, 0.8348])
    """
    return _made(
        "kaiser_window", window_length, periodic, lambda positions, last: kaiser(positions, last, beta), options
    )
