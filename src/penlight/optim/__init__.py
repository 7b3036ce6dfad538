"""Optimisers and learning rate schedulers, as in ``torch.optim``. Each is loaded when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penlight.optim.optimizer import Optimizer as Optimizer

if TYPE_CHECKING:
    from penlight.optim import lr_scheduler as lr_scheduler
    from penlight.optim import swa_utils as swa_utils
    from penlight.optim._stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
    from penlight.optim.adadelta import Adadelta as Adadelta
    from penlight.optim.adafactor import Adafactor as Adafactor
    from penlight.optim.adagrad import Adagrad as Adagrad
    from penlight.optim.adam import Adam as Adam
    from penlight.optim.adamax import Adamax as Adamax
    from penlight.optim.adamw import AdamW as AdamW
    from penlight.optim.asgd import ASGD as ASGD
    from penlight.optim.lbfgs import LBFGS as LBFGS
    from penlight.optim.muon import Muon as Muon
    from penlight.optim.nadam import NAdam as NAdam
    from penlight.optim.radam import RAdam as RAdam
    from penlight.optim.rmsprop import RMSprop as RMSprop
    from penlight.optim.rprop import Rprop as Rprop
    from penlight.optim.sgd import SGD as SGD
    from penlight.optim.sparse_adam import SparseAdam as SparseAdam

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Muon", "NAdam", "Optimizer",
    "RAdam", "RMSprop", "Rprop", "SparseAdam", "lr_scheduler", "swa_utils", "swap_in_optimizer_params_and_state",
]  # fmt: skip

_HOMES = {name: name.lower() for name in __all__}
_HOMES |= {"SparseAdam": "sparse_adam", "swap_in_optimizer_params_and_state": "_stateless"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"penlight.optim.{_HOMES[name]}")
    value = module if name in ("lr_scheduler", "swa_utils") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
