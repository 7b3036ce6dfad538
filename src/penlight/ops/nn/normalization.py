"""Layer, RMS and group normalisation; batch_normalization.py has batch and instance normalisation.

The gradients of input, weight and bias are computed together: on arrays by a kernel, on tensors by ops that recompute the statistics, so
that these are differentiable too.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import norm as kernels
from ...kernels.copies.order import laid_out_like
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery.array_namespace import raw
from ..machinery.declare import OPS, differentiable
from ..machinery.guards import need_one_dtype, not_implemented
from ..machinery.op import traits
from ..machinery.rules import joint_rules, saved_as_input

__all__ = ["group_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]

Ints = tuple[int, ...]

# ----- Gradients from differentiable ops ----------------------------------------------------------------------------


def normalised(x: Any, dims: Ints, eps: float, centred: bool = True) -> tuple[Any, Any]:
    """Values normalised to mean 0 and variance 1 over `dims`, and the scale factor."""
    if centred:
        # Subtract an approximate mean first: the second subtraction then removes its rounding error, on small values.
        x = x - x.mean(dims, True).detach()
        x = x - x.mean(dims, True)
    rstd = ((x * x).mean(dims, True) + eps).rsqrt()
    return x * rstd, rstd


def input_grad(grad: Any, xhat: Any, rstd: Any, dims: Ints, centred: bool = True) -> Any:
    """The gradient of the normalised input: its components along ones and along the values are removed."""
    part = grad - xhat * (grad * xhat).mean(dims, True)
    if centred:
        part = part - grad.mean(dims, True)
    return part * rstd


def wide(*tensors: Any) -> list[Any]:
    """16-bit floats as float32."""
    return [t if t is None or t.dtype.itemsize != 2 else t.float() for t in tensors]


def parameter_gradients(
    grad: Any, xhat: Any, of_input: Any, dims: Ints, input: Any, weight: Any, needs: Any
) -> tuple[Any, ...]:
    """The gradients of input, weight and bias, each in the dtype of its tensor; those of the parameters are summed over `dims`."""
    of_weight = grad * xhat if needs[1] else None
    of_bias = grad if len(needs) > 2 and needs[2] else None
    if dims:
        of_weight, of_bias = (None if g is None else g.sum(dims) for g in (of_weight, of_bias))
    targets = (input, weight, input if weight is None else weight)
    return tuple(None if g is None else g.to(t.dtype) for g, t in zip((of_input, of_weight, of_bias), targets))


# ----- Layer --------------------------------------------------------------------------------------------------------


def _layer_array(input: Any, normalized_shape: Ints, weight: Any, bias: Any, eps: float) -> Any:
    return kernels.layer_norm(input, len(normalized_shape), weight, bias, eps)


def _layer_gradients(
    grads: Any, input: Any, weight: Any, normalized_shape: Ints, result1: Any, result2: Any, eps: float, needs: Any, xp: Any
) -> Any:  # fmt: skip
    """The gradients of a layer norm; without a mean (`result1`), those of an RMS norm."""
    dims, centred = len(normalized_shape), result1 is not None
    if xp is raw:
        return kernels.layer_norm_backward(grads[0], input, dims, result1, result2, weight, (*needs, False)[:3])
    g, x, w = wide(grads[0], input, weight)
    last, lead = tuple(range(-dims, 0)), tuple(range(input.dim() - dims))
    xhat, rstd = normalised(x, last, eps, centred)
    of_input = input_grad(g if w is None else g * w, xhat, rstd, last, centred) if needs[0] else None
    return parameter_gradients(g, xhat, of_input, lead, input, weight, needs)


@differentiable(_layer_array, node="NativeLayerNormBackward0", results=("result0", "result1", "result2"),
                **joint_rules(_layer_gradients, "input", "weight", "bias"))  # fmt: skip
@traits(refuses={"biuc": "LayerNormKernelImpl"}, backward="grad input result1 result2 weight bias", returned=1)
def _native_layer_norm(
    input: Tensor, normalized_shape: Ints, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Any: ...


def _rms_gradients(
    grads: Any, input: Any, weight: Any, normalized_shape: Ints, result1: Any, eps: float, needs: Any, xp: Any
) -> Any:
    of_input, of_weight, _ = _layer_gradients(grads, input, weight, normalized_shape, None, result1, eps, needs, xp)
    if xp is raw and of_input is not None:
        of_input = laid_out_like(of_input, grads[0])
    return of_input, of_weight


def _rms_array(input: Any, normalized_shape: Ints, weight: Any, eps: float) -> Any:
    out, _, rstd = kernels.layer_norm(input, len(normalized_shape), weight, None, eps, False)
    return out, rstd


@differentiable(_rms_array, node="FusedRmsNormBackward0", results=("result0", "result1"),
                **joint_rules(_rms_gradients, "input", "weight"))  # fmt: skip
@traits(channels_last=(4, 5), gradient_format="", aten="_fused_rms_norm", returned=1)
def _fused_rms_norm(input: Tensor, normalized_shape: Ints, weight: Tensor | None, eps: float) -> Any: ...


def check_layer(name: str, input: Any, normalized_shape: Any, weight: Any, bias: Any) -> Ints:
    if not isinstance(normalized_shape, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'normalized_shape' (position 2) must be tuple of ints, not {type(normalized_shape).__name__}"
        )
    shape, size = tuple(normalized_shape), input._array.shape
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for what, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor._array.shape != shape:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(tensor.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if size[len(size) - len(shape) :] != shape or len(shape) > len(size):
        listed = ", ".join(map(str, shape))
        star = "*, " if name == "layer_norm" else "*"
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{star}{listed}], but got input of size{list(size)}"
        )
    return shape


def check_parameters(input: Tensor, kernel: str, *parameters: Tensor | None) -> None:
    """Refuse non-float inputs, and parameters of another dtype than the input's, except float32 ones for 16-bit inputs."""
    dtype = input._array.dtype
    for p in parameters:
        if p is not None and p._array.dtype is not dtype:
            break
    else:
        if dtype.kind == "f":
            return
    given = [p for p in parameters if p is not None]
    mixed = bool(given) and given[0].dtype is not input.dtype
    if mixed:
        if any(p.dtype is not dtypes.float32 for p in given):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
        if input.dtype.itemsize != 2:
            raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented(kernel, input._array.dtype)
    if not mixed:
        for p in given[1:]:
            need_one_dtype(input, p)


