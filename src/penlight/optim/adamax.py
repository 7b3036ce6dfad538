"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import penlight
from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import lerp_, towards
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["Adamax"]


class Adamax(Elementwise):
    """Adam that divides by a decaying maximum of the gradient's magnitude.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        magnitude = grad.abs().add_(group["eps"])
        if group["differentiable"]:
            pair = penlight.cat([largest.mul_(beta2).unsqueeze(0), magnitude.unsqueeze_(0)], 0)
            largest.copy_(penlight.amax(pair, 0, keepdim=False))
        else:
            largest.copy_(penlight.maximum(largest.mul_(beta2), magnitude))
        step_size = _to_scalar(group["lr"]) / (1 - beta1 ** state["step"].item())
        p.addcdiv_(mean, largest, value=_get_value(-step_size))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        beta1, beta2 = map(float, group["betas"])
        step_size = float(group["lr"]) / (1 - beta1 ** float(scalars["step"][0]))
        return *towards(1 - beta1), beta2, float(group["eps"]), step_size

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        pace, plain, beta2, eps, step_size = constants
        mean, largest = buffers
        lerp_(mean, g, pace, plain, work[0])
        np.abs(g, out=work[0])
        work[0] += eps
        largest *= beta2
        np.maximum(largest, work[0], out=largest)
        np.multiply(mean, step_size, out=work[0])
        work[0] /= largest
        p -= work[0]
