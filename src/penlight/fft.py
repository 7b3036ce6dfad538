"""torch.fft: discrete Fourier transforms, with derivatives.

>>> import penlight as torch
>>> x = torch.tensor([1.0, 2.0, 3.0, 4.0])
>>> torch.fft.irfft(torch.fft.rfft(x))
tensor([1., 2., 3., 4.])
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .creation import from_numpy
from .device import require_cpu
from .ops.fourier import transforms as _fourier
from .ops.fourier.transforms import (
    fft as fft,
    fftn as fftn,
    fftshift as fftshift,
    hfft as hfft,
    hfftn as hfftn,
    ifft as ifft,
    ifftn as ifftn,
    ifftshift as ifftshift,
    ihfft as ihfft,
    ihfftn as ihfftn,
    irfft as irfft,
    irfftn as irfftn,
    rfft as rfft,
    rfftn as rfftn,
)
from .ops.linalg.common import into as _into
from .ops.machinery.public_functions import public_functions as _public_functions
from .tensor import Tensor

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "ihfft2",
    "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


def fft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform along two dimensions.

    >>> torch.fft.fft2(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """
    return fftn(input, s, dim, norm, out=out)


def ifft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fft2`.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.fft.ifft2(torch.fft.fft2(x)).real
    tensor([[1., 2.],
            [3., 4.]])
    """
    return ifftn(input, s, dim, norm, out=out)


def rfft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The transform of real numbers along two dimensions; the last has half of the frequencies.

    >>> torch.fft.rfft2(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    return rfftn(input, s, dim, norm, out=out)


def irfft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfft2`.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.fft.irfft2(torch.fft.rfft2(x))
    tensor([[1., 2.],
            [3., 4.]])
    """
    return irfftn(input, s, dim, norm, out=out)


def hfft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`hfft` along the last of two dimensions, `fft` along the first.

    >>> torch.fft.hfft2(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(
    input: Tensor, s: Any = None, dim: Any = (-2, -1), norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfft2`.

    >>> torch.fft.ihfft2(torch.ones(2, 2)).real
    tensor([[1., 0.],
            [0., 0.]])
    """
    return ihfftn(input, s, dim, norm, out=out)


def _made(values: np.ndarray[Any, Any], out: Tensor | None, device: Any, requires_grad: bool, function: str) -> Tensor:
    require_cpu(device)
    result = _into(function, out, from_numpy(values))
    return result._require_grad_() if requires_grad else result


def fftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """The frequencies of `fft`'s results, for n points that are d apart.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return _made(_fourier.frequencies("fftfreq", n, d, False, dtype), out, device, requires_grad, "fft_fftfreq")


def rfftfreq(
    n: int, d: float = 1.0, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """The frequencies of `rfft`'s results, for n points that are d apart.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return _made(_fourier.frequencies("rfftfreq", n, d, True, dtype), out, device, requires_grad, "fft_rfftfreq")


globals().update(_public_functions(globals(), "fft_", __name__))
