"""torch.version: the version of PyTorch that Penlight behaves like, and PyTorch's facts about the build."""

from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__ = "2.13.0+penlight"
debug = False
cuda = hip = rocm = xpu = None
git_version = "unknown"
