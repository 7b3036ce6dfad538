"""Schedulers given by a formula of the epoch, or cyclic ones that step with each batch."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal

from penlight.optim.lr_scheduler._base import Factored, Scheduled, _checked, _format_param, _set, _values
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
    """Multiplies the rate by ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _change(self, epoch: int) -> float | None:
        return self.gamma if epoch != 0 and epoch % self.step_size == 0 else None

    def _total(self, epoch: int) -> float:
        return self.gamma ** (epoch // self.step_size)


class MultiStepLR(Factored, example=("milestones=[1, 5], gamma=0.5", "[0.5]")):
    """Multiplies the rate by ``gamma`` at each of the ``milestones``."""

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
    """Multiplies the rate by ``factor`` for the first ``total_iters`` epochs.

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
    """Multiplies the rate by a factor that changes linearly from ``start_factor`` to ``end_factor`` within ``total_iters`` epochs."""

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
    """Multiplies the rate by ``gamma`` every epoch."""

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
    """Lets the rate follow half a cosine period, from the first rate to ``eta_min`` within ``T_max`` epochs, then back."""

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
            # At the minimum the ratio below is 0/0, so the next rate is computed by a sum.
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


# ----- Cycles --------------------------------------------------------------------------------------------------------


class _MomentumCycle(Scheduled):
    """Changes the momentum, or the first beta, opposite to the rate."""

    use_beta1: bool

    def _init_momentum(self, base_momentum: Any, max_momentum: Any, start: bool) -> tuple[list[Any], list[Any]]:
        options, groups = self.optimizer.defaults, self.optimizer.param_groups
        if not {"momentum", "betas"} & {*options}:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in options
        bases = _format_param("base_momentum", self.optimizer, base_momentum)
        tops = _format_param("max_momentum", self.optimizer, max_momentum)
        if start:
            for top, base, group in zip(tops, bases, groups, strict=True):
                self._set_momentum(group, top)
                group.update(max_momentum=top, base_momentum=base)
        return bases, tops

    def _set_momentum(self, group: dict[str, Any], momentum: Any) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_MomentumCycle):
    """Raises the rate from ``base_lr`` to ``max_lr`` in ``step_size_up`` batches and lowers it again in ``step_size_down``.

    ``mode`` is how the amplitude evolves: ``"triangular"`` constant, ``"triangular2"`` halved each cycle, ``"exp_range"`` times ``gamma``
    every batch; or ``scale_fn`` computes it from the index of the cycle or, with ``scale_mode="iterations"``, of the batch. With
    ``cycle_momentum`` the momentum (or the first beta) moves in the opposite direction.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(opt, base_lr=0.5, max_lr=1.5, step_size_up=2)
    >>> for batch in range(3):
    ...     opt.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [0.5]
    [1.0]
    [1.5]
    """

    _members = ("_scale_fn_custom",)

    def __init__(self, optimizer: Optimizer, base_lr: float | list[float], max_lr: float | list[float],
                 step_size_up: int = 2000, step_size_down: int | None = None,
                 mode: Literal["triangular", "triangular2", "exp_range"] = "triangular", gamma: float = 1.0,
                 scale_fn: Callable[[float], float] | None = None, scale_mode: Literal["cycle", "iterations"] = "cycle",
                 cycle_momentum: bool = True, base_momentum: float = 0.8, max_momentum: float = 0.9,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.optimizer = _checked(optimizer)
        lows = _format_param("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows, strict=True):
                _set(group, "lr", low)
        self.max_lrs = _format_param("max_lr", optimizer, max_lr)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if scale_fn is None:
            if mode not in ("triangular", "triangular2", "exp_range"):
                raise ValueError("mode is invalid and scale_fn is None")
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode: str = scale_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            bounds = self._init_momentum(base_momentum, max_momentum, start=last_epoch == -1)
            self.base_momentums, self.max_momentums = bounds
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x: float) -> float:
        """The amplitude of a cycle, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "exp_range":
            return self.gamma**x
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1)

    def _rates(self) -> list[Any]:
        cycles = self.last_epoch / self.total_size
        number = math.floor(1 + cycles)
        x, peak = 1.0 + cycles - number, self.step_ratio
        progress = x / peak if x <= peak else (x - 1) / (peak - 1)
        groups, by_cycle = self.optimizer.param_groups, self.scale_mode == "cycle"

        def heights(lows: list[Any], highs: list[Any]) -> list[Any]:
            scale = self.scale_fn(number if by_cycle else self.last_epoch)
            return [(high - low) * progress * scale for low, high in zip(lows, highs, strict=True)]

        if self.cycle_momentum:
            falls = heights(self.base_momentums, self.max_momentums)
            for group, high, fall in zip(groups, self.max_momentums, falls, strict=True):
                self._set_momentum(group, high - fall)
        return [low + rise for low, rise in zip(self.base_lrs, heights(self.base_lrs, self.max_lrs), strict=True)]


