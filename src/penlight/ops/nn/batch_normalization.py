"""Batch and instance normalisation. normalization.py explains their gradients."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import norm as kernels
from ...tensor import Tensor
from ..machinery.arguments import wrap_dim
from ..machinery.array_namespace import raw
from ..machinery.declare import OPS, differentiable
from ..machinery.guards import not_implemented, number_of
from ..machinery.op import traits
from ..machinery.rules import joint_rules, saved_as_input
from .normalization import check_parameters, input_grad, normalised, parameter_gradients, wide

__all__ = ["batch_norm", "instance_norm"]

# ----- Batch --------------------------------------------------------------------------------------------------------


def _batch_array(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Normalise, and update the running statistics by those of the batch."""
    empty = np.zeros(0, input.dtype)
    if not training:
        return kernels.batch_norm_eval(input, running_mean, running_var, weight, bias, eps), empty, empty
    if not input.size:
        return input.copy(), empty, empty
    out, mean, rstd, var = kernels.batch_norm(input, weight, bias, eps)
    if running_mean is not None:
        count = input.size // input.shape[1]
        _move(running_mean, mean, momentum)
        _move(running_var, var * (count / (count - 1)) if count > 1 else np.full_like(var, np.nan), momentum)
    return out, mean, rstd


def _move(running: Any, now: Any, momentum: float) -> None:
    if running.dtype.itemsize == 2:
        running[...] = momentum * now + (1 - momentum) * running.astype(now.dtype)
        return
    running *= 1 - momentum
    running += momentum * now


def _statistics(
    running_mean: Any, running_var: Any, mean: Any, rstd: Any, training: bool, eps: float
) -> tuple[Any, Any]:
    if training:
        return mean, rstd
    return running_mean, 1 / np.sqrt(running_var + running_var.dtype.type(eps))


def _batch_gradients(grads: Any, input: Any, weight: Any, running_mean: Any, running_var: Any, result1: Any, result2: Any, training: bool,
                     eps: float, needs: Any, xp: Any) -> Any:  # fmt: skip
    if xp is raw:
        if not input.size:
            zeros = np.zeros(input.shape[1], input.dtype if weight is None else weight.dtype)
            return np.zeros_like(input), zeros, zeros.copy()
        mean, rstd = _statistics(running_mean, running_var, result1, result2, training, eps)
        return kernels.batch_norm_backward(grads[0], input, mean, rstd, weight, training, needs)
    g, x, w = wide(grads[0], input, weight)
    dims, across = (0, *range(2, input.dim())), (1, -1, *(1,) * (input.dim() - 2))
    if training:
        xhat, rstd = normalised(x, dims, eps)
    else:
        rstd = (running_var + eps).rsqrt().reshape(across)
        xhat = (x - running_mean.reshape(across)) * rstd
    of_xhat = g if w is None else g * w.reshape(across)
    of_input = (input_grad(of_xhat, xhat, rstd, dims) if training else of_xhat * rstd) if needs[0] else None
    return parameter_gradients(g, xhat, of_input, dims, input, weight, needs)


@differentiable(_batch_array, node="NativeBatchNormBackward0", results=("result0", "result1", "result2"),
                **joint_rules(_batch_gradients, "input", "weight", "bias"))  # fmt: skip
@traits(channels_last=(4, 5), refuses={"biuc": "batch_norm"}, backward="grad input weight result1 result2", returned=1)
def _native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> Any: ...  # fmt: skip


def _batch_fits(input: Tensor, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool) -> bool:
    """Whether the arguments are valid: a quick test before the full checks."""
    x = input._array
    if x.ndim < 2 or x.dtype.kind != "f" or (running_mean is None) != (running_var is None):
        return False
    if running_mean is None:
        if not training:
            return False
    elif running_mean.requires_grad or running_var.requires_grad:
        return False
    dtype, shape = x.dtype, x.shape[1:2]
    for tensor in (weight, bias, running_mean, running_var):
        if tensor is not None and (tensor._array.dtype is not dtype or tensor._array.shape != shape):
            return False
    return True


