"""Optimisers and learning rate schedulers, as in ``torch.optim``. Each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penlight.optim.optimizer import Optimizer as Optimizer

if TYPE_CHECKING:
    from ._lazy import *  # noqa: F403

_MODULES = ("lr_scheduler", "swa_utils")
_CLASSES = "ASGD LBFGS SGD Adadelta Adafactor Adagrad Adam AdamW Adamax Muon NAdam RAdam RMSprop Rprop SparseAdam"
_HOMES = {name: name.lower() for name in _CLASSES.split()}
_HOMES |= {"SparseAdam": "sparse_adam", "swap_in_optimizer_params_and_state": "_stateless"}

__all__ = ["Optimizer", *_MODULES, *_HOMES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
