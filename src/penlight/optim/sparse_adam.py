"""Adam for sparse gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import penlight
from penlight.optim._elementwise import Group, State
from penlight.optim.optimizer import Optimizer, ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam that touches only the rows which a sparse gradient mentions, as from ``nn.Embedding(sparse=True)``.

    Parameters and moments are dense. A dense gradient is refused: use :class:`Adam`.

    >>> import penlight as torch
    >>> optimizer = torch.optim.SparseAdam([torch.zeros(3, requires_grad=True)], lr=0.1)
    >>> optimizer.defaults["lr"]
    0.1
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, penlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for i, beta in enumerate(betas[:2]):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [([i, j], p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        if sparse := [place for place, p in places if p.is_sparse]:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        if complex_ := [place for place, p in places if p.is_complex()]:
            raise ValueError(f"Complex params at indices {complex_}: SparseAdam does not support complex parameters")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their sparse gradients. ``closure``, if given, recomputes the loss."""
        loss = None
        if closure is not None:
            with penlight.enable_grad():
                loss = closure()
        with penlight.no_grad():
            for group in self.param_groups:
                params = [p for p in group["params"] if p.grad is not None]
                if not all(p.grad.is_sparse for p in params):
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                for p in params:
                    state = self.state[p]
                    if not state:
                        state["step"] = 0
                        state["exp_avg"] = penlight.zeros_like(p, memory_format=penlight.preserve_format)
                        state["exp_avg_sq"] = penlight.zeros_like(p, memory_format=penlight.preserve_format)
                    state["step"] += 1
                    self._single(p, -p.grad if group.get("maximize", False) else p.grad, state, group)
        return loss

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
