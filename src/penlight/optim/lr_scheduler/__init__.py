"""Learning rate schedulers, as in ``torch.optim.lr_scheduler``.

A scheduler sets ``lr`` of its optimiser's parameter groups when it is created and at every ``step()``, which follows the optimiser's own step.

>>> import penlight as torch
>>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
>>> for epoch in range(4):
...     opt.step()
...     print(scheduler.get_last_lr())
...     scheduler.step()
[1.0]
[1.0]
[0.5]
[0.5]
"""

from penlight._common.arguments import explain as _explain
from penlight.optim.lr_scheduler._base import EPOCH_DEPRECATION_WARNING, LRScheduler, _format_param, _LRScheduler
from penlight.optim.lr_scheduler._combined import ChainedScheduler, ReduceLROnPlateau, SequentialLR

from penlight.optim.lr_scheduler._formulas import (  # isort: skip
    ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR,
    MultiStepLR, OneCycleLR, PolynomialLR, StepLR,
)  # fmt: skip

__all__ = [
    "EPOCH_DEPRECATION_WARNING", "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
    "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler", "_format_param",
]  # fmt: skip
_explain(globals())
