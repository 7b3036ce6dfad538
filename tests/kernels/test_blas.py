"""Products by BLAS in our threads: Note [One set of threads]."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable, parallel
from penlight.kernels.linalg import blas, strategies

pytestmark = pytest.mark.skipif(
    not executable.available() or not blas._functions(),
    reason="native kernels, or NumPy's OpenBLAS, are not to be had here",
)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(strategies, "LEAST_SHARED", 0)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def numbers(shape, dtype, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def close(got, expected):
    tolerance = 1e-4 if got.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize(
    ("batch", "rows", "inner", "columns"),
    [
        ((), 8, 8, 8),
        ((), 100, 33, 300),
        ((), 300, 70, 50),
        ((), 1100, 8, 9),
        ((1,), 20, 9, 30),
        ((5,), 40, 50, 60),
        ((3, 4), 64, 32, 64),
        ((2, 1), 9, 8, 11),
    ],
)
def test_products(dtype, batch, rows, inner, columns):
    for turned_a, turned_b in itertools.product((False, True), repeat=2):
        a = numbers((*batch, inner, rows) if turned_a else (*batch, rows, inner), dtype)
        b = numbers((*batch, columns, inner) if turned_b else (*batch, inner, columns), dtype, 1)
        a, b = (a.swapaxes(-1, -2) if turned_a else a), (b.swapaxes(-1, -2) if turned_b else b)
        got = blas.product(a, b)
        assert got is not None
        assert got.dtype == a.dtype and got.flags.c_contiguous
        close(got, np.matmul(a.astype("d"), b.astype("d")))


def test_into_a_part_of_an_array():
    a, b = numbers((3, 4, 20, 30), "f"), numbers((3, 4, 30, 40), "f", 1)
    whole = np.full((3, 20, 4, 50), 7.0, np.float32)
    out = whole.swapaxes(1, 2)[..., :40]
    assert blas.product(a, b, out) is out
    close(out, np.matmul(a, b))
    assert (whole[..., 40:] == 7).all()


def test_factors_as_they_lie_in_memory():
    """Heads side by side, as attention has them, and parts of larger matrices."""
    projected = numbers((3, 20, 3, 4, 16), "f")
    q, k = projected[:, :, 0].swapaxes(1, 2), projected[:, :, 1].transpose(0, 2, 3, 1)
    close(blas.product(q, k), np.matmul(q, k))
    large = numbers((100, 200), "f")
    close(blas.product(large[10:50, 20:90], large[:70, 100:160]), np.matmul(large[10:50, 20:90], large[:70, 100:160]))


def test_the_gradient_of_a_sum_has_no_strides():
    """An expanded factor, and others that BLAS cannot read, are left to NumPy."""
    a = numbers((40, 30), "f")
    assert blas.product(np.broadcast_to(np.float32(1), (40, 40)), a) is None
    assert blas.product(a[::2, ::2], a[::2, :15].T) is None
    assert blas.product(a[:, ::-1], a.T) is None
    assert blas.product(a, numbers((30, 40), "d")) is None
    assert blas.product(a.astype(np.float16), a.T.astype(np.float16)) is None
    assert blas.product(a, numbers((31, 40), "f")) is None
    assert blas.product(a.astype(">f4"), a.T.astype(">f4")) is None
    assert blas.product(numbers((2, 40, 30), "f"), numbers((3, 30, 40), "f")) is None
    odd = np.frombuffer(b"\0" + numbers((40, 30), "f").tobytes(), np.float32, 1200 - 1, 1)[: 39 * 30].reshape(39, 30)
    assert not odd.flags.aligned
    assert blas.product(odd, a.T) is None


def test_small_products_and_one_thread_are_left_to_numpy(monkeypatch):
    a = numbers((40, 40), "f")
    assert blas.product(a[:4], a) is None
    torch.set_num_threads(1)
    assert blas.product(a, a) is None
    torch.set_num_threads(2)
    monkeypatch.setattr(strategies, "LEAST_SHARED", 1 << 20)
    assert blas.product(a, a) is None


def test_blas_has_its_threads_back():
    before = parallel._switch()[0]()
    a = numbers((100, 100), "f")
    blas.product(a, a)
    assert parallel._switch()[0]() == before


@pytest.mark.parametrize("shape", [(300, 200, 100), (5, 60, 70, 80), (2, 3, 60, 70, 80)])
def test_ops_give_the_same_in_one_thread(shape):
    *batch, n, k, m = shape
    x, y = torch.randn(*batch, n, k), torch.randn(*batch, k, m)
    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        result = a @ b
        (result * result).sum().backward()
        results.append([result, a.grad, b.grad])
    for alone, together in zip(*results):
        torch.testing.assert_close(alone, together, rtol=1e-4, atol=1e-3)
