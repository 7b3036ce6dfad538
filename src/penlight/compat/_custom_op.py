"""torch._custom_op, which is refused when it is used. Penlight has no dispatcher to register operators with."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__,
    "Penlight has no dispatcher to register operators with.",
    "Call the function itself, or write a torch.autograd.Function for one with a derivative of its own.",
)
