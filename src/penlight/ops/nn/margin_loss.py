"""Losses with margins, between classes and between pairs or triples of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.grad_mode import no_grad
from ...autograd.modes import slow
from ...kernels import distance as distance_kernels, index_width
from ...kernels.copies.order import laid_out_like
from ...kernels.elementwise import apply
from ...kernels.elementwise.strategies import COSTLY
from ...kernels.loss import compiled
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..machinery.arguments import broadcast_shape, values_of, wrap_dim
from ..machinery.declare import differentiable
from ..machinery.guards import cannot_cast, refuse_complex_gradient, unrecorded
from ..machinery.op import traits
from ..pointwise.elementary import minimum, where
from ..reduce.norms import _norm_array, _norm_rule
from ..reduce.sums import _sum_array
from .loss_reduction import legacy_word, not_differentiable, reduce_values, reduction_number, unreduce
from .smooth_activation import logsigmoid

__all__ = [
    "cosine_embedding_loss", "cosine_similarity", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "pairwise_distance", "soft_margin_loss",
    "triplet_margin_loss", "triplet_margin_with_distance_loss"
]  # fmt: skip

Ints = tuple[int, ...]

# ----- Classes ------------------------------------------------------------------------------------------------------


def _soft_margins(input: Any, target: Any) -> Any:
    return np.log1p(np.exp(-target * input))


def _soft_margin_array(input: Any, target: Any, reduction: int) -> Any:
    if input.dtype.kind in "biu":
        if input.dtype.kind == "b":
            raise RuntimeError(
                "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
                "`logical_not()` operator instead."
            )
        raise cannot_cast(dtypes.float32, dtypes.from_np(input.dtype))
    with silent():
        values = apply(_soft_margins, input, target) if input.size >= COSTLY else _soft_margins(input, target)
        return reduce_values(values, reduction) if reduction else laid_out_like(values, input)


def _soft_margin_rule(grad: Any, input: Any, target: Any, reduction: int, xp: Any) -> Any:
    return -target * xp.sigmoid(-target * input) * unreduce(grad, tuple(input.shape), reduction)


@differentiable(_soft_margin_array, node="SoftMarginLossBackward0", input=_soft_margin_rule)
@traits(backward="grad input")
def _soft_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...


def soft_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input)) for targets 1 and -1.

    >>> torch.nn.functional.soft_margin_loss(torch.zeros(1), torch.ones(1))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    not_differentiable("soft_margin_loss", target=target)
    refuse_complex_gradient("soft_margin_loss", input)
    kind, shape = input.dtype, broadcast_shape(tuple(input.shape), tuple(target.shape))
    if shape != tuple(input.shape):
        raise RuntimeError(f"output with shape {list(input.shape)} doesn't match the broadcast shape {list(shape)}")
    common = dtypes.result_dtype([input._array, target._array])
    if common is kind:
        return _soft_margin_loss(input, target.to(common).expand(shape), number)
    if kind.category < dtypes.FLOATING or not dtypes.can_cast(common, kind):
        _soft_margin_array(input._array, target._array, 0)  # refuses integers
        raise cannot_cast(common, kind)
    losses = _soft_margin_loss(input.to(common), target.to(common).expand(shape), 0).to(kind)
    return reduce_values(losses, number)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
                                reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The mean over classes of the binary cross entropy of logits.

    >>> torch.nn.functional.multilabel_soft_margin_loss(torch.zeros(1, 2), torch.ones(1, 2))
    tensor(0.6931)
    """
    if size_average is not None or reduce is not None:
        reduction = legacy_word(size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    last = input.dim() - 1
    losses = losses.sum(last) / input.shape[last]
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    return reduce_values(losses, reduction_number(reduction))


# The rules below work in both namespaces: comparisons with the margin give masks of plain arrays.


def _plain(x: Any) -> Any:
    return getattr(x, "_array", x)


def _of_each_sample(grad: Any, count: int, reduction: int) -> Any:
    """The gradient of each sample's loss, as a column."""
    grad = grad / count if reduction == 1 else grad
    return grad.reshape((-1, 1) if reduction == 0 else (1, 1))


def _rows(x: Any) -> Any:
    return x if len(x.shape) == 2 else x.reshape((1, x.shape[0] if len(x.shape) else 1))


def _multi_margin_parts(input: Any, target: Any, margin: float) -> tuple[Any, Any, Any]:
    """The distances into the margin, 0 for the target itself; row indices; targets."""
    x, t = _rows(input), _plain(target).reshape(-1)
    rows = np.arange(len(t))
    short = x + (margin - x[rows, t][:, None])
    outside = ~(_plain(short) > 0)  # NaN counts as no distance, as in PyTorch
    outside[rows, t] = True
    return short, outside, t


def _multi_margin_array(input: Any, target: Any, p: int, margin: float, weight: Any, reduction: int) -> Any:
    x, t = np.ascontiguousarray(_rows(input)), target.reshape(-1)
    count, classes = x.shape
    position = t + np.arange(0, count * classes, classes)
    short = x + (margin - x.take(position)[:, None])
    short.reshape(-1)[position] = 0
    np.fmax(short, 0, short)  # NaN counts as no distance, as in PyTorch
    losses = np.add.reduce(short if p == 1 else short * short, 1) / classes
    if weight is not None:
        losses = losses * weight[t]
    return reduce_values(losses.astype(input.dtype, copy=False).reshape(target.shape), reduction)


def _multi_margin_rule(
    grad: Any, input: Any, target: Any, p: int, margin: float, weight: Any, reduction: int, xp: Any
) -> Any:
    short, outside, t = _multi_margin_parts(input, target, margin)
    n, classes = short.shape
    scale = np.ones((n, 1), _plain(short).dtype) if weight is None else _plain(weight)[t][:, None]
    mask = xp.constant((~outside * (scale / classes)).astype(_plain(short).dtype))
    slopes = mask if p == 1 else mask * short * 2.0
    slopes = slopes * _of_each_sample(grad, n, reduction)
    chosen = np.zeros((n, classes), bool)
    chosen[np.arange(n), t] = True
    return (slopes - xp.constant(chosen.astype(_plain(short).dtype)) * slopes.sum(1).reshape((n, 1))).reshape(
        tuple(input.shape)
    )


@differentiable(_multi_margin_array, node="MultiMarginLossBackward0", input=_multi_margin_rule)
@traits(refuses={"biuch": "multi_margin_loss_cpu_kernel"})
def _multi_margin_loss(
    input: Tensor, target: Tensor, p: int, margin: float, weight: Tensor | None, reduction: int
) -> Tensor: ...


def _need_scores(input: Tensor) -> None:
    shape = list(input.shape)
    if len(shape) > 2 or shape[-1:] == [0]:
        raise RuntimeError(f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}")


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """How far the scores of other classes are within a margin of the target's, to the power of 1 or 2, averaged over classes.

    >>> torch.nn.functional.multi_margin_loss(torch.tensor([[0.0, 0.5]]), torch.tensor([1]))
    tensor(0.2500)
    """
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    _need_scores(input)
    count = input.shape[0] if input.dim() == 2 else 1
    classes = input.shape[-1] if input.dim() else 1
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.LEGACY[target.dtype]}")
    if target.dim() > 1 or target.numel() != count:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected "
            f"target size [{count}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    not_differentiable("multi_margin_loss", weight=weight)
    where_to = values_of(target)
    if where_to.size and (where_to.item(where_to.argmin()) < 0 or where_to.item(where_to.argmax()) >= classes):
        raise RuntimeError("target out of range")
    return _multi_margin_loss(input, target, p, margin, weight, number)


