"""torch._higher_order_ops, which is refused when it is used. Penlight does not turn programs into graphs ahead of time."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__,
    "Penlight does not turn programs into graphs ahead of time.",
    "Write Python's own `if`, `for` and `while`.",
)
