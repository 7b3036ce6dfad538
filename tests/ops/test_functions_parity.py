"""Public functions as objects, beside PyTorch's: which of them classes bind."""

from __future__ import annotations

import importlib
import types

import pytest

import penlight
from tests.ops.test_argument_errors import tensors_for_numbers

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


@pytest.mark.parametrize("space", ["", ".nn.functional", ".linalg", ".fft", ".special"])
def test_builtins_of_pytorch_are_not_bound_by_classes(space):
    ours, theirs = importlib.import_module("penlight" + space), importlib.import_module("torch" + space)
    builtin = [n for n, v in vars(theirs).items() if isinstance(v, types.BuiltinFunctionType) and n[0] != "_"]
    here = {name: getattr(ours, name) for name in builtin if hasattr(ours, name)}
    assert len(here) > 20
    refused = [name for name, value in here.items() if (value.__doc__ or "").startswith("Refused")]
    binding = {name for name, value in here.items() if isinstance(value, types.FunctionType)}
    assert (
        binding - {*refused, "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic"} == set()
    )


def test_tensors_without_dimensions_stand_for_numbers():
    assert tensors_for_numbers(penlight) == tensors_for_numbers(torch)
