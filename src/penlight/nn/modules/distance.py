"""Distances between vectors: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of the difference of vectors, row by row.

    >>> import penlight as torch
    >>> torch.nn.PairwiseDistance(p=1, eps=0.0)(torch.zeros(2, 3), torch.ones(2, 3))
    tensor([3., 3.])
    """

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances of `x1` from `x2`."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along a dimension.

    >>> import penlight as torch
    >>> torch.nn.CosineSimilarity(dim=0)(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0]))
    tensor(0.)
    """

    dim: int
    eps: float

    def __init__(self, dim: int = 1, eps: float = 1e-08) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The similarities of `x1` and `x2`."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
