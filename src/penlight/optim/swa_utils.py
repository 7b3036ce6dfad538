"""Averages of a model's weights: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Literal

import penlight
from penlight.nn import Module
from penlight.optim.lr_scheduler import LRScheduler, _format_param

if TYPE_CHECKING:
    from penlight import Tensor
    from penlight.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _can_lerp(tensors: Any) -> bool:
    return tensors[0].is_floating_point() or tensors[0].is_complex()


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """The update of an exponential moving average for lists of tensors: ``ema = decay * ema + (1 - decay) * new``.

    >>> import penlight as torch
    >>> update = torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    >>> ema = [torch.zeros(2)]
    >>> update(ema, [torch.ones(2)], 1)
    >>> ema
    [tensor([0.5000, 0.5000])]
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        with penlight.no_grad():
            for ema, new in zip(ema_param_list, current_param_list, strict=True):
                if _can_lerp(ema_param_list):
                    ema.lerp_(new, 1 - decay)
                else:
                    ema.copy_(ema * decay + new * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """The update of an equally weighted average for lists of tensors."""

    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        with penlight.no_grad():
            for average, new in zip(averaged_param_list, current_param_list, strict=True):
                if _can_lerp(averaged_param_list):
                    average.lerp_(new, _number(1 / (num_averaged + 1)))
                elif isinstance(num_averaged, penlight.Tensor):
                    average.addcdiv_(new - average, num_averaged + 1)
                else:
                    average.add_(new - average, alpha=1.0 / (num_averaged + 1))

    return swa_update


def _number(value: Any) -> float:
    return value.item() if isinstance(value, penlight.Tensor) else value


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """The next value of an exponential moving average of one tensor."""
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        with penlight.no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """The next value of an equally weighted average of one tensor."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        with penlight.no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are a running average of the model's.

    ``update_parameters(model)`` takes in the current ones. By default all count the same; ``avg_fn(average, new, n)``
    returns another average, ``multi_avg_fn(averages, news, n)`` writes it. Buffers are averaged with ``use_buffers`` and
    otherwise copied.

    >>> import penlight as torch
    >>> model = torch.nn.Linear(2, 1)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> average.update_parameters(model)
    >>> average.n_averaged
    tensor(1)
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable[[Any, Any, Any], Any] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", penlight.tensor(0, dtype=penlight.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Take the model's current parameters into the average; the first time they are the average."""
        own: Any = itertools.chain(self.module.parameters(), self.module.buffers() if self.use_buffers else ())
        new: Any = itertools.chain(model.parameters(), model.buffers() if self.use_buffers else ())
        pairs = [(a.detach(), b.detach().to(a.device)) for a, b in zip(own, new, strict=False)]
        if self.n_averaged == 0:
            for average, current in pairs:
                average.copy_(current)
        elif self.multi_avg_fn is not None:
            kinds: dict[Any, list[Any]] = {}
            for pair in pairs:
                kinds.setdefault(pair[0].dtype, []).append(pair)
            for members in kinds.values():
                averages, currents = map(list, zip(*members, strict=True))
                self.multi_avg_fn(averages, currents, self.n_averaged)
        else:
            avg_fn = get_swa_avg_fn() if self.avg_fn is None else self.avg_fn
            for average, current in pairs:
                average.copy_(avg_fn(average, current, self.n_averaged))
        if not self.use_buffers:
            for own_buffer, buffer in zip(self.module.buffers(), model.buffers(), strict=True):
                own_buffer.detach().copy_(buffer.detach().to(own_buffer.device))
        self.n_averaged.add_(1)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Compute the running statistics of the batch norm layers anew, by one pass over the data.

    A batch is a tensor, or a list or tuple whose first element is the model's input.

    >>> import penlight as torch
    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    batch_norm = penlight.nn.modules.batchnorm._BatchNorm
    momenta = {module: module.momentum for module in model.modules() if isinstance(module, batch_norm)}
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.reset_running_stats()
        module.momentum = None  # every batch counts the same
    with penlight.no_grad():
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """The rate from its current value to ``swa_lr`` within ``anneal_epochs`` epochs, then constant.

    >>> import penlight as torch
    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.swa_utils.SWALR(opt, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> opt.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: Literal["cos", "linear"] = "cos",
        last_epoch: int = -1,
    ) -> None:
        swa_lrs = _format_param("swa_lr", optimizer, swa_lr)
        for lr, group in zip(swa_lrs, optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ["cos", "linear"]:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._set_anneal_func(anneal_strategy)
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _get_initial_lr(lr: Any, swa_lr: Any, alpha: float) -> Any:
        """The rate that the annealing began with, from the current one."""
        return swa_lr if alpha == 1 else (lr - alpha * swa_lr) / (1 - alpha)

    def get_lr(self) -> list[Any]:
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=2,
            )
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        length = max(1, self.anneal_epochs)
        before = self.anneal_func(max(0, min(1, (step - 1) / length)))
        now = self.anneal_func(max(0, min(1, step / length)))
        lrs = []
        for group in self.optimizer.param_groups:
            first = self._get_initial_lr(group["lr"], group["swa_lr"], before)
            lrs.append(group["swa_lr"] * now + first * (1 - now))
        return lrs

    def _set_anneal_func(self, anneal_strategy: str) -> None:
        self._anneal_strategy = anneal_strategy
        self.anneal_func = self._cosine_anneal if anneal_strategy == "cos" else self._linear_anneal

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser and the annealing function."""
        return {key: value for key, value in super().state_dict().items() if key != "anneal_func"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that :meth:`state_dict` returned."""
        super().load_state_dict(state_dict)
        self._set_anneal_func(self._anneal_strategy)
