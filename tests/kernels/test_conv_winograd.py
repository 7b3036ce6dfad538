"""Convolution with kernels of 3 x 3 by tiles: like the plain way, also where that says more than tiles could."""

import numpy as np
import pytest

from penlight.kernels import executable, parallel
from penlight.kernels.conv import conv, conv_input_grad, conv_output_shape, conv_weight_grad, winograd
from penlight.kernels.conv.im2col import im2col_correlate, im2col_weight_grad
from penlight.kernels.conv.strategies import Problem, suits_winograd
from penlight.kernels.conv.winograd import winograd_correlate, winograd_weight_grad

pytestmark = pytest.mark.skipif(not executable.available(), reason="this machine cannot run AVX2 code")
ONE = (1, 1)
SIZES = [
    # images, channels, results, size, border
    (2, 8, 8, (26, 26), (0, 0)), (3, 9, 11, (26, 26), (1, 1)), (5, 32, 64, (10, 12), (0, 0)), (2, 16, 17, (7, 5), (1, 1)),
    (9, 8, 12, (4, 4), (1, 1)), (1, 16, 16, (100, 90), (2, 2)), (1, 16, 16, (91, 33), (2, 1)), (7, 13, 8, (12, 40), (-1, -2)),
    (3, 40, 33, (15, 16), (2, 3)), (40, 8, 8, (3, 4), (1, 2)), (1, 70, 90, (64, 31), (5, 4)), (2, 8, 31, (16, 128), (1, 1)),
]  # fmt: skip


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def close(result, expected):
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def problem(x, weight, stride, dilation, groups, out):
    padding = (0,) * len(stride)
    return Problem(x.shape, weight, out, stride, padding, dilation, groups, x.dtype, True, executable.available())


