"""PyTorch's own samples of its ops (`op_db`), and how to call the same in Penlight."""

from __future__ import annotations

import functools
import importlib
import sys
import types
import unittest
import warnings
from typing import Any

import torch
from running import resolve

import penlight


def tests_of_pytorch(name: str) -> Any:
    """A module of PyTorch's test machinery, which imports a package only for a class to inherit from."""
    if "expecttest" not in sys.modules:
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("torch.testing._internal." + name)


@functools.cache
def ops() -> list[Any]:
    """PyTorch's table of ops."""
    table = tests_of_pytorch("common_methods_invocations").op_db
    return [op for op in table if not op.name.startswith(("jiterator", "_"))]


def full_name(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def face(op: Any) -> Any:
    """Penlight's function for an op of the table; None if there is none."""
    try:
        if resolve(torch, op.name) is op.op:
            return resolve(penlight, op.name)
    except (AttributeError, NotImplementedError):
        pass
    return counterpart(op.op)


def converted(value: Any) -> Any:
    """A value of PyTorch's as Penlight's: tensors with their strides, dtypes, sizes, functions over torch."""
    if isinstance(value, torch.Tensor):
        plain = value.detach().resolve_conj().resolve_neg()
        count = plain.untyped_storage().nbytes() // plain.element_size()
        flat = penlight.from_numpy(torch.as_strided(plain, (count,), (1,), 0).clone().numpy())
        found = flat.as_strided(tuple(plain.shape), tuple(plain.stride()), plain.storage_offset()).detach()
        return found.requires_grad_(value.requires_grad)
    if isinstance(value, (torch.dtype, torch.memory_format, torch.layout)):
        return getattr(penlight, str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return penlight.device(str(value))
    if isinstance(value, torch.Size):
        return penlight.Size(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return tuple(converted(v) for v in value)
    if isinstance(value, (tuple, list)):
        return type(value)(converted(v) for v in value)
    if isinstance(value, dict):
        return {key: converted(v) for key, v in value.items()}
    return counterpart(value) if isinstance(value, types.FunctionType) else value


def counterpart(function: Any) -> Any:
    """Penlight's function for one of PyTorch's, or for one of its tests' that calls them; None if there is none."""
    name = getattr(function, "__name__", "")
    if isinstance(function, types.FunctionType) and (
        name == "<lambda>" or function.__module__.startswith("torch.testing")
    ):
        return _over_penlight(function)
    owner = getattr(function, "__qualname__", "")
    if owner.startswith(("Tensor.", "TensorBase.")) or type(function).__name__ == "wrapper_descriptor":
        return getattr(penlight.Tensor, name, None)
    for place in _places(function, name):
        try:
            return resolve(penlight, place)
        except (AttributeError, NotImplementedError):
            continue
    return None


def _places(function: Any, name: str) -> list[str]:
    for start in ("linalg_", "fft_", "special_"):
        if name.startswith(start):
            return [f"{start[:-1]}.{name.removeprefix(start)}", name]
    module = (getattr(function, "__module__", None) or "torch").removeprefix("torch").strip("._")
    return [f"{module}.{name}" if module else name, name, f"nn.functional.{name}", f"Tensor.{name}"]


def _over_penlight(function: Any) -> Any:
    """The same code, with Penlight for torch among its globals and in its closure."""
    names = dict(function.__globals__)
    for key, value in names.items():
        if value is torch:
            names[key] = penlight
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("torch."):
            try:
                names[key] = resolve(penlight, value.__name__.removeprefix("torch."))
            except (AttributeError, NotImplementedError):
                continue
    names["wrapper_set_seed"] = lambda op, *args, **kwargs: (penlight.manual_seed(42), op(*args, **kwargs))[1]
    cells = tuple(types.CellType(_enclosed(cell.cell_contents)) for cell in function.__closure__ or ())
    same = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells or None)
    same.__kwdefaults__ = function.__kwdefaults__
    return same


def _enclosed(value: Any) -> Any:
    if isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
        return counterpart(value) or value
    return converted(value)
