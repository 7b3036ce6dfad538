"""Arrays that others made: unpickled, big-endian, of subclasses, with bytes that are neither True nor False."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import penlight as torch
from penlight.utils.data import DataLoader, Dataset

OWN = {np.dtype(name): np.dtype(name) for name in ("f2", "f4", "f8", "i2", "i4", "i8", "u1", "?", "c8", "c16")}


def unpickled(array):
    copy = pickle.loads(pickle.dumps(array))
    assert copy.dtype is not array.dtype
    return copy


class Own(np.ndarray):
    """A subclass of arrays."""


class Items(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return np.linspace(-1, 1, 500, dtype=np.float32) * (i + 1) / 64, i


@pytest.mark.parametrize("name", ["f2", "f4", "f8", "i8", "u1", "?", "c8"])
def test_tensors_have_numpys_own_dtypes(name):
    array = unpickled(np.ones(6, name))
    made = [
        torch.from_numpy(array), torch.from_numpy(array[2:]), torch.tensor(array), torch.as_tensor(array), torch.asarray(array),
        torch.tensor([array, array]), pickle.loads(pickle.dumps(torch.from_numpy(array))), torch.from_numpy(array.view(Own)),
        torch.utils.data.default_collate([array, array]), torch.from_numpy(array) + torch.from_numpy(array),
    ]  # fmt: skip
    for tensor in made:
        assert type(tensor._array) is np.ndarray
        assert tensor._array.dtype is OWN[tensor._array.dtype]


@pytest.mark.parametrize(
    "function",
    [
        torch.erf, torch.logit, torch.special.ndtr, torch.special.ndtri, lambda x: torch.special.chebyshev_polynomial_t(x, 3),
        lambda x: torch.special.hermite_polynomial_h(x, 3), lambda x: torch.special.legendre_polynomial_p(x, 3), torch.lgamma,
        torch.tanh, lambda x: torch.softmax(x.reshape(10, -1), 1), torch.std,
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [10, 1000, 70000])
def test_unpickled_arrays_give_the_same_numbers(function, size):
    array = np.linspace(0.01, 0.99, size, dtype=np.float32)
    foreign = unpickled(array)
    given, wanted = torch.from_numpy(foreign), torch.from_numpy(array)
    assert torch.equal(function(given), function(wanted))
    given._array = foreign  # as if an entrance had let it in: another path may round otherwise
    assert torch.allclose(function(given), function(wanted), rtol=1e-6)


def test_batches_of_worker_processes():
    for x, _ in DataLoader(Items(), batch_size=8, num_workers=2):
        y = torch.from_numpy(x.numpy().copy())
        for function in (torch.erf, torch.special.ndtr, torch.logit):
            assert torch.equal(function(x), function(y)) or function is torch.logit


def test_a_foreign_first_caller_spoils_nothing_for_the_next():
    x = torch.from_numpy(unpickled(np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)))
    for pool in (torch.nn.functional.max_pool2d, torch.nn.functional.avg_pool2d):
        assert torch.equal(pool(x, 2), pool(x.clone(), 2))


def test_big_endian_arrays_are_refused_or_copied():
    array = np.arange(3, dtype=">f4")
    with pytest.raises(ValueError, match="byte order different from the native byte order"):
        torch.from_numpy(array)
    assert torch.tensor(array).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("size", [3, 100, 5000, 70000])
def test_bytes_that_are_neither_true_nor_false_are_true(size):
    rng = np.random.default_rng(size)
    numbers = torch.from_numpy(rng.integers(0, 256, size, np.uint8) * rng.integers(0, 2, size, np.uint8))
    odd, mask = numbers.view(torch.bool), numbers != 0
    x = torch.arange(float(size))
    for function in (
        lambda m: x[m], lambda m: x.masked_select(m), lambda m: m.nonzero(), lambda m: m.sum(), lambda m: m.any(), lambda m: m.all(),
        lambda m: x.masked_fill(m, -1.0), lambda m: x.masked_scatter(m, -x), lambda m: torch.where(m, x, -x), lambda m: m.float(),
        lambda m: m.cumsum(0), lambda m: torch.count_nonzero(m), lambda m: ~m, lambda m: m & m, lambda m: m ^ m, lambda m: m.reshape(1, -1).sum(1),
        lambda m: x.clone().masked_fill_(m, 2.0), lambda m: x.index_put((m,), torch.tensor(5.0)), lambda m: m.sort()[0], lambda m: m.long(),
        lambda m: torch.nonzero(m.reshape(1, -1)), lambda m: m.unique(), lambda m: torch.argwhere(m),
    ):  # fmt: skip
        assert torch.equal(function(odd), function(mask))
