"""RAdam: Adam that waits for its variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import add_square_, lerp_, towards
from penlight.optim.optimizer import ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["RAdam"]


class RAdam(Elementwise):
    """Adam that divides by the second moment only once that is known well enough, and rectifies it until then.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.8000, -1.6000], requires_grad=True)
    """

    _group_defaults: ClassVar[Group] = {**Elementwise._group_defaults, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    @staticmethod
    def _rectification(beta2: float, step: float) -> float | None:
        """The factor that corrects the variance of the step, or None while too few gradients were seen."""
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * (beta2**step) / (1 - beta2**step)
        if not length > 5.0:
            return None
        return ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        step = state["step"].item()
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        update = mean / (1 - beta1**step) * _to_scalar(group["lr"])
        rectification = RAdam._rectification(beta2, step)
        if rectification is not None:
            update = update * ((1 - beta2**step) ** 0.5 / square.sqrt().add(group["eps"])) * rectification
        p.add_(update, alpha=-1.0)

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        beta1, beta2 = map(float, group["betas"])
        step = float(scalars["step"][0])
        corrections = 1 - beta1**step, (1 - beta2**step) ** 0.5
        means = *towards(1 - beta1), beta2, 1 - beta2
        return *means, *corrections, RAdam._rectification(beta2, step), float(group["lr"]), float(group["eps"])

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        pace, plain, keep, take, correction1, correction2, rectification, lr, eps = constants
        mean, square = buffers
        update, adaptive, _ = work
        lerp_(mean, g, pace, plain, update)
        add_square_(square, keep, take, g, update)
        np.divide(mean, correction1, out=update)
        update *= lr
        if rectification is not None:
            np.sqrt(square, out=adaptive)
            adaptive += eps
            np.divide(correction2, adaptive, out=adaptive)
            update *= adaptive
            update *= rectification
        p -= update
