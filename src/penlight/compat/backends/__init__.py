"""torch.backends: the switches of libraries below PyTorch. They can be set, and change nothing: NumPy computes.

>>> import penlight as torch
>>> torch.backends.cudnn.benchmark = True
>>> torch.backends.cudnn.benchmark, torch.backends.mps.is_available()
(True, False)
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from penlight._refused import missing

from .._settable import Settings

fp32_precision = "none"
__allow_nonbracketed_mutation = nullcontext  # a region in which switches may be set: here they always may

_PARTS = ("cpu", "cuda", "cudnn", "cusparselt", "kleidiai", "mkl", "mkldnn", "mps", "nnpack", "openmp",
          "opt_einsum", "quantized")  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name in ("mha", "miopen", "python_native"):
        made = sys.modules[f"{__name__}.{name}"] = Settings(f"{__name__}.{name}")
        return made
    raise missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