def _labels(target: Any, classes: int) -> tuple[Any, Any, Any]:
    """For rows of labels that end at the first -1: which entries are labels, with the rest set to 0; and which classes occur."""
    t = _rows(_plain(target))
    listed = np.cumprod(t >= 0, 1).astype(bool)
    labels = np.where(listed, t, 0)
    named = np.zeros((len(t), classes), bool)
    rows = np.broadcast_to(np.arange(len(t))[:, None], t.shape)
    named[rows[listed], labels[listed]] = True
    return listed, labels, named


def _close_pairs(input: Any, target: Any) -> tuple[Any, Any, Any, Any]:
    """1 - (score of a label) + (score of a class not in the target) for all such pairs (N, labels, classes), and where it counts."""
    x = _plain(_rows(input))
    listed, labels, named = _labels(target, x.shape[1])
    short = 1 - np.take_along_axis(x, labels, 1)[:, :, None] + x[:, None, :]
    counts = (short > 0) & listed[:, :, None] & ~named[:, None, :]
    return short, counts, labels, named


def _multilabel_array(input: Any, target: Any, reduction: int) -> Any:
    found = compiled.multilabel_margin(_rows(input), _rows(target))
    if found is not None:
        return reduce_values(found.reshape(target.shape[:-1]), reduction)
    short, counts, _, _ = _close_pairs(input, target)
    losses = (np.where(counts, short, 0).sum((1, 2)) / short.shape[2]).astype(input.dtype, copy=False)
    return reduce_values(losses.reshape(target.shape[:-1]), reduction)


