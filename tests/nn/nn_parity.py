"""Running the same function on PyTorch and on Penlight, and comparing all that can be seen of it.

A test takes the fixture `works` (see conftest.py) and gives it a function of the library. In the plain suite what
Penlight does is compared with recorded.json, which was made with PyTorch; in the parity suite with PyTorch itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

INTERNAL = ("oneDNN", "API of nested tensors")
"""Warnings of PyTorch about its own inside, which has no counterpart here."""


def plain(value: Any, lib: Any) -> Any:
    """A value in a form that is the same for both libraries: arrays, strings and containers of them."""
    if isinstance(value, lib.Tensor):
        return {"dtype": str(value.dtype), "array": value.detach().numpy()}
    if isinstance(value, lib.nn.Module):
        return text(repr(value))
    if isinstance(value, dict):
        return {text(str(key)): plain(item, lib) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, lib) for item in value]
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
            seen["result"] = plain(function(lib), lib)
        except Exception as error:
            seen["error"] = [type(error).__name__, text(str(error))]
    heard = [[w.category.__name__, text(str(w.message))] for w in caught]
    seen["warnings"] = [[kind, words] for kind, words in heard if not any(part in words for part in INTERNAL)]
    return seen


def brief(seen: Any) -> Any:
    """The same with every array as its shape and two sums that depend on every element and its place."""
    if isinstance(seen, dict):
        return {key: brief(value) for key, value in seen.items()}
    if isinstance(seen, list):
        return [brief(value) for value in seen]
    if isinstance(seen, np.ndarray):
        return numbers(seen)
    if isinstance(seen, float):
        return significant(seen)
    return seen


def significant(value: float) -> Any:
    """Seven digits; as text if it is not finite, which JSON has no word for."""
    return float(f"{value:.7g}") if np.isfinite(value) else str(value)


def numbers(array: Any) -> list[Any]:
    finite = np.nan_to_num(np.asarray(array, np.float64), nan=0.5, posinf=2.0, neginf=-2.0)
    places = np.cos(np.arange(finite.size)).reshape(finite.shape)
    return [list(finite.shape), significant(float(finite.sum())), significant(float((finite * places).sum()))]


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
    elif actual != expected:
        # PyTorch's words come first; a sentence of advice may follow.
        advised = isinstance(expected, str) and str(actual).startswith(expected.rstrip(".") + ". ")
        assert advised, f"{path}: {actual!r} instead of {expected!r}"
