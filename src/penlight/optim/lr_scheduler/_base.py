"""The common base of schedulers: call order checks, state, and setting rates."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar
from weakref import ref

import penlight
from penlight._common.docstrings import complete
from penlight._common.user_warnings import warn_user
from penlight.optim.optimizer import Optimizer, _to_scalar

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
    "is used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_ASK_LAST = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."
_MORE = " See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure to "
    "call `optimizer.step()` before `lr_scheduler.step()`." + _MORE
)
_WRONG_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call them in "
    "the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
    "skipping the first value of the learning rate schedule." + _MORE
)
_NOT_RESUMABLE = (
    "param 'initial_lr' is not specified in param_groups[{}] when resuming scheduler with last_epoch >= 0.\n"
    "This typically happens when:\n"
    "1. You're trying to resume training from a checkpoint but haven't properly loaded the optimizer state\n"
    "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
)


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, penlight.Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """One value for each parameter group, from a list or from one value for all."""
    count = len(optimizer.param_groups)
    values = param if isinstance(param, (list, tuple)) else [param] * count
    if len(values) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {count}."
        )
    return [_copied(value) for value in values]


def _values(optimizer: Optimizer, key: str = "lr") -> list[Any]:
    """An option of every group; tensors are copied, so that the optimiser's are not changed by accident."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _set(group: dict[str, Any], key: str, value: Any) -> None:
    """Set an option; in place if it is a tensor, because others may refer to it."""
    if isinstance(group[key], penlight.Tensor):
        group[key].fill_(_to_scalar(value))
    else:
        group[key] = value


def _checked(optimizer: Any) -> Optimizer:
    if isinstance(optimizer, Optimizer):
        return optimizer
    raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _saved(member: Any) -> Any:
    """The saved form of a member: a scheduler's state, a callable object's attributes, nothing for a function."""
    if isinstance(member, (list, tuple)):
        return [_saved(item) for item in member]
    if isinstance(member, LRScheduler):
        return member.state_dict()
    return None if member is None or isinstance(member, FunctionType) else dict(vars(member))


def _restore(member: Any, saved: Any) -> None:
    """Restore the saved state of a member, which stays the same object."""
    if isinstance(member, (list, tuple)):
        for item, state in zip(member, saved, strict=False):
            _restore(item, state)
    elif isinstance(member, LRScheduler):
        member.load_state_dict(saved)
    elif saved is not None:
        vars(member).update(saved)


def _note_steps(optimizer: Any) -> None:
    """Let an optimiser record in ``_opt_called`` that its ``step`` was called."""
    step = optimizer.step
    if hasattr(step, "_wrapped_by_lr_sched"):
        return
    plain_step, owner = step.__func__, ref(optimizer)

    @wraps(plain_step)
    def noted(*args: Any, **kwargs: Any) -> Any:
        stepping: Any = owner()
        stepping._opt_called = True
        return plain_step(stepping, *args, **kwargs)

    optimizer.step = noted
    optimizer.step._wrapped_by_lr_sched = True


