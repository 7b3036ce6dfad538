"""What all losses share: the reduction, and for some a weight."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.nn import _reduction

from .module import Module

HOME = "penlight.nn.modules.loss"  # where PyTorch has all losses, and so what pickles name


class _Loss(Module):
    __module__ = HOME

    reduction: str

    def __init__(self, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = _reduction.legacy_get_string(size_average, reduce)
        self.reduction = reduction


class _WeightedLoss(_Loss):
    __module__ = HOME

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: Any = None,
        reduce: Any = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
