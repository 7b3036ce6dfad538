"""AdamW: Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.optim.adam import Adam
from penlight.optim.optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam, example=("lr=0.1, weight_decay=0.5", "[ 0.8500, -1.8000]")):
    """Adam whose weight decay shrinks the parameter, ``p *= 1 - lr * weight_decay``, and leaves the moments alone."""

    def __init__(self, params: ParamsT, lr: float | Tensor = 1e-3,
                 betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:  # fmt: skip
        options = self._declared({**locals(), "decoupled_weight_decay": True})
        super(Adam, self).__init__(params, options)
        self._allow_fused()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # also in files from before the option existed
            group["decoupled_weight_decay"] = True
