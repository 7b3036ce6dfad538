"""Utilities for the parameters of modules: clipping gradients, parameters as a vector, fusing layers, memory formats."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import make_modules
from penlight._common.user_warnings import warn_user
from penlight.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from penlight.nn.modules.module import Module
from penlight.nn.parameter import Parameter

# ----- Limiting gradients, by their norm or each by its value --------------------------------------------------------


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@example("torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])", "tensor(5.)")
def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:  # fmt: skip
    """The norm of all tensors taken as one vector. `foreach` is accepted without effect."""
    given = _as_list(tensors)
    norm_type = float(norm_type)
    if not given:
        return penlight.tensor(0.0)
    with penlight.no_grad():
        norms = [penlight.linalg.vector_norm(tensor, norm_type) for tensor in given]
        if len({norm.dtype for norm in norms}) > 1:
            common = norms[0].dtype
            for norm in norms[1:]:
                common = penlight.promote_types(common, norm.dtype)
            norms = [norm.to(common) for norm in norms]
        total = penlight.linalg.vector_norm(penlight.stack(norms), norm_type)
        if error_if_nonfinite and not total.isfinite():
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by max_norm / total_norm where that is below 1, in place.

    >>> w = torch.nn.Parameter(torch.zeros(1))
    >>> w.grad = torch.tensor([8.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, max_norm=1.0, total_norm=torch.tensor(4.0))
    >>> w.grad
    tensor([2.0000])
    """
    grads = [param.grad for param in _as_list(parameters) if param.grad is not None]
    if not grads:
        return
    with penlight.no_grad():
        # Multiplying even if the factor is 1 avoids a branch, as in PyTorch.
        factor = penlight.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(factor)


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scales the gradients of all parameters, in place, so that their joint norm is at most `max_norm`.

    Returns their norm before scaling.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    given = _as_list(parameters)
    if not given and isinstance(parameters, GeneratorType):
        warn_user("`parameters` is an empty generator, no gradient clipping will occur.")
    grads = [param.grad for param in given if param.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Deprecated: the same as `clip_grad_norm_`.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> w.grad = torch.tensor([3.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(3.)
    """
    warn_user(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of the gradients to [-clip_value, clip_value], in place.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1., -1.])
    """
    limit = float(clip_value)
    with penlight.no_grad():
        for param in _as_list(parameters):
            grad: Any = param.grad
            if grad is not None:
                grad.clamp_(min=-limit, max=limit)


# ----- Parameters as one vector, and back ----------------------------------------------------------------------------


@example("torch.nn.utils.parameters_to_vector(torch.nn.Linear(2, 3).parameters()).shape", "torch.Size([9])")
def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters flattened into one vector."""
    given = list(parameters)
    _check_param_devices(given)
    return penlight.cat([param.view(-1) for param in given])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Makes the parameters slices of a vector, in order.

    >>> m = torch.nn.Linear(2, 1)
    >>> torch.nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), m.parameters())
    >>> m.bias
    Parameter containing:
    tensor([3.], requires_grad=True)
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {penlight.typename(vec)}")
    given = list(parameters)
    _check_param_devices(given)
    start = 0
    for param in given:
        stop = start + param.numel()
        param.data = vec[start:stop].view_as(param).data
        start = stop


def _check_param_devices(parameters: list[Tensor]) -> None:
    if len({param.device for param in parameters}) > 1:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")


# ----- Modules without initial values --------------------------------------------------------------------------------


@example("torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape", "torch.Size([1, 5])")
def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A module with uninitialised parameters, created without drawing random numbers."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=final)


# ----- Memory formats of convolutions --------------------------------------------------------------------------------


def _convert(module: Any, memory_format: Any, kinds: tuple[type[Any], ...]) -> Any:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all 2-d convolutions in a module a memory format, in place.

    >>> m = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(2, 2, 2), torch.channels_last)
    >>> m.weight.shape
    torch.Size([2, 2, 2, 2])
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all 3-d convolutions in a module a memory format, in place.

    >>> m = torch.nn.utils.convert_conv3d_weight_memory_format(torch.nn.Conv3d(1, 1, 1), torch.channels_last_3d)
    >>> m.weight.shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))


# ----- Folding a batch normalisation into the layer before it, for evaluation ----------------------------------------


def _check_for_fusion(layer: Any, bn: Any) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution with a batch normalisation folded in, for evaluation.

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
    """A copy of a linear layer with a batch normalisation folded in, for evaluation.

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


make_modules(__name__)
