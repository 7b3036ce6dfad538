"""Losses as modules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from penlight import Tensor
from penlight._common.docstrings import example
from penlight.nn import _reduction, functional as F

from ._options import Options
from .distance import PairwiseDistance
from .linear import Linear

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CrossEntropyLoss", "GaussianNLLLoss",
    "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LinearCrossEntropyLoss", "MSELoss", "MarginRankingLoss",
    "MultiLabelMarginLoss", "MultiLabelSoftMarginLoss", "MultiMarginLoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss",
    "SmoothL1Loss", "SoftMarginLoss", "TripletMarginLoss", "TripletMarginWithDistanceLoss",
]  # fmt: skip


class _Loss(Options, shown=""):
    """A loss has the option `reduction`; the flags `size_average` and `reduce` are its older form."""

    _not_kept = ("size_average", "reduce")

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None: ...

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss of the input for the target."""
        return self._function(input, target, *self._values(self))

    def _set_options(self, options: dict[str, Any]) -> None:
        flags = options.pop("size_average", None), options.pop("reduce", None)
        if flags != (None, None):
            options["reduction"] = _reduction.legacy_get_string(*flags)
        super()._set_options(options)


class _WeightedLoss(_Loss, shown=""):
    _tensor_options = ("weight",)

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean") -> None: ...  # fmt: skip


class L1Loss(_Loss, function=F.l1_loss, example=("()(torch.tensor([1.0, 5.0]), torch.zeros(2))", "tensor(3.)")):
    """The mean absolute difference."""


class MSELoss(_Loss, function=F.mse_loss, example=("()(torch.tensor([1.0, 3.0]), torch.zeros(2))", "tensor(5.)")):
    """The mean squared difference."""


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss,
                   example=("()(torch.tensor([3.0]), torch.zeros(1))", "tensor(2.5000)")):  # fmt: skip
    """Squared below `beta`, absolute above."""

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None: ...


class HuberLoss(_Loss, function=F.huber_loss,
                example=("(delta=2.0)(torch.tensor([3.0]), torch.zeros(1))", "tensor(4.)")):  # fmt: skip
    """Squared below `delta`, `delta` times absolute above."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None: ...

    def _check(self) -> None:
        if not isinstance(self.delta, (float, int)):
            raise TypeError(f"delta must be a float or int, got: {type(self.delta)}")


class NLLLoss(_WeightedLoss, function=F.nll_loss,
              example=("()(torch.tensor([[-0.5, -1.0]]), torch.tensor([1]))", "tensor(1.)")):  # fmt: skip
    """The negative of the log-probability of the target class."""

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean") -> None: ...  # fmt: skip


@example("issubclass(torch.nn.NLLLoss2d, torch.nn.NLLLoss)", "True")
class NLLLoss2d(NLLLoss):
    """Deprecated: `NLLLoss` does the same."""

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean") -> None:  # fmt: skip
        warnings.warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, example=("()(torch.zeros(1), torch.ones(1))", "tensor(1.)")):
    """The negative log-likelihood of counts under a Poisson distribution."""

    def __init__(self, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-08,
                 reduce: Any = None, reduction: str = "mean") -> None: ...  # fmt: skip

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(log_input, target, *self._values(self))


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss,
                      example=("()(torch.zeros(1), torch.full((1,), 2.0), torch.ones(1))", "tensor(2.)")):  # fmt: skip
    """The negative log-likelihood under a normal distribution of given mean and variance."""

    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> None: ...

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:  # type: ignore[override]
        return self._function(input, target, var, *self._values(self))


class KLDivLoss(_Loss, function=F.kl_div):
    """The Kullback-Leibler divergence of log-probabilities from target probabilities, element by element.

    >>> torch.nn.KLDivLoss(reduction="sum")(torch.tensor([0.5, 0.5]).log(), torch.tensor([1.0, 0.0]))
    tensor(0.6931)
    """

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", log_target: bool = False
    ) -> None: ...


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy,
              example=("()(torch.tensor([0.5]), torch.ones(1))", "tensor(0.6931)")):  # fmt: skip
    """The cross entropy of probabilities in [0, 1] with targets in [0, 1]."""


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits,
                        example=("()(torch.zeros(1), torch.ones(1))", "tensor(0.6931)")):  # fmt: skip
    """Sigmoid and `BCELoss` in one, which is stable."""

    _tensor_options = ("weight", "pos_weight")

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, reduce: Any = None,
                 reduction: str = "mean", pos_weight: Tensor | None = None) -> None: ...  # fmt: skip


class CrossEntropyLoss(_WeightedLoss, function=F.cross_entropy,
                       example=("()(torch.zeros(1, 4), torch.tensor([2]))", "tensor(1.3863)")):  # fmt: skip
    """The cross entropy of unnormalised scores with target classes or target probabilities."""

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean", label_smoothing: float = 0.0) -> None: ...  # fmt: skip


class LinearCrossEntropyLoss(_WeightedLoss,
        example=("(5, 3)(torch.randn(2, 5), torch.tensor([0, 2])).shape", "torch.Size([])")):  # fmt: skip
    """A linear map and the cross entropy of its result, in one module."""

    _shown = (
        "in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
        "bias={bias}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
        "label_smoothing={self.label_smoothing}, options={self.options}"
    )

    def __init__(self, in_features: int, num_classes: int, *, out_features: tuple[int, ...] = (), bias: bool = False,
                 device: Any = None, dtype: Any = None, reduction: str = "mean", weight: Tensor | None = None,
                 ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None) -> None:  # fmt: skip
        super().__init__(weight=weight, reduction=reduction)
        if weight is not None and weight.shape != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if label_smoothing < 0 or label_smoothing > 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        self.num_classes, self.out_features = num_classes, out_features
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        rows = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, rows, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape = (self.num_classes, *self.out_features)
        bias = self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape((*shape, self.linear.in_features)),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return self._shown.format(self=self, bias=self.linear.bias is not None)


class CTCLoss(_Loss, function=F.ctc_loss):
    """The connectionist temporal classification loss: labels without an alignment to the inputs.

    >>> log_probs = torch.zeros(2, 1, 2).log_softmax(2)
    >>> torch.nn.CTCLoss()(log_probs, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None: ...

    def forward(  # type: ignore[override]
        self, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor
    ) -> Tensor:
        return self._function(log_probs, targets, input_lengths, target_lengths, *self._values(self))


# Losses with a margin


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss,
                         example=("()(torch.tensor([3.0, 0.0]), torch.tensor([1, -1]))", "tensor(2.)")):  # fmt: skip
    """x where the target is 1, max(0, margin - x) where it is -1."""

    def __init__(
        self, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None: ...


class MultiLabelMarginLoss(_Loss, function=F.multilabel_margin_loss):
    """The hinge between the scores of the target classes and those of all others.

    >>> torch.nn.MultiLabelMarginLoss()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([[3, 0, -1, 1]]))
    tensor(0.8500)
    """


class SoftMarginLoss(_Loss, function=F.soft_margin_loss,
                     example=("()(torch.zeros(1), torch.ones(1))", "tensor(0.6931)")):  # fmt: skip
    """log(1 + exp(-y x)) for targets 1 and -1."""


class MultiLabelSoftMarginLoss(_WeightedLoss, function=F.multilabel_soft_margin_loss,
                               example=("()(torch.zeros(1, 3), torch.ones(1, 3))", "tensor(0.6931)")):  # fmt: skip
    """The binary cross entropy of each class, averaged over the classes."""


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss):
    """1 - cos for pairs that belong together (target 1), max(0, cos - margin) for others (target -1).

    >>> torch.nn.CosineEmbeddingLoss()(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), torch.ones(1))
    tensor(1.)
    """

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None: ...

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(input1, input2, target, *self._values(self))


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss,
        example=("()(torch.zeros(1), torch.full((1,), 2.0), torch.ones(1))", "tensor(2.)")):  # fmt: skip
    """max(0, -y (x1 - x2) + margin): x1 should rank above x2 where the target is 1, below where it is -1."""

    def __init__(
        self, margin: float = 0.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
    ) -> None: ...

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return self._function(input1, input2, target, *self._values(self))


