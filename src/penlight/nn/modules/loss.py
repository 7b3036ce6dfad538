"""Losses, and the distances between vectors that some of them use."""

from __future__ import annotations

import dataclasses
import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import make_modules, names_of
from penlight._common.user_warnings import warn_user
from penlight.nn import _reduction, functional as F

from ._options import Options
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = names_of(__name__)


class PairwiseDistance(Options, example=("(p=1, eps=0.0)(torch.zeros(2, 3), torch.ones(2, 3))", "tensor([3., 3.])")):
    """The p-norm of the difference of vectors, row by row."""

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        self._set_options({"norm": p, "eps": eps, "keepdim": keepdim})

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Options, function=F.cosine_similarity,
        example=("(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))", "tensor(0.)")):  # fmt: skip
    """The cosine of the angle between vectors along a dimension."""

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None: ...

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return self._function(x1, x2, *self._values(self))


class _Loss(Options, shown=""):
    """The common base of losses: the option `reduction`, and its older form, the flags `size_average` and `reduce`."""

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
    """The squared error below `beta`, the absolute error above."""

    def __init__(
        self, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
    ) -> None: ...


class HuberLoss(_Loss, function=F.huber_loss,
                example=("(delta=2.0)(torch.tensor([3.0]), torch.zeros(1))", "tensor(4.)")):  # fmt: skip
    """The squared error below `delta`, `delta` times the absolute error above."""

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
    """Deprecated: the same as `NLLLoss`."""

    def __init__(self, weight: Tensor | None = None, size_average: Any = None, ignore_index: int = -100,
                 reduce: Any = None, reduction: str = "mean") -> None:  # fmt: skip
        warn_user(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement and see "
            "https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
        )
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, example=("()(torch.zeros(1), torch.ones(1))", "tensor(1.)")):
    """The negative log-likelihood of counts under a Poisson distribution."""

    def __init__(self, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-08,
                 reduce: Any = None, reduction: str = "mean") -> None: ...  # fmt: skip

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
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
    """Sigmoid and `BCELoss` combined, which is numerically stable."""

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
    """A linear map followed by the cross entropy, in one module."""

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
    """The CTC loss (connectionist temporal classification), for labels without an alignment to the inputs.

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
    """1 - cos for similar pairs (target 1), max(0, cos - margin) for dissimilar ones (target -1).

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
    """`TripletMarginLoss` with a custom distance.

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


@dataclasses.dataclass(slots=True, frozen=True)
@example("torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size", "64")
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` may trade memory for time; validated as in PyTorch.

    They select how the computation is chunked, not its result.
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto"):
            name, colon, factor = str(self.chunking_method).partition(":")
            if name != "aspect_ratio" or (colon and not (factor.isdigit() and int(factor) > 0)):
                raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")
        allowed = (None, penlight.float16, penlight.bfloat16, penlight.float32, penlight.float64)
        if self.acc_dtype not in allowed:
            raise ValueError(
                "acc_dtype must be one of {None, torch.float16, torch.bfloat16, torch.float32, torch.float64}, "
                f"got {self.acc_dtype!r}. Pass acc_dtype=None to let the op pick automatically."
            )


# ----- The adaptive softmax for very many classes of very different frequencies --------------------------------------


_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities and loss over classes sorted by frequency and cut into clusters.

    The head has the frequent classes, up to the first cutoff, and one score for each other cluster. A cluster is computed only for the rows
    whose targets are in it; rarer clusters have smaller projections.

    >>> m = torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[5, 10])
    >>> output, loss = m(torch.randn(4, 8), torch.tensor([0, 6, 12, 19]))
    >>> output.shape
    torch.Size([4])
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        cuts = list(cutoffs)
        if not cuts:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        increasing = all(low < high for low, high in pairwise(cuts))
        if not increasing or cuts[0] <= 0 or cuts[-1] > n_classes - 1 or any(int(cut) != cut for cut in cuts):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, "
                "where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cuts, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cuts[0]
        self.n_clusters = len(cuts)
        self.head_size = self.shortlist_size + self.n_clusters
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **factory)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (i + 1))
            into = Linear(in_features, hidden, bias=False, **factory)
            self.tail.append(Sequential(into, Linear(hidden, high - low, bias=False, **factory)))

    def reset_parameters(self) -> None:
        """Redraws all weights."""
        self.head.reset_parameters()
        for into, out in self.tail:
            into.reset_parameters()
            out.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        """The log-probability of each target and, as `loss`, the negative of their mean."""
        _check_shapes(input_, target_)
        batched = target_.dim() > 0
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        rows = target.size(0)
        output = input.new_zeros(rows)
        in_head = target.new_empty(rows)
        used = 0
        for i, (low, high) in enumerate(pairwise([0, *self.cutoffs])):
            here = (target >= low) & (target < high)
            indices = here.nonzero().squeeze(1)
            if indices.numel() == 0:
                continue
            used += indices.numel()
            if i == 0:
                in_head.index_copy_(0, indices, target[here])
                continue
            in_head.index_fill_(0, indices, self.shortlist_size + i - 1)
            log_probs = F.log_softmax(self.tail[i - 1](input.index_select(0, indices)), dim=1)
            own = log_probs.gather(1, (target[here] - low).unsqueeze(1)).squeeze(1)
            output.index_copy_(0, indices, own)
        if used != rows:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            of_cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(F.log_softmax(cluster(input), dim=1) + of_cluster)
        return penlight.cat(parts, dim=1)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row; a cluster is evaluated only for rows in which the head selects it.

        >>> torch.nn.AdaptiveLogSoftmaxWithLoss(4, 6, cutoffs=[2]).predict(torch.randn(3, 4)).shape
        torch.Size([3])
        """
        head_output = self.head(input)
        output = penlight.argmax(head_output, dim=1)
        elsewhere = output >= self.shortlist_size
        if elsewhere.any():
            log_probs = self._get_full_log_prob(input[elsewhere], head_output[elsewhere])
            output[elsewhere] = penlight.argmax(log_probs, dim=1)
        return output


def _check_shapes(input: Tensor, target: Tensor) -> None:
    dims = target.dim()
    if dims > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if dims == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != dims + 1:
        raise RuntimeError(
            f"{dims}D target tensor expects {dims + 1}D input tensors, but found inputs with size {input.size()}"
        )


make_modules(__name__)
