"""Tensors, NumPy's numbers and arrays in one expression, with PyTorch 2.13.0's dtypes."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch

x = torch.arange(3.0)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        ([np.float32(3), 4], torch.float32),
        ([4, np.float64(3)], torch.float64),
        ([[1.5], [np.float64(2)]], torch.float64),
        ([np.float32(1), 2.5], torch.float32),
        ([np.float16(1), 1], torch.float16),
        ([1.5, 2, True], torch.float32),
        ([torch.tensor(1), torch.tensor(2.0)], torch.float32),
        ([torch.ones(1), torch.ones(1, 1)], torch.float32),
        ([torch.tensor(1.0, dtype=torch.float64), 1], torch.float64),
        ([np.int32(1), 2], torch.int64),
    ],
)
def test_lists(data, dtype):
    made = torch.tensor(data)
    assert made.dtype is dtype and made.shape[0] == len(data)


def test_lists_of_longer_tensors_are_refused():
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        torch.tensor([x, x])


@pytest.mark.parametrize(
    ("use", "dtype"),
    [
        (lambda: x * np.arange(3), torch.float64),
        (lambda: x - np.ones(3, np.float32), torch.float32),
        (lambda: x / np.array(2), torch.float64),
        (lambda: x ** np.array([1, 2, 3]), torch.float64),
        (lambda: torch.ones(2).long() + np.ones(2), torch.float64),
        (lambda: x == np.array([0, 1, 2]), torch.bool),
        (lambda: x @ np.ones(3, np.float32), torch.float32),
    ],
)
def test_arrays_as_operands(use, dtype):
    assert use().dtype is dtype


def test_arrays_do_not_meet_graphs():
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        torch.ones(3, requires_grad=True) * np.arange(3)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2)])
def test_numbers_of_numpy_minus_tensors(number):
    y = torch.arange(3.0, requires_grad=True)
    (number - y).sum().backward()
    assert (number - x).tolist() == [2.0, 1.0, 0.0] and y.grad.tolist() == [-1.0, -1.0, -1.0]


@pytest.mark.parametrize("other", [np.ones(3), [1.0, 2.0, 3.0], None], ids=["ndarray", "list", "None"])
def test_what_is_no_number_minus_a_tensor(other):
    with pytest.raises(TypeError, match="unsupported operand type"):
        other - torch.ones(3)
