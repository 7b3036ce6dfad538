"""What the standard library's `importlib.metadata` says of `torch` where Penlight has the name."""

from __future__ import annotations

from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from typing import Any

from ..version import __version__


class TorchDistribution(Distribution):
    """An installed package called torch, as far as its name, version and modules go.

    >>> from penlight._run.distribution import TorchDistribution
    >>> TorchDistribution().name
    'torch'
    """

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: Penlight instead of PyTorch\n"
        return "torch\nfunctorch\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parents[2] / path

    @property
    def files(self) -> list[PackagePath] | None:
        return None
