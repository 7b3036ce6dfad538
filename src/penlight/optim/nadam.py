"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight.optim._declared import Group, State, added, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import Weight, number_of
from penlight.optim.optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(Elementwise, example=("lr=0.1", "[ 0.8944, -1.8944]")):
    """Adam that looks one step ahead, with a momentum that grows from half of ``betas[0]`` to all of it."""

    _options = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable"
    )
    _slots: ClassVar[dict[str, float]] = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    _checks = usual("lr", "eps", "betas", "weight_decay", "momentum_decay")
    _added = added("maximize foreach capturable differentiable decoupled_weight_decay")
    _captured = ("params, mu_products and state_steps", "params, mu_products, and state_steps")
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "mu_product": 1.0}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["momentum_decay"]
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (count * decay)) for count in (step, step + 1))
        product = scalars["mu_product"]
        product *= mu
        done = product if group["differentiable"] else number_of(product)
        of_grad, of_mean = -lr * (1.0 - mu) / (1.0 - done), -lr * mu_next / (1.0 - done * mu_next)
        return Weight(1 - beta1), beta2, 1 - beta2, 1 - beta2**step, group["eps"], of_grad, of_mean

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any) -> None:
        pace, keep, take, correction, eps, of_grad, of_mean = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        denominator = square.div(correction).sqrt().add(eps)
        for source, weight in ((grad, of_grad), (mean, of_mean)):
            if isinstance(weight, penlight.Tensor):
                p.addcdiv_(source * weight, denominator)
            else:
                p.addcdiv_(source, denominator, value=weight)
