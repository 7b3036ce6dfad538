"""Activations with weights, random slopes, or gates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels.elementwise import gated as kernels
from ...kernels.elementwise.activation import leaky_relu
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import silent
from ...random import engine_of, inside_vmap
from ...tensor import Tensor, wrap
from ..machinery.arguments import wrap_dim
from ..machinery.array_namespace import both, raw
from ..machinery.declare import differentiable, install_method, pointwise
from ..machinery.guards import not_implemented, plain_floats
from ..machinery.op import traits
from ..machinery.rules import joint_rules, zero_gradient
from ..pointwise.elementary import where
from ..shape.joining import cat
from .activation import need_floats, run, softmax as _softmax_along
from .piecewise_activation import leaky_result_rule

__all__ = ["glu", "gumbel_softmax", "prelu", "rrelu", "rrelu_", "softmin"]

_randomness = lazy_import(globals(), "_randomness", "...func.randomness")
_samplers = lazy_import(globals(), "_samplers", "...kernels.random.samplers")
_uniform = lazy_import(globals(), "_uniform", "...kernels.random.uniform")


@pointwise(lambda upstream, input, weight: np.where(input > 0, upstream, upstream * weight), inplace=False, node="PreluKernelBackwardBackward0",
           upstream=lambda grad, input, weight, xp: xp.where(input >= 0, grad, grad * weight), input=zero_gradient,
           weight=lambda grad, upstream, input, xp: xp.where(input >= 0, 0.0, grad * upstream))  # fmt: skip
def _prelu_input_backward(upstream: Tensor, input: Tensor, weight: Tensor) -> Tensor: ...


def _prelu_gradients(grad: Any, input: Any, weight: Any, needs: Any, xp: Any) -> Any:
    """The elementwise gradients; `pointwise` reduces that of the weight to its shape. The first and the second derivative treat 0
    differently, as in PyTorch."""
    if xp is raw:
        return kernels.prelu_backward(grad, input, weight)
    of_input = _prelu_input_backward(grad, input, weight) if needs[0] else None
    return of_input, where(input >= 0, 0.0, grad * input) if needs[1] else None


@pointwise(
    kernels.prelu, inplace=False, node="PreluKernelBackward0", **joint_rules(_prelu_gradients, "input", "weight")
)
@traits(channels_last=(4, 5), aten="_prelu_kernel")
def _prelu_kernel(input: Tensor, weight: Tensor) -> Tensor: ...


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else weight * x, with one weight or one for each channel.

    >>> torch.nn.functional.prelu(torch.tensor([-2.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.5000,  2.0000])
    """
    if input.dtype is not weight.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[weight.dtype]
        raise RuntimeError(f"prelu: Type promoting not supported. Got {kinds[0]} and {kinds[1]}")
    need_floats("prelu_cpu", input)
    shape, count = input._array.shape, weight._array.size
    if count != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size "
                f"= {channels}."
            )
    if weight._array.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}"
        )
    if input._array.flags.c_contiguous and plain_floats((input, weight)):
        return wrap(kernels.prelu(input._array, weight._array))
    if weight._array.ndim != len(shape):
        weight = weight.reshape([count if d == 1 else 1 for d in range(len(shape))])
    return _prelu_kernel(input, weight)


install_method("prelu", prelu)


