"""Classification losses: negative log-likelihood and cross entropy.

# Note [Cross entropy in one go]
Cross entropy is log_softmax followed by nll_loss, and its graph shows these two nodes. In the plain case (logits (N, C)
and class indices) they share work: the forward pass keeps the exponentials and never computes the log-probabilities. In the backward pass,
nll_loss passes on its gradient, which is nearly all zeros; if log_softmax receives that same array, it scales the exponentials without
reading the array. With hooks in between, or with create_graph, each node computes separately.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd import modes
from ...kernels import loss as kernels, softmax as softmax_kernels
from ...kernels.loss import compiled
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..linalg.addmm import linear as apply
from ..machinery import dispatch
from ..machinery.array_namespace import both, graph
from ..machinery.declare import OPS, differentiable, linear
from ..machinery.guards import need_one_dtype, not_implemented
from ..machinery.op import traits
from ..pointwise.arithmetic import _div_number, _mul_number
from .activation import log_softmax
from .loss_reduction import WORDS, not_differentiable, reduction_number

__all__ = ["cross_entropy", "linear_cross_entropy", "nll_loss"]

Ints = tuple[int, ...]

# ----- Negative log-likelihood --------------------------------------------------------------------------------------


def _batch(array: Any, single: bool) -> Any:
    return array[None] if single else array


def _nll_array(input: Any, target: Any, weight: Any, ignore_index: int, reduction: int) -> Any:
    single = input.ndim == 1
    if not single and input.dtype.char in "fd":
        found = compiled.nll_loss(input, target, weight, ignore_index, reduction)
        if found is not None:
            return found
    where = target.reshape(1) if single else target
    loss, _ = kernels.nll_loss(_batch(input, single), where, weight, ignore_index, WORDS[reduction])
    return loss.reshape(()) if single else loss


def _nll_back_array(input: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shape: Ints) -> Any:
    input = np.asarray(input)
    single = len(shape) == 1
    if not single and input.dtype.char in "fd":
        found = compiled.nll_loss_backward(input, target, shape, weight, ignore_index, reduction)
        if found is not None:
            return found
    like = np.broadcast_to(np.zeros((), input.dtype), (1, *shape) if single else shape)
    if single:
        target, input = target.reshape(1), input.reshape(1) if reduction == 0 else input
    found = kernels.nll_loss_backward(input, like, target, weight, ignore_index, WORDS[reduction])
    return found[0] if single else found


def _nll_rule(
    grad: Any, input_shape: Ints, target: Any, weight: Any, ignore_index: int, reduction: int, xp: Any
) -> Any:
    return xp._nll_backward(grad, target, weight, ignore_index, reduction, input_shape)


@linear(_nll_back_array,
        input=lambda grad, target, weight, ignore_index, reduction, xp:
            xp._nll_loss(grad, target, weight, ignore_index, reduction))  # fmt: skip
def _nll_backward(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int, shape: Ints
) -> Tensor: ...


@linear(_nll_array, node="NllLossBackward0", input=_nll_rule)
@traits(backward="grad input")
def _nll_loss(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int) -> Tensor: ...


@linear(_nll_array, node="NllLoss2DBackward0", input=_nll_rule)
@traits(backward="grad input")
def _nll_loss2d(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int) -> Tensor: ...


def _check_nll(input: Tensor, target: Tensor, weight: Tensor | None, dims: int) -> Tensor:
    """Check the arguments; returns the target as int64."""
    shape, where = list(input._array.shape), list(target._array.shape)
    if dims <= 2:
        if len(where) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if dims == 1 and len(where) == 1 and where[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {where[0]}")
        if dims == 2 and where != shape[:1]:
            raise RuntimeError(f"size mismatch (got input: {shape}, target: {where})")
    else:
        if len(where) != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of size: : {where}"
            )
        if where != [shape[0], *shape[2:]]:
            raise RuntimeError(f"size mismatch (got input: {shape} , target: {where}")
    classes = shape[0] if dims == 1 else shape[1]
    if weight is not None:
        if list(weight.shape) != [classes]:
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
                f"{list(weight.shape)}"
            )
        not_differentiable("nll_loss_forward" if dims <= 2 else "nll_loss2d_forward", weight=weight)
        need_one_dtype(input, weight)
    if input.dtype.category != dtypes.FLOATING:
        raise not_implemented("nll_loss_out_frame" if dims <= 2 else "nll_loss2d_forward_out_frame", input._array.dtype)
    if target.dtype is dtypes.uint8:
        return target.long()
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {dtypes.LEGACY[target.dtype]}")
    return target


def _nll_any(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int) -> Tensor:
    """The negative log-likelihood for inputs of any number of dimensions."""
    dims = input.dim()
    if dims < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {dims})")
    if dims != 1 and (target.dim() == 0 or input._array.shape[0] != target._array.shape[0]):
        given = target.shape[0] if target.dim() else 0
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({given}).")
    if dims <= 2:
        return _nll_loss(input, _check_nll(input, target, weight, dims), weight, ignore_index, reduction)
    if dims == 4:
        return _nll_loss2d(input, _check_nll(input, target, weight, dims), weight, ignore_index, reduction)
    shape = (input.shape[0], *input.shape[2:])
    if tuple(target.shape) != shape:
        raise RuntimeError(f"Expected target size {list(shape)}, got {list(target.shape)}")
    wide = input.reshape(input.shape[0], input.shape[1], 1, -1)
    flat = target.reshape(target.shape[0], 1, -1)
    result = _nll_loss2d(wide, _check_nll(wide, flat, weight, 4), weight, ignore_index, reduction)
    return result.view(shape) if reduction == 0 else result


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
             reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """Minus the log-probability of each target class; the mean is weighted and excludes ignored targets.

    >>> torch.nn.functional.nll_loss(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))
    tensor(1.)
    """
    return _nll_any(input, target, weight, ignore_index, reduction_number(reduction, size_average, reduce))


# ----- Cross entropy ------------------------------------------------------------------------------------------------


class _Shared:
    """State shared by the two nodes of a fused cross entropy. See Note [Cross entropy in one go]."""

    __slots__ = ("dense", "keep", "saved", "unit")

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.saved: Any = None  # the values that the kernel's backward needs
        self.dense: Any = None  # the gradient that nll_loss passed on last, and the one it received
        self.unit: Any = None

    def log_probabilities(self) -> Any:
        saved = self.saved
        with silent():
            return np.log(saved.exps / saved.totals[:, None]).astype(saved.dtype, copy=False)


def _fused_nll_array(input: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shared: _Shared) -> Any:
    loss, shared.saved = kernels.cross_entropy(input, target, ignore_index, reduction, shared.keep)
    return loss


def _nll_dense(
    grad: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shape: Ints, shared: _Shared
) -> Any:
    """The gradient of nll_loss, given what its forward pass determined about the targets."""
    shared.dense, shared.unit = shared.saved.at_targets(grad), grad
    return shared.dense


def _log_softmax_fused(grad: Any, result: Any, shared: _Shared) -> Any:
    if grad is shared.dense:
        shared.dense = None
        return shared.saved.backward(shared.unit)
    return softmax_kernels.log_softmax_backward(np.asarray(grad), shared.log_probabilities(), 1)


def _log_softmax_graph(grad: Any, result: Any, shared: _Shared) -> Any:
    probabilities = wrap(shared.log_probabilities())
    probabilities._edge = result._edge
    return graph._log_softmax_backward(grad, probabilities, 1)


def _nll_graph(
    grad: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shape: Ints, shared: _Shared
) -> Any:
    return _nll_backward(grad, target, weight, ignore_index, reduction, shape)


both("log_softmax_shared", _log_softmax_fused, _log_softmax_graph)
both("nll_loss_shared", _nll_dense, _nll_graph)


# The result is never read: it represents the log-probabilities, which `_Shared` has in another form.
@differentiable(lambda input, dim, shared: input, node="LogSoftmaxBackward0",
                input=lambda grad, result, dim, shared, xp: xp.log_softmax_shared(grad, result, shared))  # fmt: skip
def _log_softmax_shared(input: Tensor, dim: int, shared: Any) -> Tensor: ...


@differentiable(_fused_nll_array, node="NllLossBackward0",
                input=lambda grad, input_shape, target, weight, ignore_index, reduction, shared, xp:
                    xp.nll_loss_shared(grad, target, weight, ignore_index, reduction, input_shape, shared))  # fmt: skip
@traits(backward="grad input")
def _nll_loss_shared(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int, shared: Any
) -> Tensor: ...


OPS["_log_softmax_shared"].Backward._saved_result = property(lambda node: wrap(node.s_shared.log_probabilities()))


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None, ignore_index: int = -100,
                  reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """The negative log-likelihood of the softmax of logits, for class indices or for class probabilities.

    >>> torch.nn.functional.cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    logits, where = input._array, target._array
    if (
        logits.ndim == 2
        and where.shape == logits.shape[:1]
        and where.dtype == np.int64
        and not label_smoothing
        and (not modes.slow() or dispatch.unwatched())
    ):
        if logits.dtype.kind == "f" and weight is None:
            shared = _Shared(input.requires_grad and modes.is_grad_enabled())
            return _nll_loss_shared(_log_softmax_shared(input, 1, shared), target, None, ignore_index, number, shared)
    if target.shape == input.shape:
        return _soft_targets(input, target, weight, ignore_index, number, label_smoothing)
    if label_smoothing > 0:
        if label_smoothing > 1:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
        return _smoothed(input, target, weight, ignore_index, number, label_smoothing)
    return _nll_any(log_softmax(input, 0 if input.dim() == 1 else 1), target, weight, ignore_index, number)


