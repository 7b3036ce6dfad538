"""RMSprop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import add_square_, lerp_, towards
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["RMSprop"]


class RMSprop(Elementwise):
    """Gradient descent divided by the root of the running mean of the squared gradient.

    ``centered`` divides by the standard deviation instead. ``eps`` is added after the root.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    _captured_on_xla = (True, True)
    _group_defaults: ClassVar[Group] = {"momentum": 0, "centered": False, **Elementwise._group_defaults}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return {name: 0.0 for name, wanted in names.items() if wanted}

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, alpha = _to_scalar(group["lr"]), group["alpha"]
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            root = square.addcmul(mean, mean, value=-1).sqrt_()
        else:
            root = square.sqrt()
        root = root.add(group["eps"]) if group["differentiable"] else root.add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, root)
            p.add_(buffer, alpha=-lr)
        else:
            p.addcdiv_(grad, root, value=_get_value(-lr))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        lr, alpha, eps, momentum = (float(group[name]) for name in ("lr", "alpha", "eps", "momentum"))
        pace = towards(1 - alpha) if group["centered"] else (None, None)
        return lr, alpha, 1 - alpha, eps, momentum if momentum > 0 else None, *pace

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        lr, keep, take, eps, momentum, pace, plain = constants
        square = buffers[0]
        update, root, _ = work
        add_square_(square, keep, take, g, update)
        if pace is not None:
            mean = buffers[-1]
            lerp_(mean, g, pace, plain, update)
            np.multiply(mean, mean, out=update)
            square = np.subtract(square, update, out=root)
        np.sqrt(square, out=root)
        root += eps
        if momentum is not None:
            buffer = buffers[1]
            buffer *= momentum
            buffer += np.divide(g, root, out=update)
            p -= np.multiply(buffer, lr, out=update)
        else:
            np.multiply(g, lr, out=update)
            update /= root
            p -= update
