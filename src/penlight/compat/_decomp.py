"""torch._decomp, which is refused when it is used. Penlight's operators are not taken apart."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__, "Penlight's operators are not taken apart.", "Read penlight.ops, where each is one declaration."
)
