"""Datasets and samplers, with the orders that PyTorch gives for the same seeds."""

from __future__ import annotations

import itertools

import pytest

import penlight as torch
from penlight.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


class Squares(Dataset):
    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        if not 0 <= index < self.size:
            raise IndexError(index)
        return index * index


class Count(IterableDataset):
    def __init__(self, *limits):
        self.limits = limits

    def __iter__(self):
        return iter(range(*self.limits))

    def __len__(self):
        return len(range(*self.limits))


# ----- Datasets -----------------------------------------------------------------------------------------------------------


def test_the_base_class_asks_for_getitem():
    with pytest.raises(NotImplementedError, match="Subclasses of Dataset should implement __getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()
    assert Dataset[int] is not None
    with pytest.raises(TypeError, match=r"has no len\(\)"):
        len(Dataset())


def test_tensor_dataset():
    dataset = TensorDataset(torch.arange(4), torch.arange(8).view(4, 2))
    assert len(dataset) == 4
    x, y = dataset[2]
    assert x.item() == 2 and y.tolist() == [4, 5]
    x, y = dataset[1:3]
    assert x.tolist() == [1, 2] and y.shape == (2, 2)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))


def test_concatenation():
    both = Squares(3) + Squares(2)
    assert isinstance(both, ConcatDataset) and len(both) == 5 and both.cumulative_sizes == [3, 5]
    assert [both[i] for i in range(5)] == [0, 1, 4, 0, 1] and both[-1] == 1 and both[-5] == 0
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-6]
    with pytest.raises(IndexError, match="list index out of range"):
        both[5]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([Count(2)])
    with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
        assert both.cummulative_sizes == [3, 5]


def test_chains_of_streams():
    chain = Count(2) + Count(5, 7)
    assert isinstance(chain, ChainDataset) and list(chain) == [0, 1, 5, 6] and len(chain) == 4
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(ChainDataset([Count(2), Squares(2)]))


