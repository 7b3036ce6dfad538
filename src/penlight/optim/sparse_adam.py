"""Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight.optim._declared import Check, Declared, Group, State, need, usual
from penlight.optim.optimizer import ParamsT, _to_scalar

__all__ = ["SparseAdam"]


@example('torch.optim.SparseAdam([torch.zeros(3, requires_grad=True)], lr=0.1).defaults["lr"]', "0.1")
class SparseAdam(Declared):
    """Adam that touches only the rows which a sparse gradient mentions, as from ``nn.Embedding(sparse=True)``.

    Parameters and moments are dense. A dense gradient is refused: use :class:`Adam`.
    """

    _options = "lr betas eps maximize"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": need(lambda lr: lr > 0.0, "Invalid learning rate: {}"),
        "eps": need(lambda eps: eps > 0.0, "Invalid epsilon value: {}"),
        **usual("betas"),
    }

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, maximize: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))
        where = [([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        if sparse := [indices for indices, p in where if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complex_ := [indices for indices, p in where if p.is_complex()]:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not all(grad.is_sparse for grad in grads):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if not state:
                state["step"] = 0
                for name in ("exp_avg", "exp_avg_sq"):
                    state[name] = penlight.zeros_like(p, memory_format=penlight.preserve_format)
            state["step"] += 1
            self._single(p, -grad if group.get("maximize", False) else grad, state, group)

    @staticmethod
    def _single(p: Tensor, grad: Any, state: State, group: Group) -> None:
        grad = grad.coalesce()  # the update is not linear, so every index may occur only once
        where, values = tuple(grad._indices()), grad._values()
        if values.numel() == 0:
            return
        (beta1, beta2), step = group["betas"], state["step"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        old_mean, old_square = mean[where], square[where]
        mean[where] = new_mean = values.sub(old_mean).mul_(1 - beta1).add_(old_mean)
        square[where] = new_square = values.pow(2).sub_(old_square).mul_(1 - beta2).add_(old_square)
        step_size = _to_scalar(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        p[where] += -step_size * new_mean.div(new_square.sqrt().add_(group["eps"]))
