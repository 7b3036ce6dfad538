"""Cross entropy of few logits against the general kernels."""

import warnings

import numpy as np
import pytest

from penlight.kernels.loss.few_logits import few_logits_backward, few_targets, nll_of_few
from penlight.kernels.softmax import nll_from_logits, nll_from_logits_backward


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("scale", [1.0, 25.0, 300.0])
def test_agrees_with_the_general_kernel(dtype, reduction, scale):
    rng = np.random.default_rng(0)
    logits = (rng.standard_normal((7, 5)) * scale).astype(dtype)
    target = rng.integers(0, 5, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss, saved = nll_of_few(logits, target, -100, reduction == "mean", reduction != "none")
    expected, kept = nll_from_logits(logits, target, None, -100, reduction)
    np.testing.assert_allclose(loss, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)
    grad = np.asarray(rng.standard_normal(loss.shape), dtype)
    dense, values = few_targets(grad, saved)
    found = few_logits_backward(dense, values, saved)
    np.testing.assert_allclose(found, nll_from_logits_backward(grad, kept), rtol=1e-5, atol=1e-6)
    assert loss.dtype == found.dtype == dtype and (dense != 0).sum() == 7


def test_leaves_what_is_not_plain():
    logits = np.zeros((2, 3), np.float32)
    plain = np.array([0, 2])
    assert nll_of_few(logits, plain, -100, True, True) is not None
    assert nll_of_few(logits, np.array([0, 3]), -100, True, True) is None
    assert nll_of_few(logits, np.array([0, -100]), -100, True, True) is None
    assert nll_of_few(logits, plain, 2, True, True) is None
    assert nll_of_few(logits[:0], plain[:0], -100, True, True) is None
    assert nll_of_few(logits.T.copy().T, plain, -100, True, True) is None


def test_infinite_and_missing_logits():
    logits = np.array([[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0]], np.float32)
    target = np.array([1, 1, 1])
    loss, _ = nll_of_few(logits, target, -100, False, False)
    expected, _ = nll_from_logits(logits, target, None, -100, "none")
    np.testing.assert_array_equal(loss, expected)
