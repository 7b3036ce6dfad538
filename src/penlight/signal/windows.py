"""torch.signal.windows: windows for spectra, under SciPy's names. With `sym=False` they are periodic.

>>> import penlight as torch
>>> torch.signal.windows.gaussian(3, std=1.0)
tensor([0.6065, 1.0000, 0.6065])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penlight._common.arguments import explain as _explain
from penlight._refused import missing

from .. import dtypes
from ..device import require_cpu
from ..layout import strided
from ..ops.fourier.windows import kaiser as _kaiser
from ..tensor import Tensor, wrap

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def _made(
    function: str, M: int, compute: Callable[[Array], Array], dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    """A window of M samples, computed from their positions 0, 1, ... in the window's dtype."""
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{function} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{function} is implemented for strided tensors only, got: {layout}")
    if dtype not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{function} expects float32 or float64 dtypes, got: {dtype}")
    require_cpu(device)
    positions = np.arange(M).astype(dtype.np)
    made = wrap(compute(positions).astype(dtype.np, copy=False) if M else positions)
    return made._require_grad_() if requires_grad else made


def _period(M: int, sym: bool) -> int:
    """The number of samples after which the window returns to its first value."""
    return max(M - 1 if sym else M, 1)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A triangle, zero at the ends.

    >>> torch.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    period = _period(M, sym)
    compute = lambda i: 1 - np.abs(i * (2 / period) - 1) if M != 1 else np.ones_like(i)
    return _made("bartlett", M, compute, dtype, layout, device, requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of two cosines, with low side lobes.

    >>> torch.signal.windows.blackman(5)
    tensor([-1.4901e-08,  3.4000e-01,  1.0000e+00,  3.4000e-01, -1.4901e-08])
    """
    return _cosines("blackman", M, [0.42, 0.5, 0.08], sym, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Half a period of a sine.

    >>> torch.signal.windows.cosine(2)
    tensor([0.7071, 0.7071])
    """
    count = M if sym or M == 1 else M + 1
    return _made("cosine", M, lambda i: np.sin((i + 0.5) * (math.pi / count)), dtype, layout, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """An exponential decay on both sides of the centre, by a factor of e per `tau` samples.

    >>> torch.signal.windows.exponential(5)
    tensor([0.1353, 0.3679, 1.0000, 0.3679, 0.1353])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = (M if not sym and M > 1 else M - 1) / 2.0 if center is None else center
    return _made("exponential", M, lambda i: np.exp(-np.abs(i - middle) / tau), dtype, layout, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A Gaussian whose standard deviation is `std` samples.

    >>> torch.signal.windows.gaussian(5)
    tensor([0.1353, 0.6065, 1.0000, 0.6065, 0.1353])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    middle = (M if not sym and M > 1 else M - 1) / 2.0
    scale = 1 / (std * math.sqrt(2))
    return _made(
        "gaussian", M, lambda i: np.exp(-np.square((i - middle) * scale)), dtype, layout, device, requires_grad
    )


def _cosines(
    function: str, M: int, a: Any, sym: bool, dtype: Any, layout: Any, device: Any, requires_grad: bool
) -> Tensor:
    period = _period(M, sym)

    def compute(positions: Array) -> Array:
        if M == 1:
            return np.ones_like(positions)
        angles = positions * (2 * math.pi / period)
        return sum((-1) ** k * weight * np.cos(k * angles) for k, weight in enumerate(a))

    return _made(function, M, compute, dtype, layout, device, requires_grad)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of cosines with alternating signs and the weights `a`.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _cosines("general_cosine", M, weights, sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`alpha - (1 - alpha) * cos`.

    >>> torch.signal.windows.general_hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine that does not quite reach zero.

    >>> torch.signal.windows.hamming(5)
    tensor([0.0800, 0.5400, 1.0000, 0.5400, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A raised cosine, zero at the ends.

    >>> torch.signal.windows.hann(4, sym=False)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Kaiser's window; `beta` trades the width of the main lobe for the height of the others.

    >>> torch.signal.windows.kaiser(5, beta=4.0)
    tensor([0.0885, 0.6334, 1.0000, 0.6334, 0.0885])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    period = _period(M, sym)
    compute = lambda i: _kaiser(i, period, beta) if M != 1 else np.ones_like(i)
    return _made("kaiser", M, compute, dtype, layout, device, requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of three cosines with very low side lobes, after Nuttall.

    >>> torch.signal.windows.nuttall(5)
    tensor([3.6280e-04, 2.2698e-01, 1.0000e+00, 2.2698e-01, 3.6280e-04])
    """
    return _cosines(
        "general_cosine", M, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym, dtype, layout, device, requires_grad
    )


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)


_explain(globals())
