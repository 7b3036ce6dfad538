"""Elementwise losses: regression and probabilities.

Each has a kernel that includes the reduction. Its gradient has two forms, paired by `both`: a kernel for arrays, and a composition of
differentiable ops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd.grad_mode import no_grad
from ...kernels import loss as kernels
from ...kernels.elementwise.strategies import LONG_DOT
from ...tensor import Tensor
from ..machinery.arguments import broadcast_shape
from ..machinery.array_namespace import both
from ..machinery.declare import differentiable
from ..machinery.guards import cannot_cast, not_implemented
from ..machinery.op import traits
from ..pointwise.arithmetic import no_bools
from ..pointwise.elementary import where
from ..special.functions import xlogy
from . import smooth_activation as _nonlinear  # noqa: F401  declares `_logsigmoid`
from .loss_reduction import (
    WORDS,
    legacy_word,
    not_differentiable,
    reduce_values,
    reduction_number,
    same_shape,
    unreduce,
)

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "gaussian_nll_loss", "huber_loss", "kl_div", "l1_loss",
    "mse_loss", "poisson_nll_loss", "smooth_l1_loss"
]  # fmt: skip

# ----- Mean squared error -------------------------------------------------------------------------------------------


def _mse_backward_array(upstream: Any, input: Any, target: Any, reduction: int) -> Any:
    return (unreduce(upstream, tuple(input.shape), reduction) * 2) * (input - target)


def _mse_second(grad: Any, upstream: Any, input_shape: Any, reduction: int) -> Any:
    return unreduce(upstream, input_shape, reduction) * 2 * grad


@differentiable(_mse_backward_array, node="MseLossBackwardBackward0", method=False,
                upstream=lambda grad, input, target, reduction: reduce_values((input - target) * 2 * grad, reduction),
                input=_mse_second,
                target=lambda grad, upstream, input_shape, reduction: -_mse_second(grad, upstream, input_shape, reduction))  # fmt: skip
def _mse_backward(upstream: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor: ...


def _mse_jvp(tangents: dict[str, Any], env: dict[str, Any], xp: Any) -> Any:
    input, target = env["input"], env["target"]
    move = tangents.get("input")
    if tangents.get("target") is not None:
        move = -tangents["target"] if move is None else move - tangents["target"]
    return reduce_values(2 * (input - target) * move, env["reduction"])


def _mse_array(input: Any, target: Any, reduction: int) -> Any:
    if not reduction and input.dtype.kind != "c" != target.dtype.kind:
        return kernels.mse_loss(input, target, "none")
    difference = input - target
    if (
        reduction
        and 0 < difference.size < LONG_DOT
        and difference.flags.c_contiguous
        and difference.dtype.kind == "f"
        and difference.itemsize > 2
    ):
        flat = difference.reshape(-1)
        total = flat.dot(flat)
        return total / flat.size if reduction == 1 else total
    if difference.dtype.kind == "c":
        return reduce_values(difference * difference, reduction)
    return kernels.mse_loss(input, target, WORDS[reduction])


@differentiable(
    _mse_array,
    node="MseLossBackward0",
    jvp=_mse_jvp,
    method=False,
    input=lambda grad, input, target, reduction, xp: xp._mse_backward(grad, input, target, reduction),
    target=lambda grad, input, target, reduction, xp: xp._mse_backward(grad, target, input, reduction),
)
@traits(refuses={"biuc": "mse_cpu"})
def _mse_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...


def mse_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """The squared error; with weights, the mean is weighted.

    >>> torch.nn.functional.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if input._array.shape != target._array.shape or input._array.dtype is not target._array.dtype:
        input, target = same_shape(input, target)
    if weight is not None:
        return _weighted((input - target).pow(2), weight, number, input)
    return _mse_loss(input, target, number)


