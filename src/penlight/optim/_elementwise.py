"""The optimisers that treat every element alike: all but LBFGS, Adafactor, Muon and SparseAdam.

Such an optimiser says which state it keeps (`_scalars`, `_buffers`), which numbers an update needs (`_numbers`), and what it does
with them (`_formula`). The formula is written in tensor methods. It runs on tensors, which works for every dtype and can be
differentiated, and in the everyday case on flat arrays that answer to the same methods, see Note [Updating in buckets]. The
sign of the gradient (`maximize`) and weight decay come before it, for all optimisers alike.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight.optim import _raw
from penlight.optim._declared import Declared, Group, State, added
from penlight.optim.optimizer import _get_scalar_dtype, _to_scalar

_is_sparse = attrgetter("is_sparse")

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone"]
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


class Elementwise(Declared):
    """An optimiser with a formula."""

    _needs_dense: ClassVar[str] = "{} does not support sparse gradients"
    # What PyTorch's refusal of `capturable` says, without and with `foreach`.
    _captured: ClassVar[tuple[str, str]] = ("params and state_steps", "params and state_steps")
    _captured_on_xla: ClassVar[tuple[bool, bool]] = (True, False)
    _complex_as_real: ClassVar[bool] = True
    _differentiates_lr: ClassVar[bool] = False  # whether a differentiable step has a gradient for the learning rate
    _added = added("foreach maximize differentiable capturable")

    # ----- what an optimiser defines -----

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0}

    # The names of the state that is shaped like the parameter, and the value it is filled with at first.
    _slots: ClassVar[dict[str, float]]

    @classmethod
    def _buffers(cls, group: Group) -> dict[str, float]:
        """The same, where the options decide."""
        return cls._slots

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers of this update, which is number ``step``; bring the other ``scalars`` forward, in place."""
        raise NotImplementedError

    # Called with a parameter, its gradient, the numbers and the buffers, it updates the parameter and the buffers in place.
    # A number may only meet tensors here, no other number: see Note [Bodies as machine code]. An intermediate result is gone
    # once something was computed from it: see Note [Intermediate results].
    _formula: ClassVar[Callable[..., None]]

    # ----- what they share -----

    def _allow_fused(self) -> None:
        """Check ``fused`` once the groups are there, and let a gradient scaler leave its work to `_unscale`."""
        options = self.defaults
        if options["fused"]:
            if options["differentiable"]:
                raise RuntimeError("`fused` does not support `differentiable`")
            if options["foreach"]:
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
            self._step_supports_amp_scaling = True

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        if not self._unscale(group, grads):
            return
        states = [self.state[p] for p in params]
        if not all(states):
            fresh = [i for i, state in enumerate(states) if not state]
            self._init_states([params[i] for i in fresh], [states[i] for i in fresh], group)
        self._run(index, group, params, grads, states)

    def _run(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]) -> None:
        rows: Any = range(len(params))
        if not group["differentiable"]:
            rows = _raw.update(self, index, group, params, grads, states)
        for i in rows:
            self._single(params[i], grads[i], states[i], group)

    def _init_states(self, params: list[Tensor], states: list[State], group: Group) -> None:
        dtype = _get_scalar_dtype(group.get("fused"))
        columns = {name: _raw.allocate_scalars(len(params), x, dtype) for name, x in self._scalars(group).items()}
        columns |= {name: _raw.allocate(params, value) for name, value in self._buffers(group).items()}
        for name, tensors in columns.items():
            for state, tensor in zip(states, tensors, strict=True):
                state[name] = tensor

    @classmethod
    def _single(cls, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Update one parameter, on tensors."""
        if isinstance(group["lr"], penlight.Tensor):
            group = {**group, "lr": _to_scalar(group["lr"])}
        step = state.get("step")
        if step is not None:
            step += 1
        grad = before_formula(p, grad, *decay_of(group))
        if cls._complex_as_real and p.is_complex():
            state = {k: penlight.view_as_real(v) if v.is_complex() else v for k, v in state.items()}
            p, grad = penlight.view_as_real(p), penlight.view_as_real(grad)
        cls._on_tensors(p, grad, state, group)

    @classmethod
    def _on_tensors(cls, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        numbers = cls._numbers(group, state["step"].item() if "step" in state else None, state)
        if not (cls._differentiates_lr and group["differentiable"]):
            numbers = tuple(_raw.plain(numbers))
        cls._formula(p, grad, numbers, *[state[name] for name in cls._buffers(group)])

    @classmethod
    def _numbers_for_arrays(cls, group: Group, scalars: dict[str, Any]) -> tuple[int, tuple[Any, ...]]:
        """The numbers that `_on_arrays` takes, one after the other, and how many of them are for `before_formula`."""
        step = float(scalars["step"][0]) if "step" in scalars else None
        decay = decay_of(group)
        return len(decay), decay + cls._numbers(group, step, scalars)

    @classmethod
    def _on_arrays(cls, p: Any, grad: Any, decay: list[Any], numbers: list[Any], buffers: list[Any]) -> None:
        if decay:
            grad = _raw.Vector(before_formula(p, grad, *decay).array, grad.scratch)
        cls._formula(p, grad, numbers, *buffers)

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
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
        scale, found_inf = self.__dict__.get("grad_scale"), self.__dict__.get("found_inf")
        if (scale is None and found_inf is None) or "fused" not in group:
            return True
        if not group["fused"]:
            raise AssertionError("Expected grad_scale and found_inf to be None")
        if found_inf is not None and bool(found_inf):
            return False
        if scale is not None:
            for grad in grads:
                grad.div_(scale)
        return True


def decay_of(group: Group) -> tuple[Any, ...]:
    """What `before_formula` needs, if it has anything to do: whether the gradient's sign changes, what the parameter is
    multiplied with, and how much of it is added to the gradient."""
    maximize, decay = group["maximize"], group.get("weight_decay", 0)
    if decay == 0:
        return (True, None, None) if maximize else ()
    if group.get("decoupled_weight_decay", False):
        return maximize, 1 - group["lr"] * decay, None
    return maximize, None, decay


def before_formula(p: Any, grad: Any, maximize: bool = False, shrink: Any = None, decay: Any = None) -> Any:
    """Shrink the parameter, and return the gradient with its sign and weight decay."""
    if maximize:
        grad = -grad
    if shrink is not None:
        p.mul_(shrink)
    if decay is None:
        return grad
    if isinstance(decay, penlight.Tensor) and decay.requires_grad:
        return grad.addcmul(p.clone(), decay)
    return grad.add(p, alpha=decay)
