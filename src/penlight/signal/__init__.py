"""torch.signal: windows.

>>> import penlight as torch
>>> torch.signal.windows.hann(3)
tensor([0., 1., 0.])
"""

from __future__ import annotations

from . import windows as windows

__all__ = ["windows"]
