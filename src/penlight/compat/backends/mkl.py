"""torch.backends.mkl: whether NumPy computes with Intel's library."""

from __future__ import annotations

from typing import Any

import numpy as np

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether NumPy was built on MKL."""
    config: Any = np.show_config(mode="dicts")
    return "mkl" in str(config.get("Build Dependencies", {}).get("blas", {}).get("name", "")).lower()


class verbose:
    """A region in which MKL would report; without effect."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exc: object) -> None:
        pass
