"""torch.backends.quantized: there is no quantised arithmetic here."""

from __future__ import annotations

engine = "none"
supported_engines = ["none"]
