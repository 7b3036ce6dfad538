"""Folding a batch normalisation into the layer before it, for evaluation."""

from __future__ import annotations

import copy
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn.parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _check_for_fusion(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and the batch normalisation do when evaluating.

    >>> conv, bn = torch.nn.Conv1d(2, 3, 1).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> x = torch.randn(1, 2, 4)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True
    """
    _check_for_fusion(conv, bn)
    fused = copy.deepcopy(conv)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(conv_w: Tensor, conv_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                         bn_w: Tensor | None, bn_b: Tensor | None,
                         transpose: bool = False) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a convolution with a batch normalisation folded in; see `fuse_conv_bn_eval`.

    >>> w = torch.ones(1, 1, 1, 1)
    >>> mean, var = torch.zeros(1), torch.tensor([0.25])
    >>> weight, bias = torch.nn.utils.fuse_conv_bn_weights(w, None, mean, var, 0.0, None, None)
    >>> weight.flatten()
    tensor([2.])
    """
    bias = penlight.zeros_like(bn_rm) if conv_b is None else conv_b
    scale = penlight.rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w
    shift = penlight.zeros_like(bn_rm) if bn_b is None else bn_b
    channel_dim = 1 if transpose else 0
    shape = [-1 if dim == channel_dim else 1 for dim in range(conv_w.dim())]
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    bias_dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    fused_bias = ((bias - bn_rm) * scale + shift).to(bias_dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused_bias, bias.requires_grad)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does what it and the batch normalisation do when evaluating.

    >>> linear, bn = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> x = torch.randn(4, 2)
    >>> torch.allclose(torch.nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)), atol=1e-6)
    True
    """
    _check_for_fusion(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float,
                           bn_w: Tensor, bn_b: Tensor) -> tuple[Parameter, Parameter]:  # fmt: skip
    """The weight and bias of a linear layer with a batch normalisation folded in; see `fuse_linear_bn_eval`.

    >>> w, one = torch.ones(1, 2), torch.ones(1)
    >>> weight, bias = torch.nn.utils.fuse_linear_bn_weights(w, None, 0 * one, 0.25 * one, 0.0, one, one)
    >>> weight, bias
    (Parameter containing:
    tensor([[2., 2.]]), Parameter containing:
    tensor([1.]))
    """
    bias = penlight.zeros_like(bn_rm) if linear_b is None else linear_b
    scale = bn_w * penlight.rsqrt(bn_rv + bn_eps)
    weight = linear_w * scale.unsqueeze(-1).to(linear_w.dtype)
    bias_dtype = linear_w.dtype if linear_b is None else linear_b.dtype
    fused_bias = ((bias - bn_rm) * scale + bn_b).to(bias_dtype)
    return Parameter(weight, linear_w.requires_grad), Parameter(fused_bias, bias.requires_grad)
