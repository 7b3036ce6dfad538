"""Adafactor."""

from __future__ import annotations

from typing import ClassVar

import penlight
from penlight import Tensor
from penlight.optim._declared import Check, Declared, Group, State, added, need, not_negative
from penlight.optim.optimizer import ParamsT, _get_scalar_dtype, _to_scalar

__all__ = ["Adafactor"]


def _negative_eps(eps: tuple[float | None, float]) -> str | None:
    wrong = [i for i, value in enumerate(eps, 1) if value is not None and not value >= 0.0]
    return f"epsilon{wrong[0]} should be >= 0 but is: {eps[wrong[0] - 1]}" if wrong else None


class Adafactor(Declared):
    """Adam's second moment in little memory: of a matrix only the means over its rows and columns are kept.

    The step is relative to the size of the parameter (at least ``eps[1]``), its root mean square is clipped to ``d``, and
    the rate is at most ``1 / sqrt(t)``.

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> opt = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w
    tensor([[0.9000, 0.9000],
            [0.9000, 0.9000]], requires_grad=True)
    """

    _options = "lr beta2_decay eps d weight_decay foreach maximize"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": not_negative("Learning rate should be >= 0 but is: {}"),
        "beta2_decay": need(lambda decay: decay <= 0.0, "beta2_decay should be <= 0 but is: {}"),
        "eps": _negative_eps,
        "d": need(lambda d: d >= 1.0, "Clipping threshold d should be >= 1 but is: {}"),
        "weight_decay": not_negative("weight_decay should be >= 0 but is: {}"),
    }
    _added = added("foreach")

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None:
            raise AssertionError("Grad scaling should occur outside of optimizer.step()")
        self._refuse_complex_and_sparse(params, grads)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        # As in PyTorch, the first parameter's dtype gives the default for the whole group.
        eps1 = penlight.finfo(params[0].dtype).eps if group["eps"][0] is None else group["eps"][0]
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if not state:
                self._init_state(grad, state)
            self._single(p, -grad if group["maximize"] else grad, state, group, eps1)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0}

    @staticmethod
    def _init_state(grad: Tensor, state: State) -> None:
        state["step"] = penlight.tensor(0.0, dtype=_get_scalar_dtype())
        if grad.dim() > 1:
            *front, rows, columns = grad.shape
            state["row_var"] = grad.new_zeros([*front, rows, 1])
            state["col_var"] = grad.new_zeros([*front, 1, columns])
        else:
            state["variance"] = penlight.zeros_like(grad, memory_format=penlight.preserve_format)

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group, eps1: float) -> None:
        lr, (_, eps2) = _to_scalar(group["lr"]), group["eps"]
        step_count = state["step"]
        step_count += 1
        step = step_count.item()
        rate = min(lr, 1 / (step**0.5))
        size = max(eps2, p.norm(2).item() / (p.numel() ** 0.5)) * rate
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        variance = _variance(grad, state, step ** group["beta2_decay"], eps1)
        # The bound is squared because the root follows.
        update = variance.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        clip = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * group["d"]))
        p.add_(update, alpha=-size / clip)


def _variance(grad: Tensor, state: State, weight: float, eps1: float) -> Tensor:
    """Bring the second moment forward and return the estimate, which the caller may overwrite."""
    if grad.dim() <= 1:
        return state["variance"].lerp_(grad * grad, weight).clone()
    rows, columns = state["row_var"], state["col_var"]
    rows.lerp_(penlight.norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    columns.lerp_(penlight.norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