def _soft_targets(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int, smoothing: float
) -> Tensor:
    """Cross entropy with class probabilities as targets."""
    axis = 0 if input.dim() <= 1 else 1
    classes = input.shape[axis] if input.dim() else 1
    if target.dtype.category != dtypes.FLOATING:
        name = dtypes.LEGACY[target.dtype]
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {name}")
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    if weight is not None and (weight.dim() != 1 or weight.numel() != classes):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got weight tensor "
            f"of shape: {list(weight.shape)}"
        )
    if smoothing > 0:
        if smoothing > 1:
            raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing:g}")
        target = target * (1 - smoothing) + smoothing / classes
    logs = log_softmax(input, axis)
    if weight is not None:
        logs = logs * weight.view([classes if d == axis else 1 for d in range(max(input.dim(), 1))])
    products = logs * target
    if reduction == 0:
        return -products.sum(axis)
    if reduction == 2:
        return -products.sum()
    if input.dim() <= 1 or input.numel() == 0:
        return _div_number(-products.sum(), 1 if input.dim() <= 1 else 0)
    return _div_number(-products.sum(), input.numel() // classes)


def _smoothed(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: int, smoothing: float
) -> Tensor:
    """Cross entropy with a part of each target distributed over all classes."""
    axis = 0 if input.dim() == 1 else 1
    logs = log_softmax(input, axis)
    sharp = _nll_any(logs, target, weight, ignore_index, reduction)
    if input.dim() == 1 == target.dim():
        raise RuntimeError("output with shape [] doesn't match the broadcast shape [1]")
    classes = input.shape[axis]
    if weight is None:
        smooth = -logs.sum(axis)
    else:
        smooth = -(logs * weight.view([classes if d == axis else 1 for d in range(input.dim())])).sum(axis)
    ignored = (target == ignore_index).view(smooth.shape)
    smooth = smooth.masked_fill(ignored, 0)
    if reduction == 1:
        if weight is None:
            count: Any = (~ignored).sum()
        else:
            count = (
                weight.gather(0, target.masked_fill(target == ignore_index, 0).flatten())
                .masked_fill(ignored.flatten(), 0)
                .sum()
            )
        smooth = smooth.sum() / count
    elif reduction == 2:
        smooth = smooth.sum()
    return _mul_number(sharp, 1 - smoothing) + _mul_number(smooth, smoothing / classes)


def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None, weight: Tensor | None = None,
    reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """The cross entropy of a linear layer's output. `options`, which control chunking, are accepted without effect.

    >>> torch.nn.functional.linear_cross_entropy(torch.ones(1, 2), torch.zeros(2, 2), torch.tensor([1]))
    tensor(0.6931)
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    features, rest = input.shape[-1], tuple(linear_weight.shape[:-1])
    if features != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {features} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and tuple(linear_bias.shape) != rest:
        raise RuntimeError(f"expected linear_bias shape {rest}, got {tuple(linear_bias.shape)}")
    if len(rest) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, "
            f"{features}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], *rest)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    if options is not None and (len(rest) > 1 or label_smoothing or target.dtype is not dtypes.int64):
        warn_user(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing "
            f"== 0, target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
            f"target.dtype={target.dtype}, out_features={rest[1:]}, tracing=False, linear_bias.shape="
            f"{tuple(linear_bias.shape) if linear_bias is not None else None}."
        )
    if len(rest) > 1:
        linear_weight = linear_weight.reshape(-1, features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = apply(input, linear_weight, linear_bias).reshape(shape)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, reduction=reduction, ignore_index=ignored, label_smoothing=label_smoothing
    )
