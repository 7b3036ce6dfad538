"""torch.backends.mkldnn: oneDNN is not here; its switches can be set and change nothing."""

from __future__ import annotations

from typing import Any

from ._switches import Switches, changed
from .mkl import verbose as verbose

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"
matmul, conv, rnn = (Switches(fp32_precision="none") for _ in range(3))


def is_available() -> bool:
    """False: NumPy computes."""
    return False


def is_acl_available() -> bool:
    """False: NumPy computes."""
    return False


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Any:
    """A region in which the switches have other values."""
    return changed(
        globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32, fp32_precision=fp32_precision
    )
