"""Norms as native kernels and as NumPy ones, in float32 against the same formulas in float64."""

import itertools

import numpy as np
import pytest

from penlight.kernels import norm
from penlight.kernels.norm import in_numpy

pytestmark = pytest.mark.usefixtures("either_way")
# Around the borders of vectors and of groups of rows.
SHAPES = [(70, 1), (128, 7), (1, 8), (3, 33), (65, 64), (64, 100), (129, 257)]


def rms_norm(x, dims, weight, eps):
    return norm.layer_norm(x, dims, weight, None, eps, False)[::2]


def rms_norm_backward(grad, x, dims, rstd, weight, needs):
    return norm.layer_norm_backward(grad, x, dims, None, rstd, weight, (*needs, False))[:2]


def noise(shape, seed, offset=0.0):
    return (np.random.default_rng(seed).standard_normal(shape) + offset).astype(np.float32)


def wide(*arrays):
    return [None if a is None else a.astype(np.float64) for a in arrays]


def close(results, exact, size=1e-5):
    for result, right in zip(results, exact, strict=True):
        if right is None:
            assert result is None
        else:
            assert result.shape == right.shape and result.dtype == np.float32
            np.testing.assert_allclose(result, right, rtol=size, atol=size * max(1.0, np.abs(right).max()))