def test_stacks():
    stack = StackDataset(Squares(3), [7, 8, 9])
    assert stack[1] == (1, 8) and len(stack) == 3 and stack.__getitems__([2, 0]) == [(4, 9), (0, 7)]
    named = StackDataset(a=Squares(3), b=Subset(Squares(9), [8, 7, 6]))
    assert named[1] == {"a": 1, "b": 49} and named.__getitems__([0]) == [{"a": 0, "b": 64}]
    for wrong, message in (
        (lambda: StackDataset(), "At least one dataset should be passed"),
        (lambda: StackDataset([1], a=[1]), "both types are given"),
        (lambda: StackDataset([1], [1, 2]), "Size mismatch between datasets"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()

    class Short(Squares):
        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match=r"Nested dataset's output size mismatch\. Expected 2, got 1"):
        StackDataset(Short(3)).__getitems__([0, 1])


def test_subsets():
    subset = Subset(Squares(10), [9, 3])
    assert len(subset) == 2 and subset[0] == 81 and subset.__getitems__([1, 0]) == [9, 81]
    tensors = Subset(TensorDataset(torch.arange(10)), [9, 3])
    assert tensors[[0, 1]][0].tolist() == [9, 3]

    class Half(Subset):
        def __getitem__(self, index):
            return 0

    with pytest.raises(NotImplementedError, match="Half overrides __getitem__ but not __getitems__"):
        Half(Squares(2), [0])


def test_random_split():
    parts = random_split(range(10), [3, 7], generator=seeded(42))
    assert [list(part.indices) for part in parts] == [[2, 6, 1], [8, 4, 5, 0, 9, 3, 7]]
    parts = random_split(range(11), [0.5, 0.3, 0.2], generator=seeded(0))
    assert [len(part) for part in parts] == [6, 3, 2]
    assert sorted(i for part in parts for i in part.indices) == list(range(11))
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        random_split(range(10), [3, 6])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0. This might result in an empty dataset"):
        random_split(range(1), [0.9, 0.1])


# ----- Samplers -----------------------------------------------------------------------------------------------------------


def test_sequential_and_batches():
    assert list(SequentialSampler(Squares(3))) == [0, 1, 2] and len(SequentialSampler("ab")) == 2
    for size, drop_last, batches in (
        (2, False, [[0, 1], [2, 3], [4]]),
        (2, True, [[0, 1], [2, 3]]),
        (5, True, [[0, 1, 2, 3, 4]]),
        (9, False, [[0, 1, 2, 3, 4]]),
        (9, True, []),
    ):
        sampler = BatchSampler(range(5), size, drop_last)
        assert list(sampler) == batches and len(sampler) == len(batches)
    for wrong in (0, -1, True, 1.0):
        with pytest.raises(ValueError, match="batch_size should be a positive integer value, but got batch_size="):
            BatchSampler(range(5), wrong, False)
    with pytest.raises(ValueError, match="drop_last should be a boolean value, but got drop_last=1"):
        BatchSampler(range(5), 1, 1)
    with pytest.raises(NotImplementedError):
        iter(Sampler())


def test_random_orders():
    assert list(RandomSampler(range(10), generator=seeded())) == [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]
    torch.manual_seed(0)
    assert list(RandomSampler(range(10))) == [6, 9, 0, 7, 3, 5, 4, 2, 1, 8]
    assert list(RandomSampler(range(4), num_samples=10, generator=seeded())) == [0, 1, 3, 2, 0, 2, 3, 1, 3, 2]
    drawn = list(RandomSampler(range(10), replacement=True, num_samples=40, generator=seeded()))
    assert drawn[:5] == [4, 9, 3, 0, 3] and len(drawn) == 40
    growing = [1, 2]
    sampler = RandomSampler(growing)
    growing.append(3)
    assert len(sampler) == 3


def test_an_enormous_number_of_samples_costs_nothing():
    sampler = RandomSampler(range(5), replacement=True, num_samples=10**10, generator=seeded())
    assert len(sampler) == 10**10
    assert set(itertools.islice(sampler, 100)) == set(range(5))


def test_mistakes_in_random_samplers():
    with pytest.raises(TypeError, match="replacement should be a boolean value, but got replacement=1"):
        RandomSampler(range(3), replacement=1)
    for wrong in (0, -3, 1.5):
        with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples="):
            RandomSampler(range(3), num_samples=wrong)
    with pytest.raises(ValueError, match="num_samples should be a positive integer value, but got num_samples=0"):
        RandomSampler([])


def test_subset_and_weighted():
    assert list(SubsetRandomSampler([5, 6, 7, 8], generator=seeded())) == [5, 6, 8, 7]
    assert list(SubsetRandomSampler("abcd", generator=seeded())) == ["a", "b", "d", "c"]
    assert list(WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 6, generator=seeded())) == [3, 3, 1, 3, 2, 3]
    assert list(WeightedRandomSampler([0, 0, 1.0], 4)) == [2, 2, 2, 2]
    assert sorted(WeightedRandomSampler([0.1, 0.9, 0.5], 3, replacement=False)) == [0, 1, 2]
    assert len(WeightedRandomSampler([1, 1], 7)) == 7
    with pytest.raises(ValueError, match="weights should be a 1d sequence but given weights have shape"):
        WeightedRandomSampler([[1.0]], 1)
    with pytest.raises(ValueError, match="num_samples should be a positive integer value"):
        WeightedRandomSampler([1.0], True)
    with pytest.raises(ValueError, match="replacement should be a boolean value"):
        WeightedRandomSampler([1.0], 1, replacement=0)


def test_distributed():
    def share(rank, **options):
        return list(DistributedSampler(range(10), num_replicas=3, rank=rank, **options))

    assert [share(rank, shuffle=False) for rank in range(3)] == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert [share(rank, shuffle=False, drop_last=True) for rank in range(3)] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert sorted(set(share(0) + share(1) + share(2))) == list(range(10))
    sampler = DistributedSampler(range(10), num_replicas=3, rank=0)
    first = list(sampler)
    sampler.set_epoch(1)
    assert list(sampler) != first and len(sampler) == 4
    assert list(DistributedSampler(range(2), num_replicas=5, rank=4, shuffle=False)) == [0]
    with pytest.raises(ValueError, match=r"Invalid rank 3, rank should be in the interval \[0, 2\]"):
        share(3)
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        DistributedSampler(range(10))
