"""RAdam: Adam that waits for its variance."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight.optim._declared import Group, State, added, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import Weight
from penlight.optim.optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(Elementwise, example=("lr=0.1", "[ 0.8000, -1.6000]")):
    """Adam that divides by the second moment only once that is known well enough, and rectifies it until then."""

    _options = "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
    _slots: ClassVar[dict[str, float]] = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    _checks = usual("lr", "eps", "betas", "weight_decay")
    _added = added("foreach maximize differentiable decoupled_weight_decay capturable")
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        corrections = 1 - beta1**step, (1 - beta2**step) ** 0.5
        rectification = _rectification(beta2, step)
        return Weight(1 - beta1), beta2, 1 - beta2, *corrections, rectification, -group["lr"], group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any) -> None:
        pace, keep, take, correction1, correction2, rectification, rate, eps = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        update = mean.div(correction1).mul(rate)
        if rectification is not None:
            update = update.mul(correction2 / square.sqrt().add(eps)).mul(rectification)
        p.add_(update)


def _rectification(beta2: float, step: float) -> float | None:
    """The factor that corrects the variance of the step, or None while too few gradients were seen."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * (beta2**step) / (1 - beta2**step)
    if not length > 5.0:
        return None
    return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
