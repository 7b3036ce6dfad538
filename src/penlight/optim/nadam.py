"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import add_square_, lerp_, towards
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["NAdam"]


class NAdam(Elementwise):
    """Adam that looks one step ahead, with a momentum that grows from half of ``betas[0]`` to all of it.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.8944, -1.8944], requires_grad=True)
    """

    _captured = ("params, mu_products and state_steps", "params, mu_products, and state_steps")
    _group_defaults: ClassVar[Group] = {**Elementwise._group_defaults, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0, "mu_product": 1.0}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    @staticmethod
    def _momenta(group: Group, step: float) -> tuple[float, float]:
        """The momentum of this step and of the next."""
        beta1, decay = group["betas"][0], group["momentum_decay"]
        return beta1 * (1.0 - 0.5 * 0.96 ** (step * decay)), beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        lr, eps = _to_scalar(group["lr"]), group["eps"]
        mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        step = state["step"].item()
        mu, mu_next = NAdam._momenta(group, step)
        product *= mu
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denominator = square.div(1 - beta2**step).sqrt()
        if group["differentiable"]:
            denominator = denominator.add(eps)
            p.addcdiv_(grad * (-lr * (1.0 - mu) / (1.0 - product)), denominator)
            p.addcdiv_(mean * (-lr * mu_next / (1.0 - product * mu_next)), denominator)
            return
        denominator.add_(eps)
        done = product.item()
        p.addcdiv_(grad, denominator, value=_get_value(-lr * (1.0 - mu) / (1.0 - done)))
        p.addcdiv_(mean, denominator, value=_get_value((-lr * mu_next) / (1.0 - done * mu_next)))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        beta1, beta2 = map(float, group["betas"])
        lr, step = float(group["lr"]), float(scalars["step"][0])
        mu, mu_next = NAdam._momenta(group, step)
        scalars["mu_product"] *= float(mu)
        done = float(scalars["mu_product"][0])
        of_grad, of_mean = lr * (1.0 - mu) / (1.0 - done), lr * mu_next / (1.0 - done * mu_next)
        means = *towards(1 - beta1), beta2, 1 - beta2
        return *means, 1 - beta2**step, float(group["eps"]), float(of_grad), float(of_mean)

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        pace, plain, keep, take, correction, eps, of_grad, of_mean = constants
        mean, square = buffers
        update, denominator, _ = work
        lerp_(mean, g, pace, plain, update)
        add_square_(square, keep, take, g, update)
        np.divide(square, correction, out=denominator)
        np.sqrt(denominator, out=denominator)
        denominator += eps
        for source, weight in ((g, of_grad), (mean, of_mean)):
            np.multiply(source, weight, out=update)
            update /= denominator
            p -= update
