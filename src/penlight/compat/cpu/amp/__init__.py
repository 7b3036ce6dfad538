"""torch.cpu.amp: the old names of `torch.amp` for the CPU."""

from __future__ import annotations

from typing import Any

from penlight import dtypes
from penlight._common.user_warnings import warn_user
from penlight._refused import missing
from penlight.amp import autocast_mode as _amp, grad_scaler as _scaler

__all__ = ["GradScaler", "autocast"]


class autocast(_amp.autocast):
    """Deprecated: `torch.amp.autocast("cpu", ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.bfloat16, cache_enabled: bool = True) -> None:
        warn_user(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(_scaler.GradScaler):
    """Deprecated: `torch.amp.GradScaler("cpu", ...)`."""

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_user(
            "`torch.cpu.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.GradScaler('cpu', args...)` instead.",
            FutureWarning,
        )
        super().__init__("cpu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
