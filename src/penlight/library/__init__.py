"""torch.library: functions as operators with a derivative (`custom_op`); the rest is refused when it is used."""

from __future__ import annotations

from penlight._refused import refuse
from penlight.library.custom_ops import (
    CustomOpDef as CustomOpDef,
    custom_op as custom_op,
    register_autograd as register_autograd,
    register_fake as register_fake,
    register_kernel as register_kernel,
)

__getattr__ = refuse(
    __name__,
    "Penlight has no dispatcher to register operators with.",
    "Use torch.library.custom_op, call the function itself, or write a torch.autograd.Function for one with a derivative of its own.",
)
