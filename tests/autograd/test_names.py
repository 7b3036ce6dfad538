"""Every public name of PyTorch's modules is here."""

from __future__ import annotations

import importlib
import types
import typing

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

# Names that PyTorch's modules import for themselves, and the inside of its C++ profiler.
ELSEWHERE = {"handle_torch_function", "has_torch_function", "is_tensor_like", "ProfilerConfig", "ProfilerEvent", "TorchDispatchMode",
             "custom_function_call", "LoggingTensorMode", "capture_logs", "tree_map", "log", "warn", "Future", "attrgetter",
             "EventMetadata", "StringTable", "SavedTensor", "Variable", "F", "vmap", "ImperativeEngine",
             "rearrange"}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "autograd",
        "autograd.anomaly_mode",
        "autograd.forward_ad",
        "autograd.function",
        "autograd.functional",
        "autograd.grad_mode",
        "autograd.gradcheck",
        "autograd.graph",
        "autograd.profiler",
        "autograd.profiler_util",
        "autograd.variable",
        "func",
        "utils.checkpoint",
        "utils.hooks",
    ],
)
def test_names(name):
    theirs, ours = importlib.import_module("torch." + name), importlib.import_module("penlight." + name)
    missing = []
    for attribute in dir(theirs):
        value = getattr(theirs, attribute)
        foreign = isinstance(value, types.ModuleType) or not str(getattr(value, "__module__", "torch")).startswith(
            "torch"
        )
        if attribute.startswith("_") or foreign or hasattr(typing, attribute) or attribute in ELSEWHERE:
            continue
        if not hasattr(ours, attribute):
            missing.append(attribute)
    assert not missing
