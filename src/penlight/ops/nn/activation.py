"""Activations, softmax, and clamping."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import softmax as _softmax_kernels
from ...kernels.elementwise import activation as _activation_kernels, one_pass
from ...kernels.elementwise.strategies import COMPILED, COSTLY, FEW_SELECTED, HALVES
from ...kernels.rows import is_half, narrow, widen
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.arguments import wrap_dim
from ..machinery.declare import OPS, OpCall, differentiable, install_method, method, op_forms, pointwise
from ..machinery.guards import along_dim, cannot_cast, need_number, not_implemented
from ..machinery.op import traits
from ..machinery.rules import zero_gradient
from ..machinery.ufunc_calls import arithmetic
from ..pointwise.elementary import _as_operands

__all__ = ["clamp", "clamp_max", "clamp_min", "clip", "clip_", "log_softmax", "relu", "sigmoid", "softmax"]

NO_CLAMP = NotImplementedError("clamp is not supported for complex types")

# ----- Clamping -----------------------------------------------------------------------------------------------------


def _clip_integers(input: Any, min: Any, max: Any) -> Any:
    """Clamp integers by one call for both limits, which is faster in NumPy than one limit at a time with a scalar operand."""
    dtype = input.dtype
    least, most = _limits(dtype)
    low = least if min is None else _as_limit(min, dtype)
    return input.clip(low, most if max is None else _as_limit(max, dtype))


@lru_cache(None)
def _limits(dtype: Any) -> tuple[int, int]:
    found = np.iinfo(dtype)
    return int(found.min), int(found.max)


def _as_limit(value: int, dtype: Any) -> int:
    """A scalar converted as in C: negative values wrap around in an unsigned type."""
    least, most = _limits(dtype)
    if not (least or -most) <= value <= most:
        name = "int" if dtype == np.int32 else f"{dtype}_t"
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return value if least else value & most


_INT_OR_NONE = (int, None.__class__)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _limited(ufunc: Any, input: Any, limit: Any) -> Any:
    """The larger or smaller of each element and a scalar; of 0 and -0 the element, as in PyTorch. Of two equal operands NumPy returns the
    second, for 16-bit floats the first."""
    return ufunc(input, limit) if input.dtype.itemsize == 2 else ufunc(limit, input)


@one_pass
def _clamp_array(input: Any, min: Any, max: Any) -> Any:
    if input.dtype.kind in "iu" and type(min) in _INT_OR_NONE and type(max) in _INT_OR_NONE:
        return _clip_integers(input, min, max)
    clipped = type(input) is np.ndarray and (input.dtype in _FLOATS or (input.size >= HALVES and is_half(input.dtype)))
    if clipped and (input.size >= FEW_SELECTED or (min is not None and max is not None)):
        # Three to four times as fast as `maximum` and `minimum` with scalars.
        low, high = -np.inf if min is None else min, np.inf if max is None else max
        return narrow(widen(input).clip(low, high), input.dtype)
    if min is not None:
        input = _limited(np.maximum, input, min)
    return input if max is None else _limited(np.minimum, input, max)


def _inside(input: Any, min: Any, max: Any) -> Any:
    if min is None:
        return input <= max
    return input >= min if max is None else (input >= min) & (input <= max)


@pointwise(_clamp_array, node="ClampBackward1",
           input=lambda grad, input, min, max, xp: xp.where(_inside(input, min, max), grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP})
def _clamp(input: Tensor, min: Any, max: Any) -> Tensor: ...


@pointwise(one_pass(lambda input, min: _clamp_array(input, min, None)), node="ClampMinBackward0",
           input=lambda grad, input, min, xp: xp.where(input >= min, grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP})
def _clamp_min(input: Tensor, min: Any) -> Tensor: ...


@pointwise(one_pass(lambda input, max: _clamp_array(input, None, max)), node="ClampMaxBackward0",
           input=lambda grad, input, max, xp: xp.where(input <= max, grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP})
def _clamp_max(input: Tensor, max: Any) -> Tensor: ...


@pointwise(np.maximum, node="ClampMinBackward1",
           input=lambda grad, input, min, xp: xp.where(input >= min, grad, 0.0),
           min=lambda grad, input, min, xp: xp.where(input < min, grad, 0.0))  # fmt: skip
@traits(refuses={"c": "maximum_cpu"})
def _clamp_min_tensor(input: Tensor, min: Tensor) -> Tensor: ...


@pointwise(np.minimum, node="ClampMaxBackward1",
           input=lambda grad, input, max, xp: xp.where(input <= max, grad, 0.0),
           max=lambda grad, input, max, xp: xp.where(input > max, grad, 0.0))  # fmt: skip
@traits(refuses={"c": "minimum_cpu"})
def _clamp_max_tensor(input: Tensor, max: Tensor) -> Tensor: ...


@pointwise(lambda input, min, max: np.minimum(np.maximum(input, min), max), node="ClampBackward0",
           input=lambda grad, input, min, max, xp: xp.where((input >= min) & (input <= max), grad, 0.0),
           min=lambda grad, input, min, max, xp: xp.where((input < min) & (min < max), grad, 0.0),
           max=lambda grad, input, min, max, xp: xp.where((input > max) | (max < min), grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP, "b": "clamp_cpu"})
def _clamp_tensor(input: Tensor, min: Tensor, max: Tensor) -> Tensor: ...


@pointwise(np.maximum, node="ClampBackward0",
           input=lambda grad, input, min, xp: xp.where(input >= min, grad, 0.0),
           min=lambda grad, input, min, xp: xp.where(input < min, grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP})
def _clamp_low(input: Tensor, min: Tensor) -> Tensor: ...


@pointwise(np.minimum, node="ClampBackward0",
           input=lambda grad, input, max, xp: xp.where(input <= max, grad, 0.0),
           max=lambda grad, input, max, xp: xp.where(input > max, grad, 0.0))  # fmt: skip
@traits(refuses={"c": NO_CLAMP})
def _clamp_high(input: Tensor, max: Tensor) -> Tensor: ...


_REAL = (float, int)
_OPTIONAL = (*_REAL, type(None))


@op_forms()
def clamp(in_place: bool, input: Tensor, min: Any = None, max: Any = None) -> OpCall:
    """Each element limited to a range; the gradient passes inside the range, bounds included.

    >>> torch.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(min, Tensor) or isinstance(max, Tensor):
        if min is None:
            return OPS["_clamp_high"], (input, max)
        if max is None:
            return OPS["_clamp_low"], (input, min)
        _, low, high = _as_operands(input, min, max)
        return OPS["_clamp_tensor"], (input, low, high)
    array = getattr(input, "_array", None)
    if array is not None and array.dtype.kind == "f" and type(min) in _OPTIONAL and type(max) in _OPTIONAL:
        return OPS["_clamp"], (input, min, max)
    min, max = (v if v is None else need_number(v) for v in (min, max))
    numbers = [v for v in (min, max) if v is not None]
    common = dtypes.result_dtype([input._array], numbers) if hasattr(input, "_array") else input.dtype
    if common is not input.dtype:
        if in_place:
            raise cannot_cast(common, input.dtype, in_c=True)
        input = input.to(common)
    return OPS["_clamp"], (input, min, max)