def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """The last dimensions of the input normalised to mean 0 and variance 1, then scaled and shifted.

    >>> torch.nn.functional.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])
    """
    shape = check_layer("layer_norm", input, normalized_shape, weight, bias)
    check_parameters(input, "LayerNormKernelImpl", weight, bias)
    return _native_layer_norm(input, shape, weight, bias, eps)[0]


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """The last dimensions of the input divided by the root of their mean square, then scaled.

    >>> torch.nn.functional.rms_norm(torch.tensor([[1.0, 7.0]]), (2,))
    tensor([[0.2000, 1.4000]])
    """
    shape = check_layer("rms_norm", input, normalized_shape, weight, None)
    if input.dtype.category < dtypes.FLOATING:
        raise not_implemented("rms_norm", input._array.dtype)
    if eps is None:
        eps = float(np.finfo(np.float64 if input.dtype in (dtypes.float64, dtypes.complex128) else np.float32).eps)
    if input.dtype.category == dtypes.COMPLEX or (weight is not None and weight.dtype is not input.dtype):
        wide = input.float() if input.dtype in (dtypes.float16, dtypes.bfloat16) else input
        result = wide * (wide.pow(2).mean(tuple(range(-len(shape), 0)), True) + eps).rsqrt()
        return (result if weight is None else result * weight).to(input.dtype)
    return _fused_rms_norm(input, shape, weight, eps)[0]


# ----- Group --------------------------------------------------------------------------------------------------------


