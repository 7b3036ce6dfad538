"""Optimisers and learning rate schedulers, as in ``torch.optim``. Each is imported at its first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penlight._common.arguments import explain as _explain
from penlight._common.module_table import declare_modules, lazy_names
from penlight.kernels.lazy import lazy_import
from penlight.optim.optimizer import Optimizer as Optimizer

if TYPE_CHECKING:
    from ._lazy import *  # noqa: F403

_refused = lazy_import(globals(), "_refused", "penlight._refused")

_MODULES = ("lr_scheduler", "swa_utils")
_RULES = "SGD Adam AdamW Adamax NAdam RAdam RMSprop Adagrad Adadelta Rprop ASGD"
_HOMES = declare_modules(
    __name__,
    _rules={name.lower(): name for name in _RULES.split()},
    _tensorwise={"adafactor": "Adafactor", "muon": "Muon", "sparse_adam": "SparseAdam"},
)
_HOMES |= {"LBFGS": "lbfgs", "swap_in_optimizer_params_and_state": "_stateless"}

_explain(globals())
__all__ = ["Optimizer", *_MODULES, *_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES, _MODULES, lambda *name: _refused.missing(*name))
