"""Adagrad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["Adagrad"]


class Adagrad(Elementwise):
    """Gradient descent whose rate for each element shrinks with the root of the sum of its squared gradients.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    _group_defaults: ClassVar[Group] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_options(
            lr=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        if fused:
            self._refuse_fused_with(differentiable, foreach)
            self._step_supports_amp_scaling = True
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

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if self._unscale(group, grads):
            super()._update(index, group, params, grads)

    def _check_sparse(self, group: Group) -> None:
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        total, eps = state["sum"], group["eps"]
        rate = _to_scalar(group["lr"]) / (1 + (state["step"].item() - 1) * group["lr_decay"])
        if grad.is_sparse:
            sparse: Any = grad.coalesce()  # the update is not linear, so every index may occur only once
            where, values = tuple(sparse._indices()), sparse._values()
            total[where] += values.pow(2)
            p[where] -= rate * (values / (total[where].sqrt() + eps))
            return
        total.addcmul_(grad, grad, value=1)
        root = total.sqrt() + eps if group["differentiable"] else total.sqrt().add_(eps)
        p.addcdiv_(grad, root, value=_get_value(-rate))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        rate = float(group["lr"]) / (1 + (float(scalars["step"][0]) - 1) * float(group["lr_decay"]))
        return rate, float(group["eps"])

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        rate, eps = constants
        (total,) = buffers
        update, root, _ = work
        total += np.multiply(g, g, out=update)
        np.sqrt(total, out=root)
        root += eps
        np.multiply(g, rate, out=update)
        update /= root
        p -= update
