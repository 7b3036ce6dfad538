"""Schedulers that follow a formula in the number of the epoch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from penlight.optim.lr_scheduler._base import Factored, Scheduled, _values
from penlight.optim.optimizer import Optimizer


class _Lambdas(Scheduled):
    """A function of the epoch, or one for each parameter group."""

    _members = ("lr_lambdas",)

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        many = isinstance(lr_lambda, (list, tuple))
        self.lr_lambdas: list[Any] = [*lr_lambda] if many else [lr_lambda] * count  # type: ignore[misc]
        if len(self.lr_lambdas) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(self.lr_lambdas)}")
        self._check_lambdas()
        super().__init__(optimizer, last_epoch)

    def _check_lambdas(self) -> None:
        pass

    def _factors(self) -> list[float]:
        return [fn(self.last_epoch) for fn in self.lr_lambdas]


class LambdaLR(_Lambdas, example=("lr_lambda=lambda epoch: 1 / (1 + epoch)", "[0.5]")):
    """The first rate times a function of the epoch (or one for each group)."""

    def _rates(self) -> list[Any]:
        return [base * factor for base, factor in zip(self.base_lrs, self._factors(), strict=True)]


class MultiplicativeLR(_Lambdas, example=("lr_lambda=lambda epoch: 0.5", "[0.5]")):
    """The current rate times a function of the epoch (or one for each group)."""

    def _check_lambdas(self) -> None:
        for fn in self.lr_lambdas:
            if not callable(fn):
                raise TypeError(f"lr_lambda should be a function, but got {type(fn).__name__}")

    def _rates(self) -> list[Any]:
        lrs = _values(self.optimizer)
        return lrs if self._is_initial else [lr * f for lr, f in zip(lrs, self._factors(), strict=True)]


class StepLR(Factored, example=("step_size=1, gamma=0.5", "[0.5]")):
    """The rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self, epoch: int) -> float | None:
        return self.gamma if epoch != 0 and epoch % self.step_size == 0 else None

    def _total(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(Factored, example=("milestones=[1, 5], gamma=0.5", "[0.5]")):
    """The rate times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self, epoch: int) -> float | None:
        times = self.milestones.get(epoch)
        return None if times is None else self.gamma**times

    def _total(self, epoch: int) -> float:
        return self.gamma ** bisect_right(sorted(self.milestones.elements()), epoch)


class ConstantLR(Factored):
    """The rate times ``factor`` for the first ``total_iters`` epochs.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> torch.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=4).get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor < 0 or factor > 1.0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _change(self, epoch: int) -> float | None:
        if epoch == 0:
            return self.factor
        return 1.0 / self.factor if epoch == self.total_iters else None

    def _total(self, epoch: int) -> float:
        return self.factor + (epoch >= self.total_iters) * (1 - self.factor)


class LinearLR(Factored, example=("start_factor=0.5, total_iters=2", "[0.75]")):
    """The rate times a factor that goes in a line from ``start_factor`` to ``end_factor`` within ``total_iters`` epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1) -> None:  # fmt: skip
        if start_factor <= 0 or start_factor > 1.0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor < 0 or end_factor > 1.0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    @property
    def _rise(self) -> float:
        return self.end_factor - self.start_factor

    def _change(self, epoch: int) -> float | None:
        if epoch == 0:
            return self.start_factor
        if self._is_initial or epoch > self.total_iters:
            return None
        return 1.0 + self._rise / (self.total_iters * self.start_factor + (epoch - 1) * self._rise)

    def _total(self, epoch: int) -> float:
        return self.start_factor + self._rise * min(self.total_iters, epoch) / self.total_iters


class ExponentialLR(Factored, example=("gamma=0.5", "[0.5]")):
    """The rate times ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self, epoch: int) -> float | None:
        return None if self._is_initial else self.gamma

    def _total(self, epoch: int) -> float:
        return self.gamma**epoch


class PolynomialLR(Factored, example=("total_iters=4", "[0.75]")):
    """The first rate times ``(1 - epoch / total_iters) ** power``."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _base(self, epoch: int) -> float:
        return 1.0 - epoch / self.total_iters

    def _change(self, epoch: int) -> float | None:
        if self._is_initial or epoch > self.total_iters:
            return None
        return (self._base(epoch) / self._base(epoch - 1)) ** self.power

    def _total(self, epoch: int) -> float:
        return self._base(min(self.total_iters, epoch)) ** self.power


class CosineAnnealingLR(Scheduled, example=("T_max=2", "[0.5]")):
    """The rate along half a period of the cosine, from the first one to ``eta_min`` within ``T_max`` epochs, then back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        lrs, low, epoch = _values(self.optimizer), self.eta_min, self.last_epoch
        if self._is_initial:
            return lrs
        if self._step_count == 1 and epoch > 0:
            return cosine(self.base_lrs, low, epoch * math.pi / self.T_max)
        if (epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # At the bottom the ratio below is 0/0, so the way up begins with a sum.
            rise = 1 - math.cos(math.pi / self.T_max)
            return [lr + (base - low) * rise / 2 for base, lr in zip(self.base_lrs, lrs, strict=True)]
        now, before = (1 + math.cos(math.pi * e / self.T_max) for e in (epoch, epoch - 1))
        return [now / before * (lr - low) + low for lr in lrs]

    def _get_closed_form_lr(self) -> list[Any]:
        return cosine(self.base_lrs, self.eta_min, math.pi * self.last_epoch / self.T_max)


def cosine(tops: list[Any], low: float, angle: float) -> list[Any]:
    """Rates on half a cosine from each of the ``tops`` down to ``low``."""
    height = 1 + math.cos(angle)
    return [low + (top - low) * height / 2 for top in tops]