def _group_backward(
    grad: Any, input: Any, weight: Any, group: int, mean: Any, rstd: Any, eps: float, needs: Any, xp: Any
) -> Any:
    """The gradients of input, weight and bias from that of the normalised values."""
    if xp is raw:
        return kernels.group_norm_backward(grad, input, group, mean, rstd, weight, needs)
    g, x, w = wide(grad, input, weight)
    shape = input.shape
    xhat, rstd = normalised(x.reshape(shape[0], group, shape[1] // group * prod(shape[2:])), (2,), eps)
    of_xhat = g if w is None else g * w.reshape(1, shape[1], *(1,) * (input.dim() - 2))
    of_input = input_grad(of_xhat.reshape(xhat.shape), xhat, rstd, (2,)).reshape(shape) if needs[0] else None
    dims = (0, *range(2, input.dim()))
    return parameter_gradients(g, xhat.reshape(shape), of_input, dims, input, weight, needs)


def _statistics_backward(
    of_mean: Any, of_rstd: Any, input: Any, group: int, mean: Any, rstd: Any, eps: float, xp: Any
) -> Any:
    """The gradient of the input, given those of the means and of the reciprocal deviations."""
    groups = input.reshape(input.shape[0], group, prod(input.shape[1:]) // group)
    if xp is raw:
        rstd = rstd[..., None].astype(input.dtype)
        xhat = (groups - mean[..., None].astype(input.dtype)) * rstd
    else:
        xhat, rstd = normalised(groups, (2,), eps)
    terms = [] if of_mean is None else [of_mean[..., None] + 0 * xhat]
    if of_rstd is not None:
        terms.append(-of_rstd[..., None] * rstd * rstd * xhat)
    return (sum(terms[1:], terms[0]) / xhat.shape[-1]).reshape(input.shape)


def _group_gradients(
    grads: Any, input: Any, weight: Any, group: int, result1: Any, result2: Any, eps: float, needs: Any, xp: Any
) -> Any:
    grad, of_mean, of_rstd = grads
    found: Any = (None, None, None)
    if grad is not None:
        found = _group_backward(grad, input, weight, group, result1, result2, eps, needs, xp)
    if needs[0] and (of_mean is not None or of_rstd is not None):
        used = _statistics_backward(of_mean, of_rstd, input, group, result1, result2, eps, xp)
        found = (used if found[0] is None else found[0] + used, *found[1:])
    return found


def _group_array(input: Any, weight: Any, bias: Any, group: int, eps: float) -> Any:
    return kernels.group_norm(input, group, weight, bias, eps)


@differentiable(_group_array, node="NativeGroupNormBackward0", results=("result0", "result1", "result2"),
                **joint_rules(_group_gradients, "input", "weight", "bias"))  # fmt: skip
@traits(channels_last=(4, 5), refuses={"biuc": "GroupNormKernelImpl"}, returned=1)
def _native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float) -> Any: ...


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """Groups of channels of each sample normalised to mean 0 and variance 1, then scaled and shifted by channel.

    >>> torch.nn.functional.group_norm(torch.tensor([[1.0, 3.0, 5.0, 5.0]]), 2)
    tensor([[-1.0000,  1.0000,  0.0000,  0.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    shape = list(input.shape)
    if shape[0] * (shape[1] // num_groups) * prod(shape[2:]) == 1:
        listed = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {listed}")
    return group_norm_by(input, num_groups, weight, bias, eps)


def group_norm_by(input: Tensor, num_groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Tensor:
    """`group_norm` without the check for a single value; this is `torch.group_norm`."""
    shape = list(input.shape)
    if num_groups <= 0:
        raise RuntimeError("Expected num groups to be greater than 0, got " + str(num_groups))
    if shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
            f"num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tuple(tensor.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(tensor.shape)} and input of shape {shape}"
            )
    check_parameters(input, "GroupNormKernelImpl", weight, bias)
    return _native_group_norm(input, weight, bias, num_groups, eps)[0]


saved_as_input(*(OPS[name] for name in ("_native_layer_norm", "_native_group_norm", "_fused_rms_norm")))


# ----- Scaling by neighbouring channels, and to length one ------------------------------------------------------------


_padding = lazy_import(globals(), "_padding", ".padding")
_pool = lazy_import(globals(), "_pool", ".pool")


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element divided by a power of the mean square over neighbouring channels.

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 3), 2).shape
    torch.Size([1, 2, 3])
    """
    ndim = input.dim()
    if ndim < 3:
        gap = " " * 26
        raise ValueError(f"Expected 3D or higher dimensionality{gap}input (got {ndim} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if ndim == 3:
        padded = _padding.pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        mean = _pool.avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        shape = input.shape
        padded = _padding.pad(
            squares.view(shape[0], 1, shape[1], shape[2], -1), (0, 0, 0, 0, size // 2, (size - 1) // 2)
        )
        mean = _pool.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """The input divided by its norm along a dimension.

    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else OPS["_div"].function(input, length, out=out)
