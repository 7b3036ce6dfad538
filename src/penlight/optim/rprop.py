"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight.optim._declared import Check, Group, State, need, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim.optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Steps by the sign of the gradient alone, with a step size for each element.

    The step size grows by ``etas[1]`` while the sign stays and shrinks by ``etas[0]`` when it turns; the element then
    rests for one step. ``lr`` is the first step size and ``step_sizes`` are its bounds.
    """

    _options = "lr etas step_sizes foreach maximize differentiable capturable"
    _checks: ClassVar[dict[str, Check]] = {
        **usual("lr"),
        "etas": need(lambda etas: 0.0 < etas[0] < 1.0 < etas[1], "Invalid eta values: {0[0]}, {0[1]}"),
    }
    _captured_on_xla = (True, True)

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"prev": 0.0, "step_size": float(group["lr"])}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return *group["etas"], *group["step_sizes"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, previous: Any, size: Any) -> None:
        shrink, grow, smallest, largest = numbers
        factor = grad.mul(previous.clone()).sign()
        turned, kept, none = factor.lt(0), factor.gt(0), factor.eq(0)
        factor = factor.masked_fill(kept, grow).masked_fill(turned, shrink).masked_fill(none, 1)
        size.mul_(factor).clamp_(smallest, largest)
        grad = grad.masked_fill(turned, 0)
        previous.copy_(grad)
        p.addcmul_(grad.sign(), size, value=-1)
