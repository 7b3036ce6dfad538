"""Operators on classes that override functions, compared with PyTorch."""

from __future__ import annotations

import operator

import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

SYMBOLS = "eq ne lt le gt ge add sub mul truediv floordiv mod matmul and_ or_ xor lshift rshift iadd isub imul"


def outcomes(lib, symbol):
    """What one operator gives for pairs of classes, and which functions they are told."""
    told = []

    class Declines:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Named(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(lib.overrides.resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs)

    class DeclinesToo(lib.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            told.append(lib.overrides.resolve_name(func))
            return NotImplemented

    class Plain(lib.Tensor):
        pass

    kinds = {
        "tensor": lambda: lib.ones(2), "declines": Declines, "named": lambda: lib.ones(2).as_subclass(Named), "plain": lambda: lib.ones(2).as_subclass(Plain),
        "declines too": lambda: lib.ones(2).as_subclass(DeclinesToo),
    }  # fmt: skip
    found = {}
    for left in kinds:
        for right in kinds:
            told.clear()
            try:
                result = getattr(operator, symbol)(kinds[left](), kinds[right]())
                said = type(result).__name__, result.tolist() if isinstance(result, lib.Tensor) else result
            except (TypeError, RuntimeError) as error:
                said = type(error).__name__, str(error)
            found[left, right] = said, list(told)
    return found


@pytest.mark.parametrize("symbol", SYMBOLS.split())
def test_operators(symbol):
    try:
        assert outcomes(penlight, symbol) == outcomes(torch, symbol)
    finally:
        penlight._torch_function.deactivate()
