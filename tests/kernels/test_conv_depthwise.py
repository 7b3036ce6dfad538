"""Depthwise correlation in machine code against the one in NumPy, in float64."""

import numpy as np
import pytest

from penlight.kernels import parallel
from penlight.kernels.conv import conv, conv_input_grad, conv_weight_grad
from tests.machine_code import without_machine_code

SHAPES = [
    ((2, 3, 9, 11), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 3, 9, 11), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 5, 12, 10), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((1, 2, 15, 16), (7, 7), (1, 1), (3, 3), (1, 1)),
    ((2, 4, 13, 12), (3, 2), (2, 1), (0, 1), (1, 2)),
    ((2, 4, 30), (5,), (1,), (2,), (1,)),
    ((2, 4, 31), (4,), (2,), (2,), (3,)),
    ((3, 4, 7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((1, 2, 40, 50), (5, 5), (3, 2), (3, 1), (2, 1)),
    ((1, 2, 20, 33), (3, 3), (1, 3), (2, 3), (1, 1)),
    ((2, 70, 56, 57), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 3, 1, 9), (1, 9), (1, 1), (0, 8), (1, 1)),
    ((1, 2, 6, 5, 7), (2, 3, 3), (1, 2, 1), (1, 1, 0), (1, 1, 1)),
]


def exact(function, *arguments):
    with without_machine_code():
        return function(*[a.astype(float) if isinstance(a, np.ndarray) else a for a in arguments])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", SHAPES)
def test_forward_and_backward(shape, kernel, stride, padding, dilation, dtype, either_way):
    draw = np.random.default_rng(0).standard_normal
    channels = shape[1]
    x, w = draw(shape).astype(dtype), draw((channels, 1, *kernel)).astype(dtype)
    bias = draw(channels).astype(dtype)
    options = stride, padding, dilation, channels
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    out = conv(x, w, *options, bias)
    np.testing.assert_allclose(out, exact(conv, x, w, *options, bias), **close)
    grad = draw(out.shape).astype(dtype)
    dx = conv_input_grad(grad, w, shape, *options)
    np.testing.assert_allclose(dx, exact(conv_input_grad, grad, w, shape, *options), **close)
    dw = conv_weight_grad(grad, x, w.shape, *options)
    close["atol"] *= 10
    np.testing.assert_allclose(dw, exact(conv_weight_grad, grad, x, w.shape, *options), **close)


def test_infinity_stays_in_its_channel(either_way):
    x, w = np.ones((1, 3, 8, 8), np.float32), np.ones((3, 1, 3, 3), np.float32)
    x[0, 1, 0, 0] = np.inf
    options = (1, 1), (1, 1), (1, 1), 3
    conv(x, w, *options)
    conv_weight_grad(np.ones_like(x), x, w.shape, *options)
    out = conv(x, w, *options)
    assert np.isfinite(out[0, [0, 2]]).all()
    dw = conv_weight_grad(np.ones_like(out), x, w.shape, *options)
    assert np.isfinite(dw[[0, 2]]).all()
    assert np.isinf(dw[1]).any()


def test_several_threads(either_way):
    draw = np.random.default_rng(0).standard_normal
    x, w, grad = (draw(s).astype(np.float32) for s in ((8, 64, 28, 28), (64, 1, 5, 5), (8, 64, 14, 14)))
    options = (2, 2), (2, 2), (1, 1), 64
    results = []
    before = parallel.thread_limit()
    for threads in (1, 3):
        parallel.set_threads(threads)
        results.append((conv(x, w, *options), conv_weight_grad(grad, x, w.shape, *options)))
    parallel.set_threads(before)
    for one, three in zip(*results):
        np.testing.assert_allclose(three, one, rtol=1e-5, atol=1e-4)


def test_infinity_is_met_by_those_taps_that_meet_it(either_way):
    x = np.ones((1, 2, 9, 9), np.float32)
    x[0, 0, 0, 8] = np.inf
    options = (1, 1), (0, 0), (1, 1), 2
    out = conv(x, np.ones((2, 1, 3, 3), np.float32), *options)
    assert np.isinf(out).sum() == 1
    dw = conv_weight_grad(np.ones((1, 2, 7, 7), np.float32), x, (2, 1, 3, 3), *options)
    assert (~np.isfinite(dw)).sum() == 1