@pytest.fixture(params=[1 << 14, None], ids=["small blocks", "blocks"])
def _blocks(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(winograd, "_BLOCK_BYTES", request.param)
        monkeypatch.setattr(winograd, "_WEIGHT_BYTES", request.param)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("batch, channels, results, size, low", SIZES)
def test_like_the_plain_way(batch, channels, results, size, low):
    x, w, bias = draw(batch, channels, *size), draw(results, channels, 3, 3), draw(results)
    y = np.empty(conv_output_shape(x.shape, w.shape, ONE, low, ONE), np.float32)
    expected = np.empty(y.shape)
    im2col_correlate(x.astype(float), w.astype(float), low, ONE, ONE, 1, expected, bias.astype(float))
    winograd_correlate(x, w, low, 1, y, bias)
    close(y, expected)
    winograd_correlate(x, w, low, 1, y)
    close(y, expected - bias.astype(float).reshape(-1, 1, 1))
    grad = draw(*y.shape, seed=1)
    expected = im2col_weight_grad(grad.astype(float), x.astype(float), low, (3, 3), ONE, ONE, 1)
    close(winograd_weight_grad(grad, x, low, 1), expected)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("groups", [2, 3])
def test_groups(groups):
    x, w, bias = draw(5, 9 * groups, 14, 17), draw(8 * groups, 9, 3, 3), draw(8 * groups)
    y, expected = np.empty((5, 8 * groups, 14, 17), np.float32), np.empty((5, 8 * groups, 14, 17))
    im2col_correlate(x.astype(float), w.astype(float), ONE, ONE, ONE, groups, expected, bias.astype(float))
    winograd_correlate(x, w, ONE, groups, y, bias)
    close(y, expected)
    grad = draw(*y.shape, seed=1)
    expected = im2col_weight_grad(grad.astype(float), x.astype(float), ONE, (3, 3), ONE, ONE, groups)
    close(winograd_weight_grad(grad, x, ONE, groups), expected)


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_weights_in_any_layout(flip, swap):
    x, w = draw(2, 8, 12, 14), draw(*((8, 24, 3, 3) if swap else (24, 8, 3, 3)))
    w = w.swapaxes(0, 1) if swap else w
    w = w[:, :, ::-1, ::-1] if flip else w
    y, expected = np.empty((2, 24, 10, 12), np.float32), np.empty((2, 24, 10, 12), np.float32)
    im2col_correlate(x, np.ascontiguousarray(w), (0, 0), ONE, ONE, 1, expected)
    winograd_correlate(x, w, (0, 0), 1, y)
    close(y, expected)
    winograd_correlate(x, np.asfortranarray(w), (0, 0), 1, y)
    close(y, expected)


def test_several_threads():
    x, w, grad = draw(32, 24, 28, 28), draw(32, 24, 3, 3), draw(32, 32, 28, 28, seed=1)
    args = ONE, ONE, ONE, 1
    results = []
    before = parallel.thread_limit()
    for threads in (1, 3):
        parallel.set_threads(threads)
        results.append(
            (conv(x, w, *args), conv_input_grad(grad, w, x.shape, *args), conv_weight_grad(grad, x, w.shape, *args))
        )
    parallel.set_threads(before)
    for one, three in zip(*results):
        close(three, one)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_stay_where_they_belong(value, either_way):
    x, w = draw(30, 16, 20, 20), draw(16, 16, 3, 3)
    x[1, 2, 9, 9] = value
    assert either_way == "numpy" or suits_winograd(problem(x, w.shape, ONE, ONE, 1, (30, 16, 18, 18)))
    y = conv(x, w, ONE, (0, 0), ONE, 1)
    assert np.isfinite(y[[0, *range(2, 30)]]).all()
    hit = ~np.isfinite(y[1])
    assert hit[:, 7:10, 7:10].all()
    assert hit.sum() == 16 * 9
    dw = conv_weight_grad(np.ones_like(y), x, w.shape, ONE, (0, 0), ONE, 1)
    assert not np.isfinite(dw[:, 2]).any()
    assert np.isfinite(dw[:, [0, 1, *range(3, 16)]]).all()


def test_a_result_depends_on_its_window_only():
    x, w = draw(1, 8, 30, 30), draw(8, 8, 3, 3)
    y = np.empty((1, 8, 28, 28), np.float32)
    winograd_correlate(x, w, (0, 0), 1, y)
    x[:, :, 11, 12] += 1000
    z = np.empty_like(y)
    winograd_correlate(x, w, (0, 0), 1, z)
    same = y == z
    assert not same[:, :, 9:12, 10:13].any()
    assert (~same).sum() == 8 * 9


def test_only_what_suits():
    x = draw(64, 16, 16, 16)
    out = (64, 16, 14, 14)
    assert suits_winograd(problem(x, (16, 16, 3, 3), ONE, ONE, 1, out))
    assert suits_winograd(problem(draw(64, 32, 16, 16), (32, 16, 3, 3), ONE, ONE, 2, (64, 32, 14, 14)))
    assert not suits_winograd(problem(x[:2], (16, 16, 3, 3), ONE, ONE, 1, (2, *out[1:])))
    assert not suits_winograd(problem(x.astype(float), (16, 16, 3, 3), ONE, ONE, 1, out))
    assert not suits_winograd(problem(x, (16, 16, 3, 3), (1, 2), ONE, 1, out))
    assert not suits_winograd(problem(x, (16, 16, 3, 3), ONE, (2, 1), 1, out))
    assert not suits_winograd(problem(x, (16, 8, 3, 3), ONE, ONE, 2, out))
    assert not suits_winograd(problem(x, (16, 16, 3, 5), ONE, ONE, 1, out))
    assert not suits_winograd(problem(x[:, :, 0], (16, 16, 3), (1,), (1,), 1, out[:3]))


@pytest.mark.parametrize("groups, kernel", [(1, 3), (2, 3), (1, 5), (32, 3)])
def test_weights_in_double(groups, kernel):
    x, w, bias = draw(8, 32, 20, 20), draw(32, 32 // groups, kernel, kernel), draw(32)
    args = ONE, ONE, ONE, groups
    close(conv(x, w.astype(float), *args, bias.astype(float)), conv(x, w, *args, bias))
    grad = draw(*conv_output_shape(x.shape, w.shape, ONE, ONE, ONE), seed=1)
    close(conv_weight_grad(grad.astype(float), x, w.shape, *args), conv_weight_grad(grad, x, w.shape, *args))
