"""Resilient backpropagation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim.optimizer import ParamsT

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["Rprop"]


class Rprop(Elementwise):
    """Steps by the sign of the gradient alone, with a step size for each element.

    The step size grows by ``etas[1]`` while the sign stays and shrinks by ``etas[0]`` when it turns; the element then
    rests for one step. ``lr`` is the first step size and ``step_sizes`` are its bounds.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    _captured_on_xla = (True, True)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_options(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        shrink, grow = group["etas"]
        previous, size = state["prev"], state["step_size"]
        factor = grad.mul(previous.clone() if group["differentiable"] else previous).sign()
        factor[factor.gt(0)] = grow
        factor[factor.lt(0)] = shrink
        factor[factor.eq(0)] = 1
        size.mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.clone()
        grad[factor.eq(shrink)] = 0
        p.addcmul_(grad.sign(), size, value=-1)
        previous.copy_(grad)

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        return *map(float, group["etas"]), *map(float, group["step_sizes"])

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        shrink, grow, smallest, largest = constants
        previous, size = buffers
        factor, *_ = work
        np.sign(np.multiply(g, previous, out=factor), out=factor)
        turned = factor < 0
        np.copyto(factor, grow, where=factor > 0)
        np.copyto(factor, shrink, where=turned)
        np.copyto(factor, 1, where=factor == 0)
        size *= factor
        np.clip(size, smallest, largest, out=size)
        np.copyto(previous, g)
        np.copyto(previous, 0, where=turned)
        np.sign(previous, out=factor)
        factor *= size
        p -= factor
