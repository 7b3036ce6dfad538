"""torch.utils.flop_counter: a counter that can be made and asked, and is refused when it is to count: the profiler counts."""

from __future__ import annotations

from typing import Any, NoReturn

from penlight._common.docstrings import example
from penlight._refused import refuse

_WHY = "Penlight does not count operations this way."
_INSTEAD = "Use torch.profiler.profile(with_flops=True) and key_averages()."

__getattr__ = refuse(__name__, _WHY, _INSTEAD)


@example("torch.utils.flop_counter.FlopCounterMode(display=False).get_total_flops()", "0")
class FlopCounterMode:
    """A counter that has counted nothing; trainers make one before they know whether they will use it. Entering it is refused."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:  # fmt: skip
        self.depth, self.display = depth, display

    def get_total_flops(self) -> int:
        """How many operations were counted: none."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """What was counted in each module: nothing."""
        return {}

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"torch.utils.flop_counter.FlopCounterMode is not available: {_WHY} {_INSTEAD}")

    def __exit__(self, *exc: object) -> None:
        pass
