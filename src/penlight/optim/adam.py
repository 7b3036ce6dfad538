"""Adam."""

from __future__ import annotations

from typing import Any

import penlight
from penlight import Tensor
from penlight.optim._declared import Group, State, added, usual
from penlight.optim._elementwise import Elementwise
from penlight.optim._raw import Weight
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

__all__ = ["Adam"]


class Adam(Elementwise, example=("lr=0.1", "[ 0.9000, -1.9000]")):
    """Adam: steps along the running mean of the gradient, divided by the root of the running mean of its square.

    Both means are corrected for having started at zero. ``amsgrad`` divides by the largest second moment so far;
    ``decoupled_weight_decay`` shrinks the parameter itself instead of adding to the gradient (AdamW).
    """

    _options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay"
    )
    _checks = usual("lr", "eps", "betas", "weight_decay")
    _added = added("amsgrad maximize foreach capturable differentiable decoupled_weight_decay fused")
    _needs_dense = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))
        self._allow_fused()

    def _declared(self, given: dict[str, Any]) -> Group:
        numbers_only = (
            given["foreach"] and not given["capturable"]
        )  # PyTorch's foreach form takes no tensors as options
        if numbers_only and isinstance(given["lr"], penlight.Tensor):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        options = super()._declared(given)
        betas = given["betas"][:2]
        if not any(all(isinstance(beta, kind) for beta in betas) for kind in (float, penlight.Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, penlight.Tensor) and numbers_only:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if isinstance(beta, penlight.Tensor) and beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
        return {**options, "betas": tuple(map(_to_scalar, given["betas"]))}

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        super()._check(group, params, grads)
        if group["foreach"] and isinstance(group["lr"], penlight.Tensor):
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if group["differentiable"]:
            states = (self.state[p] for p in params if self.state[p])
            if any(state["step"].requires_grad for state in states):
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        beta1, beta2 = group["betas"]
        step_size, correction = -group["lr"] / (1 - beta1**step), (1 - beta2**step) ** 0.5
        return Weight(1 - beta1), beta2, 1 - beta2, step_size, correction, group["eps"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, mean: Any, square: Any, largest: Any = None) -> None:
        pace, keep, take, step_size, correction, eps = numbers
        mean.lerp_(grad, pace)
        square.mul_(keep).addcmul_(grad, grad, value=take)
        if largest is not None:
            square = largest.clamp_(square)
        p.addcdiv_(mean, square.sqrt().div(correction).add_(eps), value=step_size)

    @classmethod
    def _on_tensors(cls, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = betas = tuple(map(_to_scalar, group["betas"]))
        if group["differentiable"]:
            _differentiable_step(p, grad, state, group, beta1, beta2)
        elif isinstance(beta1, penlight.Tensor):
            numbers = (float(n) for n in cls._numbers({**group, "betas": betas}, state["step"].item(), state))
            pace = _get_value(1 - beta1.to(p.dtype))
            cls._formula(p, grad, (pace, *[*numbers][1:]), *[state[name] for name in cls._buffers(group)])
        else:
            super()._on_tensors(p, grad, state, group)


def _differentiable_step(p: Tensor, grad: Tensor, state: State, group: Group, beta1: Any, beta2: Any) -> None:
    """The formula in operations that autograd can follow back to the learning rate and the betas."""
    mean, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
    mean.lerp_(grad, 1 - (beta1.to(p.dtype) if isinstance(beta1, penlight.Tensor) else beta1))
    if isinstance(beta2, penlight.Tensor) and beta2.requires_grad:
        square.lerp_(grad.square(), 1 - beta2)
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))
    # The next step changes `step` in place, so what autograd keeps is a copy.
    step_size = -(group["lr"] / (1 - beta1 ** step.clone()))
    correction = (1 - beta2 ** step.clone()).sqrt()
    if group["amsgrad"]:
        largest = state["max_exp_avg_sq"]
        square = largest.copy_(penlight.maximum(largest.clone(), square))
    denominator = (square.sqrt() / (correction * step_size)).add_(group["eps"] / step_size)
    p.addcdiv_(mean.clone(), denominator)
