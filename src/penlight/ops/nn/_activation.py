"""What the tables of activations share."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.declare import OPS


def floats_only(name: str, complex_too: bool = False) -> Any:
    """A check that refuses integers (and complex numbers) in PyTorch's words."""

    def check(env: dict[str, Any]) -> None:
        d = env["input"].dtype
        if d.category != dtypes.FLOATING and not (complex_too and d.category == dtypes.COMPLEX):
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.LEGACY[d]}'")

    return check


def run(op: str, inplace: bool, *arguments: Any) -> Tensor:
    """An op, or its in-place form."""
    return dispatch.inplace(OPS[op], arguments) if inplace else OPS[op].function(*arguments)