def _multilabel_rule(grad: Any, input: Any, target: Any, reduction: int, xp: Any) -> Any:
    slopes = compiled.multilabel_margin(_plain(_rows(input)), _rows(_plain(target)), True)
    if slopes is None:
        short, counts, labels, _ = _close_pairs(input, target)
        slopes = counts.sum(1).astype(short.dtype)
        positions = labels + np.arange(len(labels))[:, None] * slopes.shape[1]  # may contain duplicates
        slopes -= index_width.bincount(positions.reshape(-1), counts.sum(2).reshape(-1), slopes.size).reshape(
            slopes.shape
        )
    n, classes = slopes.shape
    slopes /= classes
    return (xp.constant(slopes) * _of_each_sample(grad, n, reduction)).reshape(tuple(input.shape))


@differentiable(_multilabel_array, node="MultilabelMarginLossBackward0", input=_multilabel_rule)
@traits(refuses={"biuch": "multilabel_margin_loss_forward_out_frame"})
def _multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
                           reduction: str = "mean") -> Tensor:  # fmt: skip
    """How far the scores of classes outside of the target are within 1 of those in it. A target lists classes and ends with -1.

    >>> torch.nn.functional.multilabel_margin_loss(torch.tensor([0.0, 0.5]), torch.tensor([1, -1]))
    tensor(0.2500)
    """
    number = reduction_number(reduction, size_average, reduce)
    _need_scores(input)
    if target.shape != input.shape and not (input.dim() < 2 and target.dim() < 2 and input.numel() == target.numel()):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    if target.dtype is not dtypes.int64:
        raise RuntimeError(f"expected scalar type Long but found {dtypes.LEGACY[target.dtype]}")
    labels = values_of(target)
    classes = input._array.shape[-1] if input.dim() else 1
    if labels.size and (labels.item(labels.argmin()) < -1 or labels.item(labels.argmax()) >= classes):
        raise RuntimeError("argument #2 'target' is out of range")
    return _multilabel_margin_loss(input, target, number)


# ----- Pairs and triples --------------------------------------------------------------------------------------------


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None,
                         reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """The input where the target is 1, and its distance below the margin where the target is -1.

    >>> torch.nn.functional.hinge_embedding_loss(torch.tensor([0.5, 0.25]), torch.tensor([1, -1]), reduction="none")
    tensor([0.5000, 0.7500])
    """
    return hinge_embedding(input, target, margin, reduction_number(reduction, size_average, reduce))


def hinge_embedding(input: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """`hinge_embedding_loss` with its reduction given as a number."""
    none = input.new_zeros(())
    apart = where(target != 1, (input.new_tensor(margin) - input).clamp_min(0), none)
    return reduce_values(apart + where(target != -1, input, none), reduction)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                        reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin): the first should be larger where the target is 1, else the second.

    >>> torch.nn.functional.margin_ranking_loss(torch.tensor([1.0]), torch.tensor([3.0]), torch.tensor([1.0]))
    tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return margin_ranking(input1, input2, target, margin, number)