@pytest.mark.parametrize("affine", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm(shape, affine):
    x = noise(shape, 0, 0.5)
    weight, bias = (noise(shape[1:], seed) if given else None for seed, given in enumerate(affine, 1))
    results = norm.layer_norm(x, 1, weight, bias, 1e-3)
    close(results, norm.layer_norm(*wide(x), 1, *wide(weight, bias), 1e-3))
    close(rms_norm(x, 1, weight, 1e-3), rms_norm(*wide(x), 1, *wide(weight), 1e-3))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_layer_norm_backward(shape, weighted):
    x, grad = noise(shape, 0, 0.5), noise(shape, 1)
    weight = noise(shape[1:], 2) if weighted else None
    _, mean, rstd = norm.layer_norm(x, 1, weight, None, 1e-3)
    for needs in itertools.product((True, False), repeat=3):
        results = norm.layer_norm_backward(grad, x, 1, mean, rstd, weight, needs)
        close(results, norm.layer_norm_backward(*wide(grad, x), 1, *wide(mean, rstd, weight), needs), 3e-5)
        results = rms_norm_backward(grad, x, 1, rstd, weight, needs[:2])
        close(results, rms_norm_backward(*wide(grad, x), 1, *wide(rstd, weight), needs[:2]), 3e-5)


def test_large_means_and_many_rows():
    x, grad = noise((5000, 40), 0, 300.0), noise((5000, 40), 1, 1.0)
    weight, bias = noise((40,), 2), noise((40,), 3)
    results = norm.layer_norm(x, 1, weight, bias, 1e-5)
    exact = norm.layer_norm(*wide(x), 1, *wide(weight, bias), 1e-5)
    close(results, exact, 1e-4)
    results = norm.layer_norm_backward(grad, x, 1, *results[1:], weight)
    close(results, norm.layer_norm_backward(*wide(grad, x), 1, *exact[1:], *wide(weight)), 1e-4)


def test_long_rows_far_from_zero():
    """The mean of a long row is as exact as float32 can be, and so are the results."""
    x = noise((2, 1 << 16), 0, 30.0)
    out, mean, rstd = norm.layer_norm(x, 1, None, None, 1e-5)
    exact = norm.layer_norm(*wide(x), 1, None, None, 1e-5)
    np.testing.assert_allclose(mean, exact[1], rtol=1e-7)
    np.testing.assert_allclose(rstd, exact[2], rtol=1e-6)
    np.testing.assert_allclose(out, exact[0], atol=5e-6)
    same = norm.layer_norm(np.full((3, 700), 0.1, np.float32), 1, None, None, 0.0)
    np.testing.assert_allclose(same[1], 0.1, rtol=5e-6)
    assert not np.isnan(same[2]).any()


def test_rows_of_millions():
    """Millions of numbers are summed in blocks; one running sum in float32 is a hundred times further off."""
    x = np.random.default_rng(0).random((1, 1 << 22), np.float32)
    out, mean, rstd = norm.layer_norm(x, 1, None, None, 1e-5)
    exact = norm.layer_norm(*wide(x), 1, None, None, 1e-5)
    np.testing.assert_allclose(out, exact[0], atol=2e-6)
    grad = x[:, ::-1].copy()
    dx = norm.layer_norm_backward(grad, x, 1, mean, rstd, None)[0]
    np.testing.assert_allclose(dx, norm.layer_norm_backward(*wide(grad, x), 1, *exact[1:], None)[0], atol=2e-5)


def test_nan_and_inf_stay_in_their_rows():
    x, weight, bias = noise((6, 50), 0), noise((50,), 1), noise((50,), 2)
    x[1, 3], x[3, 7], x[4] = np.nan, np.inf, 2.0
    out, mean, rstd = norm.layer_norm(x, 1, weight, bias, 1e-5)
    assert np.isnan(out).all(1).tolist() == [False, True, False, True, False, False]
    np.testing.assert_allclose(out[4], bias)
    dx, _, dbias = norm.layer_norm_backward(x, x, 1, mean, rstd, weight)
    assert np.isnan(dx).all(1).tolist() == [False, True, False, True, False, False]
    assert np.isnan(dbias).nonzero()[0].tolist() == [3] and np.isinf(dbias).nonzero()[0].tolist() == [7]


def test_several_dimensions_and_half_precision():
    x, weight, bias = noise((4, 3, 5, 6), 0), noise((5, 6), 1), noise((5, 6), 2)
    out, mean, rstd = norm.layer_norm(x, 2, weight, bias, 1e-5)
    flat = norm.layer_norm(x.reshape(12, 30), 1, weight.reshape(-1), bias.reshape(-1), 1e-5)
    np.testing.assert_array_equal(out.reshape(12, 30), flat[0])
    assert mean.shape == rstd.shape == (4, 3, 1, 1)
    half = norm.layer_norm(x.astype(np.float16), 2, weight.astype(np.float16), None, 1e-5)
    assert half[0].dtype == np.float16 and half[1].dtype == np.float32
    grads = norm.layer_norm_backward(
        x.astype(np.float16), x.astype(np.float16), 2, *half[1:], weight.astype(np.float16)
    )
    assert [g.dtype for g in grads] == [np.float16] * 3


# Channels side by side, alone, and long enough to be rows; several groups of rows.
BATCHES = [(70, 5), (130, 1), (1, 3, 7), (66, 3, 3, 5), (3, 4, 65), (2, 1, 9, 9), (5, 8, 10, 11), (2, 3, 96, 96)]


@pytest.mark.parametrize("offset", [0.5, 20.0])
@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("shape", BATCHES)
def test_batch_norm(shape, affine, offset):
    x, grad = noise(shape, 0, offset), noise(shape, 1)
    weight, bias = (noise(shape[1:2], 2), noise(shape[1:2], 3)) if affine else (None, None)
    _, mean, rstd, var = results = in_numpy.batch_norm(x, weight, bias, 1e-3)
    close(results, in_numpy.batch_norm(*wide(x, weight, bias), 1e-3), 1e-4)
    close(
        [in_numpy.batch_norm_eval(x, mean, var, weight, bias, 1e-3)],
        [in_numpy.batch_norm_eval(*wide(x, mean, var, weight, bias), 1e-3)],
        1e-4,
    )
    for training in (True, False):
        for needs in ((True, True, True), (True, False, False), (False, True, True)):
            results = in_numpy.batch_norm_backward(grad, x, mean, rstd, weight, training, needs)
            exact = in_numpy.batch_norm_backward(*wide(grad, x, mean, rstd, weight), training, needs)
            close(results, exact, 1e-4)


@pytest.mark.parametrize("shape", [(20000, 8), (5000, 3, 4)])
def test_rounding_of_many_samples_does_not_add_up(shape):
    x, grad = noise(shape, 0, 0.5), noise(shape, 1)
    weight = noise(shape[1:2], 2)
    _, mean, rstd, _ = results = norm.batch_norm(x, weight, weight, 1e-5)
    exact = in_numpy.batch_norm(*wide(x, weight, weight), 1e-5)
    close(results, exact, 4e-7)
    slopes = norm.batch_norm_backward(grad, x, mean, rstd, weight)
    close(slopes, in_numpy.batch_norm_backward(*wide(grad, x), *exact[1:3], *wide(weight)), 1e-6)


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize(("shape", "groups"), [((3, 6), 2), ((2, 6, 9), 3), ((70, 4, 5, 5), 1), ((3, 8, 9, 9), 8)])
def test_group_norm(shape, groups, affine):
    x, grad = noise(shape, 0, 2.0), noise(shape, 1)
    weight, bias = (noise(shape[1:2], 2), noise(shape[1:2], 3)) if affine else (None, None)
    results = in_numpy.group_norm(x, groups, weight, bias, 1e-3)
    exact = in_numpy.group_norm(*wide(x), groups, *wide(weight, bias), 1e-3)
    close(results, exact, 1e-4)
    for needs in itertools.product((True, False), repeat=3):
        results_back = in_numpy.group_norm_backward(grad, x, groups, *results[1:], weight, needs)
        exact_back = in_numpy.group_norm_backward(*wide(grad, x), groups, *exact[1:], *wide(weight), needs)
        close(results_back, exact_back, 1e-4)


def test_nan_stays_in_its_channel():
    x = noise((4, 3, 70), 0)
    x[1, 2, 5] = np.nan
    out, mean, rstd, _ = in_numpy.batch_norm(x, None, None, 1e-5)
    assert np.isnan(out).any((0, 2)).tolist() == [False, False, True]
    dx, dweight, _ = in_numpy.batch_norm_backward(x, x, mean, rstd, None)
    assert np.isnan(dx).any((0, 2)).tolist() == np.isnan(dweight).tolist() == [False, False, True]
