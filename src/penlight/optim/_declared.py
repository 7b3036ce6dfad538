"""The common base of this package's optimisers: declared options, their checks, and the structure of a step.

An optimiser declares in `_options` the keys of a parameter group, in PyTorch's order; in `_checks` the conditions on their values, in the
order of PyTorch's checks; and in `_added` the options that older files lack. Its constructor has only PyTorch's signature and no body: see
`_set_up`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.declared_classes import declared_init
from penlight._common.docstrings import complete
from penlight.autograd.modes import grad_mode
from penlight.optim import _raw, _vectors
from penlight.optim.optimizer import Optimizer, _get_scalar_dtype, _to_scalar

Group = dict[str, Any]
State = dict[str, Any]
Check = Callable[[Any], "str | None"]  # the error for a value, in PyTorch's words


def need(good: Callable[[Any], Any], words: str) -> Check:
    """A check that fails with ``words``, formatted with the value, unless ``good(value)``."""
    return lambda value: None if good(value) else words.format(value)


def not_negative(words: str) -> Check:
    return need(lambda value: value >= 0.0, words)


def _beta_out_of_range(betas: Any) -> str | None:
    for i, beta in enumerate(betas[:2]):
        if not 0.0 <= beta < 1.0:
            return f"Invalid beta parameter at index {i}: {beta}"
    return None


_WORDS = {"lr": "Invalid learning rate: {}", "eps": "Invalid epsilon value: {}"}


def usual(*names: str) -> dict[str, Check]:
    """The checks of most optimisers: betas are in [0, 1), other options are not negative."""
    checks = {name: not_negative(_WORDS.get(name, f"Invalid {name} value: {{}}")) for name in names}
    return {name: _beta_out_of_range if name == "betas" else check for name, check in checks.items()}


def added(names: str) -> Group:
    """Options that older files lack, with the values assumed for them: nothing chosen, everything off."""
    off = {"foreach": None, "fused": None, "momentum": 0}
    return {name: off.get(name, False) for name in names.split()}


_STEP = """\
>>> w = torch.tensor([1.0, -2.0], requires_grad=True)
>>> opt = torch.optim.{}([w], {})
>>> (w * w).sum().backward()
>>> opt.step()
>>> w
tensor({}, requires_grad=True)
"""


class Declared(Optimizer):
    """An optimiser with declared options."""

    _options: ClassVar[str]
    _checks: ClassVar[dict[str, Check]]
    _added: ClassVar[Group] = {}

    def __init_subclass__(cls, example: tuple[str, str] | None = None, **kwargs: Any) -> None:
        # The example is a step from (1, -2) down a parabola, declared by its options and its result.
        super().__init_subclass__(**kwargs)
        complete(cls, _STEP, example)
        if "_options" in vars(cls):
            cls.__init__ = declared_init(cls.__init__, Declared._set_up)  # type: ignore[method-assign]

    def _set_up(self, given: dict[str, Any]) -> None:
        """The common body of all constructors."""
        super().__init__(given["params"], self._declared(given))
        self._check_groups()

    def _check_groups(self) -> None:
        """Refuse incompatible options or parameters, once the groups exist."""

    def _declared(self, given: dict[str, Any]) -> Group:
        """The default options of every group: the checked arguments of the constructor."""
        lr = given["lr"]
        if isinstance(lr, penlight.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, check in self._checks.items():
            if wrong := check(given[name]):
                raise ValueError(wrong)
        return {name: given[name] for name in self._options.split()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._added.items():
                group.setdefault(name, value)
            for p_state in filter(None, map(self.state.get, group["params"])):
                for key in self._scalars(group):
                    if not isinstance(p_state[key], penlight.Tensor):  # in files from before PyTorch 1.12
                        dtype = _get_scalar_dtype(group.get("fused"))
                        p_state[key] = penlight.tensor(float(p_state[key]), dtype=dtype)

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        """The names and initial values of the 0-d state tensors."""
        return {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        ``closure``, if given, is called first, with gradients enabled, to recompute the loss, which is returned.
        """
        loss = None
        if closure is not None:
            with penlight.enable_grad():
                loss = closure()
        before = grad_mode.get()
        try:
            grad_mode.set(self.defaults.get("differentiable", False))
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
        finally:
            grad_mode.set(before)
        return loss

    def _check(self, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        """Refuse an impossible step before anything is changed."""

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        """Update the parameters with gradients of group ``index``."""
        raise NotImplementedError

    def _refuse_complex_and_sparse(self, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            for wrong, what in ((p.is_complex(), "complex parameters"), (grad.is_sparse, "sparse gradients")):
                if wrong:
                    raise RuntimeError(f"{type(self).__name__} does not support {what}")


# ----- Optimisers that treat every element alike ---------------------------------------------------------------------


# The elementwise optimisers: all but LBFGS, Adafactor, Muon and SparseAdam.
#
# Such an optimiser defines its state (`_scalars`, `_buffers`), the scalars of an update (`_numbers`), and the update itself
# (`_formula`). The formula is written with tensor methods. It runs on tensors, which works for every dtype and can be differentiated, and
# usually on flat arrays with the same methods, see Note [Updating in buckets]. The sign of the gradient (`maximize`) and weight decay
# are applied before it, in the same way for all optimisers.

_is_sparse = attrgetter("is_sparse")

_CAPTURABLE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone"]
_FUSED_DEVICES = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


class Elementwise(Declared):
    """An optimiser that is given by an elementwise formula."""

    _needs_dense: ClassVar[str] = "{} does not support sparse gradients"
    # PyTorch's errors for `capturable`, without and with `foreach`.
    _captured: ClassVar[tuple[str, str]] = ("params and state_steps", "params and state_steps")
    _captured_on_xla: ClassVar[tuple[bool, bool]] = (True, False)
    _complex_as_real: ClassVar[bool] = True
    _differentiates_lr: ClassVar[bool] = False  # whether a differentiable step has a gradient by the learning rate
    _added = added("foreach maximize differentiable capturable")

    # ----- what an optimiser defines -----

    @staticmethod
    def _scalars(group: Group) -> dict[str, float]:
        return {"step": 0.0}

    _state: ClassVar[str]  # the names of state tensors with the parameter's shape, initially zero
    _zeros: ClassVar[dict[str, float]]

    @classmethod
    def _buffers(cls, group: Group) -> dict[str, float]:
        """The state tensors with their initial values, if these depend on options."""
        return cls._zeros

    @staticmethod
    def _numbers(group: Group, step: Any, scalars: dict[str, Any]) -> tuple[Any, ...]:
        """The scalars of update number ``step``; updates the other ``scalars``, in place."""
        raise NotImplementedError

    # Called with a parameter, its gradient, the scalars and the buffers, it updates the parameter and the buffers in place. A scalar may
    # only be combined with tensors here, not with another scalar: see Note [Bodies as machine code]. An intermediate result is overwritten
    # by the next operation on it: see Note [Intermediate results].
    _formula: ClassVar[Callable[..., None]]

    # ----- what they share -----

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "_state" in vars(cls):
            cls._zeros = dict.fromkeys(cls._state.split(), 0.0)

    def _check_groups(self) -> None:
        """Check ``fused``, and let a gradient scaler delegate its work to `_unscale`."""
        options = self.defaults
        if options.get("fused"):
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
            numbers = tuple(_vectors.plain(numbers))
        cls._formula(p, grad, numbers, *[state[name] for name in cls._buffers(group)])

    @classmethod
    def _numbers_for_arrays(cls, group: Group, scalars: dict[str, Any]) -> tuple[int, tuple[Any, ...]]:
        """The scalars that `_on_arrays` takes, in order, and how many of them are for `before_formula`."""
        step = scalars["step"].item(0) if "step" in scalars else None
        decay = decay_of(group)
        return len(decay), decay + cls._numbers(group, step, scalars)

    @classmethod
    def _on_arrays(cls, p: Any, grad: Any, decay: list[Any], numbers: list[Any], buffers: list[Any]) -> None:
        if decay:
            grad = _vectors.Vector(before_formula(p, grad, *decay).array, grad.scratch)
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
        """Do the work that a gradient scaler delegates to a fused optimiser; returns whether the step may continue."""
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
    """The arguments of `before_formula`, if it has anything to do: whether to negate the gradient, the factor of the parameter, and how
    much of the parameter to add to the gradient."""
    maximize, decay = group["maximize"], group.get("weight_decay", 0)
    if decay == 0:
        return (True, None, None) if maximize else ()
    if group.get("decoupled_weight_decay", False):
        return maximize, 1 - group["lr"] * decay, None
    return maximize, None, decay


def before_formula(p: Any, grad: Any, maximize: bool = False, shrink: Any = None, decay: Any = None) -> Any:
    """Shrink the parameter, and return the gradient with its sign and weight decay applied."""
    if maximize:
        grad = -grad
    if shrink is not None:
        p.mul_(shrink)
    if decay is None:
        return grad
    if isinstance(decay, penlight.Tensor) and decay.requires_grad:
        return grad.addcmul(p.clone(), decay)
    return grad.add(p, alpha=decay)
