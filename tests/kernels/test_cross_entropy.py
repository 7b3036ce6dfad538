"""Cross entropy as compiled loops against the general kernels."""

import warnings

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.loss import compiled, cross_entropy
from penlight.kernels.softmax import nll_from_logits

pytestmark = pytest.mark.skipif(not executable.available(), reason="this machine cannot run machine code")
REDUCTIONS = ["none", "mean", "sum"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("ignored", [-100, 2])
@pytest.mark.parametrize("scale", [1.0, 25.0, 300.0])
def test_agrees_with_the_general_kernel(dtype, reduction, ignored, scale):
    rng = np.random.default_rng(0)
    logits = (rng.standard_normal((7, 5)) * scale).astype(dtype)
    target = np.array([0, 4, 2, 1, 2, 3, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss, saved = compiled.cross_entropy(logits, target, ignored, reduction, True)
    expected, kept = nll_from_logits(logits, target, None, ignored, REDUCTIONS[reduction])
    tolerance = {"rtol": 1e-5 if dtype == np.float32 else 1e-12, "atol": 1e-6}
    np.testing.assert_allclose(loss, expected, **tolerance)
    grad = np.asarray(rng.standard_normal(np.shape(loss)), dtype)
    np.testing.assert_allclose(saved.at_targets(grad), kept.at_targets(grad), **tolerance)
    found = saved.backward(grad)
    np.testing.assert_allclose(found, kept.backward(grad), rtol=1e-5, atol=1e-6)
    assert loss.dtype == found.dtype == dtype


def test_leaves_what_is_wrong_or_empty():
    logits, target = np.zeros((2, 3), np.float32), np.array([0, 2])
    assert compiled.cross_entropy(logits, target, -100, 1, True) is not None
    assert compiled.cross_entropy(logits, np.array([0, 3]), -100, 1, True) is None
    assert compiled.cross_entropy(logits, np.array([0, -1]), -100, 1, True) is None
    assert compiled.cross_entropy(logits[:0], target[:0], -100, 1, True) is None
    assert compiled.cross_entropy(logits.astype(np.float16), target, -100, 1, True) is None
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        cross_entropy(logits, np.array([0, 3]), -100, 1, True)


def test_infinite_and_missing_logits():
    logits = np.array([[np.inf, 0.0], [-np.inf, 0.0], [np.nan, 0.0]], np.float32)
    target = np.array([1, 1, 1])
    loss, _ = compiled.cross_entropy(logits, target, -100, 0, True)
    expected, _ = nll_from_logits(logits, target, None, -100, "none")
    np.testing.assert_array_equal(loss, expected)
