"""Convolution with windows that are not copied: like the plain way, for any kernel, stride, dilation and number of groups."""

import numpy as np
import pytest

from penlight.kernels import executable, parallel
from penlight.kernels.conv import (
    conv,
    conv_input_grad,
    conv_output_shape,
    conv_weight_grad,
    implicit,
    implicit_plans,
    strategies,
)
from penlight.kernels.conv.im2col import im2col_correlate, im2col_weight_grad
from penlight.kernels.conv.implicit import implicit_correlate, implicit_weight_grad
from penlight.kernels.conv.strategies import Problem, suits_implicit

pytestmark = pytest.mark.skipif(not executable.available(), reason="this machine cannot run AVX2 code")
CASES = [
    # images, channels, results, size, kernel, stride, border, dilation, groups
    (9, 6, 16, (14, 14), (5, 5), (1, 1), (0, 0), (1, 1), 1), (5, 12, 20, (32, 32), (4, 4), (2, 2), (1, 1), (1, 1), 1),
    (3, 8, 9, (28, 28), (3, 3), (1, 1), (2, 2), (2, 2), 1), (4, 12, 13, (200,), (5,), (1,), (2,), (1,), 1),
    (3, 5, 6, (31,), (4,), (3,), (1,), (2,), 1), (2, 4, 8, (9, 10, 16), (3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    (2, 3, 5, (7, 9, 10), (2, 3, 2), (2, 1, 3), (1, 0, 1), (1, 2, 1), 1), (5, 64, 64, (12, 12), (3, 3), (1, 1), (1, 1), (1, 1), 4),
    (3, 9, 15, (5, 14), (3, 2), (2, 3), (1, 0), (1, 2), 3), (1, 3, 7, (40, 40), (7, 7), (2, 2), (3, 3), (1, 1), 1),
    (2, 70, 8, (8, 8), (5, 5), (1, 1), (2, 2), (1, 1), 1), (6, 40, 33, (6, 5), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    (1, 1, 1, (3, 5), (2, 2), (1, 1), (0, 0), (1, 1), 1), (3, 7, 2, (9, 24), (1, 5), (1, 1), (-1, -2), (1, 1), 1),
    (2, 4, 11, (3, 8), (3, 1), (1, 1), (2, 0), (1, 1), 1), (7, 3, 8, (9, 9), (3, 3), (2, 2), (0, 0), (1, 1), 1),
    (2, 3, 14, (4, 37), (2, 4), (4, 4), (0, 2), (1, 1), 1), (3, 6, 4, (11, 27), (3, 3), (1, 2), (1, 1), (2, 3), 2),
]  # fmt: skip


def draw(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape, dtype=dtype)


def close(result, expected):
    most = 1e-13 if result.dtype == np.float64 else 2e-6
    np.testing.assert_allclose(result, expected, rtol=5 * most, atol=most * np.abs(expected).max())


def wide(*arrays):
    """The same numbers for kernels that sum up exactly enough."""
    return [a if a is None else a.astype(np.longdouble) for a in arrays]


def problem(x, weight, stride, dilation, groups, out):
    padding = (0,) * len(stride)
    return Problem(x.shape, weight, out, stride, padding, dilation, groups, x.dtype, True, executable.available())


@pytest.fixture(params=["small blocks", "fours", "eights"])
def _blocks(request, monkeypatch):
    if request.param == "small blocks":
        monkeypatch.setattr(implicit, "_BLOCK_BYTES", 1)
        monkeypatch.setattr(implicit, "_CHUNK_BYTES", 1)
        monkeypatch.setattr(implicit, "_INNER", 8)
        monkeypatch.setattr(implicit, "_CHUNK", 3)
    monkeypatch.setattr(implicit_plans, "_FOURS", 0 if request.param == "fours" else 9)


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("batch, channels, results, size, kernel, stride, low, dilation, groups", CASES)
def test_like_the_plain_way(batch, channels, results, size, kernel, stride, low, dilation, groups, dtype):
    x, w = draw(batch, channels, *size, dtype=dtype), draw(results, channels // groups, *kernel, dtype=dtype)
    bias = draw(results, dtype=dtype)
    shape = conv_output_shape(x.shape, w.shape, stride, low, dilation)
    expected = np.empty(shape, np.longdouble)
    im2col_correlate(*wide(x, w), low, stride, dilation, groups, expected, *wide(bias))
    y = np.empty(shape, dtype)
    implicit_correlate(x, w, low, stride, dilation, groups, y, bias)
    close(y, expected)
    implicit_correlate(x, w, low, stride, dilation, groups, y)
    close(y, expected - bias.reshape(-1, *(1,) * len(size)))
    memory = np.full((*shape[:-1], 2 * shape[-1]), 7, dtype)
    implicit_correlate(x, w[..., ::-1], low, stride, dilation, groups, memory[..., ::2], bias)
    im2col_correlate(*wide(x, w[..., ::-1]), low, stride, dilation, groups, expected, *wide(bias))
    close(memory[..., ::2], expected)
    assert (memory[..., 1::2] == 7).all()
    grad = draw(*shape, seed=1, dtype=dtype)
    expected = im2col_weight_grad(*wide(grad, x), low, kernel, stride, dilation, groups)
    close(implicit_weight_grad(grad, x, low, kernel, stride, dilation, groups), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    "results, channels, size, kernel, stride, padding, dilation, groups",
    [
        (16, 8, (32, 30), (4, 4), (2, 2), (1, 1), (1, 1), 1), (9, 12, (17, 23), (3, 3), (2, 2), (1, 1), (1, 1), 1),
        (8, 12, (17, 40), (5, 4), (2, 3), (2, 0), (1, 1), 2), (6, 5, (40, 41), (3, 3), (2, 2), (2, 2), (2, 2), 1),
        (6, 5, (21, 40), (2, 2), (3, 2), (0, 1), (1, 1), 1), (8, 8, (90,), (4,), (2,), (1,), (1,), 1),
        (5, 6, (9, 10, 17), (3, 2, 4), (2, 1, 2), (1, 0, 1), (1, 1, 1), 1),
    ],
)  # fmt: skip
def test_transposed(results, channels, size, kernel, stride, padding, dilation, groups, bias, dtype, monkeypatch):
    monkeypatch.setattr(strategies, "_LEAST_PRODUCTS", 0)
    monkeypatch.setattr(strategies, "_LEAST_GROUP_PRODUCTS", 0)
    calls = []
    monkeypatch.setattr(
        "penlight.kernels.conv.strategies.implicit_correlate_together",
        lambda *args: (calls.append(1), implicit.implicit_correlate_together(*args)),
    )
    x, w = (5, channels, *size), draw(results, channels // groups, *kernel, dtype=dtype)
    grad = draw(*conv_output_shape(x, w.shape, stride, padding, dilation), dtype=dtype)
    shift = draw(channels, dtype=dtype) if bias else None
    result = conv_input_grad(grad, w, x, stride, padding, dilation, groups, shift)
    close(result, conv_input_grad(*wide(grad, w), x, stride, padding, dilation, groups, *wide(shift)))
    assert calls or dilation == (2, 2)  # where there is one correlation


@pytest.mark.parametrize("images", [1, 2, 32])
def test_several_threads(images):
    x, w, grad = draw(images, 24, 28, 28), draw(32, 24, 5, 5), draw(images, 32, 14, 14, seed=1)
    args = (2, 2), (2, 2), (1, 1), 1
    assert suits_implicit(problem(x, w.shape, (2, 2), (1, 1), 1, grad.shape))
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


def test_few_images_are_shared_by_rows(monkeypatch):
    monkeypatch.setattr(implicit_plans, "job_count", lambda items, cost: 3)
    for groups in (1, 2):
        x, w, grad = draw(2, 8, 20, 20), draw(40, 8 // groups, 3, 3), draw(2, 40, 10, 10, seed=1)
        args = (2, 2), (1, 1), (1, 1), groups
        expected = wide(x, w, grad)
        close(conv(x, w, *args), conv(*expected[:2], *args))
        close(
            conv_input_grad(grad, w, x.shape, *args), conv_input_grad(expected[2], expected[1], x.shape, *args)
        )  # into a strided view
        close(conv_weight_grad(grad, x, w.shape, *args), conv_weight_grad(expected[2], expected[0], w.shape, *args))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_infinity_and_nan_stay_where_they_belong(value, either_way):
    x, w = draw(30, 8, 20, 20), draw(8, 8, 5, 5)
    x[1, 2, 9, 9] = value
    x[2, 3, 0, 19] = value  # met by one tap only
    y = conv(x, w, (1, 1), (0, 0), (1, 1), 1)
    hit = ~np.isfinite(y)
    assert hit[1, :, 5:10, 5:10].all()
    assert hit[2, :, 0, 15].all()
    assert hit.sum() == 8 * 26
    dw = conv_weight_grad(np.ones_like(y), x, w.shape, (1, 1), (0, 0), (1, 1), 1)
    assert not np.isfinite(dw[:, 2]).any()
    assert (~np.isfinite(dw[:, 3])).sum() == 8
    assert np.isfinite(dw[:, [0, 1, 4, 5, 6, 7]]).all()


def test_only_what_suits():
    x = draw(16, 8, 16, 16)
    ones, out = (1, 1), (16, 8, 12, 12)
    assert suits_implicit(problem(x, (8, 8, 5, 5), ones, ones, 1, out))
    assert suits_implicit(problem(x.astype(float), (8, 8, 5, 5), ones, ones, 1, out))
    assert not suits_implicit(problem(x.astype(complex), (8, 8, 5, 5), ones, ones, 1, out))
    assert not suits_implicit(problem(x[:1], (8, 8, 2, 2), ones, ones, 1, (1, 8, 4, 4)))
    assert not suits_implicit(problem(x, (8, 8, 14, 14), ones, ones, 1, (16, 8, 3, 3)))
