"""torch.export, which is refused when it is used. Penlight does not export programs."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__,
    "Penlight does not export programs.",
    "Save the weights with torch.save(module.state_dict(), path), which PyTorch can load and export.",
)
