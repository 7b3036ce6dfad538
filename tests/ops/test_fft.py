"""Fourier transforms: what their records cannot say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penlight as torch
from penlight.autograd import gradcheck, gradgradcheck


def test_precision_is_kept():
    for dtype, wide in ((torch.float32, torch.complex64), (torch.float64, torch.complex128)):
        x = torch.ones(4, 6, dtype=dtype)
        assert torch.fft.fft(x).dtype == torch.fft.rfft2(x).dtype == torch.fft.ihfft(x).dtype == wide
        assert torch.fft.irfft(x).dtype == torch.fft.hfft2(x).dtype == dtype
    assert torch.fft.fft(torch.ones(4, dtype=torch.int64)).dtype == torch.complex64


def test_there_and_back():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 4, 5)))
    fft = torch.fft
    assert torch.allclose(fft.ifftn(fft.fftn(x)).real, x)
    assert torch.allclose(fft.irfftn(fft.rfftn(x), s=x.shape), x)
    assert torch.allclose(fft.hfft2(fft.ihfft2(x), s=x.shape[1:]), x)
    assert torch.equal(fft.ifftshift(fft.fftshift(x)), x)


def test_known_values():
    assert torch.fft.fft(torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [10, -2 + 2j, -2, -2 - 2j]
    assert torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0]), norm="forward").tolist() == [2.5, -0.5 + 0.5j, -0.5]
    assert torch.fft.hfft(torch.tensor([1.0, 2.0, 3.0])).tolist() == [8, -2, 0, -2]


def test_gradients_of_real_transforms_are_exact():
    """Half of the frequencies stands for all: each but the first and the highest counts twice."""
    x = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    torch.fft.rfft(x)[1].real.backward()
    assert x.grad.tolist() == [1, 0, -1, 0]
    z = torch.zeros(3, dtype=torch.complex128, requires_grad=True)
    torch.fft.irfft(z)[1].backward()
    assert torch.allclose(z.grad, torch.tensor([0.25, -0.5j, -0.25], dtype=torch.complex128))


def test_spectra_multiply_as_signals_fold():
    rng = np.random.default_rng(0)
    a, b = (torch.from_numpy(rng.standard_normal(8)).requires_grad_() for _ in range(2))

    def convolve(a, b):
        return torch.fft.irfft(torch.fft.rfft(a) * torch.fft.rfft(b))

    assert gradcheck(convolve, (a, b), check_forward_ad=True) and gradgradcheck(convolve, (a, b))


def test_spectrogram_and_back():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((2, 50)))
    window = torch.hann_window(16, dtype=torch.float64)
    spectrum = x.stft(16, 4, window=window, return_complex=True)
    assert spectrum.shape == (2, 9, 13)
    assert torch.allclose(spectrum.istft(16, 4, window=window, length=50), x)


def test_warnings_of_spectrograms():
    from penlight._common import user_warnings

    x = torch.ones(20)
    for words, call in (
        (
            "A window was not provided. A rectangular window will be applied,which",
            lambda: torch.stft(x, 4, return_complex=True),
        ),
        (
            "stft with return_complex=False is deprecated",
            lambda: torch.stft(x, 4, window=torch.ones(4), return_complex=False),
        ),
        (
            "The length of signal is shorter",
            lambda: torch.istft(torch.ones(3, 9, dtype=torch.complex64), 4, window=torch.ones(4), length=30),
        ),
    ):
        user_warnings._warned.clear()
        with pytest.warns(UserWarning, match=words):
            call()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call()


def test_inside_vmap():
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((3, 4, 6)))
    for function in (torch.fft.rfft, torch.fft.fft2, lambda t: torch.fft.irfft(t, n=5, dim=0)):
        assert torch.allclose(torch.func.vmap(function)(x), torch.stack([function(t) for t in x]))
