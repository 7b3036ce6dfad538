"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight.optim._declared import Group, State, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import Weight
from penlight.optim.optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Adam that divides by a decaying maximum of the gradient's magnitude."""

    _options = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _slots: ClassVar[dict[str, float]] = {"exp_avg": 0.0, "exp_inf": 0.0}
    _checks = usual("lr", "eps", "betas", "weight_decay")

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        return Weight(1 - beta1), beta2, group["eps"], -group["lr"] / (1 - beta1**step)

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, largest: Any) -> None:
        pace, beta2, eps, step_size = numbers
        mean.lerp_(grad, pace)
        largest.copy_(largest.mul(beta2).maximum(grad.abs().add_(eps)))
        p.addcdiv_(mean, largest, value=step_size)
