"""Loss kernels against formulas, finite differences and pinned values from torch."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import loss as K

rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")


def probabilities(shape):
    return rng.uniform(0.05, 0.95, shape)


def signed(shape):
    return rng.standard_normal(shape) * 2


WEIGHT, POS = np.array([1.0, 3.0, 0.5, 2.0]), np.array([2.0, 0.5, 1.0, 4.0])
# name: (inputs, targets, forward(x, t, reduction), backward(grad, x, t, reduction))
LOSSES = {
    "huber": (signed, signed, lambda *a: K.huber_loss(*a, 0.7), lambda *a: K.huber_loss_backward(*a, 0.7)),
    "smooth_l1": (signed, signed, lambda *a: K.smooth_l1_loss(*a, 0.7), lambda *a: K.smooth_l1_loss_backward(*a, 0.7)),
    "smooth_l1_1": (signed, signed, K.smooth_l1_loss, K.smooth_l1_loss_backward),
    "smooth_l1_0": (
        signed,
        signed,
        lambda *a: K.smooth_l1_loss(*a, 0.0),
        lambda *a: K.smooth_l1_loss_backward(*a, 0.0),
    ),
    "bce_logits": (
        signed,
        probabilities,
        lambda x, t, r: K.bce_with_logits(x, t, None, None, r),
        lambda g, x, t, r: K.bce_with_logits_backward(g, x, t, None, None, r),
    ),
    "bce_logits_weights": (
        signed,
        probabilities,
        lambda x, t, r: K.bce_with_logits(x, t, WEIGHT, POS, r),
        lambda g, x, t, r: K.bce_with_logits_backward(g, x, t, WEIGHT, POS, r),
    ),
    "bce_logits_pos": (
        signed,
        probabilities,
        lambda x, t, r: K.bce_with_logits(x, t, None, POS, r),
        lambda g, x, t, r: K.bce_with_logits_backward(g, x, t, None, POS, r),
    ),
    "bce": (
        probabilities,
        probabilities,
        lambda x, t, r: K.bce(x, t, None, r),
        lambda g, x, t, r: K.bce_backward(g, x, t, None, r),
    ),
    "bce_weight": (
        probabilities,
        probabilities,
        lambda x, t, r: K.bce(x, t, WEIGHT, r),
        lambda g, x, t, r: K.bce_backward(g, x, t, WEIGHT, r),
    ),
}


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", LOSSES)
def test_reductions_and_gradients(name, reduction):
    make_x, make_target, forward, backward = LOSSES[name]
    x, target = make_x((3, 5, 4)), make_target((3, 5, 4))
    each = forward(x, target, "none")
    reduced = forward(x, target, reduction)
    expected = {"none": each, "mean": each.mean(), "sum": each.sum()}[reduction]
    assert isinstance(reduced, np.ndarray)
    np.testing.assert_allclose(reduced, expected)
    grad = rng.standard_normal(x.shape) if reduction == "none" else np.array(1.7)
    slope = (forward(x + 1e-6, target, "none") - forward(x - 1e-6, target, "none")) / 2e-6
    scale = {"none": grad, "mean": 1.7 / x.size, "sum": 1.7}[reduction]
    np.testing.assert_allclose(backward(grad, x, target, reduction), slope * scale, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_half_precision_empty_large_and_strided(name):
    make_x, make_target, forward, backward = LOSSES[name]
    x, target = make_x((60_000, 4)).astype("f4"), make_target((60_000, 4)).astype("f4")
    np.testing.assert_allclose(forward(x, target, "mean"), forward(x, target, "none").mean(dtype="f8"), rtol=1e-5)
    swapped = [np.ascontiguousarray(a[:50].T).T for a in (x, target)]
    np.testing.assert_array_equal(forward(*swapped, "none"), forward(x[:50], target[:50], "none"))
    half = forward(x[:5].astype("f2"), target[:5].astype("f2"), "mean")
    assert half.dtype == np.float16
    assert backward(np.float16(1), x[:5].astype("f2"), target[:5].astype("f2"), "mean").dtype == np.float16
    empty = np.zeros((0, 4), "f4")
    assert np.isnan(forward(empty, empty, "mean"))
    assert forward(empty, empty, "sum") == 0
    assert backward(np.float32(1), empty, empty, "mean").shape == (0, 4)


@pytest.mark.filterwarnings("error")
def test_bce_limits():
    p, target = np.float32([0, 1, 0.5, 0, 1]), np.float32([0, 1, 0.3, 1, 0])
    np.testing.assert_allclose(K.bce(p, target, None, "none"), [0, 0, 0.693147, 100, 100], atol=1e-6)
    np.testing.assert_allclose(
        K.bce_backward(np.float32(1), p, target, None, "sum"), [0, 0, 0.8, -1e12, 1e12], rtol=1e-6
    )
    for bad in (1.5, -0.1, NAN):
        with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
            K.bce(np.float32([bad]), np.float32([0]))
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        K.bce(np.float32([0.5]), np.float32([2]))


@pytest.mark.filterwarnings("error")
def test_bce_with_logits_pinned():
    x, target = np.float32([-200, 200, INF, 0, NAN, 200]), np.float32([0, 1, 0, 0.5, 0, 0])
    np.testing.assert_allclose(
        K.bce_with_logits(x, target, reduction="none"), [0, 0, INF, 0.693147, NAN, 200], rtol=1e-5
    )
    x, target = np.float32([[-2, 2], [1, 0]]), np.float32([[1, 0.3], [0, 1]])
    weight, pos_weight = np.float32([1, 3]), np.float32([2, 0.5])
    out = K.bce_with_logits(x, target, weight, pos_weight, "none")
    np.testing.assert_allclose(out, [[4.2539, 4.5237], [1.3133, 1.0397]], atol=5e-5)
    out = K.bce_with_logits_backward(np.float32(1), x, target, weight, pos_weight)
    np.testing.assert_allclose(out, [[-0.4404, 0.4490], [0.1828, -0.1875]], atol=5e-5)


@pytest.mark.filterwarnings("error")
def test_huber_kinks():
    x, zero = np.float32([0, 0.5, -0.5, 1, -2, NAN, INF]), np.zeros(7, "f4")
    one = np.float32(1)
    np.testing.assert_allclose(
        K.smooth_l1_loss_backward(one, x, zero, "sum", 0.5), [0, 1, -1, 1, -1, NAN, 1], equal_nan=True
    )
    np.testing.assert_allclose(K.huber_loss_backward(one, x, zero, "sum", 0.5), [0, 0.5, -0.5, 0.5, -0.5, NAN, 0.5])
    np.testing.assert_allclose(K.huber_loss(x, zero, "none", 0.5), [0, 0.125, 0.125, 0.375, 0.875, NAN, INF])


@pytest.mark.filterwarnings("error")
def test_kl_div():
    def kl_div(x, target, **options):
        tensors = torch.from_numpy(x), torch.from_numpy(target)
        return torch.nn.functional.kl_div(*tensors, reduction="none", **options).numpy()

    x, target = np.float32([-1, -INF, -INF, -2, -3]), np.float32([0, 0, 0.5, -1, 0.25])
    np.testing.assert_allclose(kl_div(x, target), [0, NAN, INF, NAN, 0.25 * (np.log(0.25) + 3)], rtol=1e-6)
    log_target = np.float32([-0.5, -1, -1])
    np.testing.assert_allclose(
        kl_div(np.float32([-INF, -2, -1]), log_target, log_target=True), [INF, 0.367879, 0], rtol=1e-5
    )


def test_nll_loss_pinned():
    x = np.arange(12.0).reshape(2, 3, 2)
    x = x - np.log(np.exp(x).sum(1, keepdims=True))
    target, weight = np.array([[0, 2], [-100, 1]]), np.array([1.0, 2.0, 3.0])
    loss, total = K.nll_loss(x, target, weight, reduction="none")
    np.testing.assert_allclose(loss, [[4.1429, 0.4288], [0, 4.2859]], atol=5e-5)
    loss, total = K.nll_loss(x, target, weight)
    assert loss == pytest.approx(1.4763, abs=5e-5)
    assert total == 6
    dx = K.nll_loss_backward(np.array(3.0), x, target, weight)
    assert dx.tolist() == [[[-0.5, 0], [0, 0], [0, -1.5]], [[0, 0], [0, -1], [0, 0]]]
    dx = K.nll_loss_backward(np.array([[1.0, 2], [3, 4]]), x, target, None, reduction="none")
    assert dx.tolist() == [[[-1, 0], [0, 0], [0, -2]], [[0, 0], [0, -4], [0, 0]]]
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        K.nll_loss(x, np.array([[0, 2], [-100, 7]]))


def test_nll_loss_of_nothing():
    x = np.float32([[NAN, 0], [1, 2]])
    assert K.nll_loss(x, np.array([-100, 0]), reduction="sum")[0] == -1
    loss, total = K.nll_loss(x, np.array([-100, -100]))
    assert np.isnan(loss)
    assert total == 0
    assert not K.nll_loss_backward(np.float32(1), x, np.array([-100, -100])).any()
    assert np.isnan(K.nll_loss(x[:0], np.zeros(0, int))[0])
    assert K.nll_loss_backward(np.float32(1), x[:0], np.zeros(0, int)).shape == (0, 2)


def test_the_mean_of_millions_of_squares():
    x = np.random.default_rng(0).random(1 << 23, np.float32)
    found = torch.nn.functional.mse_loss(torch.from_numpy(x), torch.zeros(()).expand(x.shape))
    np.testing.assert_allclose(found.item(), np.mean(np.square(x, dtype=np.float64)), rtol=1e-6)
