"""torch.amp: mixed precision. On the CPU, products and convolutions in bfloat16 or float16.

>>> import penlight as torch
>>> with torch.amp.autocast("cpu", dtype=torch.float16):
...     print((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
torch.float16
"""

from __future__ import annotations

from .._common.arguments import explain as _explain
from .autocast_mode import (
    _enter_autocast as _enter_autocast,
    _exit_autocast as _exit_autocast,
    autocast as autocast,
    custom_bwd as custom_bwd,
    custom_fwd as custom_fwd,
    is_autocast_available as is_autocast_available,
)
from .grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_explain(globals())
