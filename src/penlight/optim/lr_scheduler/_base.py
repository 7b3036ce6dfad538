"""The base of the schedulers."""

from __future__ import annotations

import types
import warnings
from functools import wraps
from typing import Any
from weakref import ref

import penlight
from penlight.optim.optimizer import Optimizer, _to_scalar

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed form "
    "is used instead of the new chainable form, where available. Please open an issue if you are unable to replicate "
    "your use case: https://github.com/pytorch/pytorch/issues/new/choose."
)
_MORE = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"


def _copied(value: Any) -> Any:
    return value.clone() if isinstance(value, penlight.Tensor) else value


def _format_param(name: str, optimizer: Optimizer, param: Any) -> list[Any]:
    """One value for each parameter group, from a list of them or from one for all."""
    count = len(optimizer.param_groups)
    if not isinstance(param, (list, tuple)):
        param = [param] * count
    elif len(param) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
            f"param_groups has {count}."
        )
    return [_copied(value) for value in param]


def _param_groups_val_list(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of every group; tensors as copies, so that nobody changes the optimiser's by accident."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _update_param_group_val(param_group: dict[str, Any], key: str, val: Any) -> None:
    """Set an option; in place if it is a tensor, since others may hold it."""
    if isinstance(param_group[key], penlight.Tensor):
        param_group[key].fill_(_to_scalar(val))
    else:
        param_group[key] = val


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _callable_state(fn: Any) -> dict[str, Any] | None:
    """What is saved of a user's function: the attributes of a callable object, nothing of a function."""
    return None if isinstance(fn, types.FunctionType) else fn.__dict__.copy()


def _track_step(optimizer: Optimizer) -> None:
    """Let the optimiser note that its ``step`` was called, for the warning about the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    reference = ref(optimizer)
    func = optimizer.step.__func__  # type: ignore[attr-defined]

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        self: Any = reference()
        self._opt_called = True
        return func(self, *args, **kwargs)

    wrapper._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = wrapper  # type: ignore[method-assign]


class _Flag:
    """Sets an attribute to True for the length of a ``with`` block."""

    def __init__(self, owner: Any, name: str) -> None:
        self.owner, self.name = owner, name

    def __enter__(self) -> None:
        setattr(self.owner, self.name, True)

    def __exit__(self, *exc: object) -> None:
        setattr(self.owner, self.name, False)


class LRScheduler:
    """Sets the learning rates of an optimiser; a subclass says to what, in ``get_lr``.

    ``get_lr`` returns a rate for each parameter group, from ``self.last_epoch``, ``self.base_lrs`` and the groups' own.
    ``last_epoch`` is -1 for a new start, or the epoch to resume after.

    >>> import penlight as torch
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

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Any]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with last_epoch "
                    ">= 0.\nThis typically happens when:\n1. You're trying to resume training from a checkpoint but "
                    "haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 for a fresh training "
                    "run (not recommended)"
                )
        self.base_lrs: list[Any] = _param_groups_val_list(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _track_step(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        with _Flag(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """Everything the scheduler knows, except for the optimiser.

        >>> import penlight as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).state_dict()["last_epoch"]
        0
        """
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that :meth:`state_dict` returned.

        >>> import penlight as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
        >>> scheduler.load_state_dict(scheduler.state_dict())
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The learning rates that were set last, one for each parameter group.

        >>> import penlight as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).get_last_lr()
        [0.1]
        """
        return self._last_lr

    def get_lr(self) -> list[Any]:
        """Compute the learning rates to set next. To see the current ones use :meth:`get_last_lr`.

        >>> import penlight as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
        >>> torch.optim.lr_scheduler.StepLR(optimizer, 10).get_last_lr()
        [0.1]
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch. Call it after the optimiser's ``step``; ``epoch`` is deprecated.

        >>> import penlight as torch
        >>> optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> optimizer.param_groups[0]["lr"]
        0.5
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(
                    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. "
                    "Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
                    + _MORE,
                    UserWarning,
                    stacklevel=2,
                )
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(
                    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you "
                    "should call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure "
                    "to do this will result in PyTorch skipping the first value of the learning rate schedule. See more "
                    "details at " + _MORE,
                    UserWarning,
                    stacklevel=2,
                )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _Flag(self, "_get_lr_called_within_step"):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._set_lrs(values)

    def _set_lrs(self, values: list[Any]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _update_param_group_val(group, "lr", lr)
        self._last_lr = _param_groups_val_list(self.optimizer, "lr")

    def _lrs_times(self, factor: float) -> list[Any]:
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _lrs_as_they_are(self) -> list[Any]:
        return _param_groups_val_list(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The old name."""


def _warn_get_lr_called_within_step(scheduler: LRScheduler) -> None:
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=2,
        )
