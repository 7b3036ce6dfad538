"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import penlight
from penlight.optim import _raw
from penlight.optim._elementwise import Elementwise, Group, State
from penlight.optim.optimizer import ParamsT, _to_scalar

if TYPE_CHECKING:
    from penlight import Tensor

__all__ = ["SGD"]


class SGD(Elementwise):
    """Stochastic gradient descent: ``p -= lr * buf`` with ``buf = momentum * buf + (1 - dampening) * grad``.

    The buffer starts as the first gradient, undampened. With ``nesterov`` the step is ``grad + momentum * buf``.

    >>> import penlight as torch
    >>> w = torch.tensor([1.0, -2.0], requires_grad=True)
    >>> opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> for _ in range(2):
    ...     opt.zero_grad()
    ...     (w * w).sum().backward()
    ...     opt.step()
    >>> w
    tensor([ 0.4600, -0.9200], requires_grad=True)
    """

    _complex_as_real = False  # it is linear, so complex numbers need no special care
    _group_defaults: ClassVar[Group] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        if isinstance(lr, penlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        if fused:
            self._step_supports_amp_scaling = True
            self._refuse_fused_with(differentiable, foreach)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] != 0 else {}

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not self._unscale(group, grads):
            return
        if group["momentum"] == 0:
            # Without momentum there is no state, and `self.state` stays empty.
            self._run(index, group, params, grads, [{}] * len(params))
            return
        states = [self.state[p] for p in params]
        old = [i for i, state in enumerate(states) if state.get("momentum_buffer") is not None]
        if len(old) < len(params):
            new = [i for i, state in enumerate(states) if state.get("momentum_buffer") is None]
            self._first(group, [params[i] for i in new], [grads[i] for i in new], [states[i] for i in new])
            params, grads, states = ([row[i] for i in old] for row in (params, grads, states))
        if params:
            self._run(index, group, params, grads, states)

    def _first(self, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        """The first step of parameters, which makes their momentum buffers."""
        for p, grad, state in zip(params, grads, states, strict=True):
            self._plain(p, grad, state, group)
        if group["differentiable"] or any(grad.is_sparse for grad in grads):
            return
        for state, buffer in zip(states, _raw.allocate(params, 0.0), strict=True):
            state["momentum_buffer"] = buffer.copy_(state["momentum_buffer"])

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        momentum, lr = group["momentum"], _to_scalar(group["lr"])
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        if isinstance(lr, penlight.Tensor) and lr.requires_grad:
            p.addcmul_(grad, lr, value=-1)
        else:
            p.add_(grad, alpha=-lr)

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        dampening = float(group["dampening"])
        return float(group["lr"]), float(group["momentum"]), 1.0 - dampening if dampening else None, group["nesterov"]

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        lr, momentum, weight, nesterov = constants
        if buffers:
            (buffer,) = buffers
            buffer *= momentum
            buffer += g if weight is None else np.multiply(g, weight, out=work[0])
            if nesterov:
                np.multiply(buffer, momentum, out=work[0])
                work[0] += g
            g = work[0] if nesterov else buffer
        p -= np.multiply(g, lr, out=work[1])

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if group["fused"]:
            super()._check({**group, "differentiable": False}, params, grads)

    def _check_sparse(self, group: Group) -> None:
        raise RuntimeError("`_fused_sgd` does not support sparse gradients")
