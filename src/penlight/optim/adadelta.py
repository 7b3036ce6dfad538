"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import add_square_
from penlight.optim.optimizer import ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["Adadelta"]


class Adadelta(Elementwise):
    """Steps scaled by the root of the running mean of past squared steps over that of squared gradients.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.Adadelta([w], lr=10.0)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9684, -1.9684], requires_grad=True)
    """

    _captured_on_xla = (False, False)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_options(lr=lr, eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        square, steps = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        root = square.add(eps).sqrt_()
        delta = steps.add(eps).sqrt_()
        if group["differentiable"]:
            delta = delta.clone()
        delta.div_(root).mul_(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-_to_scalar(group["lr"]))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        rho = float(group["rho"])
        return float(group["lr"]), rho, 1 - rho, float(group["eps"])

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        lr, keep, take, eps = constants
        square, steps = buffers
        delta, root, spare = work
        add_square_(square, keep, take, g, spare)
        np.sqrt(np.add(square, eps, out=root), out=root)
        np.sqrt(np.add(steps, eps, out=delta), out=delta)
        delta /= root
        delta *= g
        add_square_(steps, keep, take, delta, spare)
        delta *= lr
        p -= delta
