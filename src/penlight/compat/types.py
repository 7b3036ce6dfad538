"""torch.types: names for annotations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from penlight._checks import SymBool, SymFloat, SymInt
from penlight.device import device
from penlight.dtypes import dtype
from penlight.layout import layout
from penlight.size import Size
from penlight.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = Union[str, "os.PathLike[str]", IO[bytes]]
Number: TypeAlias = int | float | bool
py_sym_types = (SymInt, SymFloat, SymBool)
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
Storage: TypeAlias = Any

_device, _dtype, _layout, _int, _float, _bool = device, dtype, layout, int, float, bool
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize = _size
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
