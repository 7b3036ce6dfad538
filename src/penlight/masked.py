"""torch.masked, which is refused when it is used. Penlight has no masked tensors."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(__name__, "Penlight has no masked tensors.", "Use torch.where or tensor.masked_fill with a mask.")
