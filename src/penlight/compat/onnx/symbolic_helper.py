"""torch.onnx.symbolic_helper: decorators of functions for the export are accepted, the rest is refused when it is used."""

from __future__ import annotations

from typing import Any

from penlight._refused import refuse


def parse_args(*arg_descriptors: str) -> Any:
    """Accepted as a decorator: nothing is exported."""
    return lambda function: function


__getattr__ = refuse(
    __name__,
    "Penlight does not export programs.",
    "Save the weights with torch.save(module.state_dict(), path), which PyTorch can load and export.",
)
