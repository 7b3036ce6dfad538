"""The adaptive softmax for very many classes of very different frequencies."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F

from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities and loss over classes sorted by frequency and cut into clusters.

    The head has the frequent classes, up to the first cutoff, and one score for each of the other clusters; a
    cluster is computed only for the rows whose targets are in it, and the rarer the smaller its projection.

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
        """Draws all weights anew."""
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
        """The most probable class of each row; the clusters are looked into only where the head points to one.

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
