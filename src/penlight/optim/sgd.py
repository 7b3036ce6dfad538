"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight.optim import _raw
from penlight.optim._declared import Check, Group, State, added, need
from penlight.optim._elementwise import Elementwise, before_formula, decay_of
from penlight.optim.optimizer import ParamsT, _to_scalar

__all__ = ["SGD"]


class SGD(Elementwise):
    """Stochastic gradient descent: ``p -= lr * buf`` with ``buf = momentum * buf + (1 - dampening) * grad``.

    The buffer starts as the first gradient, undampened. With ``nesterov`` the step is ``grad + momentum * buf``.

    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     opt.zero_grad()
    ...     (w * w).sum().backward()
    ...     opt.step()
    >>> w
    tensor([ 0.4600, -0.9200], requires_grad=True)
    """

    _options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    _checks: ClassVar[dict[str, Check]] = {
        "lr": need(lambda lr: not lr < 0.0, "Invalid learning rate: {}"),
        "momentum": need(lambda momentum: not momentum < 0.0, "Invalid momentum value: {}"),
        "weight_decay": need(lambda decay: not decay < 0.0, "Invalid weight_decay value: {}"),
    }
    _added = added("nesterov maximize foreach differentiable") | {"fused": False}
    _complex_as_real = False  # it is linear, so complex numbers need no special care
    _differentiates_lr = True

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:  # fmt: skip
        options = self._declared(locals())
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, options)
        self._allow_fused()

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: State) -> tuple[Any, ...]:
        return -group["lr"], group["momentum"], 1 - group["dampening"], group["nesterov"]

    @staticmethod
    def _formula(p: Any, grad: Any, numbers: Any, buffer: Any = None) -> None:
        _, momentum, take, _ = numbers
        if buffer is not None:
            buffer.mul_(momentum).add_(grad, alpha=take)
        _move(p, grad, numbers, buffer)

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not self._unscale(group, grads):
            return
        if group["momentum"] == 0:
            # Without momentum there is no state, and `self.state` stays empty.
            self._run(index, group, params, grads, [{}] * len(params))
            return
        states = [self.state[p] for p in params]
        new = [i for i, state in enumerate(states) if state.get("momentum_buffer") is None]
        if new:
            old = sorted({*range(len(params))}.difference(new))
            self._first(group, [params[i] for i in new], [grads[i] for i in new], [states[i] for i in new])
            params, grads, states = ([row[i] for i in old] for row in (params, grads, states))
        if params:
            self._run(index, group, params, grads, states)

    def _first(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """The first step of parameters: their momentum buffer is the gradient, undampened."""
        numbers = self._numbers({**group, "lr": _to_scalar(group["lr"])}, None, {})
        for p, grad, state in zip(params, grads, states, strict=True):
            grad = before_formula(p, grad, *decay_of(group))
            state["momentum_buffer"] = grad.detach().clone()
            _move(p, grad, numbers, state["momentum_buffer"])
        if group["differentiable"] or any(grad.is_sparse for grad in grads):
            return
        for state, buffer in zip(states, _raw.allocate(params, 0.0), strict=True):
            state["momentum_buffer"] = buffer.copy_(state["momentum_buffer"])

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if group["fused"]:
            super()._check({**group, "differentiable": False}, params, grads)

    def _check_sparse(self, group: Group) -> None:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")


def _move(p: Any, grad: Any, numbers: Any, buffer: Any) -> None:
    rate, momentum, _, nesterov = numbers
    if buffer is not None:
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    if isinstance(rate, penlight.Tensor) and rate.requires_grad:
        p.addcmul_(grad, rate)
    else:
        p.add_(grad, alpha=rate)
