"""torch._subclasses, which is refused when it is used. Penlight has no fake tensors."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(__name__, "Penlight has no fake tensors.", "Compute on real ones, or on shapes.")
