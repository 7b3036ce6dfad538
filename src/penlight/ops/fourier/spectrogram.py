"""The short-time Fourier transform and its inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_once
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..conversion import view_as_real
from ..machinery.declare import OPS, linear
from ..machinery.guards import type_name
from ..machinery.op import traits
from ..shape.slicing import _unfold_array
from .transforms import BY_N, BY_ROOT_N, NONE, _fft_c2c, _fft_c2r, _fft_r2c

__all__ = ["istft", "stft"]

_padding = lazy_import(globals(), "_padding", "..nn.padding")


# ----- Frames ---------------------------------------------------------------------------------------------------------


def _overlapped_array(input: Any, total: int, size: int, step: int) -> Any:
    """Overlap-add of frames: their pieces of `step` points each are added to disjoint ranges."""
    *lead, count, _ = input.shape
    pieces = -(-size // step)
    if pieces * step != size:
        wide = np.zeros((*lead, count, pieces * step), input.dtype)
        wide[..., :size] = input
        input = wide
    out = np.zeros((*lead, max(total, (count + pieces - 1) * step)), input.dtype)
    for k in range(pieces):
        piece = input[..., k * step : (k + 1) * step]
        out[..., k * step : (k + count) * step] += piece.reshape(*lead, count * step)
    return out[..., :total]


@linear(lambda input, size, step: _unfold_array(input, input.ndim - 1, size, step), view=True, node="AsStridedBackward0",
        input=lambda grad, input_shape, size, step, xp: xp._overlap_add(grad, input_shape[-1], size, step))  # fmt: skip
@traits(keeps_finite=("op",))
def _sliding(input: Tensor, size: int, step: int) -> Tensor: ...


@linear(
    _overlapped_array, node="UnfoldBackwardBackward0", input=lambda grad, size, step, xp: xp._sliding(grad, size, step)
)
def _overlap_add(input: Tensor, total: int, size: int, step: int) -> Tensor: ...


for _name in ("_sliding", "_overlap_add"):  # inside vmap they process all samples at once
    OPS[_name].batch = lambda level, op, arguments: op.function(*(level.value(a) for a in arguments))

# ----- Arguments ------------------------------------------------------------------------------------------------------


def _spoken(function: str, x: Tensor, **arguments: Any) -> Any:
    """The call as PyTorch's messages quote it; a function, because most calls do not fail."""

    def speak() -> str:
        shown = []
        for name, value in arguments.items():
            if isinstance(value, Tensor):
                value = f"{type_name(value.dtype)}{{{list(value.shape)}}}"
            shown.append(f"{name}={int(value) if isinstance(value, bool) else value}")
        return f"{function}({type_name(x.dtype)}{list(x.shape)}, {', '.join(shown)}) "

    return speak


def _padded_window(window: Tensor | None, like: Tensor, win_length: int, n_fft: int) -> Tensor:
    """The window (ones if there is none), zero-padded on both sides to n_fft."""
    dtype = like.dtype.to_real()
    window = like.new_ones(win_length, dtype=dtype) if window is None else window
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    return _padding.constant_pad_nd(window, (left, n_fft - win_length - left), 0.0)


def _centred(input: Tensor, n_fft: int, pad_mode: str) -> Tensor:
    """The signal padded by half a window on both sides."""
    half, extra = n_fft // 2, max(3 - input.dim(), 0)
    padded = _padding.pad(input.view((1,) * extra + tuple(input.shape)), (half, half), pad_mode)
    return padded.view(padded.shape[min(extra, 2) :])


