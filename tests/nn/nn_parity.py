"""Running the same function on PyTorch and on Penlight, and comparing all that can be seen of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import penlight


INTERNAL = ("oneDNN", "API of nested tensors")
"""Warnings of PyTorch about its own inside, which has no counterpart here."""


def array(lib: Any, *shape: int, seed: int = 0, scale: float = 1.0, grad: bool = False, dtype: Any = np.float32) -> Any:
    """A tensor of either library with the same normal numbers."""
    values = (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)
    return lib.from_numpy(values).requires_grad_(grad)


def integers(lib: Any, high: int, *shape: int, seed: int = 0) -> Any:
    """A tensor of either library with the same whole numbers from 0 to high - 1."""
    return lib.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def plain(value: Any) -> Any:
    """A value in a form that is the same for both libraries: arrays, strings and containers of them."""
    if isinstance(value, (torch.Tensor, penlight.Tensor)):
        return {"dtype": str(value.dtype), "array": value.detach().numpy()}
    if isinstance(value, (torch.nn.Module, penlight.nn.Module)):
        return text(repr(value))
    if isinstance(value, dict):
        return {text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return text(str(value))


def text(message: str) -> str:
    return message.replace("penlight", "torch")


def observe(function: Callable[[Any], Any], lib: Any) -> dict[str, Any]:
    """What a function does with a library: its result or exception, and its warnings."""
    seen: dict[str, Any] = {}
    lib.manual_seed(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            seen["result"] = plain(function(lib))
        except Exception as error:
            seen["error"] = (type(error).__name__, text(str(error)))
    heard = [(w.category.__name__, text(str(w.message))) for w in caught]
    seen["warnings"] = [(kind, words) for kind, words in heard if not any(part in words for part in INTERNAL)]
    return seen


def same(function: Callable[[Any], Any], rtol: float = 1e-5, atol: float = 1e-6) -> dict[str, Any]:
    """Checks that a function of the library does the same with both; returns what it did."""
    expected, actual = observe(function, torch), observe(function, penlight)
    compare(actual, expected, rtol, atol)
    return expected


def compare(actual: Any, expected: Any, rtol: float, atol: float, path: str = "") -> None:
    if isinstance(expected, dict) and isinstance(actual, dict):
        assert list(actual) == list(expected), f"{path}: {actual} instead of {expected}"
        for key in expected:
            compare(actual[key], expected[key], rtol, atol, f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(actual, list):
        assert len(actual) == len(expected), f"{path}: {actual} instead of {expected}"
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            compare(a, e, rtol, atol, f"{path}[{i}]")
    elif isinstance(expected, np.ndarray):
        assert actual.shape == expected.shape, f"{path}: shape {actual.shape} instead of {expected.shape}"
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=path)
    elif isinstance(expected, float):
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol, err_msg=path)
    else:
        assert actual == expected, f"{path}: {actual!r} instead of {expected!r}"


def gradients(outputs: Any, leaves: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The gradients of a fixed weighting of all floating point outputs."""
    tensors = []

    def collect(value: Any) -> None:
        if isinstance(value, lib.Tensor):
            if value.is_floating_point() and value.requires_grad:
                tensors.append(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                collect(item)

    collect(outputs)
    total = sum((t * array(lib, *t.shape, seed=7 + i).to(t.dtype)).sum() for i, t in enumerate(tensors))
    if isinstance(total, int):
        return {}
    total.backward()
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
