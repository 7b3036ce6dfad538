"""torch.utils.model_zoo: the old name of a function of torch.hub, and the progress bar that others take from here."""

from __future__ import annotations

from typing import Any

from penlight import hub
from penlight.hub import _download_url_to_file as _download_url_to_file, load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    """`tqdm`, as `torch.hub` has it."""
    if name != "tqdm":
        raise AttributeError(f"module 'torch.utils.model_zoo' has no attribute '{name}'")
    return hub.tqdm
