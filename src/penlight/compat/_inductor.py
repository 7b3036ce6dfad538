"""torch._inductor, the back of PyTorch's compiler: its switches are accepted, and nothing is compiled."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

from penlight._refused import refuse, refused_function

from ._settable import Settings

config = sys.modules[f"{__name__}.config"] = Settings(f"{__name__}.config")
utils = sys.modules[f"{__name__}.utils"] = Settings(
    f"{__name__}.utils", fresh_inductor_cache=nullcontext, fresh_cache=nullcontext
)

__path__: list[str] = []

_WHY = "Penlight does not compile. Save the weights with torch.save(module.state_dict(), path)."
compile = refused_function("_inductor.compile", _WHY)
aoti_compile_and_package = refused_function("_inductor.aoti_compile_and_package", _WHY)
aoti_load_package = refused_function("_inductor.aoti_load_package", _WHY)


def list_options() -> list[str]:
    """The switches: none has an effect."""
    return []


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """What the modes of torch.compile mean: nothing."""
    return {}


__getattr__ = refuse(__name__, "Penlight does not compile.", "Run the function as it is written.")
