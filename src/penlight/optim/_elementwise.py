"""What the optimisers that treat every element alike have in common: all but LBFGS, Adafactor, Muon and SparseAdam.

Such an optimiser says which state it keeps (`_scalars`, `_buffers`) and how one parameter is updated, twice: `_single` on
tensors, the definition, which works for every dtype and can be differentiated; and `_constants` with `_kernel` on flat arrays,
the same formula for the everyday case (see Note [Updating in buckets] in `_raw.py`). The gradient that both receive already
has its sign (`maximize`) and weight decay in it.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import penlight
from penlight.optim import _raw
from penlight.optim.optimizer import Optimizer, _get_scalar_dtype, _to_scalar, _use_grad_for_differentiable

if TYPE_CHECKING:
    import numpy as np

    from penlight import Tensor

Group = dict[str, Any]
State = dict[str, Any]

_is_sparse = attrgetter("is_sparse")

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone"]
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]

_MESSAGES = {
    "lr": "Invalid learning rate: {}",
    "eps": "Invalid epsilon value: {}",
    "beta 0": "Invalid beta parameter at index 0: {}",
    "beta 1": "Invalid beta parameter at index 1: {}",
}


def _require(name: str, value: Any, good: bool) -> None:
    if not good:
        raise ValueError(_MESSAGES.get(name, f"Invalid {name} value: {{}}").format(value))


def check_options(**options: Any) -> None:
    """Refuse negative options, betas outside [0, 1), and a learning rate that is a tensor of several elements."""
    lr = options["lr"]
    if isinstance(lr, penlight.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name, value in options.items():
        if name == "betas":
            for i in (0, 1):
                _require(f"beta {i}", value[i], 0.0 <= value[i] < 1.0)
        else:
            _require(name, value, value >= 0.0)


class Elementwise(Optimizer):
    """The step that the optimisers on the following pages share."""

    _needs_dense: ClassVar[str] = "{} does not support sparse gradients"
    # What PyTorch's refusal of `capturable` says, without and with `foreach`.
    _captured: ClassVar[tuple[str, str]] = ("params and state_steps", "params and state_steps")
    _captured_on_xla: ClassVar[tuple[bool, bool]] = (True, False)
    _complex_as_real: ClassVar[bool] = True
    _group_defaults: ClassVar[Group] = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }

    # ----- what an optimiser defines -----

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        """The names of the 0-d state and its first values."""
        return {"step": 0.0}

    @staticmethod
    def _buffers(group: Group) -> dict[str, float]:
        """The names of the state that is shaped like the parameter, and the value it is filled with at first."""
        raise NotImplementedError

    @staticmethod
    def _single(p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Update one parameter, with tensor operations. ``state["step"]`` already counts this step."""
        raise NotImplementedError

    @staticmethod
    def _constants(group: Group, scalars: dict[str, np.ndarray]) -> Any:
        """Bring the 0-d state forward and return the numbers that :meth:`_kernel` needs. ``step`` already counts this one."""
        raise NotImplementedError

    @staticmethod
    def _kernel(
        p: np.ndarray, g: np.ndarray, buffers: list[np.ndarray], constants: Any, work: list[np.ndarray]
    ) -> None:
        """Update a flat piece of parameters in place. ``g`` is only read; ``work`` is three arrays of the same size."""
        raise NotImplementedError

    # ----- what they share -----

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for key, default in self._group_defaults.items():
                group.setdefault(key, default)
            for p in group["params"]:
                p_state = self.state.get(p, {})
                for name in self._scalars(group):
                    # Files from before PyTorch 1.12 have plain numbers here.
                    if len(p_state) and not isinstance(p_state[name], penlight.Tensor):
                        dtype = _get_scalar_dtype(group.get("fused"))
                        p_state[name] = penlight.tensor(float(p_state[name]), dtype=dtype)

    @_use_grad_for_differentiable
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        ``closure``, if given, is called first, with gradients enabled, to compute the loss anew; its value is returned.
        """
        loss = None
        if closure is not None:
            with penlight.enable_grad():
                loss = closure()
        for index, group in enumerate(self.param_groups):
            params, grads = [], []
            for p in group["params"]:
                grad = p.grad
                if grad is not None:
                    params.append(p)
                    grads.append(grad)
            if params:
                self._check(group, params, grads)
                self._update(index, group, params, grads)
        return loss

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        states = [self.state[p] for p in params]
        fresh = [i for i, state in enumerate(states) if not state]
        if fresh:
            self._init_states([params[i] for i in fresh], [states[i] for i in fresh], group)
        self._run(index, group, params, grads, states)

    def _run(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        rows: Any = range(len(params))
        if not group["differentiable"]:
            rows = _raw.update(self, index, group, params, grads, states)
        for i in rows:
            self._plain(params[i], grads[i], states[i], group)

    def _init_states(self, params: list[Tensor], states: list[State], group: Group) -> None:
        dtype = _get_scalar_dtype(group.get("fused"))
        for name, value in self._scalars(group).items():
            for state, tensor in zip(states, _raw.allocate_scalars(len(params), value, dtype), strict=True):
                state[name] = tensor
        for name, value in self._buffers(group).items():
            for state, tensor in zip(states, _raw.allocate(params, value), strict=True):
                state[name] = tensor

    @classmethod
    def _plain(cls, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """One parameter on tensors: the sign of the gradient, weight decay, complex as pairs of real, the update."""
        if group["maximize"]:
            grad = -grad
        if "step" in state:
            step = state["step"]
            step += 1
        decay = group.get("weight_decay", 0)
        if decay != 0:
            if group.get("decoupled_weight_decay", False):
                p.mul_(1 - _to_scalar(group["lr"]) * decay)
            elif isinstance(decay, penlight.Tensor) and decay.requires_grad:
                grad = grad.addcmul(p.clone(), decay)
            else:
                grad = grad.add(p, alpha=decay)
        if cls._complex_as_real and p.is_complex():
            state = {k: penlight.view_as_real(v) if v.is_complex() else v for k, v in state.items()}
            p, grad = penlight.view_as_real(p), penlight.view_as_real(grad)
        cls._single(p, grad, state, group)

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        """Refuse what cannot be done before anything is changed."""
        if any(map(_is_sparse, grads)):
            self._check_sparse(group)
        if group.get("capturable", False):
            foreach = bool(group["foreach"])
            devices = [*_CAPTURABLE_DEVICES, "xla"] if self._captured_on_xla[foreach] else _CAPTURABLE_DEVICES
            raise AssertionError(
                f"If capturable=True, {self._captured[foreach]} must be on supported devices: {devices}."
            )
        if group["differentiable"] and group["foreach"]:
            raise AssertionError("_foreach ops don't support autograd")
        if group.get("fused", False):
            for p in params:
                if not p.is_floating_point():
                    raise RuntimeError(
                        "`fused=True` requires all the params to be floating point Tensors of supported devices: "
                        f"{_FUSED_DEVICES} but {p.dtype} and {p.device.type}"
                    )

    def _check_sparse(self, group: Group) -> None:
        raise RuntimeError(self._needs_dense.format(type(self).__name__))

    def _unscale(self, group: Group, grads: list[Tensor]) -> bool:
        """Do for a fused optimiser what a gradient scaler leaves to it, and say whether the step may go on."""
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if scale is None and found_inf is None:
            return True
        if not group["fused"]:
            raise AssertionError("Expected grad_scale and found_inf to be None")
        if found_inf is not None and bool(found_inf):
            return False
        if scale is not None:
            for grad in grads:
                grad.div_(scale)
        return True

    @staticmethod
    def _refuse_fused_with(differentiable: bool, foreach: bool | None) -> None:
        if differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
