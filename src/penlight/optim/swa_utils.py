"""Averages of a model's weights: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Literal

import penlight
from penlight import Tensor
from penlight.nn import Module
from penlight.optim.lr_scheduler._base import Scheduled, _format_param
from penlight.optim.lr_scheduler._formulas import check_strategy
from penlight.optim.optimizer import Optimizer, _get_value

__all__ = [
    "SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
    "update_bn",
]  # fmt: skip


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _can_lerp(tensors: Any) -> bool:
    return tensors[0].is_floating_point() or tensors[0].is_complex()


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], Any]:
    """The update of an exponential moving average, for one tensor.

    Args:
        decay: the share of the old average, between 0 and 1.

    Returns:
        a function of the average, the new tensor and the number of tensors so far.

    >>> update = torch.optim.swa_utils.get_ema_avg_fn(0.5)
    >>> update(torch.zeros(2), torch.ones(2), 1)
    tensor([0.5000, 0.5000])
    """
    _check_decay(decay)

    @penlight.no_grad()
    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """The update of an exponential moving average for lists of tensors: ``ema = decay * ema + (1 - decay) * new``.

    Args:
        decay: the share of the old average, between 0 and 1.

    Returns:
        a function of the averages, which it writes, the new tensors and the number so far.

    >>> update = torch.optim.swa_utils.get_ema_multi_avg_fn(0.5)
    >>> ema = [torch.zeros(2)]
    >>> update(ema, [torch.ones(2)], 1)
    >>> ema
    [tensor([0.5000, 0.5000])]
    """
    mixed = get_ema_avg_fn(decay)

    @penlight.no_grad()
    def ema_update(ema_param_list: Any, current_param_list: Any, _: Any) -> None:
        lerp = _can_lerp(ema_param_list)
        for ema, new in zip(ema_param_list, current_param_list, strict=True):
            if lerp:
                ema.lerp_(new, 1 - decay)
            else:
                ema.copy_(mixed(ema, new, _))

    return ema_update


def get_swa_avg_fn() -> Callable[[Any, Any, Any], Any]:
    """The update of an equally weighted average, for one tensor.

    Returns:
        a function of the average, the new tensor and the number of tensors so far.

    >>> update = torch.optim.swa_utils.get_swa_avg_fn()
    >>> update(torch.zeros(2), torch.ones(2), 1)
    tensor([0.5000, 0.5000])
    """

    @penlight.no_grad()
    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Any:
        difference = current_param - averaged_param
        return averaged_param + difference / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """The update of an equally weighted average for lists of tensors.

    Returns:
        a function of the averages, which it writes, the new tensors and the number so far.

    >>> update = torch.optim.swa_utils.get_swa_multi_avg_fn()
    >>> averages = [torch.zeros(2)]
    >>> update(averages, [torch.ones(2)], 1)
    >>> averages
    [tensor([0.5000, 0.5000])]
    """

    @penlight.no_grad()
    def swa_update(averaged_param_list: Any, current_param_list: Any, num_averaged: Any) -> None:
        count, lerp = num_averaged + 1, _can_lerp(averaged_param_list)
        for average, new in zip(averaged_param_list, current_param_list, strict=True):
            if lerp:
                average.lerp_(new, _get_value(1 / count))
            elif isinstance(count, penlight.Tensor):
                average.addcdiv_(new - average, count)
            else:
                average.add_(new - average, alpha=1.0 / count)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are a running average of the model's parameters.

    ``update_parameters(model)`` adds the current ones. By default all have equal weight; ``avg_fn(average, new, n)`` returns another
    average, ``multi_avg_fn(averages, news, n)`` writes it. Buffers are averaged with ``use_buffers`` and
    otherwise copied.

    Args:
        model: the model.
        device: where the copy is; None is where the model is.
        avg_fn: the new average of one parameter; None is the mean of all.
        multi_avg_fn: the same for lists of parameters, in place.
        use_buffers: whether buffers are averaged too.

    >>> model = torch.nn.Linear(2, 1)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> average.update_parameters(model)
    >>> average.n_averaged
    tensor(1)
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable[[Any, Any, Any], Any] | None = None,
                 multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
                 use_buffers: bool = False) -> None:  # fmt: skip
        super().__init__()
        if None not in (avg_fn, multi_avg_fn):
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        copy = deepcopy(model)
        self.module = copy if device is None else copy.to(device)
        self.register_buffer("n_averaged", penlight.zeros((), dtype=penlight.long, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the averaged model."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Add the model's current parameters to the average; the first time they become the average."""
        pairs = _detached_pairs(self.module.parameters(), model.parameters())
        buffers = _detached_pairs(self.module.buffers(), model.buffers())
        if self.use_buffers:
            pairs, buffers = pairs + buffers, []
        if self.n_averaged == 0:
            buffers = pairs + buffers
        elif self.multi_avg_fn is None:
            average_of = self.avg_fn or get_swa_avg_fn()
            for average, new in pairs:
                average.copy_(average_of(average, new, self.n_averaged))
        else:
            for dtype in dict.fromkeys(average.dtype for average, _ in pairs):
                alike = [pair for pair in pairs if pair[0].dtype == dtype]
                self.multi_avg_fn([average for average, _ in alike], [new for _, new in alike], self.n_averaged)
        for own, new in buffers:
            own.copy_(new)
        self.n_averaged.add_(1)


def _detached_pairs(own: Iterable[Tensor], new: Iterable[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return [(a.detach(), b.detach().to(a.device)) for a, b in zip(own, new, strict=False)]


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of the batch norm layers, by one pass over the data.

    A batch is a tensor, or a list or tuple whose first element is the model's input.

    Args:
        loader: the batches.
        model: the model, whose mode is restored.
        device: where to move each batch; None leaves it.

    Returns:
        None

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
        module.momentum = None  # equal weight for every batch
    with penlight.no_grad():
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(Scheduled, example=('swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear"', "[0.75]")):
    """Changes the rate from its current value to ``swa_lr`` within ``anneal_epochs`` epochs, then keeps it constant.

    ``anneal_strategy`` is "cos" or "linear", ``last_epoch`` the epoch to resume after; -1 starts anew with the rates of ``optimizer``.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | list[float], anneal_epochs: int = 10,
                 anneal_strategy: Literal["cos", "linear"] = "cos", last_epoch: int = -1) -> None:  # fmt: skip
        for group, lr in zip(optimizer.param_groups, _format_param("swa_lr", optimizer, swa_lr), strict=True):
            group["swa_lr"] = lr
        check_strategy(anneal_strategy)
        self._anneal_strategy: str = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t: float) -> float:
        """The fraction of the change to ``swa_lr`` that is reached after the fraction ``t`` of the epochs."""
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def _rates(self) -> list[Any]:
        step, length = self._step_count - 1, max(1, self.anneal_epochs)
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = (self.anneal_func(max(0, min(1, count / length))) for count in (step - 1, step))
        lrs = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            start = end if before == 1 else (lr - before * end) / (1 - before)  # the rate at the start of the annealing
            lrs.append(end * now + start * (1 - now))
        return lrs
