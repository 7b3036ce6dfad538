"""Distances between vectors: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from ._options import Options

__all__ = ["CosineSimilarity", "PairwiseDistance"]


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
