"""torch.utils.flop_counter, which is refused when it is used: the profiler counts."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__,
    "Penlight does not count operations this way.",
    "Use torch.profiler.profile(with_flops=True) and key_averages().",
)
