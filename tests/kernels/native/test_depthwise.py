"""Depthwise correlation in machine code against the one in NumPy, in float64."""

import numpy as np
import pytest

from penlight.kernels import conv_depthwise, native
from penlight.kernels.conv import conv, conv_input_grad, conv_weight_grad

SHAPES = [
    ((2, 3, 9, 11), (3, 3), (1, 1), (1, 1), (1, 1)),
    ((2, 3, 9, 11), (3, 3), (2, 2), (1, 1), (1, 1)),
    ((1, 5, 12, 10), (5, 5), (1, 1), (2, 2), (1, 1)),
    ((1, 2, 15, 16), (7, 7), (1, 1), (3, 3), (1, 1)),
    ((2, 4, 13, 12), (3, 2), (2, 1), (0, 1), (1, 2)),
    ((2, 4, 30), (5,), (1,), (2,), (1,)),
    ((1, 2, 6, 5, 7), (2, 3, 3), (1, 2, 1), (1, 1, 0), (1, 1, 1)),
]


def exact(function, *arguments):
    return function(*[a.astype(float) if isinstance(a, np.ndarray) else a for a in arguments])


@pytest.mark.parametrize("shape, kernel, stride, padding, dilation", SHAPES)
def test_forward_and_backward(shape, kernel, stride, padding, dilation, either_way):
    draw = np.random.default_rng(0).standard_normal
    channels = shape[1]
    x, w = draw(shape).astype(np.float32), draw((channels, 1, *kernel)).astype(np.float32)
    bias = draw(channels).astype(np.float32)
    options = stride, padding, dilation, channels
    for _ in range(2):  # the second time by a kernel of its own
        check(x, w, bias, options, draw)


def check(x, w, bias, options, draw):
    shape = x.shape
    out = conv(x, w, *options, bias)
    np.testing.assert_allclose(out, exact(conv, x, w, *options, bias), rtol=1e-4, atol=1e-4)
    grad = draw(out.shape).astype(np.float32)
    dx = conv_input_grad(grad, w, shape, *options)
    np.testing.assert_allclose(dx, exact(conv_input_grad, grad, w, shape, *options), rtol=1e-4, atol=1e-4)
    dw = conv_weight_grad(grad, x, w.shape, *options)
    np.testing.assert_allclose(dw, exact(conv_weight_grad, grad, x, w.shape, *options), rtol=1e-4, atol=1e-3)


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


@pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
def test_so_many_sizes_get_machine_code(monkeypatch):
    """It is never freed, so images of ever new sizes are left to NumPy from some time on."""
    monkeypatch.setattr(conv_depthwise, "_served", set())
    monkeypatch.setattr(conv_depthwise, "_MOST_SIZES", 2)
    before = native.kernel.cache_info().currsize
    draw = np.random.default_rng(0).standard_normal
    w = draw((3, 1, 3, 3)).astype(np.float32)
    for width in (41, 42, 43, 44):
        x = draw((2, 3, 8, width)).astype(np.float32)
        for _ in range(2):
            out = conv(x, w, (1, 1), (1, 1), (1, 1), 3)
            np.testing.assert_allclose(out, exact(conv, x, w, (1, 1), (1, 1), (1, 1), 3), rtol=1e-4, atol=1e-4)
    assert native.kernel.cache_info().currsize - before <= 2
