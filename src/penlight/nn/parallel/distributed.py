"""DistributedDataParallel, which is refused: there is one process."""

from __future__ import annotations

from typing import Any

from penlight.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Not available: Penlight trains in one process. It raises when it is made, so that a program can import it."""

    def __init__(self, module: Any, *args: Any, **kwargs: Any) -> None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call init_process_group. "
            "Penlight runs in one process and has no distributed training: train the module itself."
        )
