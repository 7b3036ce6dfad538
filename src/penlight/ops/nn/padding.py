"""Padding: constant, reflected, replicated, or circular."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import Any

from ... import dtypes
from ...kernels import pad as kernels
from ...tensor import Tensor
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, differentiable, linear
from ..machinery.guards import not_implemented
from ..machinery.op import traits

__all__ = ["constant_pad_nd", "pad"]

Ints = tuple[int, ...]


@lru_cache(256)
def _pairs(pad: Ints) -> tuple[tuple[int, int], ...]:
    """PyTorch lists the last dimension first; the kernels need a pair for each dimension, in order."""
    return tuple([(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)])


@differentiable(lambda input, pad, value: kernels.pad(input, _pairs(pad), "constant", value), node="ConstantPadNdBackward0",
                jvp=lambda tangents, env, xp: xp._constant_pad(tangents["input"], env["pad"], 0),
                input=lambda grad, pad, xp: xp._constant_pad(grad, tuple(-n for n in pad), 0))  # fmt: skip
@traits(channels_last=(4, 5), gradient_format="grad")
def _constant_pad(input: Tensor, pad: Ints, value: Any) -> Tensor: ...


@linear(lambda input, shape, padding, mode: kernels.pad_backward(input, shape, _pairs(padding), mode),
        input=lambda grad, padding, mode, xp: xp.pad_by_mode(grad, padding, mode))  # fmt: skip
def _pad_backward(input: Tensor, shape: Ints, padding: Ints, mode: str) -> Tensor: ...


_NAMES = {"reflect": "Reflection", "replicate": "Replication", "circular": "Circular"}
_CHANNELS_LAST = {("reflect", 2): (4,), ("replicate", 2): (4,), ("replicate", 3): (4, 5)}


def _declare(mode: str, dims: int) -> None:
    """Declare the op for a mode and a number of padded dimensions; PyTorch has one for each."""

    def face(input: Tensor, padding: Ints) -> Tensor: ...

    def kernel(input: Any, padding: Ints) -> Any:
        return kernels.pad(input, _pairs(padding), mode)

    def rule(grad: Any, input_shape: Ints, padding: Ints, xp: Any) -> Any:
        return xp._pad_backward(grad, input_shape, padding, mode)

    backward = "" if mode == "circular" else "grad input"
    traits(channels_last=_CHANNELS_LAST.get((mode, dims), ()), backward=backward)(face)
    face.__name__ = f"_{mode}_pad{dims}d"
    linear(kernel, node=f"{_NAMES[mode]}Pad{dims}DBackward0", input=rule)(face)


for _mode in _NAMES:
    for _dims in (1, 2, 3):
        _declare(_mode, _dims)


def _by_mode(input: Tensor, padding: Ints, mode: str) -> Tensor:
    return OPS[f"_{mode}_pad{len(padding) // 2}d"].function(input, padding)


both("pad_by_mode", lambda input, padding, mode: kernels.pad(input, _pairs(padding), mode), _by_mode)


def _amounts(pad: Any) -> Ints:
    if not isinstance(pad, (tuple, list)):
        raise TypeError(f"pad(): argument 'pad' (position 2) must be tuple of ints, not {type(pad).__name__}")
    if all([type(n) is int for n in pad]):
        return tuple(pad)
    for position, n in enumerate(pad):
        if type(n) is not int and (isinstance(n, float) or not hasattr(n, "__index__")):
            raise TypeError(
                f"pad(): argument 'pad' (position 2) must be tuple of ints, but found element of type {type(n).__name__} at pos "
                f"{position}"
            )
    return tuple(index(n) for n in pad)


def constant_pad_nd(input: Tensor, pad: Any, value: Any = 0) -> Tensor:
    """The input with a border of one value; negative amounts crop.

    >>> torch.constant_pad_nd(torch.ones(2), (1, 0), 5)
    tensor([5., 1., 1.])
    """
    amounts = _amounts(pad)
    if len(amounts) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(amounts)}")
    if len(amounts) > 2 * input.dim():
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(amounts)} while the input has {input.dim()} dimensions."
        )
    shape = input._array.shape if min(amounts, default=0) < 0 else ()
    for dim, (low, high) in enumerate(_pairs(amounts) if shape else (), input.dim() - len(amounts) // 2):
        n = shape[dim]
        if n + min(low, 0) + min(high, 0) < 0:
            raise RuntimeError(
                f"narrow(): length must be non-negative.\nThe input size {n}, plus negative padding {low} and {high}, resulted in "
                f"a negative output size. Check dimension {dim} of your input."
            )
    return _constant_pad(input, amounts, dtypes.number_for(value, input.dtype))


_COMBINATIONS = (
    "Supported combinations for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
    "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
)


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """The input with a border, given by pairs of amounts that start at the last dimension.

    >>> torch.nn.functional.pad(torch.arange(3.0).view(1, 3), (1, 1), mode="reflect")
    tensor([[1., 0., 1., 2., 1.]])
    """
    amounts, ndim = _amounts(pad), input.dim()
    if len(amounts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(amounts) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {ndim}"
        )
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        return constant_pad_nd(input, amounts, 0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    dims = len(amounts) // 2
    if dims not in (1, 2, 3) or ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(amounts)} is not supported for {ndim}D input tensor.\n{_COMBINATIONS}"
        )
    if mode not in _NAMES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check(input, amounts, dims, mode)
    return _by_mode(input, amounts, mode)


def _check(input: Tensor, amounts: Ints, dims: int, mode: str) -> None:
    """Refuse borders that are too large for the input."""
    shape = input._array.shape
    lead = len(shape) - dims
    pairs = _pairs(amounts)
    if mode != "circular":
        if input.dtype is dtypes.bool_:
            raise not_implemented(f"{_NAMES[mode].lower()}_pad{dims}d", input._array.dtype)
        if 0 in shape[-dims - 1 :]:
            raise RuntimeError(
                f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
                f"dimensions for input, but got: {list(shape)}"
            )
    for dim, (low, high) in reversed([*enumerate(pairs, lead)]):
        if mode == "reflect" and (low >= shape[dim] or high >= shape[dim]):
            raise RuntimeError(
                f"Argument #{4 + 2 * (input.dim() - 1 - dim)}: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({low}, {high}) at dimension {dim} of input {list(shape)}"
            )
    out = [n + low + high for n, (low, high) in zip(shape[lead:], pairs)]
    if mode != "circular" and min(out) < 1:
        sides = "DHW"[-dims:]
        was = ", ".join(f"{side}: {n}" for side, n in zip(sides, shape[lead:]))
        now = " ".join(f"{side}: {n}" for side, n in zip(sides, out))
        raise RuntimeError(f"input ({was}) is too small. Calculated output {now}")
