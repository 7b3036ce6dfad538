"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight.optim._declared import Group, State, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import number_of
from penlight.optim.optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(Elementwise, example=("lr=0.1", "[ 0.8000, -1.6000]")):
    """Gradient descent with a decaying rate that also keeps the average of its iterates, in ``state[p]["ax"]``.

    The rate decays as ``lr / (1 + lambd * lr * t) ** alpha``; averaging starts at step ``t0``.
    """

    _options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _slots: ClassVar[dict[str, float]] = {"ax": 0.0}
    _checks = usual("lr", "weight_decay")
    _captured = ("params, mus, etas, and state_steps", "params, mus, etas, and state_steps")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        eta, mu, lr = number_of(scalars["eta"]), number_of(scalars["mu"]), group["lr"]
        scalars["eta"][...] = _rounded(lr / ((1 + group["lambd"] * lr * step) ** group["alpha"]))
        scalars["mu"][...] = _rounded(1 / max(1, step - group["t0"]))
        return 1 - group["lambd"] * eta, -eta, None if mu == 1 else mu

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, average: Any) -> None:
        shrink, rate, weight = numbers
        p.mul_(shrink).add_(grad, alpha=rate)
        if weight is None:
            average.copy_(p)
        else:
            average.add_(p.sub(average).mul_(weight))


def _rounded(number: Any) -> float:
    """What the following step takes: a number in the default dtype, as in PyTorch."""
    if isinstance(number, penlight.Tensor):
        return number.item()
    return float(penlight.get_default_dtype().np.type(number))
