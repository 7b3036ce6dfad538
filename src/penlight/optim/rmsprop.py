"""RMSprop."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.optim._declared import Group, State, added, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import Weight
from penlight.optim.optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(Elementwise, example=("lr=0.01", "[ 0.9000, -1.9000]")):
    """Gradient descent divided by the root of the running mean of the squared gradient.

    ``centered`` divides by the standard deviation instead. ``eps`` is added after the root.
    """

    _options = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    _checks = usual("lr", "eps", "momentum", "weight_decay", "alpha")
    _added = added("momentum centered foreach maximize differentiable capturable")
    _captured_on_xla = (True, True)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {name: 0.0 for name, wanted in names.items() if wanted}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        alpha, momentum = group["alpha"], group["momentum"] if group["momentum"] > 0 else None
        pace = Weight(1 - alpha) if group["centered"] else None
        return -group["lr"], alpha, 1 - alpha, pace, group["eps"], momentum

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, square: Any, *others: Any) -> None:
        rate, keep, take, pace, eps, momentum = numbers
        square.mul_(keep).addcmul_(grad, grad, value=take)
        if pace is not None:
            mean = others[-1].lerp_(grad, pace)
            square = square.addcmul(mean, mean, value=-1)
        root = square.sqrt().add(eps)
        if momentum is None:
            p.addcdiv_(grad, root, value=rate)
        else:
            p.add_(others[0].mul_(momentum).addcdiv_(grad, root), alpha=rate)