def _rrelu_array(input: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    return input * noise if training else leaky_relu(input, (lower + upper) / 2)


@pointwise(lambda upstream, input, noise: upstream * noise, inplace=False,
           upstream=lambda grad, noise: grad * noise, input=zero_gradient)  # fmt: skip
def _rrelu_noisy_backward(upstream: Tensor, input: Tensor, noise: Tensor) -> Tensor: ...


def _rrelu_rule(grad: Any, input: Any, noise: Any, lower: float, upper: float, training: bool, xp: Any) -> Any:
    if training and upper - lower > 1e-6:
        return xp._rrelu_noisy_backward(grad, input, noise)
    return xp._leaky_relu_backward(grad, input, (lower + upper) / 2)


def _rrelu_result_rule(grad: Any, result: Any, noise: Any, lower: float, upper: float, training: bool, xp: Any) -> Any:
    if training and upper - lower > 1e-6:
        return xp._rrelu_noisy_backward(grad, result, noise)
    return leaky_result_rule(grad, result, (lower + upper) / 2, xp)


@differentiable(_rrelu_array, node="RreluWithNoiseBackward0", input=_rrelu_rule)
def _rrelu(input: Tensor, noise: Tensor | None, lower: float, upper: float, training: bool) -> Tensor: ...


@differentiable(_rrelu_array, node="RreluWithNoiseBackward1", inplace=True, input=_rrelu_result_rule)
def _rrelu_written(input: Tensor, noise: Tensor | None, lower: float, upper: float, training: bool) -> Tensor: ...


def _slopes_for(input: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """A random slope for each non-positive element, 1 for the others."""
    if inside_vmap():
        return _randomness.drawn_from((input,), lambda physical: _slopes_for(physical, lower, upper, generator))
    array = input._array
    noise = np.ones(array.shape, array.dtype)
    flat = array <= 0
    draws = _uniform.uniform53(engine_of(generator), (int(np.count_nonzero(flat)),))
    noise[flat] = draws * (upper - lower) + lower
    return wrap(noise)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """`leaky_relu` with a random slope for each element in training, and the mean slope otherwise.

    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    return rrelu_by(input, lower, upper, training, inplace, None)


def rrelu_by(input: Tensor, lower: float, upper: float, training: bool, inplace: bool, generator: Any) -> Tensor:
    """`rrelu` with slopes from a generator."""
    if isinstance(input, Tensor):
        need_floats("rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu", input)
        if training and input.dtype is dtypes.float16:
            raise not_implemented("rrelu_with_noise_out_cpu", input._array.dtype)
    for name, bound in (("lower", lower), ("upper", upper)) if training else ():
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound}")
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = _slopes_for(input, lower, upper, generator) if training else None
    return run("_rrelu_written" if inplace else "_rrelu", inplace, input, noise, lower, upper, training)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """In-place version of `rrelu`.

    >>> torch.nn.functional.rrelu_(torch.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """
    return rrelu_by(input, lower, upper, training, True, generator)


def _glu_slope(grad: Any, input: Any, dim: int) -> Any:
    first, second = input.chunk(2, dim)
    gate = second.sigmoid()
    part = grad * gate
    return cat([part, part * first * (1 - gate)], dim)


both("glu_backward", kernels.glu_backward, _glu_slope)


@differentiable(kernels.glu, node="GluBackward0", input=lambda grad, input, dim, xp: xp.glu_backward(grad, input, dim))
@traits(backward="grad input", refuses={"biuc": "glu_cpu"})
def _glu(input: Tensor, dim: int) -> Tensor: ...


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the input along a dimension, times the sigmoid of the second half.

    >>> torch.nn.functional.glu(torch.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = wrap_dim(dim, input.dim())
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    return _glu(input, axis)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of the negated input.

    >>> torch.nn.functional.softmin(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    dtype = dtypes.given(dtype)
    if dim is None:
        dim = softmax_dim("softmin", input.dim())
    return _softmax_along(-input, dim, dtype)


def softmax_dim(name: str, ndim: int) -> int:
    """The dimension used by old programs that pass none, after a warning."""
    warn_user(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


def _gumbels(logits: Tensor) -> Tensor:
    """Gumbel noise in the shape of a tensor."""
    engine, dtype = engine_of(None), logits._array.dtype

    def draw(shape: tuple[int, ...]) -> Any:
        with silent():
            return -np.log(_samplers.exponential(engine, shape, dtype))

    if inside_vmap():
        return _randomness.drawn(tuple(logits.shape), draw)
    return wrap(draw(tuple(logits.shape)))


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random sample near a corner of the simplex, differentiable in the logits; `hard` rounds it to a corner but keeps the soft
    sample's gradient.

    >>> bool(torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum() == 2)
    True
    """

    if eps != 1e-10:
        warn_user("`eps` parameter is deprecated and has no effect.")
    soft = _softmax_along((logits + _gumbels(logits)) / tau, dim)
    if not hard:
        return soft
    position = soft.max(dim, keepdim=True).indices
    corner = wrap(np.zeros(tuple(logits.shape), logits._array.dtype)).scatter(dim, position, 1.0)
    return corner - soft.detach() + soft
