"""Normalisation kernels against plain formulas, finite differences and pinned values from torch."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import norm as K
from penlight.kernels.norm import in_numpy as C

rng = np.random.default_rng(0)
EPS = 1e-5


def rms_norm(x, dims, weight, eps):
    return K.layer_norm(x, dims, weight, None, eps, False)[::2]


def rms_norm_backward(grad, x, dims, rstd, weight, needs):
    return K.layer_norm_backward(grad, x, dims, None, rstd, weight, (*needs, False))[:2]


def numerical_grad(f, x, eps=1e-6):
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = eps
        out[i] = (f(x + d) - f(x - d)) / (2 * eps)
    return out


def check_grads(forward, grads, inputs, push):
    """`grads` against finite differences of sum(forward(*inputs) * push)."""
    for k, grad in enumerate(grads):
        if inputs[k] is None:
            continue

        def loss(v, k=k):
            return (forward(*inputs[:k], v, *inputs[k + 1 :]) * push).sum()

        np.testing.assert_allclose(grad, numerical_grad(loss, inputs[k]), atol=1e-7)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("shape", "dims"), [((4, 5), 1), ((2, 3, 4), 2), ((5,), 1)])
def test_layer_and_rms_norm(shape, dims, affine):
    tail = shape[len(shape) - dims :]
    x, push = rng.standard_normal(shape) * 3 + 2, rng.standard_normal(shape)
    weight, bias = (rng.standard_normal(tail), rng.standard_normal(tail)) if affine else (None, None)
    axes = tuple(range(len(shape) - dims, len(shape)))
    out, mean, rstd = K.layer_norm(x, dims, weight, bias, EPS)
    expected = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + EPS)
    np.testing.assert_allclose(out, expected * weight + bias if affine else expected, rtol=1e-9, atol=1e-12)
    assert mean.shape == rstd.shape == shape[: len(shape) - dims] + (1,) * dims
    grads = K.layer_norm_backward(push, x, dims, mean, rstd, weight, (True, affine, affine))
    check_grads(lambda x, w, b: K.layer_norm(x, dims, w, b, EPS)[0], grads, (x, weight, bias), push)
    assert K.layer_norm_backward(push, x, dims, mean, rstd, weight, (False, False, False)) == (None, None, None)

    out, rstd = rms_norm(x, dims, weight, EPS)
    expected = x / np.sqrt((x * x).mean(axes, keepdims=True) + EPS)
    np.testing.assert_allclose(out, expected * weight if affine else expected)
    grads = rms_norm_backward(push, x, dims, rstd, weight, (True, affine))
    check_grads(lambda x, w: rms_norm(x, dims, w, EPS)[0], grads, (x, weight), push)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", [(5, 4), (3, 4, 2), (2, 2, 8, 8)])
def test_batch_norm(shape, affine):
    channels = shape[1]
    x, push = rng.standard_normal(shape) * 3 + 2, rng.standard_normal(shape)
    weight, bias = (rng.standard_normal(channels), rng.standard_normal(channels)) if affine else (None, None)
    out, mean, rstd, var = C.batch_norm(x, weight, bias, EPS)
    axes = (0, *range(2, len(shape)))
    np.testing.assert_allclose(mean, x.mean(axes))
    np.testing.assert_allclose(var, x.var(axes))
    np.testing.assert_allclose(rstd, 1 / np.sqrt(x.var(axes) + EPS))
    grads = C.batch_norm_backward(push, x, mean, rstd, weight, True, (True, affine, affine))
    check_grads(lambda x, w, b: C.batch_norm(x, w, b, EPS)[0], grads, (x, weight, bias), push)

    given_mean, given_var = rng.standard_normal(channels), rng.random(channels)
    out, rstd = C.batch_norm_eval(x, given_mean, given_var, weight, bias, EPS), 1 / np.sqrt(given_var + EPS)
    column = (-1,) + (1,) * (len(shape) - 2)
    expected = (x - given_mean.reshape(column)) / np.sqrt(given_var.reshape(column) + EPS)
    if affine:
        expected = expected * weight.reshape(column) + bias.reshape(column)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)
    grads = C.batch_norm_backward(push, x, given_mean, rstd, weight, False, (True, affine, affine))
    check_grads(lambda x, w, b: C.batch_norm_eval(x, given_mean, given_var, w, b, EPS), grads, (x, weight, bias), push)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("shape", [(3, 4, 2), (2, 4, 3, 3)])
def test_group_norm(shape, groups, affine):
    x, push = rng.standard_normal(shape) * 3 + 2, rng.standard_normal(shape)
    weight, bias = (rng.standard_normal(4), rng.standard_normal(4)) if affine else (None, None)
    out, mean, rstd = C.group_norm(x, groups, weight, bias, EPS)
    grouped = x.reshape(shape[0], groups, -1)
    expected = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + EPS)
    expected = expected.reshape(shape)
    if affine:
        column = (4,) + (1,) * (len(shape) - 2)
        expected = expected * weight.reshape(column) + bias.reshape(column)
    np.testing.assert_allclose(out, expected, rtol=1e-9, atol=1e-12)
    assert mean.shape == rstd.shape == (shape[0], groups)
    grads = C.group_norm_backward(push, x, groups, mean, rstd, weight, (True, affine, affine))
    check_grads(lambda x, w, b: C.group_norm(x, groups, w, b, EPS)[0], grads, (x, weight, bias), push)


def test_blocks_give_the_same_as_rows_one_by_one():
    x = rng.standard_normal((900, 400))
    out, mean, rstd = K.layer_norm(x, 1, None, None, EPS)
    some = [0, 327, 328, 899]
    np.testing.assert_allclose(out[some], K.layer_norm(x[some], 1, None, None, EPS)[0])
    dx = K.layer_norm_backward(x[::-1], x, 1, mean, rstd, None, (True, False, False))[0]
    alone = K.layer_norm_backward(x[::-1][some], x[some], 1, mean[some], rstd[some], None, (True, False, False))[0]
    np.testing.assert_allclose(dx[some], alone)
    images = rng.standard_normal((40, 8, 30, 30)).astype(np.float32)
    out, mean, _, var = C.batch_norm(images, None, None, EPS)
    np.testing.assert_allclose(mean, images.mean((0, 2, 3), dtype="f8"), atol=1e-6)
    np.testing.assert_allclose(var, images.var((0, 2, 3), dtype="f8"), rtol=1e-5)
    np.testing.assert_allclose(out.mean((0, 2, 3), dtype="f8"), 0, atol=1e-6)


def test_large_mean_costs_no_accuracy():
    x = (rng.standard_normal((8, 256)) + 1000).astype(np.float32)
    exact = x.astype(np.float64)
    exact = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + EPS)
    np.testing.assert_allclose(K.layer_norm(x, 1, None, None, EPS)[0], exact, atol=2e-4)


def test_half_precision_empty_and_strided():
    x = rng.standard_normal((6, 4)).astype(np.float16)
    out, mean, rstd = K.layer_norm(x, 1, np.ones(4, "f2"), None, EPS)
    assert out.dtype == np.float16
    assert mean.dtype == rstd.dtype == np.float32
    dx, dweight, _ = K.layer_norm_backward(x, x, 1, mean, rstd, np.ones(4, "f2"))
    assert dx.dtype == dweight.dtype == np.float16
    assert K.batch_norm(x, None, None, EPS)[0].dtype == np.float16

    empty = np.zeros((0, 3), "f4")
    out, mean, rstd = K.layer_norm(empty, 1, None, None, EPS)
    assert out.shape == (0, 3)
    assert mean.shape == (0, 1)
    dx, dweight, dbias = K.layer_norm_backward(empty, empty, 1, mean, rstd, None)
    assert dx.shape == (0, 3)
    assert dweight.tolist() == dbias.tolist() == [0, 0, 0]
    out, mean, rstd = K.layer_norm(np.zeros((2, 0), "f4"), 1, None, None, EPS)
    assert out.shape == (2, 0)
    assert mean.tolist() == [[0], [0]]
    assert np.isnan(rstd).all()

    y = rng.standard_normal((4, 6, 5))
    for strided in (y.transpose(2, 0, 1), y[::2, :, ::-1]):
        np.testing.assert_array_equal(
            K.layer_norm(strided, 1, None, None, EPS)[0], K.layer_norm(strided.copy(), 1, None, None, EPS)[0]
        )
        np.testing.assert_array_equal(
            C.batch_norm(strided, None, None, EPS)[0], C.batch_norm(strided.copy(), None, None, EPS)[0]
        )


@pytest.mark.parametrize("offset", [0.0, 1.5, 3.0, 50.0])
@pytest.mark.parametrize("shape", [(700, 96), (24, 6, 16, 16), (40, 12, 3)])
def test_centred_and_plain_sums_agree(shape, offset):
    """Either side of Note [Centred or not], in float32 against float64."""
    own = np.random.default_rng(0)  # three numbers that happen to be close together have no mean to speak of in float32
    x = own.standard_normal(shape) + offset
    g, w = own.standard_normal(shape), own.standard_normal(shape[1])
    small = [a.astype(np.float32) for a in (x, g, w)]

    def layer(x, g, w):
        w = np.resize(w, x.shape[-1])
        out, mean, rstd = K.layer_norm(x, 1, w, w, EPS)
        return out, *K.layer_norm_backward(g, x, 1, mean, rstd, w)

    def batch(x, g, w):
        out, mean, rstd, var = C.batch_norm(x, w, w, EPS)
        return out, mean, var, *C.batch_norm_backward(g, x, mean, rstd, w)

    for run in (layer, batch):
        for made, exact in zip(run(*small), run(*(a.astype(np.float64) for a in small))):
            np.testing.assert_allclose(made, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