def _check_batch(input: Tensor, tensors: dict[str, Tensor | None], training: bool) -> None:
    channels = input._array.shape[1] if input._array.ndim > 1 else 0
    for name in ("running_mean", "running_var"):
        if tensors[name] is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        if tensor._array.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {tensor._array.size}")
        if name.startswith("running") and tensor.requires_grad:
            raise RuntimeError(
                f"The function 'native_batch_norm' is not differentiable with respect to argument '{name}'. This input cannot "
                "have requires_grad True."
            )
    if input._array.ndim < 2:
        wrap_dim(1, input._array.ndim)  # raises: there is no channel dimension
    if (tensors["running_mean"] is None) != (tensors["running_var"] is None):
        raise ValueError("running_mean and running_var must either both be None or neither be None")
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented("batch_norm", input._array.dtype)
    check_parameters(
        input, "batch_norm", *[tensors[name] for name in ("weight", "bias", "running_mean", "running_var")]
    )
    for name in ("running_mean", "running_var"):
        tensor = tensors[name]
        if tensor is not None and tensor._array.ndim != 1:
            raise RuntimeError(f"TensorAccessor expected 1 dims but tensor has {tensor._array.ndim}")


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Each channel of a batch normalised to mean 0 and variance 1, then scaled and shifted. Training uses the batch's statistics and
    updates the running ones; otherwise the running statistics are used.

    >>> torch.nn.functional.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        shape = input._array.shape
        if shape[0] * prod(shape[2:]) == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if isinstance(momentum, np.generic):
        momentum = number_of(momentum)
    if not isinstance(momentum, (int, float)):
        raise TypeError(f"batch_norm(): argument 'momentum' (position 7) must be float, not {type(momentum).__name__}")
    if eps <= 0.0 and (training or eps < 0.0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    return batch_norm_by(input, weight, bias, running_mean, running_var, training, momentum, eps)


def batch_norm_by(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
                  training: bool, momentum: float, eps: float) -> Tensor:  # fmt: skip
    """`batch_norm` without the check for a single value; this is `torch.batch_norm`."""
    if not input._array.size:  # as PyTorch handles empty input
        out = input.clone()
        out = out if weight is None else out * weight.select(0, 0)
        return out if bias is None else out + bias.select(0, 0)
    if not _batch_fits(input, weight, bias, running_mean, running_var, training):
        tensors = {"running_mean": running_mean, "running_var": running_var, "weight": weight, "bias": bias}
        _check_batch(input, tensors, training)
        weight, bias = [p if p is None or p._array.ndim == 1 else p.reshape(-1) for p in (weight, bias)]
    return _native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


# ----- Instance -----------------------------------------------------------------------------------------------------


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Tensor | None = None,
                  bias: Tensor | None = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    """Each channel of each sample normalised to mean 0 and variance 1: a batch norm with each channel on its own.

    >>> torch.nn.functional.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return instance_norm_by(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def instance_norm_by(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
                     use_input_stats: bool, momentum: float, eps: float) -> Tensor:  # fmt: skip
    """`instance_norm` with the argument order of `torch.instance_norm`."""
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
    count, channels = input.shape[0], input.shape[1]
    repeated: Any = [None if t is None else t.repeat(count) for t in (weight, bias, running_mean, running_var)]
    dtype = (input if weight is None else weight).dtype  # the running statistics may have another dtype
    repeated[2:] = [None if t is None else t.to(dtype) for t in repeated[2:]]
    flat = input.contiguous().view(1, count * channels, *input.shape[2:])
    result = batch_norm_by(flat, *repeated, use_input_stats, momentum, eps)
    if use_input_stats:
        for running, moved in ((running_mean, repeated[2]), (running_var, repeated[3])):
            if running is not None and moved is not None:
                running.detach().copy_(moved.detach().view(count, channels).mean(0))
    return result.view(input.shape)


saved_as_input(OPS["_native_batch_norm"])
