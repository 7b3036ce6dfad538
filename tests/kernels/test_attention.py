"""Attention against the plain formula, whatever the layout of its inputs, and where it lies in memory."""

import numpy as np
import pytest

from penlight.kernels import attention as kernels

pytestmark = pytest.mark.usefixtures("either_way")
ORDERS = [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (0, 1, 3, 2), (3, 2, 1, 0)]


def drawn(shape, order, seed, dtype=np.float64):
    """Numbers of this shape that lie in memory in another order of the dims."""
    numbers = np.random.default_rng(seed).normal(size=[shape[k] for k in order]).astype(dtype)
    return numbers.transpose(np.argsort(order))


def plain(q, k, v, mask, scale, causal):
    scores = q @ k.swapaxes(2, 3) * scale
    if causal:
        scores = scores + np.triu(np.full(scores.shape[2:], -np.inf), 1)
    if mask is not None:
        scores = scores + mask
    e = np.exp(scores - scores.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return p @ v, p


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("masked", [None, (1, 1), (3, 1), (1, 4), (3, 4)])
@pytest.mark.parametrize("order", ORDERS)
def test_any_layout(order, masked, causal, keep, monkeypatch):
    if not keep:
        monkeypatch.setattr(kernels, "_KEEP_BYTES", 0)
        monkeypatch.setattr(kernels, "_MOST_AT_ONCE", 0)
    monkeypatch.setattr(kernels, "_BLOCK_ELEMENTS", 80)  # several parts, also of one sample
    q, k, v, g = (drawn((3, 4, n, 5), order, seed) for seed, n in enumerate((6, 7, 7, 6)))
    mask = None if masked is None else drawn((*masked, 6, 7), (0, 1, 2, 3), 9)
    scale = 0.4
    out, sums, kept = kernels.attention(q, k, v, mask, scale, causal)
    wanted, p = plain(q, k, v, mask, scale, causal)
    np.testing.assert_allclose(out, wanted, rtol=1e-12)
    assert kept.shape == (p.shape if keep else (0,))
    dq, dk, dv = kernels.attention_backward(g, q, k, v, mask, out, sums, kept, scale, causal)
    slopes = g @ v.swapaxes(2, 3)
    slopes = p * (slopes - (slopes * p).sum(-1, keepdims=True)) * scale
    np.testing.assert_allclose(dv, p.swapaxes(2, 3) @ g, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(dq, slopes @ k, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(dk, slopes.swapaxes(2, 3) @ q, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("order", ORDERS[:3])
def test_result_lies_as_the_query(order):
    q = drawn((3, 4, 6, 5), order, 0)
    out, sums, kept = kernels.attention(q, q, q, None, 1.0, False)
    assert out.strides == q.strides
    for grad in kernels.attention_backward(out, q, q, q, None, out, sums, kept, 1.0, False):
        assert grad.swapaxes(1, 2).flags.c_contiguous


def test_only_wanted_gradients():
    q = drawn((1, 2, 3, 4), (0, 1, 2, 3), 0)
    out, sums, kept = kernels.attention(q, q, q, None, 1.0, False)
    for needs in ((True, False, False), (False, True, False), (False, False, True)):
        grads = kernels.attention_backward(out, q, q, q, None, out, sums, kept, 1.0, False, needs)
        assert [grad is not None for grad in grads] == list(needs)


@pytest.mark.parametrize("shape", [(0, 2, 3, 4), (2, 0, 3, 4), (2, 2, 0, 4)])
def test_empty(shape):
    q = np.zeros(shape)
    out, sums, kept = kernels.attention(q, q, q, None, 1.0, True)
    assert out.shape == shape
    assert [g.shape for g in kernels.attention_backward(out, q, q, q, None, out, sums, kept, 1.0, True)] == [shape] * 3


def test_a_row_that_sees_nothing_is_zero():
    q = drawn((1, 1, 2, 3), (0, 1, 2, 3), 0)
    mask = np.array([[[[0.0, 0.0], [-np.inf, -np.inf]]]])
    out, sums, kept = kernels.attention(q, q, q, mask, 1.0, False)
    assert not out[0, 0, 1].any()
    for grad in kernels.attention_backward(np.ones_like(q), q, q, q, mask, out, sums, kept, 1.0, False):
        assert np.isfinite(grad).all()


# Columns around the borders of vectors; more and fewer keys than queries; parts of several heads, or of one.
@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (6, 7), (9, 8), (33, 33), (20, 70)])
def test_in_single_precision(rows, columns, causal, masked, keep, monkeypatch):
    monkeypatch.setattr(kernels, "_BLOCK_ELEMENTS", 2000)
    if not keep:
        monkeypatch.setattr(kernels, "_KEEP_BYTES", 0)
        monkeypatch.setattr(kernels, "_MOST_AT_ONCE", 0)
    shapes = [(3, 2, n, 8) for n in (rows, columns, columns, rows)]
    inputs = [drawn(shape, (0, 2, 1, 3), seed, np.float32) for seed, shape in enumerate(shapes)]
    mask = drawn((1, 2, rows, columns), (0, 1, 2, 3), 9, np.float32) if masked else None
    if masked:
        mask[0, 1, rows // 2] = -np.inf  # a row that sees nothing
    made, exact = [], []
    for results, dtype in ((made, np.float32), (exact, np.float64)):
        q, k, v, g = (x.astype(dtype) for x in inputs)
        wide = None if mask is None else mask.astype(dtype)
        out, sums, kept = kernels.attention(q, k, v, wide, 0.3, causal)
        results += [out, sums, *kernels.attention_backward(g, q, k, v, wide, out, sums, kept, 0.3, causal)]
    for ours, right in zip(made, exact, strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, right, rtol=1e-5, atol=2e-6)


def test_nan_stays_in_its_rows():
    q, k, v = (drawn((1, 2, 9, 8), (0, 1, 2, 3), seed, np.float32) for seed in range(3))
    q[0, 1, 4, 2] = np.nan
    out, sums, kept = kernels.attention(q, k, v, None, 1.0, True)
    bad = np.zeros((1, 2, 9), bool)
    bad[0, 1, 4] = True
    np.testing.assert_array_equal(np.isnan(out).all(3), bad)
    np.testing.assert_array_equal(np.isnan(out).any(3), bad)
    np.testing.assert_array_equal(np.isnan(sums), bad)
    np.testing.assert_array_equal(np.isnan(kept).any(3), bad)


@pytest.mark.parametrize("causal, masked", [(False, False), (True, False), (False, True)])
def test_few_scores_are_as_many(causal, masked, monkeypatch):
    """The short way and the general one."""
    rng = np.random.default_rng(5)
    query, key, value, grad = (rng.standard_normal((2, 3, n, 4), np.float32) for n in (5, 6, 6, 5))
    mask = np.where(rng.random((1, 1, 5, 6)) < 0.6, 0, -np.inf).astype(np.float32) if masked else None

    def run():
        out, sums, kept = kernels.attention(query, key, value, mask, 0.5, causal)
        return out, sums, kept, *kernels.attention_backward(grad, query, key, value, mask, out, sums, kept, 0.5, causal)

    few = run()
    monkeypatch.setattr(kernels, "_MOST_AT_ONCE", 0)
    for a, b in zip(few, run(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        assert a.strides == b.strides
