"""torch.package, which is refused when it is used. Penlight does not package code."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__, "Penlight does not package code.", "Save the weights with torch.save(module.state_dict(), path)."
)
