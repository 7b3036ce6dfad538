"""torch.testing, with PyTorch's words."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.testing import _comparison

T = torch.tensor
assert_close = torch.testing.assert_close


def words(*args, **kwargs):
    with pytest.raises(AssertionError) as error:
        assert_close(*args, **kwargs)
    return str(error.value)


def test_what_is_close():
    assert_close(T([1.0, 2.0]), T([1.0, 2.0 + 1e-6]))
    assert_close(T([1.0, float("nan")]), T([1.0, float("nan")]), equal_nan=True)
    assert_close(T([float("inf")]), T([float("inf")]))
    assert_close([1.0, T([2])], (1.0, T([2])))
    assert_close({"a": 1, "b": None}, {"a": 1, "b": None})
    assert_close(np.array([1.0]), np.array([1.0 + 1e-9]))
    assert_close(T([1.0]), T([1.0], dtype=torch.float64), check_dtype=False)
    assert_close(T([1.0], requires_grad=True), T([1.0]))


def test_words_for_tensors():
    assert words(T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 2.5], [3.0, 9.0]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 2 / 4 (50.0%)\n"
        "Greatest absolute difference: 5.0 at index (1, 1) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.5555555820465088 at index (1, 1) (up to 1.3e-06 allowed)"
    )
    assert words(T([1, 2]), T([1, 3])) == (
        "Tensor-likes are not equal!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 1 at index (1,)\nGreatest relative difference: 0.3333333432674408 at index (1,)"
    )
    assert words(T([1.0]), T([1])) == "The values for attribute 'dtype' do not match: torch.float32 != torch.int64."
    assert (
        words(T([1.0]), T([1.0, 2.0]))
        == "The values for attribute 'shape' do not match: torch.Size([1]) != torch.Size([2])."
    )
    assert words(T([1.0]), T([2.0]), msg="mine") == "mine"
    assert words(T([1.0]), T([2.0]), msg=lambda m: "mine: " + m[:4]) == "mine: Tens"


def test_words_for_numbers_and_containers():
    assert words(1.0, 1.1).startswith("Scalars are not close!\n\nExpected 1.1 but got 1.0.\nAbsolute difference: 0.1")
    assert words(True, False) == "Booleans mismatch: True is not False"
    assert words(None, 1) == "None mismatch: None is not 1"
    assert words([1], [1, 2]) == "The length of the sequences mismatch: 1 != 2"
    assert words({"a": [T(1.0)]}, {"a": [T(2.0)]}).endswith("The failure occurred for item ['a'][0]")
    assert "Missing keys in the actual mapping: ['b']" in words({"a": 1}, {"b": 1})
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type <class 'str'>"):
        assert_close("a", "a")
    with pytest.raises(ValueError, match="Both 'rtol' and 'atol' must be either specified or omitted, but got no atol"):
        assert_close(1.0, 1.0, rtol=0.1)


def test_assert_allclose():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        torch.testing.assert_allclose(T([1.0]), [1.0])
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="Mismatched elements: 1 / 1"):
        torch.testing.assert_allclose(T([1.0]), T([1.1]), rtol=1e-3)


@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
def test_make_tensor(name):
    dtype = getattr(torch, name)
    made = torch.testing.make_tensor((3, 4), dtype=dtype, device="cpu", noncontiguous=True)
    assert made.shape == (3, 4) and made.dtype is dtype and not made.is_contiguous()
    made = torch.testing.make_tensor(50, dtype=dtype, device="cpu", exclude_zero=True)
    assert not (made == 0).any()
    if name == "float32":
        made = torch.testing.make_tensor(2, 50, dtype=dtype, device="cpu", low=2, high=3, requires_grad=True)
        assert made.requires_grad and (made >= 2).all() and (made < 3).all()


class _Rounded(_comparison.TensorLikePair):
    """A pair as packages write them: its own argument, its own comparison, its own words."""

    def __init__(self, actual, expected, *, digits=0, **others):
        super().__init__(actual, expected, **others)
        self.digits = digits

    def _compare_values(self, actual, expected):
        pair = [t.round(decimals=self.digits) for t in (actual, expected)]
        self._compare_regular_values_close(*pair, rtol=0, atol=0, equal_nan=False, identifier="Rounded tensors")


def test_pairs_of_a_package():
    kinds = (_comparison.NonePair, _comparison.BooleanPair, _comparison.NumberPair, _Rounded)
    assert _comparison.not_close_error_metas([torch.ones(1), 2], [torch.ones(1) + 0.2, 2], pair_types=kinds) == []
    (found,) = _comparison.not_close_error_metas(
        {"a": torch.zeros(2)}, {"a": torch.ones(2)}, pair_types=kinds, digits=1
    )
    assert (
        found.type is AssertionError and found.id == ("a",) and found.msg.startswith("Rounded tensors are not equal!")
    )
    assert str(found.to_error()).endswith("The failure occurred for item ['a']")
    with pytest.raises(TypeError, match="No comparison pair was able to handle inputs of type <class 'str'>"):
        _comparison.not_close_error_metas("a", "a", pair_types=kinds)


def test_tolerances():
    assert _comparison.get_tolerances(torch.float32, torch.ones(1).half(), rtol=None, atol=None) == (1e-3, 1e-5)
    assert _comparison.get_tolerances(torch.float32, rtol=1.0, atol=0.0) == (1.0, 0.0)
