"""torch._ops: the classes of the objects in `torch.ops`, for `isinstance` checks."""

from __future__ import annotations

from penlight._refused import refused_class
from penlight.ops.machinery.aten import (
    OpOverload as OpOverload,
    OpOverloadPacket as OpOverloadPacket,
    _Aten as _OpNamespace,
)

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "_OpNamespace"]

_WHY = "Penlight does not turn programs into graphs ahead of time. Write Python's own `if`, `for` and `while`."
HigherOrderOperator = refused_class("_ops.HigherOrderOperator", _WHY)
