"""Fills tensors with initial values, in place and outside of autograd."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import documented, example
from penlight._common.user_warnings import warn_user
from penlight.autograd.modes import grad_mode

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse",
    "sparse_", "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform",
    "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid"
_GAINS: dict[str, float] = dict.fromkeys(_LINEAR.split(), 1)
_GAINS |= {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


@example('torch.nn.init.calculate_gain("leaky_relu", 1)', "1.0")
def calculate_gain(nonlinearity: str, param: int | float | None = None) -> float:
    """The scale factor for weights that compensates for the nonlinearity after them.

    `param` is the negative slope of "leaky_relu".
    """
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    try:
        return _GAINS[nonlinearity]
    except KeyError:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}") from None


def _fill(method: Callable[..., Tensor], *args: Any, **kwargs: Any) -> Tensor:
    """Runs an in-place method of a tensor outside of autograd."""
    before = grad_mode.get()
    try:  # see Note [Ctrl-C and modes]
        grad_mode.set(False)
        return method(*args, **kwargs)
    finally:
        grad_mode.set(before)


@example("bool((torch.nn.init.uniform_(torch.empty(3, 5)) < 1).all())", "True")
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with samples of the uniform distribution on [a, b)."""
    return _fill(tensor.uniform_, a, b, generator=generator)


@example("torch.nn.init.normal_(torch.empty(3, 5), std=0.1).shape", "torch.Size([3, 5])")
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with samples of a normal distribution."""
    return _fill(tensor.normal_, mean, std, generator=generator)


@example("bool((torch.nn.init.trunc_normal_(torch.empty(3, 5)).abs() <= 2).all())", "True")
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:  # fmt: skip
    """Fills with samples of a normal distribution truncated to [a, b]."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn_user(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
        )
    inside = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with penlight.no_grad():
        if inside > 0.3:
            return _redraw_outside(tensor, mean, std, a, b, generator)
        return _accept_uniform(tensor, mean, std, a, b, generator)


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redraw_outside(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Normal samples, redrawn while they are outside: efficient if most are inside."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    values = penlight.empty_like(tensor).normal_(mean, std, generator=generator)
    while (outside := (values < low) | (values > high)).any():
        drawn = penlight.empty_like(tensor).normal_(mean, std, generator=generator)
        values = penlight.where(outside, drawn, values)
    return tensor.copy_(values)


def _accept_uniform(tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> Tensor:
    """Rejection sampling from a uniform distribution: efficient if few normal samples are inside."""
    peak = max(a, min(mean, b))
    log_peak = -0.5 * ((peak - mean) / std) ** 2
    pending = None
    while pending is None or pending.any():
        drawn = penlight.empty_like(tensor).uniform_(a, b, generator=generator)
        log_density = drawn.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        refused = penlight.empty_like(tensor).uniform_(generator=generator).log_().gt(log_density)
        if pending is None:
            tensor.copy_(drawn)
            pending = refused
        else:
            tensor.copy_(penlight.where(pending, drawn, tensor))
            pending = pending & refused
    return tensor


@example("torch.nn.init.constant_(torch.empty(2), 0.3)", "tensor([0.3000, 0.3000])")
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fills with a value."""
    return _fill(tensor.fill_, val)


@example("torch.nn.init.ones_(torch.empty(2))", "tensor([1., 1.])")
def ones_(tensor: Tensor) -> Tensor:
    """Fills with ones."""
    return constant_(tensor, 1.0)


@example("torch.nn.init.zeros_(torch.empty(2))", "tensor([0., 0.])")
def zeros_(tensor: Tensor) -> Tensor:
    """Fills with zeros."""
    return _fill(tensor.zero_)


def eye_(tensor: Tensor) -> Tensor:
    """Makes a matrix the identity, as far as its shape allows.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _fill(tensor.copy_, penlight.eye(*tensor.shape, dtype=tensor.dtype))


@example("torch.nn.init.dirac_(torch.empty(1, 1, 3))", "tensor([[[0., 1., 0.]]])")
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Makes a convolution weight the identity, in each group."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = tensor.size(0) // groups
    channels = penlight.arange(min(per_group, tensor.size(1)))
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with penlight.no_grad():
        tensor.zero_()
        for group in range(groups):
            tensor[(group * per_group + channels, channels, *centre)] = 1
    return tensor


@example("_calculate_fan_in_and_fan_out(torch.empty(8, 3, 5, 5))", "(75, 200)")
def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs and of outputs connected to one element of a weight."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outputs, inputs, *field = tensor.shape
    area = math.prod(field)
    return inputs * area, outputs * area


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


@example("torch.nn.init.xavier_uniform_(torch.empty(3, 5)).shape", "torch.Size([3, 5])")
def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with uniform samples of standard deviation gain √(2 / (fan_in + fan_out))."""
    bound = math.sqrt(3.0) * _xavier_std(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


@example("torch.nn.init.xavier_normal_(torch.empty(3, 5)).shape", "torch.Size([3, 5])")
def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fills with normal samples of standard deviation gain √(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, _xavier_std(tensor, gain), generator)


def _xavier_std(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


@example('torch.nn.init.kaiming_uniform_(torch.empty(3, 5), nonlinearity="relu").shape', "torch.Size([3, 5])")
def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:  # fmt: skip
    """Fills with uniform samples of standard deviation gain / √fan; `a` is the negative slope of the leaky ReLU that follows."""
    if 0 in tensor.shape:
        warn_user("Initializing zero-element tensors is a no-op")
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


@example('torch.nn.init.kaiming_normal_(torch.empty(3, 5), mode="fan_out").shape', "torch.Size([3, 5])")
def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:  # fmt: skip
    """Fills with normal samples of standard deviation gain / √fan; `a` is the negative slope of the leaky ReLU that follows."""
    if 0 in tensor.shape:
        warn_user("Initializing zero-element tensors is a no-op")
        return tensor
    return normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Makes the tensor, viewed as a matrix, (semi-)orthogonal, times `gain`.

    >>> w = torch.nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(w @ w.T, torch.eye(3), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows, *rest = tensor.shape
    drawn = tensor.new_empty((rows, math.prod(rest))).normal_(0, 1, generator=generator)
    wide = rows < drawn.size(1)
    with penlight.no_grad():
        q, r = penlight.linalg.qr(drawn.t() if wide else drawn)
        # The signs of R's diagonal make Q uniform among orthogonal matrices.
        signed = q * r.diagonal().sign()
        tensor.view(rows, -1).copy_(signed.t() if wide else signed)
        return tensor.mul_(gain)


@example("int((torch.nn.init.sparse_(torch.empty(4, 2), sparsity=0.5) == 0).sum())", "4")
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fills with normal samples, and sets a fraction of each column to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with penlight.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            # PyTorch draws these from the default generator, regardless of `generator`.
            tensor[penlight.randperm(rows)[:zeros], column] = 0
    return tensor


# Private in PyTorch, but used by some programs.
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def _make_deprecate(function: Callable[..., Any]) -> Callable[..., Any]:
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        message = f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`."
        warn_user(message, FutureWarning)
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = documented(f"Deprecated: `{new}` is the same.", f">>> hasattr(torch.nn.init, {new!r})", "True")
    return deprecated


_RENAMED: tuple[Callable[..., Any], ...] = (
    uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_,
    orthogonal_, sparse_,
)  # fmt: skip
(uniform, normal, constant, eye, dirac, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal, orthogonal,
 sparse) = map(_make_deprecate, _RENAMED)  # fmt: skip
_explain(globals())