class CosineAnnealingWarmRestarts(Scheduled):
    """Lets the rate follow half a cosine to ``eta_min`` within ``T_0`` epochs, then restarts, each time ``T_mult`` times as long.

    ``step`` also accepts fractions of epochs: ``scheduler.step(epoch + batch / batches)``.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    >>> for epoch in range(3):
    ...     opt.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [1.0]
    [0.5]
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        for value, words in ((T_0, "positive integer T_0"), (T_mult, "integer T_mult >= 1")):
            if value < 1 or not isinstance(value, int):
                raise ValueError(f"Expected {words}, but got {value}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i = T_0  # the length of this period
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch  # the position in it
        super().__init__(optimizer, last_epoch)

    def _rates(self) -> list[Any]:
        return cosine(self.base_lrs, self.eta_min, math.pi * self.T_cur / self.T_i)

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = epoch or 0
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._go_to(epoch)
        self.last_epoch = math.floor(epoch)
        self._set_lrs(self.get_lr)

    def _go_to(self, epoch: float) -> None:
        """Find the length of an epoch's period, and the position in it."""
        first, growth = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif growth == 1:
            self.T_cur = epoch % first
        else:
            # The restarts before `epoch` took first * (growth**n - 1) / (growth - 1) epochs.
            n = int(math.log(epoch / first * (growth - 1) + 1, growth))
            self.T_cur = epoch - first * (growth**n - 1) / (growth - 1)
            self.T_i = first * growth**n


class OneCycleLR(_MomentumCycle):
    """One cycle for a full training: up from ``max_lr / div_factor`` to ``max_lr``, then down to almost zero.

    The length is ``total_steps``, or ``epochs * steps_per_epoch``; the rate rises for the fraction ``pct_start`` of it. With
    ``three_phase`` the descent first mirrors the ascent. The lowest rate is the first one divided by ``final_div_factor``. With
    ``cycle_momentum`` the momentum (or the first beta) moves in the opposite direction.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=10, anneal_strategy="linear")
    >>> [f"{lr:.2f}" for lr in scheduler.get_last_lr()]
    ['0.04']
    """

    def __init__(self, optimizer: Optimizer, max_lr: float | list[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: Literal["cos", "linear"] = "cos", cycle_momentum: bool = True,
                 base_momentum: float | list[float] = 0.85, max_momentum: float | list[float] = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:  # fmt: skip
        self.optimizer = _checked(optimizer)
        self.total_steps = _total_steps(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(pct_start, self.total_steps, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        check_strategy(anneal_strategy)
        self._anneal_func_type: str = anneal_strategy
        tops = _format_param("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, tops, strict=True):
                start = top / div_factor
                group.update(initial_lr=start, max_lr=top, min_lr=start / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._init_momentum(base_momentum, max_momentum, start=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _annealing_linear(start: Any, end: Any, pct: float) -> Any:
        return (end - start) * pct + start

    @staticmethod
    def _annealing_cos(start: Any, end: Any, pct: float) -> Any:
        return end + (start - end) / 2.0 * (math.cos(math.pi * pct) + 1)

    def _anneal_func(self, start: Any, end: Any, pct: float) -> Any:
        anneal = {"cos": self._annealing_cos, "linear": self._annealing_linear}.get(self._anneal_func_type)
        if anneal is None:
            raise ValueError(f"Unknown _anneal_func_type: {self._anneal_func_type}")
        return anneal(start, end, pct)

    def _rates(self) -> list[Any]:
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        begin = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            begin = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        progress = (step - begin) / (phase["end_step"] - begin)

        def between(group: dict[str, Any], what: str) -> Any:
            return self._anneal_func(group[phase[f"start_{what}"]], group[phase[f"end_{what}"]], progress)

        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                self._set_momentum(group, between(group, "momentum"))
        return [between(group, "lr") for group in groups]


def check_strategy(anneal_strategy: str) -> None:
    if anneal_strategy not in ("cos", "linear"):
        raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")


def _total_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    given: dict[str, Any] = {"total_steps": total_steps}
    if total_steps is None:
        given = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        if None in given.values():
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, value in given.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(given.values())


def _phases(pct_start: float, total_steps: int, three_phase: bool) -> list[dict[str, Any]]:
    """The ends of the phases, and the options of a group at their start and end."""
    up = (float(pct_start * total_steps) - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if three_phase:
        back = (float(2 * pct_start * total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum")
        rows = [up, back, (total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
    else:
        rows = [up, (total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
    return [dict(zip(keys, row, strict=True)) for row in rows]
