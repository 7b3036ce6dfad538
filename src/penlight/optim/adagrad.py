"""Adagrad."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.optim._declared import Group, State, added, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim.optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Gradient descent whose rate for each element shrinks with the root of the sum of its squared gradients."""

    _options = "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
    _checks = usual("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    _added = added("foreach maximize differentiable fused")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))
        self._allow_fused()
        for group in self.param_groups:
            self._init_states(group["params"], [self.state[p] for p in group["params"]], group)

    def _init_states(self, params: list[Tensor], states: list[State], group: Group) -> None:
        # As in PyTorch, the value given to the constructor holds for all groups.
        value = self.defaults["initial_accumulator_value"]
        super()._init_states(params, states, {**group, "initial_accumulator_value": value})

    def share_memory(self) -> None:
        """Move the sums to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"sum": float(group["initial_accumulator_value"])}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"] / (1 + (step - 1) * group["lr_decay"]), group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, total: Any) -> None:
        rate, eps = numbers
        if grad.is_sparse:
            grad = grad.coalesce()  # the update is not linear, so every index may occur only once
            where, values = tuple(grad._indices()), grad._values()
            total[where] += values.pow(2)
            p[where] += rate * (values / (total[where].sqrt() + eps))
            return
        total.addcmul_(grad, grad)
        p.addcdiv_(grad, total.sqrt().add(eps), value=rate)

    def _check_sparse(self, group: Group) -> None:
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
