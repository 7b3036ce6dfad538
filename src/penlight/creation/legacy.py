"""The legacy constructors: `torch.Tensor(2, 3)`, `torch.FloatTensor([1, 2])`, `x.new(3)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd import modes
from ..device import require_cpu
from ..ops.machinery.declare import OPS
from ..tensor import Tensor, wrap
from . import _size
from .data import array_of, tensors_in

# The C++ types that PyTorch's message uses for dtypes.
_TYPES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int", "float16": "c10::Half",
    "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double", "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}  # fmt: skip


def legacy_tensor(dtype: dtypes.dtype | None, *args: Any, device: Any = None, size: Any = None) -> Tensor:
    """Make an uninitialised tensor of a shape, a copy of data, or an alias of a tensor. Without a dtype this is `torch.Tensor`, which
    accepts tensors of all dtypes and otherwise uses the default dtype."""
    require_cpu(device)
    if size is not None:
        args = tuple(size)
    made = dtypes.get_default_dtype() if dtype is None else dtype
    if not args:
        return wrap(np.empty(0, made.np))
    if len(args) == 1 and (isinstance(args[0], bool) or not isinstance(args[0], (int, np.integer))):
        data = args[0]
        if isinstance(data, tuple) and type(data) is not tuple:
            return wrap(np.empty(tuple(data), made.np))
        if isinstance(data, Tensor):
            if dtype is not None and data.dtype is not dtype:
                raise TypeError(f"expected {_options(dtype)} (got {_options(data.dtype)})")
            return OPS["_alias"].function(data)
        if isinstance(data, (bool, float, complex, np.generic)):
            kind = "numpy." * isinstance(data, np.generic) + type(data).__name__
            raise TypeError(f"new(): data must be a sequence (got {kind})")
        out = wrap(array_of(data, made, copy=True))
        if modes.slow():
            modes.report_cut(tensors_in(data), out, "torch.Tensor()")
        return out
    if any(not isinstance(a, (int, np.integer, Tensor)) for a in args):
        raise TypeError("new() received an invalid combination of arguments")
    return wrap(np.empty(_size(args, "new"), made.np))


def _options(dtype: dtypes.dtype) -> str:
    name = str(dtype).removeprefix("torch.")
    return (
        f"TensorOptions(dtype={_TYPES.get(name, name)}, device=cpu, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )
