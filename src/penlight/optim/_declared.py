"""What every optimiser of this package shares: the declaration of its options, their checks, and the shape of a step.

An optimiser declares in `_options` the keys of a parameter group, in PyTorch's order; in `_checks` what is asked of the
values, in the order in which PyTorch looks at them; and in `_added` the options that older files lack. Its constructor has
PyTorch's signature and gives all its arguments to `_declared`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import complete
from penlight.autograd.modes import grad_mode
from penlight.optim.optimizer import Optimizer, _get_scalar_dtype

Group = dict[str, Any]
State = dict[str, Any]
Check = Callable[[Any], "str | None"]  # what is wrong with a value, in PyTorch's words


def need(good: Callable[[Any], Any], words: str) -> Check:
    """A check that reports ``words``, with the value in the braces, unless ``good(value)``."""
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
    """The checks that most optimisers make: betas are in [0, 1), other options are not negative."""
    checks = {name: not_negative(_WORDS.get(name, f"Invalid {name} value: {{}}")) for name in names}
    return {name: _beta_out_of_range if name == "betas" else check for name, check in checks.items()}


def added(names: str) -> Group:
    """Options that older files lack, with what they mean then: nothing was chosen, everything is off."""
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
        # The example is a step from (1, -2) down a parabola: given are the options and where it leads.
        super().__init_subclass__(**kwargs)
        complete(cls, _STEP, example)

    def _declared(self, given: dict[str, Any]) -> Group:
        """The options for every group, from the arguments of the constructor, which are checked."""
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
        """The names of the state that is 0-d tensors, and its first values."""
        return {}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters from their gradients.

        ``closure``, if given, is called first, with gradients enabled, to compute the loss anew; its value is returned.
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
        """Refuse what cannot be done, before anything is changed."""

    def _update(self, index: int, group: Group, params: list[Tensor], grads: list[Tensor]) -> None:
        """Update the parameters of group number ``index`` that have gradients."""
        raise NotImplementedError

    def _refuse_complex_and_sparse(self, params: list[Tensor], grads: list[Tensor]) -> None:
        for p, grad in zip(params, grads, strict=True):
            for wrong, what in ((p.is_complex(), "complex parameters"), (grad.is_sparse, "sparse gradients")):
                if wrong:
                    raise RuntimeError(f"{type(self).__name__} does not support {what}")