def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The short-time Fourier transform: transforms of a signal's overlapping windows, frequencies by frames.

    >>> torch.stft(torch.ones(8), 4, window=torch.hann_window(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows "
            "such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress this warning "
            "and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
        )
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop_length = n_fft >> 2 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    x = _centred(input, n_fft, pad_mode) if center and n_fft > 0 else input
    as_complex = _complex_wanted(input, window, return_complex)
    call = _spoken(
        "stft", x, n_fft=n_fft, hop_length=hop_length, win_length=win_length, window=window, normalized=normalized, onesided=onesided,
        return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip
    _check_stft(call, x, n_fft, hop_length, win_length, window)
    return _frames(x, n_fft, hop_length, win_length, window, bool(align_to_window), normalized, onesided, as_complex)


def _complex_wanted(input: Tensor, window: Tensor | None, return_complex: bool | None) -> bool:
    if return_complex is None:
        if not input.is_complex() and (window is None or not window.is_complex()):
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return True
    if not return_complex:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all "
            "inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex output "
            "to recover the old return format."
        )
    return return_complex


def _check_stft(call: Any, x: Tensor, n_fft: int, hop_length: int, win_length: int, window: Tensor | None) -> None:
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError(call() + ": expected a tensor of floating point or complex values")
    if x.dim() not in (1, 2):
        raise RuntimeError(call() + ": expected a 1D or 2D tensor")
    points = x.shape[-1]
    if not 0 < n_fft <= points:
        raise RuntimeError(f"{call()}: expected 0 < n_fft < {points}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise RuntimeError(f"{call()}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{call()}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(
            f"{call()}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
            f"{list(window.shape)}"
        )
    if x.dtype.itemsize == 2 and (window is None or window.dtype.itemsize == 2):
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {dtypes.LEGACY[x.dtype]}")


def _frames(
    input: Tensor, n_fft: int, hop: int, win_length: int, window: Tensor | None, align: bool, normalized: bool, onesided: bool | None,
    as_complex: bool,
) -> Tensor:  # fmt: skip
    single = input.dim() == 1
    x = input.unsqueeze(0) if single else input
    if align:  # frames as long as the window, which zeros extend to n_fft
        left = (n_fft - win_length) // 2
        x = _padding.constant_pad_nd(x, (left, n_fft - win_length - left), 0.0)
    frames = _sliding(x, n_fft, hop)
    if window is not None or win_length != n_fft:
        frames = frames * _padded_window(window, x, win_length, n_fft)
    scaling = BY_ROOT_N if normalized else NONE
    if frames.is_complex():
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        out = _fft_c2c(frames, (2,), scaling, True)
    else:
        out = _fft_r2c(frames, (2,), scaling, onesided is not False)
    out = out.transpose_(1, 2)
    out = out.squeeze_(0) if single else out
    if as_complex:
        return out
    return view_as_real(out)


def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Tensor | None = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The inverse of `stft`: frames transformed back, overlap-added, and divided by the sum of the squared windows.

    >>> w = torch.hann_window(4)
    >>> torch.istft(torch.stft(torch.ones(8), 4, window=w, return_complex=True), 4, window=w)
    tensor([1., 1., 1., 1., 1., 1., 1., 1.])
    """
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to make the "
            "inversion lossless.To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, "
            "device=<device>)`."
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    call = _spoken(
        "istft", input, n_fft=n_fft, hop_length=hop, win_length=win_length, window=window, center=center, normalized=normalized,
        onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    half = _check_istft(call, input, n_fft, hop, win_length, window, onesided)
    weights = _padded_window(window, input, win_length, n_fft)
    frames = _frames_back(
        input if input.dim() == 3 else input.unsqueeze(0), n_fft, half, normalized, return_complex, weights
    )
    return _overlapped(call, frames * weights.view(1, 1, n_fft), weights, hop, center, length, input.dim() == 2)


def _check_istft(
    call: Any, x: Tensor, n_fft: int, hop: int, win_length: int, window: Tensor | None, onesided: bool | None
) -> bool:
    """Check the arguments; returns whether only the first half of the frequencies is given."""
    if x.numel() == 0:
        raise RuntimeError(call() + ": input tensor cannot be empty.")
    if x.dim() < 2:
        raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
    if x.dim() > 3:
        raise RuntimeError(f"{call()}: expected a tensor with 3 or 4 dimensions, but got {x.dim() + 1}")
    size = x.shape[-2]
    half = size != n_fft if onesided is None else onesided
    if size != (n_fft // 2 + 1 if half else n_fft):
        wanted = "n_fft / 2 + 1 when onesided=True" if half else "n_fft when onesided=False"
        raise RuntimeError(
            f"{call()}: expected the frequency dimension (3rd to the last) of the input tensor to match {wanted}, but got {size}"
        )
    if not 0 < hop <= win_length:
        raise RuntimeError(call() + ": expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(call() + ": expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (win_length,):
        raise RuntimeError(call() + ": Invalid window shape. window has to be 1D and length of `win_length`")
    return half


def _frames_back(x: Tensor, n_fft: int, half: bool, normalized: bool, return_complex: bool, weights: Tensor) -> Tensor:
    x = x.transpose(1, 2)
    scaling = BY_ROOT_N if normalized else BY_N
    if return_complex:
        if half:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return _fft_c2c(x, (2,), scaling, False)
    if weights.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    return _fft_c2r(x if half else x.narrow(2, 0, n_fft // 2 + 1), (2,), scaling, n_fft)


def _overlapped(
    call: Any, frames: Tensor, weights: Tensor, hop: int, center: bool, length: int | None, single: bool
) -> Tensor:
    """The overlap-added frames, divided by the overlap-added squares of the window."""
    _, count, n_fft = frames.shape
    total = n_fft + hop * (count - 1)
    signal = _overlap_add(frames, total, n_fft, hop)
    overlap = _overlap_add(weights.pow(2).expand(1, count, n_fft), total, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    signal, overlap = signal[:, start:end], overlap[:, start:end]
    if overlap.abs().min() < 1e-11:
        raise RuntimeError(call() + "window overlap add min: 1\n[ CPUBoolType{} ]")
    signal = signal / overlap
    signal = signal.squeeze(0) if single else signal
    if end > total:
        warn_once(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please check your "
            "center and hop_length settings."
        )
        signal = _padding.constant_pad_nd(signal, (0, end - total), 0.0)
    return signal
