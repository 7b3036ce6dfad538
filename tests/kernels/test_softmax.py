"""Softmax kernels against plain formulas in float64 and pinned values from torch."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import softmax as K

pytestmark = pytest.mark.usefixtures("either_way", "any_size")
rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")
# Shapes and dims that take every path: small rows, blocks of rows, an inner dimension, columns in blocks.
CASES = [((), 0), ((5,), 0), ((64, 10), 1), ((300, 600), 1), ((4, 7, 5), 1), ((7, 1), 0), ((2, 30, 5000), 1)]


@pytest.fixture
def any_size(monkeypatch):
    """Native kernels, where they are used, also for few elements."""
    monkeypatch.setattr(K, "_LEAST_MATRIX", 1)
    monkeypatch.setattr(K, "_LEAST_COLUMNS", {4: 1, 8: 1})
    monkeypatch.setattr(K, "_kernels", {})


def plain(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True)) if x.ndim else np.ones(())
    return e / e.sum(dim, keepdims=True) if x.ndim else e


@pytest.mark.parametrize(("shape", "dim"), CASES)
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 3e-6), (np.float64, 1e-13), (np.float16, 2e-3)])
def test_softmax_and_log_softmax(shape, dim, scale, dtype, rtol):
    x = np.asarray(rng.standard_normal(shape) * scale).astype(dtype)
    before = x.copy()
    expected = plain(x.astype(np.float64), dim)
    y, log_y = K.softmax(x, dim), K.log_softmax(x, dim)
    assert y.dtype == log_y.dtype == dtype
    assert y.shape == log_y.shape == shape
    np.testing.assert_allclose(y, expected, rtol=rtol * max(1, scale / 10), atol=1e-7 if dtype == np.float16 else 1e-37)
    with np.errstate(divide="ignore"):
        reference = np.log(expected)
    ok = expected > 1e-300
    np.testing.assert_allclose(log_y[ok], reference[ok], rtol=rtol, atol=rtol)
    np.testing.assert_array_equal(x, before)


def test_non_contiguous_and_empty():
    x = rng.standard_normal((6, 8, 4))
    np.testing.assert_allclose(K.softmax(x.T, 2), plain(x.T, 2))
    np.testing.assert_allclose(K.softmax(x[:, ::2], 1), plain(x[:, ::2], 1))
    np.testing.assert_allclose(K.log_softmax(x[::-1, :, 1], 1), np.log(plain(x[::-1, :, 1], 1)))
    for shape in ((0, 3), (3, 0)):
        for dim in (0, 1):
            zero = np.zeros(shape, "f4")
            for result in (K.softmax(zero, dim), K.log_softmax(zero, dim)):
                assert result.shape == shape
            for result in (K.softmax_backward(zero, zero, dim), K.log_softmax_backward(zero, zero, dim)):
                assert result.shape == shape


@pytest.mark.filterwarnings("error")
def test_infinities_and_nan():
    x = np.float32([[INF, 0], [-INF, -INF], [NAN, 1], [-INF, 2], [INF, INF]])
    nan = [NAN, NAN]
    np.testing.assert_array_equal(K.softmax(x, 1), [nan, nan, nan, [0, 1], nan])
    np.testing.assert_array_equal(K.log_softmax(x, 1), [nan, nan, nan, [-INF, 0], nan])
    np.testing.assert_array_equal(K.softmax(x.T.copy(), 0).T, [nan, nan, nan, [0, 1], nan])
    np.testing.assert_array_equal(K.log_softmax(x.T.copy(), 0).T, [nan, nan, nan, [-INF, 0], nan])
    np.testing.assert_array_equal(K.logsumexp(x, (1,), False), np.float32([INF, -INF, NAN, 2, INF]))


@pytest.mark.filterwarnings("error")
def test_one_bad_row_spoils_no_other():
    x = rng.standard_normal((900, 100)).astype(np.float32)
    x[10:20] *= 1000
    good = [K.softmax(x, 1), K.log_softmax(x, 1), K.nll_from_logits(x, np.zeros(900, int), reduction="none")[0]]
    x[5, 7], x[6, 8] = NAN, INF
    bad = [K.softmax(x, 1), K.log_softmax(x, 1), K.nll_from_logits(x, np.zeros(900, int), reduction="none")[0]]
    for before, after in zip(good, bad, strict=True):
        assert np.isnan(after[5]).all()
        np.testing.assert_allclose(np.delete(after, [5, 6], 0), np.delete(before, [5, 6], 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("shape", "dim"), CASES[1:])
def test_backwards(shape, dim):
    x, grad = rng.standard_normal(shape), rng.standard_normal(shape)
    y = plain(x, dim)
    expected = y * (grad - (grad * y).sum(dim, keepdims=True))
    np.testing.assert_allclose(K.softmax_backward(grad, y, dim), expected, rtol=1e-9, atol=1e-12)
    expected = grad - y * grad.sum(dim, keepdims=True)
    np.testing.assert_allclose(K.log_softmax_backward(grad, np.log(y), dim), expected, rtol=1e-9, atol=1e-12)
    expanded = np.broadcast_to(np.float64(2.0), shape)
    np.testing.assert_allclose(K.softmax_backward(expanded, y, dim), np.zeros(shape), atol=1e-12)


def test_logsumexp():
    x = rng.standard_normal((3, 4, 5)) * 400
    expected = np.logaddexp.reduce(x.transpose(1, 0, 2).reshape(4, 15), 1)
    np.testing.assert_allclose(K.logsumexp(x, (0, 2), False), expected)
    np.testing.assert_allclose(K.logsumexp(x, (0, 2), True), expected.reshape(1, 4, 1))
    assert K.logsumexp(np.zeros((0, 3), "f4"), (0,), False).tolist() == [-INF] * 3
    assert K.logsumexp(np.zeros((3, 0), "f4"), (0,), True).shape == (1, 0)
    assert K.logsumexp(np.array(2.0), (0,), False).item() == 2.0
    np.testing.assert_allclose(
        K.logsumexp(np.array([1 + 2j, 3 - 1j]), (0,), False), 2.856394780842109 - 0.9779503462008972j
    )


def numerical_grad(f, x, eps=1e-6):
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = eps
        out[i] = (f(x + d) - f(x - d)) / (2 * eps)
    return out


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_gradient(weighted, smoothing, reduction):
    x, target = rng.standard_normal((5, 4)), np.array([0, 3, -100, 1, 1])
    weight = np.array([1.0, 2.0, 0.5, 0.25]) if weighted else None
    push = rng.standard_normal(5) if reduction == "none" else np.array(1.7)

    def loss(x):
        value, saved = K.nll_from_logits(x, target, weight, -100, reduction, smoothing, need_backward=False)
        assert saved is None
        return (value * push).sum()

    value, saved = K.nll_from_logits(x, target, weight, -100, reduction, smoothing)
    assert value.shape == push.shape
    assert (value * push).sum() == loss(x)
    np.testing.assert_allclose(K.nll_from_logits_backward(push, saved), numerical_grad(loss, x), atol=1e-8)


PINNED = [  # logits [[1,2,3],[0,0,-inf],[5,1,1]], target [1,0,-100]
    ({}, "mean", 1.050377),
    ({}, "none", [1.407606, 0.693147, 0.0]),
    ({"label_smoothing": 0.1}, "mean", INF),
    ({"weight": np.float32([1, 2, 0])}, "mean", 1.169453),
    ({"weight": np.float32([1, 2, 0])}, "sum", 3.508359),
    ({"weight": np.float32([1, 2, 0.5]), "label_smoothing": 0.3}, "none", [2.513328, INF, 0.0]),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("options", "reduction", "expected"), PINNED)
def test_cross_entropy_pinned(options, reduction, expected):
    logits = np.float32([[1, 2, 3], [0, 0, -INF], [5, 1, 1]])
    loss, _ = K.nll_from_logits(logits, np.array([1, 0, -100]), reduction=reduction, **options)
    assert loss.dtype == np.float32
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.filterwarnings("error")
def test_cross_entropy_of_nothing():
    logits = np.float32([[1, 2, 3], [5, 1, 1]])
    loss, saved = K.nll_from_logits(logits, np.array([-100, -100]))
    assert np.isnan(loss)
    assert not K.nll_from_logits_backward(np.float32(1), saved).any()
    loss, saved = K.nll_from_logits(logits, np.array([2, 2]), np.float32([1, 1, 0]))
    assert np.isnan(loss)
    assert np.isnan(K.nll_from_logits_backward(np.float32(1), saved)).all()
    loss, saved = K.nll_from_logits(logits[:0], np.zeros(0, int), reduction="sum")
    assert loss == 0
    assert K.nll_from_logits_backward(np.float32(1), saved).shape == (0, 3)


def test_cross_entropy_targets_out_of_bounds():
    logits = np.zeros((3, 3), "f4")
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        K.nll_from_logits(logits, np.array([1, 7, -1]))
    with pytest.raises(IndexError, match="Target -1 is out of bounds"):
        K.nll_from_logits(logits, np.array([1, -1, 7]))
    assert K.nll_from_logits(logits, np.array([1, -1, 2]), ignore_index=-1)[0] == pytest.approx(np.log(3))


@pytest.mark.parametrize("scale", [1, 30, 300])
def test_cross_entropy_large_blocks(scale):
    x = (rng.standard_normal((700, 200)) * scale).astype(np.float32)
    target = rng.integers(0, 200, 700)
    x[np.arange(350), target[:350]] += 5 * scale
    loss, saved = K.nll_from_logits(x, target, reduction="none")
    exact = x.astype(np.float64)
    exact = np.logaddexp.reduce(exact, 1) - exact[np.arange(700), target]
    np.testing.assert_allclose(loss, exact, rtol=1e-6, atol=1e-6)
    assert (loss >= 0).all()
    np.testing.assert_array_equal(loss, K.nll_from_logits(x, target, reduction="none", need_backward=False)[0])
    grad = plain(x.astype(np.float64), 1)
    grad[np.arange(700), target] -= 1
    np.testing.assert_allclose(K.nll_from_logits_backward(np.ones(700, "f4"), saved), grad, atol=1e-6)


def test_half_precision_cross_entropy():
    x = rng.standard_normal((8, 5)).astype(np.float16)
    loss, saved = K.nll_from_logits(x, np.arange(8) % 5)
    grad = K.nll_from_logits_backward(np.float16(1), saved)
    assert loss.dtype == grad.dtype == np.float16


@pytest.mark.parametrize("level", [-300.0, -90.0, -12.0, 0.0, 50.0, 85.0, 3000.0])
@pytest.mark.parametrize("dim", [0, 1])
def test_with_and_without_the_shift(level, dim):
    """Sums on either side of the limits in Note [When the shift can be skipped]."""
    x = (np.random.default_rng(1).standard_normal((300, 200)) * 4 + level).astype(np.float32)
    x[3, 5], x[4] = -np.inf, level
    exact = x.astype(np.float64) - x.max(dim, keepdims=True)
    exact = np.exp(exact) / np.exp(exact).sum(dim, keepdims=True)
    made = K.softmax(x, dim)
    np.testing.assert_allclose(made, exact, rtol=3e-6, atol=1e-30)
    loss, _ = K.nll_from_logits(x, np.full(300, 7), reduction="none")
    if dim == 1:
        np.testing.assert_allclose(loss, -np.log(exact[:, 7]), rtol=2e-6, atol=1e-6)


def test_a_target_whose_power_underflows_has_a_finite_loss():
    x = np.array([[0.0, -110.0, 5.0], [1.0, 2.0, 3.0], [60.0, -40.0, 0.0]], np.float32)
    loss, _ = K.nll_from_logits(x, np.array([1, 2, 1]), reduction="none")
    np.testing.assert_allclose(loss, [115.00672, 0.40760595, 100.0], rtol=1e-6)


def test_one_element_alone_has_all_of_it():
    for value in (-3.3, 0.7, 12.34):
        assert K.softmax(np.full((50, 1), value, np.float32), 1).min() == 1.0


@pytest.mark.parametrize("columns", [1, 7, 8, 9, 33, 100, 257])
def test_rows_of_any_length(columns):
    x, grad = (rng.standard_normal((5, columns)).astype("f4") * 4 for _ in range(2))
    wide, push = x.astype(float), grad.astype(float)
    y, log_y = K.softmax(wide, 1), K.log_softmax(wide, 1)
    np.testing.assert_allclose(K.softmax_backward(grad, K.softmax(x, 1), 1), K.softmax_backward(push, y, 1), atol=1e-5)
    np.testing.assert_allclose(
        K.log_softmax_backward(grad, K.log_softmax(x, 1), 1), K.log_softmax_backward(push, log_y, 1), atol=3e-5
    )
    np.testing.assert_allclose(K.logsumexp(x, (1,), False), K.logsumexp(wide, (1,), False), rtol=1e-6)
    target = np.arange(5) % columns
    loss, saved = K.nll_from_logits(x, target)
    right, exact = K.nll_from_logits(wide, target)
    np.testing.assert_allclose(loss, right, rtol=1e-6, atol=1e-6)
    one = np.ones((), "f4")
    np.testing.assert_allclose(
        K.nll_from_logits_backward(one, saved), K.nll_from_logits_backward(one.astype(float), exact), atol=1e-6
    )
    assert K.nll_from_logits(x, target, need_backward=False)[0] == loss


def test_rows_with_infinities_and_nan():
    x = np.zeros((6, 9), "f4")
    x[1, 2], x[2, 3], x[3], x[4, 8] = INF, -INF, -INF, NAN
    x[5] = INF
    np.testing.assert_array_equal(np.isnan(K.log_softmax(x, 1)).any(1), [False, True, False, True, True, True])
    np.testing.assert_array_equal(np.isnan(K.softmax(x, 1)).any(1), [False, True, False, True, True, True])
    np.testing.assert_allclose(K.logsumexp(x, (1,), False), [np.log(9), INF, np.log(8), -INF, NAN, INF], rtol=1e-6)
    loss, _ = K.nll_from_logits(x, np.full(6, 3), reduction="none")
    np.testing.assert_allclose(loss, [np.log(9), NAN, INF, NAN, NAN, NAN], rtol=1e-6)


@pytest.mark.parametrize("shape", [(1, 4, 1), (3, 5, 7), (2, 100, 33), (5, 3, 260), (40, 21, 512)])
def test_columns_of_any_length(shape):
    x, grad = (rng.standard_normal(shape).astype("f4") * 4 for _ in range(2))
    if shape[2] > 2:
        x[0, 0, 0], x[0, 1, 1], x[0, :, 2] = NAN, INF, -INF
    wide, push = x.astype(float), grad.astype(float)
    for forward, backward in ((K.softmax, K.softmax_backward), (K.log_softmax, K.log_softmax_backward)):
        made, exact = forward(x, 1), forward(wide, 1)
        np.testing.assert_allclose(made, exact, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(backward(grad, made, 1), backward(push, exact, 1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [4, 4096])
def test_probabilities_down_to_the_least(columns, either_way):
    """Also those that are subnormal numbers, as PyTorch has them: their logarithm is finite."""
    x = np.zeros((2, columns), np.float32)
    x[:, 1] = -90
    result = K.softmax(x, 1)
    assert result[0, 1] == pytest.approx(np.exp(-90) / (columns - 1), rel=0.01)


@pytest.mark.parametrize("shape", [(70, 33), (300, 401), (3, 3001), (2500, 3)])
def test_large_rows_of_float64(shape, either_way):
    x = np.random.default_rng(0).standard_normal(shape) * 5
    x[0, 0], x[1] = -np.inf, 700.0
    exps = np.exp(x.astype(np.longdouble) - x.max(1, keepdims=True))
    exact = exps / exps.sum(1, keepdims=True)
    np.testing.assert_allclose(K.softmax(x, 1), exact.astype("f8"), rtol=1e-14)
    logs = (x - x.max(1, keepdims=True) - np.log(exps.sum(1, keepdims=True))).astype("f8")
    np.testing.assert_allclose(K.log_softmax(x, 1), logs, rtol=1e-13, atol=1e-14)
    sums = (x.max(1) + np.log(exps.sum(1))).astype("f8")
    np.testing.assert_allclose(K.logsumexp(x, (1,), False), sums, rtol=1e-14, atol=1e-14)
    grad = np.random.default_rng(1).standard_normal(shape)
    y = exact.astype("f8")
    np.testing.assert_allclose(
        K.softmax_backward(grad, y, 1), y * (grad - (grad * y).sum(1, keepdims=True)), atol=1e-14
    )
    finite = np.where(np.isinf(logs), -50.0, logs)
    wanted = grad - np.exp(finite) * grad.sum(1, keepdims=True)
    np.testing.assert_allclose(K.log_softmax_backward(grad, finite, 1), wanted, rtol=1e-12, atol=1e-12)
    special = np.zeros((70, 40))
    special[0], special[1, 3], special[2, 5], special[3], special[4] = -np.inf, np.inf, np.nan, 1e308, np.inf
    soft, total = K.softmax(special, 1), K.logsumexp(special, (1,), False)
    assert np.isnan(soft[[0, 2, 4]]).all() and np.isnan(soft[1, 3])
    np.testing.assert_allclose(soft[3], 1 / 40)
    assert total[0] == -np.inf and total[1] == total[4] == np.inf and np.isnan(total[2])