def margin_ranking(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """`margin_ranking_loss` with its reduction given as a number."""
    apart = input1 - input2
    return reduce_values((-target * apart + float(margin)).clamp_min(0), reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
                          reduce: bool | None = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """One minus the cosine of two vectors where the target is 1, and the cosine's excess over the margin where it is -1.

    >>> torch.nn.functional.cosine_embedding_loss(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([-1]))
    tensor(1.)
    """
    return cosine_embedding(input1, input2, target, margin, reduction_number(reduction, size_average, reduce))


def cosine_embedding(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """`cosine_embedding_loss` with its reduction given as a number."""
    dims = target.dim()
    if dims > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != dims + 1 or input2.dim() != dims + 1:
        raise RuntimeError(
            f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with sizes {list(input1.shape)} and "
            f"{list(input2.shape)}."
        )
    sizes = ((input1 * input1).sum(dims) + 1e-12) * ((input2 * input2).sum(dims) + 1e-12)
    cosine = (input1 * input2).sum(dims) / sizes.sqrt()
    near, far = where(target == 1, 1 - cosine, 0.0), where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    return reduce_values(near + far, reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, size_average: bool | None = None, reduce: bool | None = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    >>> a, b = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> torch.nn.functional.triplet_margin_loss(a, a, b, margin=3.0).round(decimals=3)
    tensor(2.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return triplet_margin(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: int
) -> Tensor:
    """`triplet_margin_loss` with its reduction given as a number."""
    return _triplet(lambda a, b: pairwise_distance(a, b, p, eps), anchor, positive, negative, margin, swap, reduction)


def _triplet(
    distance: Any, anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, swap: bool, reduction: int
) -> Tensor:
    dims = (anchor.dim(), positive.dim(), negative.dim())
    if len(set(dims)) != 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_values((margin + near - far).clamp_min(0), reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """`triplet_margin_loss` with a custom distance function.

    >>> a, b = torch.tensor([[0.0]]), torch.tensor([[1.0]])
    >>> torch.nn.functional.triplet_margin_with_distance_loss(a, a, b, distance_function=lambda x, y: (x - y).abs())
    tensor(0.)
    """
    number = reduction_number(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    return _triplet(distance, anchor, positive, negative, margin, swap, number)


@differentiable(_norm_array, node="NormBackward1", input=_norm_rule)
def _norm_along(input: Tensor, ord: Any, dim: Ints, keepdim: bool) -> Tensor: ...


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension.

    >>> torch.nn.functional.pairwise_distance(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    apart = x1 - x2 + eps
    return _norm_along(apart, p, (apart.dim() - 1,) if apart.dim() else (), keepdim)


def _cosines(x1: Any, x2: Any, length1: Any, length2: Any) -> Any:
    return (x1 / length1) * (x2 / length2)


def _cosine_array(x1: Any, x2: Any, dim: int, eps: float) -> Any:
    """`cosine_similarity` outside of graphs: all sums in one pass."""
    found = distance_kernels.cosines(x1, x2, dim, eps)
    if found is not None:
        return found
    with silent():
        lengths = [np.maximum(_norm_array(x, 2, (dim,), True), x.dtype.type(eps)) for x in (x1, x2)]
        cosines = apply(_cosines, x1, x2, *lengths) if x1.size >= COSTLY else _cosines(x1, x2, *lengths)
        return np.asarray(_sum_array(cosines, (dim,), False))


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension; norms are limited to at least `eps`.

    >>> torch.nn.functional.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    if not eps >= 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    common = dtypes.result_dtype([x1._array, x2._array])
    if common.category != dtypes.FLOATING:
        name = dtypes.LEGACY[common]
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {name}")
    if x1.shape == x2.shape and x1.dim() and x1.dtype is x2.dtype and common.itemsize > 2 and unrecorded((x1, x2)):
        return wrap(_cosine_array(x1._array, x2._array, wrap_dim(dim, x1.dim()), eps))
    shape = broadcast_shape(tuple(x1.shape), tuple(x2.shape))
    x1, x2 = x1.to(common).expand(shape), x2.to(common).expand(shape)
    lengths = [x.norm(2, dim, keepdim=True).clone() for x in (x1, x2)]
    if slow():  # under a transform: a write without gradient would drop the tangents' history
        lengths = [length + (length.clamp_min(eps) - length).detach() for length in lengths]
    else:
        with no_grad():
            for length in lengths:
                length.clamp_min_(eps)
    return ((x1 / lengths[0]) * (x2 / lengths[1])).sum(dim)