def _weighted(losses: Tensor, weight: Tensor, reduction: int, input: Tensor) -> Tensor:
    """Losses times their weights; the mean divides by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = losses * weight
    if reduction == 1:
        return losses.sum() / weight.sum()
    return losses if reduction == 0 else losses.sum()


def l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:  # fmt: skip
    """The absolute error.

    >>> torch.nn.functional.l1_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(1.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if input._array.shape != target._array.shape:
        no_bools({"input": input, "other": target})  # which the common dtype would hide
        input, target = same_shape(input, target)
    losses = (input - target).abs()
    return reduce_values(losses, number) if weight is None else _weighted(losses, weight, number, input)


# ----- Smooth absolute errors ---------------------------------------------------------------------------------------


def _smooth_slope(grad: Any, input: Any, target: Any, reduction: int, beta: float) -> Any:
    d = input - target
    return _through(where((d > -beta) & (d < beta), d / beta, d.sign()), grad, reduction)


def _huber_slope(grad: Any, input: Any, target: Any, reduction: int, delta: float) -> Any:
    d = input - target
    return _through(where((d > -delta) & (d < delta), d, delta * d.sign()), grad, reduction)


def _through(slope: Any, grad: Any, reduction: int, weight: Any = None) -> Any:
    """The derivative of each loss, by its weight, times the gradient of the reduced losses."""
    slope = slope if weight is None else slope * weight
    return slope * unreduce(grad, tuple(slope.shape), reduction)


def _by_word(kernel: Any, at: int) -> Any:
    """A backward kernel that takes the reduction, its argument at this position after the gradient, as a number."""
    return lambda grad, *rest: kernel(np.asarray(grad), *rest[:at], WORDS[rest[at]], *rest[at + 1 :])


both("smooth_l1_backward", _by_word(kernels.smooth_l1_loss_backward, 2), _smooth_slope)
both("huber_backward", _by_word(kernels.huber_loss_backward, 2), _huber_slope)


@differentiable(lambda input, target, reduction, beta: kernels.smooth_l1_loss(input, target, WORDS[reduction], beta),
                node="SmoothL1LossBackward0",
                input=lambda grad, input, target, reduction, beta, xp: xp.smooth_l1_backward(grad, input, target, reduction, beta),
                target=lambda grad, input, target, reduction, beta, xp: xp.smooth_l1_backward(grad, target, input, reduction, beta))  # fmt: skip
@traits(refuses={"biuc": "smooth_l1_cpu"}, backward="grad input target")
def _smooth_l1_loss(input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor: ...


@differentiable(lambda input, target, reduction, delta: kernels.huber_loss(input, target, WORDS[reduction], delta),
                node="HuberLossBackward0",
                input=lambda grad, input, target, reduction, delta, xp: xp.huber_backward(grad, input, target, reduction, delta),
                target=lambda grad, input, target, reduction, delta, xp: xp.huber_backward(grad, target, input, reduction, delta))  # fmt: skip
@traits(refuses={"biuc": "huber_cpu"}, backward="grad input target")
def _huber_loss(input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor: ...


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
                   beta: float = 1.0) -> Tensor:  # fmt: skip
    """The squared error within `beta`, the absolute error beyond, joined smoothly.

    >>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none")
    tensor([0.1250, 2.5000])
    """
    number = reduction_number(reduction, size_average, reduce)
    if input._array.shape != target._array.shape or input._array.dtype is not target._array.dtype:
        input, target = same_shape(input, target)
    if beta == 0.0:
        return reduce_values((input - target).abs(), number)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _smooth_l1_loss(input, target, number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the squared error within `delta`, linear beyond.

    >>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction="none", delta=2.0)
    tensor([0.1250, 4.0000])
    """
    number, kind = reduction_number(reduction), input.dtype
    if input._array.shape != target._array.shape or input._array.dtype is not target._array.dtype:
        input, target = same_shape(input, target)
        if not dtypes.can_cast(input.dtype, kind):
            raise cannot_cast(input.dtype, kind)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None and kind is input.dtype:
        return _huber_loss(input, target, number, delta)
    losses = _huber_loss(input, target, 0, delta).to(kind)
    if weight is None:
        return reduce_values(losses, number)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return reduce_values(losses * weight, number)


# ----- Binary cross entropy -----------------------------------------------------------------------------------------


def _logits_slope(grad: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    slope = input.sigmoid()
    if pos_weight is None:
        slope = slope - target
    else:
        t = pos_weight * target
        slope = (t + 1 - target) * slope - t
    return _through(slope, grad, reduction, weight)


both("bce_logits_backward", _by_word(kernels.bce_with_logits_backward, 4), _logits_slope)


def _logits_target_rule(grad: Any, input: Any, weight: Any, pos_weight: Any, reduction: int, xp: Any) -> Any:
    slope = -input if pos_weight is None else xp._logsigmoid(-input) - pos_weight * xp._logsigmoid(input)
    return _through(slope, grad, reduction, weight)


@differentiable(lambda input, target, weight, pos_weight, reduction:
                    kernels.bce_with_logits(input, target, weight, pos_weight, WORDS[reduction]),
                node="BinaryCrossEntropyWithLogitsBackward0", method=False,
                input=lambda grad, input, target, weight, pos_weight, reduction, xp:
                    xp.bce_logits_backward(grad, input, target, weight, pos_weight, reduction),
                target=_logits_target_rule)  # fmt: skip
@traits(refuses={"biuc": "log_sigmoid_cpu"})
def _bce_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int
) -> Tensor: ...


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The cross entropy between targets and the sigmoids of the inputs, accurate even where a sigmoid is nearly 0 or 1.

    >>> torch.nn.functional.binary_cross_entropy_with_logits(torch.tensor([0.0]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    if weight is not None or pos_weight is not None:
        not_differentiable("binary_cross_entropy_with_logits", weight=weight, pos_weight=pos_weight)
        for factor in (pos_weight, weight):
            if factor is not None:
                _fit_factor(factor, input)
    if target._array.dtype is not input._array.dtype:
        if input.dtype.category < dtypes.FLOATING:
            raise not_implemented("log_sigmoid_cpu", input._array.dtype)
        if target.dtype.category < dtypes.FLOATING:
            raise cannot_cast(input.dtype, target.dtype)
        common = dtypes.result_dtype([input._array, target._array])
        losses = _bce_with_logits(input.to(common), target.to(common), weight, pos_weight, number)
        return losses.to(target.dtype)  # PyTorch computes in it
    return _bce_with_logits(input, target, weight, pos_weight, number)


def _fit_factor(factor: Tensor, input: Tensor) -> None:
    shape = broadcast_shape(tuple(factor.shape), tuple(input.shape))
    if shape != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")


def _bce_slope(grad: Any, input: Any, target: Any, weight: Any, reduction: int) -> Any:
    return _through((input - target) / (input * (1 - input)).clamp_min(1e-12), grad, reduction, weight)


both("bce_backward", _by_word(kernels.bce_backward, 3), _bce_slope)


def _bce_target_rule(grad: Any, input: Any, weight: Any, reduction: int, xp: Any) -> Any:
    slope = xp._clamp_min(xp.log(1 - input), -100.0) - xp._clamp_min(xp.log(input), -100.0)
    return _through(slope, grad, reduction, weight)


@differentiable(lambda input, target, weight, reduction: kernels.bce(input, target, weight, WORDS[reduction]),
                node="BinaryCrossEntropyBackward0",
                input=lambda grad, input, target, weight, reduction, xp: xp.bce_backward(grad, input, target, weight, reduction),
                target=_bce_target_rule)  # fmt: skip
@traits(refuses={"biuc": "binary_cross_entropy"}, backward="grad input target")
def _bce(input: Tensor, target: Tensor, weight: Tensor | None, reduction: int) -> Tensor: ...


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The cross entropy between targets and probabilities; logarithms are limited to at least -100.

    >>> torch.nn.functional.binary_cross_entropy(torch.tensor([0.5]), torch.tensor([1.0]))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. Please "
            "ensure they have the same size."
        )
    if target.dtype is not input.dtype:
        raise RuntimeError(f"Found dtype {dtypes.LEGACY[target.dtype]} but expected {dtypes.LEGACY[input.dtype]}")
    if weight is not None:
        not_differentiable("binary_cross_entropy", weight=weight)
        shape = broadcast_shape(tuple(weight.shape), tuple(input.shape))
        weight = weight.expand(shape)
        input, target = input.expand(shape), target.expand(shape)
    return _bce(input, target, weight, number)


# ----- Likelihoods --------------------------------------------------------------------------------------------------


def kl_div(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:  # fmt: skip
    """The Kullback-Leibler divergence of log-probabilities from targets: target * (log(target) - input).

    >>> torch.nn.functional.kl_div(torch.tensor([[0.0]]), torch.tensor([[1.0]]), reduction="batchmean")
    tensor(0.)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_word(size_average, reduce)
    elif reduction == "mean":
        warn_user(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
            "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
            "'batchmean' in the next major release."
        )
    number = reduction_number("sum" if reduction == "batchmean" else reduction)
    result = kl_divergence(input, target, number, log_target)
    return result / input.shape[0] if reduction == "batchmean" and input.dim() else result


def kl_divergence(input: Tensor, target: Tensor, reduction: int, log_target: bool) -> Tensor:
    """`kl_div` with its reduction given as a number."""
    for kind, what in ((dtypes.COMPLEX, "Complex"), (dtypes.INTEGRAL, "Integral"), (dtypes.BOOL, "Integral")):
        if kind in (input.dtype.category, target.dtype.category):
            raise RuntimeError(f"kl_div: {what} inputs not supported.")
    losses = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    return reduce_values(losses, reduction)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
                     eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The negative log-likelihood of counts under Poisson rates (or log rates, with `log_input`); `full` adds Stirling's approximation of
    the term that does not depend on the rates.

    >>> torch.nn.functional.poisson_nll_loss(torch.zeros(1), torch.ones(1))
    tensor(1.)
    """
    return poisson_nll(input, target, log_input, full, eps, reduction_number(reduction, size_average, reduce))


def poisson_nll(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`poisson_nll_loss` with its reduction given as a number."""
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        losses = losses + stirling.masked_fill(target <= 1, 0)
    return reduce_values(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """The negative log-likelihood of targets under normal distributions with given means and variances.

    >>> torch.nn.functional.gaussian_nll_loss(torch.zeros(2), torch.ones(2), torch.ones(2))
    tensor(0.5000)
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = input.new_full(tuple(input.shape), var)
    elif not isinstance(var, Tensor):
        raise TypeError(f"gaussian_nll_loss(): argument 'var' (position 3) must be Tensor, not {type(var).__name__}")
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = var.unsqueeze(-1)
        elif input.ndim != var.ndim or sum(m for n, m in zip(input.size(), var.size()) if n != m) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in WORDS:
        raise ValueError(f"{reduction} is not valid")
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    losses = 0.5 * (var.log() + (input - target) ** 2 / var)
    if full:
        losses += 0.5 * math.log(2 * math.pi)
    return reduce_values(losses, WORDS.index(reduction))
