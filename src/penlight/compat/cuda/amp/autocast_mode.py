"""The old names of `torch.amp.autocast` and its kin for a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

from penlight._common.user_warnings import warn_user
from penlight.amp import autocast_mode as _amp

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


def _deprecated(old: str, new: str) -> None:
    warn_user(
        f"`torch.cuda.amp.{old}` is deprecated. Please use `torch.amp.{new}` instead.",
        FutureWarning,
    )


class autocast(_amp.autocast):
    """Deprecated: `torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        _deprecated("autocast(args...)", "autocast('cuda', args...)")
        super().__init__("cuda", dtype, enabled, cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")`."""
    _deprecated("custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return partial(_amp.custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="cuda")`."""
    _deprecated("custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")
