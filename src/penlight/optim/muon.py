"""Muon: momentum made orthogonal, for matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight.optim._declared import Check, Declared, Group, State, need, not_negative
from penlight.optim.optimizer import ParamsT, _to_scalar

__all__ = ["Muon"]

EPS = 1e-7
NS_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
NS_STEPS = 5


class Muon(Declared):
    """Momentum whose step is replaced by (nearly) the closest orthogonal matrix; for the 2-D weights of hidden layers.

    The orthogonal matrix comes from ``ns_steps`` Newton-Schulz iterations in bfloat16. Other parameters need another
    optimiser, such as :class:`AdamW`.

    >>> w = torch.eye(2, requires_grad=True)
    >>> opt = torch.optim.Muon([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.shape
    torch.Size([2, 2])
    """

    _options = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": not_negative("Learning rate should be >= 0 but is: {}"),
        "momentum": not_negative("momentum should be >= 0 but is: {}"),
        "weight_decay": not_negative("weight decay should be >= 0 but is: {}"),
        "adjust_lr_fn": need(
            (None, "original", "match_rms_adamw").__contains__, "Adjust learning rate function {} is not supported"
        ),
    }

    def __init__(self, params: ParamsT, lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = NS_COEFFICIENTS, eps: float = EPS,
                 ns_steps: int = NS_STEPS, adjust_lr_fn: str | None = None) -> None:  # fmt: skip
        super().__init__(params, self._declared(locals()))
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError(f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        self._refuse_complex_and_sparse(params, grads)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            state = self.state[p]
            if "momentum_buffer" not in state:
                state["momentum_buffer"] = penlight.zeros_like(grad, memory_format=penlight.preserve_format)
            self._single(p, grad, state, group)

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        lr, momentum, buffer = _to_scalar(group["lr"]), group["momentum"], state["momentum_buffer"]
        buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(buffer, momentum) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-_adjusted(lr, group["adjust_lr_fn"], p.shape))


def _orthogonal(grad: Tensor, coefficients: Sequence[float], steps: int, eps: float) -> Tensor:
    """About U V' for the singular value decomposition U S V' of the input, by a quintic Newton-Schulz iteration.

    The coefficients favour a steep slope at zero over convergence, so that the singular values end up between about 0.5
    and 1.5, which serves as well as exactly 1 and takes few steps.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = grad.bfloat16()
    tall = grad.size(0) > grad.size(1)
    if tall:
        x = x.T
    # The spectral norm is at most 1 after this. It is in place as in PyTorch, where a bfloat16 buffer feels it too.
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = penlight.addmm(x, penlight.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


def _adjusted(lr: Any, how: str | None, shape: Sequence[int]) -> Any:
    """The learning rate for a matrix of this shape, so that updates of all shapes have comparable size."""
    rows, columns = shape[:2]
    if how == "match_rms_adamw":
        return lr * (0.2 * math.sqrt(max(rows, columns)))
    return lr * math.sqrt(max(1, rows / columns))
