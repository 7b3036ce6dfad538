"""The alignments of a CTC loss by compiled loops beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.loss import ctc

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")


def nothing(*args):
    return None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_as_in_numpy(dtype, flat, zero_infinity, monkeypatch):
    rng = np.random.default_rng(0)
    frames, count, classes, blank = 9, 5, 4, 2
    logits = rng.normal(size=(frames, count, classes))
    logs = (logits - np.log(np.exp(logits).sum(2, keepdims=True))).astype(dtype)
    lengths, inputs = (
        (3, 0, 5, 2, 4),
        (9, 7, 5, 0, 8),
    )  # the third has no alignment if it repeats a label, the fourth none
    targets = rng.integers(0, classes, size=(count, 5))
    targets[2] = 1
    if flat:
        targets = np.concatenate([row[:n] for row, n in zip(targets, lengths, strict=True)])
    grad = rng.normal(size=count).astype(dtype)

    def both():
        loss, alpha = ctc.ctc_loss(logs, targets, inputs, lengths, blank)
        return loss, ctc.ctc_loss_backward(grad, logs, targets, inputs, lengths, loss, alpha, blank, zero_infinity)

    found = both()
    monkeypatch.setattr(ctc, "_compiled_loss", nothing)
    monkeypatch.setattr(ctc, "_compiled_loss_backward", nothing)
    for a, b in zip(found, both(), strict=True):
        np.testing.assert_allclose(
            a, b, rtol=1e-10 if dtype == np.float64 else 1e-5, atol=1e-6 if dtype == np.float32 else 1e-12
        )


def test_a_label_that_is_no_class_is_left_to_numpy():
    logs = np.log(np.full((3, 1, 2), 0.5))
    assert ctc._compiled_loss(logs, np.array([[2]]), (3,), (1,), 0) is None
