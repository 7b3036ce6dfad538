"""torch.utils.model_zoo: the old name of a function of torch.hub."""

from __future__ import annotations

from penlight.hub import _download_url_to_file as _download_url_to_file
from penlight.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