class LRScheduler:
    """Sets the learning rates of an optimiser; a subclass computes them in ``get_lr``.

    ``get_lr`` returns a rate for each parameter group, from ``self.last_epoch``, ``self.base_lrs`` and the groups' own.
    ``last_epoch`` is -1 for a new start, or the epoch to resume after.

    >>> class Halving(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [base * 0.5**self.last_epoch for base in self.base_lrs]
    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halving(opt)
    >>> opt.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _members: ClassVar[tuple[str, ...]] = ()  # functions and schedulers, which are kept when a state is loaded
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = _checked(optimizer)
        for i, group in enumerate(optimizer.param_groups):
            if "initial_lr" not in group:
                if last_epoch != -1:
                    raise KeyError(_NOT_RESUMABLE.format(i))
                group["initial_lr"] = _copied(group["lr"])
        self.base_lrs: list[Any] = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """The step that sets the first rates."""
        self._step_count = 0
        with self._during("_is_initial"):
            self.step()

    @contextmanager
    def _during(self, flag: str) -> Iterator[None]:
        setattr(self, flag, True)
        try:
            yield
        finally:
            setattr(self, flag, False)

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch. Call it after the optimiser's ``step``; ``epoch`` is deprecated.

        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        optimizer: Any = self.optimizer
        self._step_count += 1
        if self._step_count == 2 and not hasattr(optimizer.step, "_wrapped_by_lr_sched"):
            warn_user(_OVERRIDDEN)
        elif self._step_count == 2 and not getattr(optimizer, "_opt_called", False):
            warn_user(_WRONG_ORDER)
        if epoch is not None:
            warn_user(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch; with ``epoch``, set its rates by the closed form, if there is one."""
        compute = self.get_lr if epoch is None else getattr(self, "_get_closed_form_lr", self.get_lr)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        self._set_lrs(compute)

    def _set_lrs(self, compute: Any) -> None:
        with self._during("_get_lr_called_within_step"):
            lrs = compute()
        for group, lr in zip(self.optimizer.param_groups, lrs, strict=True):
            _set(group, "lr", lr)
        self._last_lr = _values(self.optimizer)

    def get_lr(self) -> list[Any]:
        """Compute the learning rates to set next. To see the current ones use :meth:`get_last_lr`.

        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).get_last_lr()
        [0.1]
        """
        raise NotImplementedError

    def get_last_lr(self) -> list[Any]:
        """The last learning rates set, one for each parameter group.

        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).get_last_lr()
        [0.1]
        """
        return self._last_lr

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state that :meth:`state_dict` returned. Functions are kept, with their saved attributes.

        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        >>> scheduler.load_state_dict(scheduler.state_dict())
        """
        kept = {name: getattr(self, name) for name in self._members}
        vars(self).update({**state_dict, **kept})
        for name, member in kept.items():
            _restore(member, state_dict[name])

    def state_dict(self) -> dict[str, Any]:
        """The state of the scheduler, without the optimiser; for functions their attributes, if any.

        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).state_dict()["last_epoch"]
        0
        """
        hidden = ("optimizer", *self._members)
        state = {name: value for name, value in vars(self).items() if name not in hidden}
        return {**state, **{name: _saved(vars(self)[name]) for name in self._members}}


class _LRScheduler(LRScheduler):
    """The old name of `LRScheduler`."""


_EPOCH = """\
>>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.{}.{}(opt, {})
>>> opt.step(); scheduler.step()
>>> scheduler.get_last_lr()
{}
"""


class Scheduled(LRScheduler):
    """A scheduler of this package: `_rates` has the formula, `get_lr` is its public form."""

    def __init_subclass__(cls, example: tuple[str, str] | None = None, **kwargs: Any) -> None:
        # The example is one epoch, starting at rate 1, declared by its options and the resulting rate.
        super().__init_subclass__(**kwargs)
        if example is not None:  # otherwise it is a user's class, in any module
            complete(cls, _EPOCH.replace("{}", cls.__module__.split(".")[2], 1), example)

    def get_lr(self) -> list[Any]:
        if not self._get_lr_called_within_step:
            warn_user(_ASK_LAST)
        return self._rates()

    def _rates(self) -> list[Any]:
        """The rates for ``self.last_epoch``, one for each group."""
        raise NotImplementedError


class Factored(Scheduled):
    """A scheduler that multiplies the rate by a factor.

    `_change` is chainable: it is the factor of the current rate relative to the previous epoch, so that several schedulers, or the user,
    can change the same rate. `_total` is the closed form, the factor of the first rate, for ``step(epoch)``.
    """

    def _change(self, epoch: int) -> float | None:
        """The factor for an epoch; None if the rate is unchanged."""
        raise NotImplementedError

    def _total(self, epoch: int) -> float:
        raise NotImplementedError

    def _rates(self) -> list[Any]:
        factor = self._change(self.last_epoch)
        return [lr if factor is None else lr * factor for lr in _values(self.optimizer)]

    def _get_closed_form_lr(self) -> list[Any]:
        factor = self._total(self.last_epoch)
        return [base * factor for base in self.base_lrs]
