"""Custom autograd functions used by modules."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.autograd.function import Function


class BackwardHookFunction(Function):
    """The identity on several tensors as one node, on which backward hooks can be registered."""

    @staticmethod
    def forward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        ctx.mark_non_differentiable(*[arg for arg in args if not arg.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Any, *args: Tensor) -> tuple[Tensor, ...]:
        return args
