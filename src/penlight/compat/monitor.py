"""torch.monitor, which is refused when it is used. Penlight reports no events."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(__name__, "Penlight reports no events.", "Use logging, or torch.utils.tensorboard.")
