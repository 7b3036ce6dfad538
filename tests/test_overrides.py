"""Classes that override functions: their operators, the functions they receive, and calls in their own methods."""

from __future__ import annotations

import operator

import pytest

import penlight as torch
from penlight import _torch_function


@pytest.fixture(autouse=True)
def _rest():
    yield
    _torch_function.deactivate()


class First(torch.Tensor):
    pass


class Second(torch.Tensor):
    pass


class Declines:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


class Tells(torch.Tensor):
    told: list[str] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.told.append(torch.overrides.resolve_name(func))
        return super().__torch_function__(func, types, args, kwargs)


@pytest.mark.parametrize(
    "symbol", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "lshift", "iadd", "lt"]
)
def test_operators_of_classes_that_decline_are_not_supported(symbol):
    x = torch.ones(2)
    pairs = [(x, Declines()), (Declines(), x), (x.as_subclass(First), x.as_subclass(Second))]
    for pair in pairs:
        with pytest.raises(TypeError, match=r"unsupported operand type|not supported between instances"):
            getattr(operator, symbol)(*pair)


def test_equality_with_classes_that_decline_is_identity():
    x, other = torch.ones(2), Declines()
    assert (x == other) is False and (other == x) is False and (x != other) is True
    assert type(x.as_subclass(First) == x.as_subclass(Second)) is First
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.Tensor\.eq'"):
        x.as_subclass(First).eq(x.as_subclass(Second))
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch\.eq'"):
        torch.eq(x.as_subclass(First), x.as_subclass(Second))


def test_functions_and_methods_are_told_apart():
    x = torch.ones(2).as_subclass(Tells)
    Tells.told.clear()
    torch.add(x, 1), x.add(1), x + 1, 1 + x, torch.tanh(x), x.tanh(), torch.nn.functional.gelu(x)
    assert Tells.told == [
        "torch.add",
        *["torch.Tensor.add"] * 3,
        "torch.tanh",
        "torch.Tensor.tanh",
        "torch.nn.functional.gelu",
    ]


def test_data_of_a_class_has_its_own_names():
    assert not hasattr(torch.ones(1), "_meta")
    x = torch.ones(2).as_subclass(First)
    x._meta = {"affine": 1}  # as MONAI's MetaTensor
    assert torch.equal((x * 2).sum(), torch.tensor(4.0)) and x._meta == {"affine": 1}
