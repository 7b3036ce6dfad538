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


OPERATORS = ["+", "-", "*", "//", "%", "**", "@", "&", "|", "^", "<<", ">>", "<", "<=", ">", ">="]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("number", ["integers", "floats", "complex"])
def test_an_array_before_a_tensor_is_refused(operator, number):
    """PyTorch's `ndarray * tensor`: the array steps back, and so does the tensor. See Note [Beside ndarrays] in ops/machinery/recovery.py."""
    tensor = {"integers": torch.tensor([3, 4]), "floats": torch.tensor([3.0, 4.0]), "complex": torch.tensor([3j, 4])}[
        number
    ]
    with pytest.raises(TypeError):
        eval(f"array {operator} tensor", {"array": np.array([1, 2]), "tensor": tensor})


@pytest.mark.parametrize("operator, dtype, values", [
    ("+", torch.float64, [4.0, 6.0]), ("-", torch.float64, [2.0, 2.0]), ("*", torch.float64, [3.0, 8.0]), ("/", torch.float64, [3.0, 2.0]),
    ("//", torch.float64, [3.0, 2.0]), ("%", torch.float64, [0.0, 0.0]), ("**", torch.float64, [3.0, 16.0]),
])  # fmt: skip
def test_an_array_after_a_tensor(operator, dtype, values):
    x, array = torch.tensor([3.0, 4.0]), np.array([1.0, 2.0])
    result = eval(f"x {operator} array", {"array": array, "x": x})
    assert type(result) is torch.Tensor and result.dtype is dtype and result.tolist() == values
    with pytest.raises(RuntimeError, match="Can't call numpy"):
        eval(f"x {operator} array", {"array": array, "x": x.clone().requires_grad_()})


def test_division_of_an_array_by_a_tensor():
    """The one that PyTorch has: the reciprocal times the array."""
    result = np.array([1.0, 2.0]) / torch.tensor([2.0, 4.0])
    assert type(result) is torch.Tensor and result.dtype is torch.float64 and result.tolist() == [0.5, 0.5]


def test_writing_an_array_onto_a_tensor_makes_another():
    x = before = torch.tensor([3.0, 4.0])
    x += np.array([1.0, 2.0])
    assert x is not before and x.dtype is torch.float64 and x.tolist() == [4.0, 6.0] and before.tolist() == [3.0, 4.0]
    with pytest.raises(TypeError):
        x += [1.0, 2.0]


def test_equality_with_arrays_is_by_element():
    x, array = torch.tensor([3.0, 4.0], requires_grad=True), np.array([3.0, 5.0])
    for result in (x == array, array == x):
        assert result.tolist() == [True, False]
    assert (x != array).tolist() == [False, True]


@pytest.mark.parametrize(
    "number, dtype", [(np.float32(2), torch.float32), (np.int64(2), torch.float32), (np.float64(2), torch.float32)]
)
def test_numbers_of_numpy_before_tensors(number, dtype):
    x = torch.tensor([3.0, 4.0], requires_grad=True)
    for result, values in [
        (number / x, [2 / 3, 0.5]),
        (number // x, [0.0, 0.0]),
        (number % x, [2.0, 2.0]),
        (number**x, [8.0, 16.0]),
        (number + x, [5.0, 6.0]),
    ]:
        assert result.dtype is dtype and result.tolist() == pytest.approx(values) and result.requires_grad
    assert (np.int64(2) ** torch.tensor([3, 4])).dtype is torch.int64
    assert (np.bool_(True) - torch.tensor([3.0])).tolist() == [-2.0]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: np.sin(x) * np.exp(x), lambda x: np.maximum(x, 0.3), lambda x: np.power(x, 2), lambda x: np.arctan2(x, 2.0),
        lambda x: np.sum(x, axis=0), lambda x: np.mean(x, axis=(0, 1), keepdims=True), lambda x: np.max(x, axis=1), np.var,
        lambda x: np.std(x, axis=1, ddof=1), np.cumsum, lambda x: np.cumprod(x, 1), lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: np.concatenate([x, x], axis=1), lambda x: np.stack([x, x]), np.transpose, lambda x: np.dot(x, x.T), lambda x: np.dot(x[None], x.T[None]), lambda x: np.dot(x[0], x[1]), lambda x: np.expand_dims(x, 1),
        lambda x: np.linalg.norm(x), lambda x: np.linalg.inv(x @ x.T), lambda x: np.fft.irfft(np.fft.rfft(x)), lambda x: np.sort(x),
        lambda x: np.clip(x, 0.2, 0.8), lambda x: np.where(x > 0.5, x, 0.0), lambda x: np.repeat(x, 2), lambda x: np.split(x, 2)[0],
        lambda x: np.tensordot(x, x, axes=([1], [1])), lambda x: x * np.arange(4.0), lambda x: np.arange(4.0) - x, lambda x: np.tile(x, 2),
    ],
)  # fmt: skip
def test_numpys_functions_differentiate_behind_a_switch(use):
    array = np.random.default_rng(0).uniform(0.1, 0.9, (2, 4))
    given = torch.tensor(array, requires_grad=True)
    with torch.numpy_functions(True):
        found = use(given)
        np.testing.assert_allclose(found.detach().numpy(), use(array), rtol=1e-12)
        assert torch.autograd.gradcheck(use, (given,))
    with pytest.raises((RuntimeError, TypeError)):
        np.sin(given)


def test_what_has_no_counterpart_is_numpys_with_the_switch_too():
    with torch.numpy_functions(True) as switch:
        assert repr(switch) == "numpy_functions(mode=True)"
        assert isinstance(np.cbrt(torch.tensor([8.0])), np.ndarray)
        assert np.add.reduce(torch.ones(3)) == 3.0 and np.median(torch.tensor([1.0, 2.0])) == 1.5
        with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
            np.median(torch.ones(2, requires_grad=True))
    assert torch.equal(np.sin(torch.zeros(2)), torch.zeros(2))