def _limit(in_place: bool, op: str, input: Any, limit: Any) -> OpCall:
    if type(limit) not in _REAL:
        limit = need_number(limit)
    if isinstance(limit, float) and input.dtype.category < dtypes.FLOATING:
        if in_place:
            raise cannot_cast(dtypes.get_default_dtype(), input.dtype, in_c=True)
        input = input.to(dtypes.get_default_dtype())
    return OPS[op + "_tensor" if isinstance(limit, Tensor) else op], (input, limit)


@op_forms()
def clamp_min(in_place: bool, input: Tensor, min: Any) -> OpCall:
    """Each element, at least `min`.

    >>> torch.tensor([-2.0, 0.5, 3.0]).clamp_min(0)
    tensor([0.0000, 0.5000, 3.0000])
    """
    return _limit(in_place, "_clamp_min", input, min)


@op_forms()
def clamp_max(in_place: bool, input: Tensor, max: Any) -> OpCall:
    """Each element, at most `max`.

    >>> torch.tensor([-2.0, 0.5, 3.0]).clamp_max(1)
    tensor([-2.0000,  0.5000,  1.0000])
    """
    return _limit(in_place, "_clamp_max", input, max)


clip, clip_ = clamp, Tensor.clamp_
install_method("clip", clamp)
install_method("clip_", clip_)

# ----- Rectifiers and sigmoids --------------------------------------------------------------------------------------


_FLOAT32 = np.dtype(np.float32)
_ZERO = np.zeros((), np.float32)
_MOST_SMALL = 512  # elements, up to which call overhead dominates


def _relu_array(input: Any) -> Any:
    if input.dtype is _FLOAT32 and input.size < COMPILED:
        return np.maximum(_ZERO, input)  # of 0 and -0 NumPy returns the second
    return _activation_kernels.relu(input)


def _threshold_array(input: Any, output: Any, threshold: float) -> Any:
    small = type(input) is np.ndarray and output.size <= _MOST_SMALL and threshold == 0.0
    if small and input.dtype is output.dtype is _FLOAT32 and input.shape == output.shape:
        passed = input.copy("K")
        passed[np.less_equal(output, _ZERO)] = 0.0
        return passed
    return _activation_kernels.threshold_backward(input, output, threshold)  # the gradient passes a NaN input


@pointwise(_threshold_array, node="ThresholdBackwardBackward0", inplace=False,
           input=lambda grad, output, threshold, xp: xp._threshold_backward(grad, output, threshold),
           output=zero_gradient)  # fmt: skip
def _threshold_backward(input: Tensor, output: Tensor, threshold: float) -> Tensor: ...


@pointwise(_relu_array, input=lambda grad, result, xp: xp._threshold_backward(grad, result, 0.0))
@traits(
    out=False,
    refuses={"c": NO_CLAMP, "b": RuntimeError("Boolean inputs not supported for relu")},
    keeps_finite=("op", "rules"),
)
def relu(input: Tensor) -> Tensor:
    """Each element, or 0 where it is negative.

    >>> torch.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """


def _sigmoid_array(input: Any) -> Any:
    if input.dtype.kind == "c":
        return 1 / (1 + np.exp(-input))
    if input.dtype.itemsize == 2 or (input.size >= COSTLY and input.dtype.kind == "f"):
        return _activation_kernels.sigmoid(input)
    out = np.asarray(np.exp(-input))
    out += 1
    return np.reciprocal(out, out=out)


@pointwise(arithmetic(lambda upstream, output: upstream * ((1 - output) * output)), inplace=False,
           upstream=lambda grad, output, xp: xp._sigmoid_backward(grad, output),
           output=lambda grad, upstream, output: upstream * grad * (1 - 2 * output))  # fmt: skip
def _sigmoid_backward(upstream: Tensor, output: Tensor) -> Tensor: ...


@pointwise(_sigmoid_array, floating=True, input=lambda grad, result, xp: xp._sigmoid_backward(grad, result))
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    >>> torch.sigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """


# ----- Softmax ------------------------------------------------------------------------------------------------------


@differentiable(_softmax_kernels.softmax_backward, node="SoftmaxBackwardDataBackward0",
                upstream=lambda grad, output, dim, xp: xp._softmax_backward(grad, output, dim),
                output=lambda grad, upstream, output, dim, xp:
                    grad * (upstream - _row_sum(upstream * output, dim, xp)) - upstream * _row_sum(grad * output, dim, xp))  # fmt: skip
def _softmax_backward(upstream: Tensor, output: Tensor, dim: int) -> Tensor: ...


@differentiable(_softmax_kernels.log_softmax_backward, node="LogSoftmaxBackwardDataBackward0",
                upstream=lambda grad, output, dim, xp: grad - _row_sum(grad * xp.exp(output), dim, xp),
                output=lambda grad, upstream, output, dim, xp: -grad * xp.exp(output) * _row_sum(upstream, dim, xp))  # fmt: skip
def _log_softmax_backward(upstream: Tensor, output: Tensor, dim: int) -> Tensor: ...


def _row_sum(values: Any, dim: int, xp: Any) -> Any:
    return xp._sum_dims(values, (dim,), True)


def _rule_on_rows(rule: Any, grad: Any, result: Any, dim: int, xp: Any) -> Any:
    if len(grad.shape):
        return rule(grad, result, dim)
    return xp.reshape(rule(xp.reshape(grad, (1,)), xp.reshape(result, (1,)), 0), ())


@differentiable(along_dim(_softmax_kernels.softmax), node="SoftmaxBackward0",
                input=lambda grad, result, dim, xp: _rule_on_rows(xp._softmax_backward, grad, result, dim, xp))  # fmt: skip
@traits(refuses={"c": "softmax_lastdim_kernel_impl"}, aten="_softmax")
def _softmax(input: Tensor, dim: int) -> Tensor: ...


@differentiable(along_dim(_softmax_kernels.log_softmax), node="LogSoftmaxBackward0",
                input=lambda grad, result, dim, xp: _rule_on_rows(xp._log_softmax_backward, grad, result, dim, xp))  # fmt: skip
@traits(refuses={"c": "log_softmax_lastdim_kernel_impl"}, aten="_log_softmax")
def _log_softmax(input: Tensor, dim: int) -> Tensor: ...


def _row_input(input: Tensor, dtype: Any, name: str) -> Tensor:
    if dtype is not None and input.dtype is not dtype:
        input = input.to(dtype)
    if input.dtype.category < dtypes.FLOATING and input.numel():
        raise not_implemented(f"{name}_lastdim_kernel_impl", input.dtype.np)
    return input


@method
def softmax(input: Tensor, dim: Any = None, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """exp(x), normalised to sum to one along a dimension.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    input = _row_input(input, dtype, "softmax")
    return _softmax(input, wrap_dim(dim, input.dim()), out=out)


@method
def log_softmax(input: Tensor, dim: Any = None, dtype: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, computed stably in one step.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    input = _row_input(input, dtype, "log_softmax")
    return _log_softmax(input, wrap_dim(dim, input.dim()), out=out)


# ----- What the tables of activations share ---------------------------------------------------------------------------


def need_floats(name: str, input: Tensor) -> None:
    """Refuse integers and complex numbers in PyTorch's words for its kernel of this name."""
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented(name, input.dtype.np)


def as_number(function: str, parameter: str, value: Any) -> Any:
    """A scalar, or the value of a 0-d tensor, which PyTorch accepts as a scalar."""
    if not isinstance(value, Tensor):
        return value
    if value.dim() or value.requires_grad:
        raise TypeError(f"{function}(): argument '{parameter}' (position 2) must be Number, not Tensor")
    return value.item()


def run(op: str, inplace: bool, *arguments: Any) -> Tensor:
    """Run an op or its in-place form."""
    return dispatch.run_in_place(OPS[op], arguments) if inplace else OPS[op].function(*arguments)
