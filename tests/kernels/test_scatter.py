"""Scatter kernels against np.add.at and pinned values from torch."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels.index import scatter as K

rng = np.random.default_rng(0)
NAN = float("nan")


def add_at(base, where, values):
    out = base.copy()
    np.add.at(out, where, values)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize(("table", "columns", "count"), [(5, 3, 40), (5, 4, 40), (500, 16, 300), (500, 1, 300)])
def test_index_add_counts_every_repetition(dtype, table, columns, count):
    base = rng.integers(-9, 9, (table, columns)).astype(dtype)
    source = rng.integers(-9, 9, (count, columns)).astype(dtype)
    index = rng.integers(0, table, count)
    expected = add_at(base, index, source)
    before = base.copy()
    np.testing.assert_array_equal(K.index_add(base, 0, index, source), expected)
    np.testing.assert_array_equal(base, before)
    assert K.index_add(base, 0, index, source, inplace=True) is base
    np.testing.assert_array_equal(base, expected)


def test_index_add_along_middle_dim_with_alpha():
    base, source = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 4, 3))
    index = np.array([1, 1, 0, 4])
    expected = base.copy()
    for i, j in enumerate(index):
        expected[:, j] += 2.5 * source[:, i]
    np.testing.assert_allclose(K.index_add(base, 1, index, source, 2.5), expected)
    strided = np.asfortranarray(base)
    assert K.index_add(strided, 1, index, np.asfortranarray(source), 2.5, inplace=True) is strided
    np.testing.assert_allclose(strided, expected)


def test_index_add_of_nothing_and_of_scalars():
    assert K.index_add(np.float32([1, 2]), 0, np.zeros(0, int), np.zeros(0, "f4")).tolist() == [1, 2]
    assert K.index_add(np.array(1.0), 0, np.array(0), np.array(3.0)).item() == 4.0
    assert K.index_add(np.zeros((0, 4)), 1, np.array([0]), np.zeros((0, 1))).shape == (0, 4)
    assert K.index_add((3, 2), 0, np.array([1, 1]), np.ones((2, 2))).tolist() == [[0, 0], [2, 2], [0, 0]]


def test_scatter_add_index_smaller_than_source_and_base():
    base = np.zeros((3, 4), "f4")
    source = np.arange(12, dtype="f4").reshape(3, 4)
    out = K.scatter_add(base, 0, np.array([[0, 1], [0, 2]]), source)
    assert out.tolist() == [[4, 0, 0, 0], [0, 1, 0, 0], [0, 5, 0, 0]]
    out = K.scatter_add((3, 4), 1, np.array([[0, 0, 3]]), source)
    assert out.tolist() == [[1, 0, 0, 2], [0, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_add_and_gather_are_transposes(dim):
    shape, picked = (4, 5, 6), [4, 5, 6]
    picked[dim] = 9
    index = rng.integers(0, shape[dim], picked)
    x, y = rng.standard_normal(shape), rng.standard_normal(picked)
    gathered = torch.gather(torch.tensor(x), dim, torch.tensor(index)).numpy()
    np.testing.assert_array_equal(gathered, np.take_along_axis(x, index, dim))
    assert np.vdot(gathered, y) == pytest.approx(np.vdot(x, K.scatter_add(shape, dim, index, y)))


def test_expanded_index_takes_the_row_path():
    vector = rng.integers(0, 50, 200)
    index = np.broadcast_to(vector[:, None], (200, 8))
    source = rng.standard_normal((200, 8))
    expected = add_at(np.zeros((50, 8)), vector, source)
    np.testing.assert_allclose(K.scatter_add((50, 8), 0, index, source), expected)


def test_scatter_last_write_holds():
    index, values = torch.tensor([0, 0, 0]), torch.tensor([1.0, 2.0, 3.0])
    assert torch.zeros(3).scatter(0, index, values).tolist() == [3, 0, 0]
    assert torch.zeros(2, 3).scatter(1, torch.tensor([[2], [0]]), 7.0).tolist() == [[0, 0, 7], [7, 0, 0]]


@pytest.mark.parametrize(
    ("reduce", "include_self", "expected"),
    [
        ("sum", True, [8, 8, -8, 4]),
        ("sum", False, [6, 7, -5, 4]),
        ("prod", True, [10, 7, -18, 4]),
        ("prod", False, [5, 7, 6, 4]),
        ("mean", True, [2, 4, -3, 4]),
        ("mean", False, [3, 7, -3, 4]),
        ("amax", True, [5, 7, -2, 4]),
        ("amax", False, [5, 7, -2, 4]),
        ("amin", True, [1, 1, -3, 4]),
        ("amin", False, [1, 7, -3, 4]),
    ],
)
def test_scatter_reduce_integers(reduce, include_self, expected):
    base, index, source = np.array([2, 1, -3, 4]), np.array([0, 0, 1, 2, 2]), np.array([1, 5, 7, -3, -2])
    assert K.scatter_reduce(base, 0, index, source, reduce, include_self).tolist() == expected
    if reduce != "sum":
        assert K.index_reduce(base, 0, index, source, reduce, include_self).tolist() == expected
    assert base.tolist() == [2, 1, -3, 4]


def test_scatter_reduce_floats_and_nan():
    base, index = np.float32([2, 1, 3, 4]), np.array([0, 0, 1, 1, 2])
    source = np.float32([NAN, 5, 5, NAN, 2])
    np.testing.assert_array_equal(K.scatter_reduce(base, 0, index, source, "amax", False), np.float32([NAN, NAN, 2, 4]))
    np.testing.assert_array_equal(K.scatter_reduce(base, 0, index, source, "mean"), np.float32([NAN, NAN, 2.5, 4]))
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        K.scatter_reduce(np.array([True]), 0, np.array([0]), np.array([True]), "mean")


def test_half_precision_accumulates_in_float32():
    out = K.scatter_add(np.float16([2048]), 0, np.zeros(3, int), np.ones(3, "f2"))
    assert out.dtype == np.float16
    assert out.tolist() == [2052.0]


def test_embedding_backward():
    grad, indices = np.ones((2, 2, 3), "f4"), np.array([[0, 1], [1, 1]])
    assert K.embedding_backward(grad, indices, 4).tolist() == [[1] * 3, [3] * 3, [0] * 3, [0] * 3]
    assert K.embedding_backward(grad, indices, 4, padding_idx=1).tolist() == [[1] * 3, [0] * 3, [0] * 3, [0] * 3]
    scaled = K.embedding_backward(grad, indices, 4, scale_grad_by_freq=True)
    assert scaled.tolist() == [[1] * 3, [1] * 3, [0] * 3, [0] * 3]
    grad, indices = rng.standard_normal((3000, 32)), rng.integers(0, 4000, 3000)
    np.testing.assert_allclose(K.embedding_backward(grad, indices, 4000), add_at(np.zeros((4000, 32)), indices, grad))
    assert K.embedding_backward(np.zeros((0, 3), "f4"), np.zeros(0, int), 2).tolist() == [[0] * 3] * 2


INDICES = [
    (np.array([0, 2, 2, -1]),),
    (np.array([[0, 1], [1, 1]]), np.array([2, -3])),
    (slice(None), np.array([1, 1, 0])),
    (np.array([1, 1]), slice(1, 3)),
    (np.array([1, 0, 1]), slice(None, None, 2), np.array([3, 3, 3])),
    (slice(0, 2), np.array([2, 2]), np.array([[0], [1]])),
    (None, np.array([1, 1])),
    (Ellipsis, np.array([1, 1, 1])),
    (np.array([True, False, True]),),
    (slice(None), np.array([True, False, True, True]), np.array([0, 0, 4])),
    (np.array(True),),
    (slice(1, 3), slice(None, None, 2)),
]


@pytest.mark.parametrize("indices", INDICES, ids=range(len(INDICES)))
def test_index_put_add_means_what_numpy_means(indices):
    base = rng.standard_normal((3, 4, 5))
    values = rng.standard_normal(base[indices].shape)
    expected = add_at(base, indices, values)
    np.testing.assert_allclose(K.index_put_add(base, indices, values), expected)
    np.testing.assert_allclose(K.index_put_add(base.shape, indices, values), expected - base, atol=1e-12)
    np.testing.assert_allclose(K.index_put_add(base, indices, np.array(2.0)), add_at(base, indices, 2.0))
    strided = np.asfortranarray(base)
    K.index_put_add(strided, indices, values, inplace=True)
    np.testing.assert_allclose(strided, expected)


def test_index_put_add_selects_ints_first():
    base = np.zeros((2, 3, 4))
    values = np.arange(6.0).reshape(3, 2)
    out = K.index_put_add(base, (1, slice(None), np.array([3, 3])), values)
    assert out[1, :, 3].tolist() == [1, 5, 9]
    assert out.sum() == 15


def test_masked_scatter():
    out = K.masked_scatter(np.zeros((3, 2)), np.array([True, False]), np.arange(8.0))
    assert out.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert K.masked_scatter(np.zeros(2), np.ones((2, 2), bool), np.arange(8.0)).tolist() == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match="Number of elements of source < number of ones in mask"):
        K.masked_scatter(np.zeros(3), np.ones(3, bool), np.ones(2))


def test_put():
    base = np.zeros((3, 2))
    assert K.put(base, np.array([-1, -1]), np.array([1.0, 2.0]), True).tolist() == [[0, 0], [0, 0], [0, 3]]
    assert K.put(base, np.array([[0, 0]]), np.array([1.0, 2.0])).tolist() == [[2, 0], [0, 0], [0, 0]]
    with pytest.raises(IndexError, match="tried to access index -7 on a tensor of 6 elements"):
        K.put(base, np.array([-7]), np.array([1.0]))
    with pytest.raises(IndexError, match="same number of elements"):
        K.put(base, np.array([1, 2]), np.array([1.0]))


@pytest.mark.parametrize("bad", [7, -1])
def test_out_of_bounds_leaves_base_as_it_was(bad):
    base, source, one = np.zeros((3, 2)), np.ones((1, 2)), np.zeros(3)
    index = np.array([[1, bad]])
    message = f"index {bad} is out of bounds for dimension 0 with size 3"
    for call in (
        lambda: K.scatter_add(base, 0, index, source, inplace=True),
        lambda: K.scatter_reduce(base, 0, index, source, "sum", inplace=True),
        lambda: K.index_add(base, 0, np.array([bad]), source, inplace=True),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
    for call in (
        lambda: K.index_add(one, 0, np.array([bad]), np.ones(1), inplace=True),
        lambda: K.index_reduce(one, 0, np.array([bad]), np.ones(1), "prod", inplace=True),
        lambda: K.embedding_backward(source, np.array([bad]), 3),
    ):
        with pytest.raises(IndexError, match="index out of range in self"):
            call()
    assert not base.any()
    assert not one.any()


def test_index_put_add_errors():
    base = np.zeros((3, 2))
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 0 with size 3"):
        K.index_put_add(base, (np.array([-4]),), np.ones(2))
    with pytest.raises(IndexError, match=r"indexing tensors could not be broadcast together with shapes \[3\], \[2\]"):
        K.index_put_add(base, (np.array([0, 1, 2]), np.array([0, 1])), np.ones(1))
    with pytest.raises(RuntimeError, match=r"value tensor of shape \[2, 2\] cannot be broadcast to .*\[3, 2\]"):
        K.index_put_add(base, (np.array([0, 1, 2]),), np.ones((2, 2)))
    with pytest.raises(IndexError, match="too many indices"):
        K.index_put_add(base, (np.array([0]), slice(None), np.array([0])), np.ones(1))
