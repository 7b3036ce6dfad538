"""Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import penlight
from penlight.optim._elementwise import Elementwise, Group, State, check_options
from penlight.optim._raw import add_square_, lerp_, towards
from penlight.optim.optimizer import ParamsT, _get_value, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["Adam"]


class Adam(Elementwise):
    """Adam: steps along the running mean of the gradient, divided by the root of the running mean of its square.

    Both means are corrected for having started at zero. ``amsgrad`` divides by the largest second moment so far;
    ``decoupled_weight_decay`` shrinks the parameter itself instead of adding to the gradient (AdamW).

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([ 0.9000, -1.9000], requires_grad=True)
    """

    _needs_dense = "Adam does not support sparse gradients, please consider SparseAdam instead"
    _group_defaults: ClassVar[Group] = {
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        single = foreach and not capturable  # PyTorch's foreach form takes no tensors as options
        if single and isinstance(lr, penlight.Tensor):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_options(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        self._check_betas(betas, bool(single))
        defaults = {
            "lr": lr,
            "betas": tuple(map(_to_scalar, betas)),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        if fused:
            self._refuse_fused_with(differentiable, foreach)
            self._step_supports_amp_scaling = True

    @staticmethod
    def _check_betas(betas: Any, numbers_only: bool) -> None:
        kinds = [(isinstance(beta, float), isinstance(beta, penlight.Tensor)) for beta in betas[:2]]
        if not (all(is_float for is_float, _ in kinds) or all(is_tensor for _, is_tensor in kinds)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas[:2]):
            if isinstance(beta, penlight.Tensor):
                if numbers_only:
                    raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return dict.fromkeys(names, 0.0)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if self._unscale(group, grads):
            super()._update(index, group, params, grads)

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        super()._check(group, params, grads)
        if group["foreach"] and isinstance(group["lr"], penlight.Tensor):
            raise RuntimeError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if group["differentiable"]:
            states = (self.state[p] for p in params if self.state[p])
            if any(state["step"].requires_grad for state in states):
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = map(_to_scalar, group["betas"])
        lr, eps = _to_scalar(group["lr"]), group["eps"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - (beta1.to(p.dtype) if isinstance(beta1, penlight.Tensor) else beta1))
        if group["differentiable"]:
            _differentiable_step(p, grad, state, group, lr, beta1, beta2)
            return
        square.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))
        step = state["step"].item()
        step_size = lr / (1 - beta1**step)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(penlight.maximum(largest, square))
        denominator = (square.sqrt() / (1 - beta2**step) ** 0.5).add_(eps)
        p.addcdiv_(mean, denominator, value=_get_value(-step_size))

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        beta1, beta2 = map(float, group["betas"])
        step = float(scalars["step"][0])
        means = *towards(1 - beta1), beta2, 1 - beta2
        return *means, float(group["lr"]) / (1 - beta1**step), (1 - beta2**step) ** 0.5, float(group["eps"])

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        pace, plain, keep, take, step_size, correction, eps = constants
        mean, square, *largest = buffers
        update, denominator, _ = work
        lerp_(mean, g, pace, plain, update)
        add_square_(square, keep, take, g, update)
        if largest:
            square = np.maximum(largest[0], square, out=largest[0])
        np.sqrt(square, out=denominator)
        denominator /= correction
        denominator += eps
        np.multiply(mean, step_size, out=update)
        update /= denominator
        p -= update


def _differentiable_step(p: Tensor, grad: Tensor, state: State, group: Group, lr: Any, beta1: Any, beta2: Any) -> None:
    """The rest of the update in operations that autograd can follow back to ``lr`` and the betas."""
    mean, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
    if isinstance(beta2, penlight.Tensor) and beta2.requires_grad:
        square.lerp_(grad.square(), 1 - beta2)
    else:
        square.mul_(beta2).addcmul_(grad, grad, value=_get_value(1 - beta2))
    # The next step changes `step` in place, so what autograd keeps is a copy.
    step_size = -(lr / (1 - beta1 ** step.clone()))
    correction = (1 - beta2 ** step.clone()).sqrt()
    if group["amsgrad"]:
        largest = state["max_exp_avg_sq"]
        square = largest.copy_(penlight.maximum(largest.clone(), square))
    denominator = (square.sqrt() / (correction * step_size)).add_(group["eps"] / step_size)
    p.addcdiv_(mean.clone(), denominator)
