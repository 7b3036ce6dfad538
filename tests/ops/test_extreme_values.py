"""Numbers at the edges: large ones, zeros with a sign, integers that overflow, empty tensors. PyTorch's answers, pinned and compared."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penlight

F32 = np.float32
ZEROS = [-0.0, 0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 2.5]
OTHERS = [0.0, -0.0, -0.0, 0.0, 1.0, float("nan"), 3.0, -0.0]
SIZES = (8, 1000, 70_000)  # small, in NumPy, in machine code


def numbers(values, size, dtype):
    return np.resize(np.array(values, dtype), size)


CASES = {
    "relu": (lambda T, x, y: T.relu(x)),
    "relu_": (lambda T, x, y: T.relu_(x.clone())),
    "clamp_below": (lambda T, x, y: x.clamp(min=0.0)),
    "clamp_above": (lambda T, x, y: x.clamp(max=0.0)),
    "clamp_both": (lambda T, x, y: x.clamp(-1.0, 0.0)),
    "clamp_minus_zero": (lambda T, x, y: x.clamp(-0.0, 1.0)),
    "clamp_nan": (lambda T, x, y: x.clamp(min=float("nan"))),
    "clamp_min": (lambda T, x, y: T.clamp_min(x, 0)),
    "clamp_max": (lambda T, x, y: T.clamp_max(x, 0)),
    "clamp_": (lambda T, x, y: x.clone().clamp_(0.0, 1.0)),
    "hardtanh": (lambda T, x, y: T.nn.functional.hardtanh(x, 0.0, 1.0)),
    "threshold": (lambda T, x, y: T.nn.functional.threshold(x, -1.0, -0.0)),
    "fmax": (lambda T, x, y: T.fmax(x, y)),
    "fmin": (lambda T, x, y: T.fmin(x, y)),
}


@pytest.mark.parity
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_signs_of_zeros_are_pytorchs(name, size, dtype):
    import torch

    found, expected = (
        CASES[name](T, T.tensor(numbers(ZEROS, size, dtype)), T.tensor(numbers(OTHERS, size, dtype))).numpy()
        for T in (penlight, torch)
    )
    np.testing.assert_array_equal(found, expected)
    given = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[given], np.signbit(expected)[given])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_zero_keeps_its_sign(size, dtype):
    minus, plus = penlight.tensor(np.full(size, -0.0, dtype)), penlight.tensor(np.zeros(size, dtype))
    for found in (minus.relu(), minus.clamp(0.0, 1.0), minus.clamp(max=0.0), penlight.fmax(minus, plus)):
        assert found.signbit().all()
    for found in (plus.relu(), plus.clamp(-0.0, 1.0), plus.clamp(max=-0.0), penlight.fmin(plus, minus)):
        assert not found.signbit().any()


def large(size):
    return np.ascontiguousarray(np.stack([np.resize(np.array([1e20, -1e20], F32), size), np.full(size, 3e38, F32)]))


@pytest.mark.parametrize("size", (2, 600, 5000))
@pytest.mark.parametrize("dim", (0, 1))
def test_variances_of_large_numbers(size, dim):
    x = penlight.tensor(large(size) if dim else large(size).T.copy())
    scale = float(np.sqrt(size / (size - 1)))
    expected = [1e20 * scale, 0.0]
    np.testing.assert_allclose(x.std(dim).numpy(), expected, 1e-6)
    np.testing.assert_allclose(penlight.std_mean(x, dim)[0].numpy(), expected, 1e-6)
    assert x.var(dim).tolist() == [float("inf"), 0.0]
    variance, mean = penlight.var_mean(x, dim)
    assert variance.tolist() == [float("inf"), 0.0]
    np.testing.assert_allclose(mean.numpy()[1], 3e38, 1e-6)


@pytest.mark.parity
@pytest.mark.parametrize("size", (2, 600, 5000))
@pytest.mark.parametrize("name", ["std", "var", "std_mean", "var_mean"])
def test_variances_of_large_numbers_are_pytorchs(name, size):
    import torch

    found, expected = (getattr(T, name)(T.tensor(large(size)), 1) for T in (penlight, torch))
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected))):
        np.testing.assert_allclose(a.numpy()[1:], b.numpy()[1:], 1e-6)
    if "mean" not in name:  # the mean of these numbers is what rounding leaves of them
        np.testing.assert_allclose(found.numpy(), expected.numpy(), 1e-6)


def test_multiples_that_overflow_have_no_sign():
    most = 2**31 - 1
    a, b = penlight.tensor([most, most], dtype=penlight.int32), penlight.tensor([most - 1, 2], dtype=penlight.int32)
    assert penlight.lcm(a, b).tolist() == [most - 1, 2]
    assert penlight.lcm(a.short(), penlight.tensor([4, 5], dtype=penlight.int16)).tolist() == [4, 5]


@pytest.mark.parity
@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8"])
def test_multiples_are_pytorchs(dtype):
    import torch

    most = np.iinfo(dtype).max
    a = np.array([most, most, most - 1, 0, 6, most - 2, 100, most // 2], dtype)
    b = np.array([most - 1, 2, most, 5, 4, most - 1, 99, most // 2 + 2], dtype)
    found, expected = (T.lcm(T.tensor(a), T.tensor(b)).tolist() for T in (penlight, torch))
    assert found == expected


def test_means_of_volumes_smaller_than_the_window_are_refused():
    volume = penlight.ones(1, 1, 2, 2, 2)
    words = r"input image \(T: 2 H: 2 W: 2\) smaller than kernel size \(kT: 1 kH: 3 kW: 1\)"
    for ceil_mode in (False, True):
        with pytest.raises(RuntimeError, match=words):
            penlight.nn.functional.avg_pool3d(volume, (1, 3, 1), padding=(0, 1, 0), ceil_mode=ceil_mode)


def test_indices_into_nothing():
    nothing = penlight.tensor([], dtype=penlight.int64)
    assert penlight.zeros(0).index_fill(0, nothing, 3.0).shape == (0,)
    assert penlight.zeros(2, 0).index_fill(0, penlight.tensor([5]), 3.0).shape == (2, 0)
    assert penlight.zeros(2, 0).index_copy(0, penlight.tensor([5]), penlight.zeros(1, 0)).shape == (2, 0)
    assert penlight.zeros(0, 2).index_add(0, penlight.tensor([0]), penlight.ones(1, 2)).shape == (0, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        penlight.zeros(2, 3).index_fill(0, penlight.tensor([5]), 3.0)


@pytest.mark.parametrize(("name", "source"), [("scatter_reduce", "src"), ("index_reduce", "source")])
def test_products_with_two_zeros_have_no_second_derivative(name, source):
    x = penlight.tensor([1.0, 2.0, 3.0], requires_grad=True)
    zeros = penlight.zeros(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = getattr(x, name)(0, penlight.tensor([0, 0]), zeros, "prod")
    of_x, of_zeros = penlight.autograd.grad(result.sum(), (x, zeros), create_graph=True)
    assert of_zeros.tolist() == [0.0, 0.0]
    assert penlight.autograd.grad(of_x.sum(), x, retain_graph=True)[0].tolist() == [0.0] * 3
    words = rf"{name}\(\): Double backward is unsupported for {source} when >1 zeros in {source} are scattered"
    with pytest.raises(RuntimeError, match=words):
        penlight.autograd.grad(of_zeros.sum(), zeros)


@pytest.mark.parametrize("name", ["soft_margin_loss", "conv_tbc"])
def test_gradients_of_complex_numbers_that_pytorch_refuses(name):
    x = penlight.ones(5, 2, 3, dtype=penlight.complex64)
    rest = (penlight.ones(5, 2, 3),)
    if name == "conv_tbc":
        rest = (penlight.ones(2, 3, 4, dtype=penlight.complex64), penlight.ones(4, dtype=penlight.complex64))
    function = getattr(penlight.nn.functional, name)
    function(x, *rest)
    with pytest.raises(
        RuntimeError, match=f"{name} does not support automatic differentiation for outputs with complex"
    ):
        function(x.requires_grad_(), *rest)
