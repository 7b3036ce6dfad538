"""Adadelta."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight.optim._declared import Check, Group, State, need, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim.optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(Elementwise, example=("lr=10.0", "[ 0.9684, -1.9684]")):
    """Steps scaled by the root of the running mean of past squared steps over that of squared gradients."""

    _options = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _slots: ClassVar[dict[str, float]] = {"square_avg": 0.0, "acc_delta": 0.0}
    _checks: ClassVar[dict[str, Check]] = {
        **usual("lr"),
        "rho": need(lambda rho: 0.0 <= rho <= 1.0, "Invalid rho value: {}"),
        **usual("eps", "weight_decay"),
    }
    _captured_on_xla = (False, False)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"], group["rho"], 1 - group["rho"], group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, square: Any, steps: Any) -> None:
        rate, keep, take, eps = numbers
        square.mul_(keep).addcmul_(grad, grad, value=take)
        delta = steps.add(eps).sqrt().div(square.add(eps).sqrt()).mul(grad)
        steps.mul_(keep).addcmul_(delta, delta, value=take)
        p.add_(delta, alpha=rate)
