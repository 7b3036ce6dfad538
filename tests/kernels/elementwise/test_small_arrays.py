"""Native kernels on small arrays do what NumPy's do."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import softmax
from penlight.kernels.elementwise import activation, as_kernel, attempt, blocks
from penlight.kernels.native import available
from penlight.kernels.norm.kernels import row_moments

pytestmark = pytest.mark.skipif(not available(), reason="this machine has no native kernels")
rng = np.random.default_rng(0)


def body(x, y, out):
    np.multiply(x, y, out)
    out += 1.0


def scaled(factor):
    def body(x, out):
        np.multiply(x, factor, out)

    return body


@pytest.mark.parametrize("size", [1, 3, 8, 9, 100])
def test_elementwise(size):
    x, y = rng.standard_normal((2, size)).astype(np.float32)
    np.testing.assert_array_equal(attempt(as_kernel(body, 2), (x, y)), x * y + np.float32(1))
    assert blocks.total(as_kernel(body, 2), x, y) == pytest.approx(float((x * y + 1).sum()), rel=1e-5, abs=1e-5)


def test_a_body_is_what_it_holds():
    x = np.ones(4, np.float32)
    for factor in (2.0, 3.0, 0.0, -0.0, 3):
        made = attempt(as_kernel(scaled(factor), 1), (x,))
        np.testing.assert_array_equal(made, x * np.float32(factor))
        np.testing.assert_array_equal(np.signbit(made), np.signbit(x * np.float32(factor)))
    assert np.isnan(attempt(as_kernel(scaled(float("nan")), 1), (x,))).all()
    held = as_kernel(scaled(np.full(4, 3, np.float32)), 1)
    assert attempt(held, (x,)) is None
    np.testing.assert_array_equal(held(x), 3 * x)


def test_other_arrays():
    x = rng.standard_normal((4, 6)).astype(np.float32)
    kernel = as_kernel(body, 2)
    np.testing.assert_array_equal(attempt(kernel, (x.T, x.T)), (x * x + np.float32(1)).T)
    assert kernel(x.T, x.T).strides == x.T.strides
    assert attempt(kernel, (x, x.astype(np.float64))) is None
    assert attempt(kernel, (x[:0], x[:0])) is None and kernel(x[:0], x[:0]).shape == (0, 6)


@pytest.mark.parametrize("shape", [(1,), (3, 5), (2, 3, 9)])
def test_rows(shape):
    x, g = rng.standard_normal((2, *shape)).astype(np.float32)
    y = softmax._along_rows("softmax", 0, x)
    np.testing.assert_allclose(y, softmax.softmax(x.astype(np.float64), len(shape) - 1), rtol=1e-6)
    back = softmax._along_rows("softmax_backward", 0, y, g)
    np.testing.assert_allclose(
        back, softmax.softmax_backward(g.astype("f8"), y.astype("f8"), len(shape) - 1), atol=1e-6
    )
    assert softmax._along_rows("softmax", 0, x.astype(np.float16)) is None


@pytest.mark.parametrize("name", ["silu", "mish", "softplus", "elu", "hardswish", "gelu"])
def test_special_values(name):
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 1e37, -1e37, 88.0, -104.0], np.float32)
    function = getattr(activation, name)
    made, expected = function(x), function(x.astype(np.float64))
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(made, expected.astype(np.float32), rtol=2e-6, atol=1e-38)


def test_the_same_for_the_first_call_and_later_ones():
    x = torch.randn(17)
    first = torch.nn.functional.mish(x)
    assert all(torch.equal(torch.nn.functional.mish(x), first) for _ in range(5))


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 100)])
def test_moments_of_rows(shape):
    x = rng.standard_normal(shape).astype(np.float32) + 100
    mean, variance = row_moments(x, *shape)
    np.testing.assert_allclose(mean, x.mean(1, dtype="f8"), rtol=1e-6)
    np.testing.assert_allclose(variance, x.var(1, dtype="f8"), rtol=1e-4, atol=1e-8)
    assert row_moments(x.T, *shape[::-1]) is None or 1 in shape
    np.testing.assert_allclose(row_moments(x.astype(np.float64), *shape)[0], x.mean(1, dtype="f8"))


def test_numbers_of_numpy_are_no_arrays():
    x = np.asarray(0.7, np.float32)
    found = activation.softplus_backward(np.float32(2.0), x)
    assert float(found) == pytest.approx(2.0 / (1.0 + np.exp(-0.7)), rel=1e-6)
    assert as_kernel(body, 2)(np.float32(2.0), np.float32(3.0)) == 7.0
    assert blocks.total(as_kernel(body, 2), np.float32(2.0), x) == pytest.approx(2.4)


def test_a_gradient_that_is_a_number():
    scale = torch.tensor(0.5, requires_grad=True)
    spread = torch.nn.functional.softplus(scale)
    (
        torch.distributions.Normal(torch.tensor(0.1), spread).log_prob(torch.tensor([1.0, -2.0])).sum() + spread.log()
    ).backward()
    assert scale.grad.item() == pytest.approx(2.87659, abs=1e-4)
