"""torch.quantization, which is refused when it is used. Penlight has no quantised arithmetic."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(__name__, "Penlight has no quantised arithmetic.", "Use float32, or float16 by module.half().")