class MultiMarginLoss(_WeightedLoss, function=F.multi_margin_loss,
        example=("()(torch.tensor([[0.1, 0.2, 0.4, 0.8]]), torch.tensor([3]))", "tensor(0.3250)")):  # fmt: skip
    """The hinge between the score of the target class and all others, to the power `p`."""

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Tensor | None = None, size_average: Any = None,
                 reduce: Any = None, reduction: str = "mean") -> None: ...  # fmt: skip

    def _check(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            dims = self.weight.dim()
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {dims}D instead")


class _TripletLoss(_Loss):
    def _check(self) -> None:
        if self.margin <= 0:
            kind = type(self).__name__
            raise ValueError(f"{kind}: expected margin to be greater than 0, got {self.margin} instead")

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:  # type: ignore[override]
        """The loss of distances from the anchor."""
        return self._function(anchor, positive, negative, *self._values(self))


class TripletMarginLoss(_TripletLoss, function=F.triplet_margin_loss):
    """max(0, distance to the positive - distance to the negative + margin).

    >>> anchor, far = torch.zeros(1, 1), torch.full((1, 1), 3.0)
    >>> torch.nn.TripletMarginLoss(eps=0.0)(anchor, far, anchor)
    tensor(4.)
    """

    def __init__(self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-06, swap: bool = False,
                 size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None: ...  # fmt: skip


class TripletMarginWithDistanceLoss(_TripletLoss, shown=""):
    """`TripletMarginLoss` with a distance of your own.

    >>> loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().sum(-1))
    >>> loss(torch.zeros(1, 1), torch.full((1, 1), 3.0), torch.zeros(1, 1))
    tensor(4.)
    """

    def __init__(self, *, distance_function: Callable[[Tensor, Tensor], Tensor] | None = None, margin: float = 1.0,
                 swap: bool = False, reduction: str = "mean") -> None: ...  # fmt: skip

    def _set_options(self, options: dict[str, Any]) -> None:
        super()._set_options({**options, "distance_function": options["distance_function"] or PairwiseDistance()})

    def _function(self, *tensors_and_options: Any) -> Tensor:
        names = ("anchor", "positive", "negative", "distance_function", "margin", "swap", "reduction")
        return F.triplet_margin_with_distance_loss(**dict(zip(names, tensors_and_options, strict=True)))
