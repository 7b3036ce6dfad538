"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import penlight
from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim.optimizer import ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["ASGD"]


class ASGD(Elementwise):
    """Gradient descent with a decaying rate that also keeps the average of its iterates, in ``state[p]["ax"]``.

    The rate decays as ``lr / (1 + lambd * lr * t) ** alpha``; averaging starts at step ``t0``.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.8000, -1.6000], requires_grad=True)
    """

    _captured = ("params, mus, etas, and state_steps", "params, mus, etas, and state_steps")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "eta": float(group["lr"]), "mu": 1.0}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"ax": 0.0}

    @staticmethod
    def _next(group: Group, step: float) -> tuple[float, float]:
        """The rate and the weight of the average for the following step, rounded to the default dtype as in PyTorch."""
        lr = _to_scalar(group["lr"])
        rate = lr / ((1 + group["lambd"] * lr * step) ** group["alpha"])
        return penlight.as_tensor(rate).item(), penlight.as_tensor(1 / max(1, step - group["t0"])).item()

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        average, rate, weight = state["ax"], state["eta"], state["mu"]
        eta = rate.item()
        p.mul_(1 - group["lambd"] * eta)
        p.add_(grad, alpha=-eta)
        if weight.item() != 1:
            average.add_(p.sub(average).mul_(weight))
        else:
            average.copy_(p)
        new_rate, new_weight = ASGD._next(group, state["step"].item())
        rate.fill_(new_rate)
        weight.fill_(new_weight)

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        eta, mu = float(scalars["eta"][0]), float(scalars["mu"][0])
        scalars["eta"][...], scalars["mu"][...] = ASGD._next(group, float(scalars["step"][0]))
        return eta, mu, 1 - float(group["lambd"]) * eta

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        eta, mu, shrink = constants
        (average,) = buffers
        p *= shrink
        p -= np.multiply(g, eta, out=work[0])
        if mu == 1:
            average[...] = p
        else:
            np.subtract(p, average, out=work[0])
            work[0] *= mu
            average += work[0]
