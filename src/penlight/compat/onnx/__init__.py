"""torch.onnx, which is refused when it is used: Penlight does not export programs."""

from __future__ import annotations

from typing import Any

from penlight._refused import refuse

from . import symbolic_helper as symbolic_helper

__getattr__ = refuse(
    __name__,
    "Penlight does not export programs.",
    "Save the weights with torch.save(module.state_dict(), path), which PyTorch can load and export.",
)


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Accepted: nothing is exported."""


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Accepted: nothing is exported."""
