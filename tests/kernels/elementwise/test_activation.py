"""Activation kernels: values and gradients at and around the kinks, pinned from torch."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels.elementwise import activation as K, gated

rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")
SELU = (1.6732632423543772, 1.0507009873554805)

# name: (forward, backward from (grad, x))
KERNELS = {
    "relu": (K.relu, lambda g, x: K.threshold_backward(g, K.relu(x), 0.0)),
    "threshold": (lambda x: K.threshold(x, 1.0, 9.0), lambda g, x: K.threshold_backward(g, x, 1.0)),
    "silu": (K.silu, K.silu_backward),
    "gelu": (K.gelu, K.gelu_backward),
    "gelu_tanh": (lambda x: K.gelu(x, "tanh"), lambda g, x: K.gelu_backward(g, x, "tanh")),
    "elu": (K.elu, K.elu_backward),
    "elu2": (lambda x: K.elu(x, 2.0), lambda g, x: K.elu_backward(g, x, 2.0)),
    "elu2_result": (lambda x: K.elu(x, 2.0), lambda g, x: K.elu_backward(g, K.elu(x, 2.0), 2.0, is_result=True)),
    "selu": (lambda x: K.elu(x, *SELU), lambda g, x: K.elu_backward(g, x, *SELU)),
    "celu2": (lambda x: K.elu(x, 2.0, 1.0, 0.5), lambda g, x: K.elu_backward(g, x, 2.0, 1.0, 0.5)),
    "softplus": (K.softplus, K.softplus_backward),
    "softplus2": (lambda x: K.softplus(x, 2.0, 3.0), lambda g, x: K.softplus_backward(g, x, 2.0, 3.0)),
    "logsigmoid": (K.logsigmoid, K.logsigmoid_backward),
    "mish": (K.mish, K.mish_backward),
    "hardtanh": (K.hardtanh, K.hardtanh_backward),
    "relu6": (lambda x: K.hardtanh(x, 0, 6), lambda g, x: K.hardtanh_backward(g, x, 0, 6)),
    "hardsigmoid": (K.hardsigmoid, K.hardsigmoid_backward),
    "hardswish": (K.hardswish, K.hardswish_backward),
    "leaky_relu": (lambda x: K.leaky_relu(x, 0.1), lambda g, x: K.leaky_relu_backward(g, x, 0.1)),
    "leaky_relu_minus": (lambda x: K.leaky_relu(x, -2.0), lambda g, x: K.leaky_relu_backward(g, x, -2.0)),
    "softshrink": (K.softshrink, K.shrink_backward),
    "hardshrink": (K.hardshrink, K.shrink_backward),
}

# name: (points, values, gradients), all from torch
PINNED = {
    "relu": ([-INF, -1, -0.0, 0, 1, INF], [0, 0, 0, 0, 1, INF], [0, 0, 0, 0, 1, 1]),
    "leaky_relu": ([-INF, -1, 0, 1, INF, NAN], [-INF, -0.1, 0, 1, INF, NAN], [0.1, 0.1, 0.1, 1, 1, 0.1]),
    "elu": ([-INF, -200, -1, 0, 1, INF], [-1, -1, -0.6321205, 0, 1, INF], [0, 0, 0.3678795, 1, 1, 1]),
    "elu2": ([-INF, -1, 0, 1], [-2, -1.2642411, 0, 1], [0, 0.7357589, 2, 1]),
    "elu2_result": ([-INF, -1, 0, 1], [-2, -1.2642411, 0, 1], [0, 0.7357589, 2, 1]),
    "selu": ([-INF, -1, 0, 1], [-1.7580993, -1.1113307, 0, 1.050701], [0, 0.6467686, 1.7580993, 1.050701]),
    "celu2": ([-INF, -1, 0, 1], [-2, -0.7869387, 0, 1], [0, 0.6065307, 1, 1]),
    "softplus": (
        [-INF, -200, -1, 0, 1, 200, INF, NAN, 20.0],
        [0, 0, 0.3132617, 0.6931472, 1.3132616, 200, INF, NAN, 20],
        [0, 0, 0.2689414, 0.5, 0.7310586, 1, 1, NAN, 1],
    ),
    "softplus2": (
        [-1, 0, 1, 1.5, 1.51],
        [0.063464, 0.3465736, 1.063464, 1.5242937, 1.51],
        [0.1192029, 0.5, 0.8807971, 0.9525741, 1],
    ),
    "mish": ([-200, -1, 0, 1, 200], [0, -0.3034014, 0, 0.8650984, 200], [0, 0.0592167, 0.6, 1.0490363, 1]),
    "hardswish": (
        [-INF, -3, -2.9999, -1, 0, 1, 2.9999, 3, INF],
        [NAN, 0, -4.99e-05, -0.3333333, 0, 0.6666667, 2.99985, 3, INF],
        [0, 0, -0.4999667, 0.1666667, 0.5, 0.8333334, 1.4999666, 1, 1],
    ),
    "hardsigmoid": ([-INF, -3, -1, 1, 3, INF], [0, 0, 0.3333333, 0.6666667, 1, 1], [0, 0, 0.1666667, 0.1666667, 0, 0]),
    "hardtanh": ([-INF, -1, 0, 1, INF, NAN], [-1, -1, 0, 1, 1, NAN], [0, 0, 1, 0, 0, 1]),
    "relu6": ([-1, 0, 1, 6, 7], [0, 0, 1, 6, 6], [0, 0, 1, 0, 0]),
    "logsigmoid": (
        [-INF, -200, -1, 0, 1, 200, INF, NAN],
        [-INF, -200, -1.3132617, -0.6931472, -0.3132617, 0, 0, NAN],
        [1, 1, 0.7310586, 0.5, 0.2689414, 0, 0, NAN],
    ),
    "softshrink": ([-INF, -1, -0.5, 0, 0.5, 0.6, NAN], [-INF, -0.5, 0, 0, 0, 0.1, NAN], [1, 1, 0, 0, 0, 1, 1]),
    "hardshrink": ([-INF, -1, -0.5, 0, 0.5, 0.6, NAN], [-INF, -1, 0, 0, 0, 0.6, NAN], [1, 1, 0, 0, 0, 1, 1]),
    "threshold": ([-INF, 0, 1, 1.1, NAN], [9, 9, 9, 1.1, NAN], [0, 0, 0, 1, 1]),
    "silu": (
        [-INF, -200, -1, 0, 1, 200, INF],
        [NAN, 0, -0.2689414, 0, 0.7310586, 200, INF],
        [NAN, 0, 0.0723295, 0.5, 0.9276705, 1, NAN],
    ),
    "gelu": (
        [-INF, -200, -1, 0, 1, 200, INF],
        [NAN, 0, -0.1586553, 0, 0.8413447, 200, INF],
        [NAN, 0, -0.0833154, 0.5, 1.0833154, 1, NAN],
    ),
    "gelu_tanh": (
        [-INF, -200, -1, 0, 1, 200, INF],
        [NAN, 0, -0.158808, 0, 0.841192, 200, INF],
        [NAN, 0, -0.0829641, 0.5, 1.0829641, 1, NAN],
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PINNED)
def test_values_and_kinks(name, dtype):
    forward, backward = KERNELS[name]
    points, values, grads = (np.array(row, dtype) for row in PINNED[name])
    y, dx = forward(points), backward(np.ones_like(points), points)
    assert y.dtype == dx.dtype == dtype
    np.testing.assert_allclose(y, values, rtol=1e-5, atol=5e-7)
    np.testing.assert_allclose(dx, grads, rtol=1e-5, atol=5e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sigmoid(dtype):
    x = np.array([-INF, -200, -1, 0, 1, INF, NAN], dtype)
    np.testing.assert_allclose(K.sigmoid(x), [0, 0, 0.2689414, 0.5, 0.7310586, 1, NAN], rtol=1e-5, atol=5e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_gradient_against_finite_differences(name):
    forward, backward = KERNELS[name]
    x = rng.uniform(-8, 8, (7, 30))
    x = x[:, ::2].T  # not contiguous
    for kink in (-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0, 6.0):
        x[np.abs(x - kink) < 1e-4] += 3e-4
    grad = rng.standard_normal(x.shape)
    numerical = (forward(x + 1e-6) - forward(x - 1e-6)) / 2e-6
    before = x.copy()
    dx = backward(grad, x)
    np.testing.assert_allclose(dx, grad * numerical, rtol=1e-6, atol=2e-8)
    np.testing.assert_array_equal(x, before)
    assert forward(x).shape == dx.shape == x.shape


@pytest.mark.parametrize("name", [n for n in KERNELS if n != "tanh"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 70_000)])
def test_shapes_and_half_precision(name, shape):
    forward, backward = KERNELS[name]
    x = np.asarray(rng.standard_normal(shape)).astype(np.float16)
    y, dx = forward(x), backward(x, x)
    for result in (y, dx):
        assert isinstance(result, np.ndarray)
        assert result.dtype == np.float16
        assert result.shape == shape
    wide = x.astype(np.float64)
    np.testing.assert_allclose(y, forward(wide), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["relu", "threshold", "hardtanh", "hardsigmoid", "hardswish", "softshrink"])
def test_a_closed_gate_stops_inf_and_nan(name):
    closed = {"softshrink": 0.1, "hardtanh": -5.0, "hardsigmoid": -5.0}.get(name, -5.0)
    grad = np.float32([INF, NAN])
    assert KERNELS[name][1](grad, np.full(2, closed, "f4")).tolist() == [0, 0]


@pytest.mark.parametrize("name", [n for n in KERNELS if n != "tanh"])
def test_bfloat16(name):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    forward, backward = KERNELS[name]
    x = rng.standard_normal((3, 5)).astype(bfloat16)
    assert forward(x).dtype == backward(x, x).dtype == bfloat16
    np.testing.assert_allclose(forward(x).astype("f4"), forward(x.astype("f4")), rtol=1e-2, atol=1e-6)


def test_small_results_keep_relative_accuracy():
    x = np.float32([-30, -50, -80])
    np.testing.assert_allclose(K.softplus(x), np.exp(x.astype("f8")), rtol=1e-5)
    np.testing.assert_allclose(K.logsigmoid(-x), -np.exp(x.astype("f8")), rtol=1e-5)
    tiny = np.float32([-1e-3, -1e-6, -1e-20])
    np.testing.assert_allclose(K.elu(tiny), np.expm1(tiny.astype("f8")), rtol=1e-6)
    x = np.linspace(-3, 3, 1001, dtype=np.float32)
    np.testing.assert_allclose(K.softplus(x), np.logaddexp(x.astype("f8"), 0), rtol=5e-7)


@pytest.mark.parametrize(("shape", "weights"), [((4, 3, 5), 3), ((4, 3), 3), ((4, 3, 5), 1), ((6,), 1), ((), 1)])
def test_prelu(shape, weights):
    x, weight = np.asarray(rng.standard_normal(shape)), rng.standard_normal(weights)
    grad = np.asarray(rng.standard_normal(shape))
    column = weight.reshape((-1,) + (1,) * (len(shape) - 2)) if weights > 1 else weight.reshape(())
    np.testing.assert_array_equal(gated.prelu(x, weight), np.where(x > 0, x, x * column))
    dx, dweight = gated.prelu_backward(grad, x, weight)
    np.testing.assert_array_equal(dx, np.where(x > 0, grad, grad * column))
    assert gated.prelu(x, weight).shape == dx.shape == shape
    share = np.where(x > 0, 0, x * grad)
    expected = share.sum(tuple(k for k in range(len(shape)) if k != 1)) if weights > 1 else share.sum().reshape(1)
    assert dweight.shape == weight.shape
    np.testing.assert_allclose(dweight, expected)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_glu(dim):
    x = rng.standard_normal((4, 6, 2))
    a, b = np.split(x, 2, dim)
    y, grad = gated.glu(x, dim), rng.standard_normal(a.shape)
    gate = 1 / (1 + np.exp(-b))
    np.testing.assert_allclose(y, a * gate)
    expected = np.concatenate((grad * gate, grad * a * gate * (1 - gate)), dim)
    np.testing.assert_allclose(gated.glu_backward(grad, x, dim), expected)
    np.testing.assert_allclose(gated.glu(np.asfortranarray(x), dim), y)


def test_slope_of_gelu_near_and_far():
    """Within +-6 a block takes one quotient of polynomials, else the formula; also 0, NaN and infinities as in PyTorch."""
    from math import erf, exp, pi, sqrt

    x = np.linspace(-6, 6, 4001).astype(np.float32)
    exact = np.array([(1 + erf(v / sqrt(2))) / 2 + v * exp(-v * v / 2) / sqrt(2 * pi) for v in x.astype(np.float64)])
    ones = np.ones(4002, np.float32)
    np.testing.assert_allclose(K.gelu_backward(ones[1:], x), exact, rtol=0, atol=6e-7)
    np.testing.assert_allclose(K.gelu_backward(ones, np.append(x, np.float32(9)))[:-1], exact, rtol=0, atol=6e-7)
    odd = K.gelu_backward(np.ones(5, np.float32), np.array([np.inf, -np.inf, np.nan, 20, -20], np.float32))
    np.testing.assert_array_equal(odd, [np.nan, np.nan, np.nan, 1, 0])
    assert K.gelu_backward(np.ones(0, np.float32), np.ones(0, np.float32)).shape == (0,)
