"""Samplers: the order in which a dataset is visited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import penlight
from penlight._common.docstrings import example
from penlight.utils.data.dataset import Dataset

from ...kernels.lazy import lazy_import

if TYPE_CHECKING:
    from penlight import Generator, Tensor

_distributed = lazy_import(globals(), "_distributed", "penlight.distributed")

__all__ = [
    "BatchSampler", "RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler",
]  # fmt: skip

_T_co = TypeVar("_T_co", covariant=True)

# With replacement, indices are drawn in blocks of this size, so that requesting 10**10 samples costs nothing in advance.
_BLOCK = 32


def _draw_seed(generator: Generator | None = None) -> int:
    """One 63-bit integer from `generator` (the global one if None), which seeds samplers and workers."""
    return int(penlight.empty((), dtype=penlight.int64).random_(generator=generator).item())


def _check_boolean(error: type[Exception], **option: Any) -> None:
    ((name, value),) = option.items()
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


def _check_positive(*, boolean_too: bool = False, **option: Any) -> None:
    ((name, value),) = option.items()
    if not isinstance(value, int) or (isinstance(value, bool) and not boolean_too) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


class Sampler(Generic[_T_co]):
    """The base class of samplers: an iterable over indices, or over lists of indices (batches).

    A subclass defines `__iter__`, and `__len__` if the length is known.

    >>> from penlight.utils.data import Sampler
    >>> class Backwards(Sampler[int]):
    ...     def __init__(self, n):
    ...         self.n = n
    ...     def __iter__(self):
    ...         return iter(range(self.n - 1, -1, -1))
    ...     def __len__(self):
    ...         return self.n
    >>> list(Backwards(3))
    [2, 1, 0]
    """

    def __iter__(self) -> Iterator[_T_co]:
        raise NotImplementedError


@example('list(torch.utils.data.SequentialSampler("abc"))', "[0, 1, 2]")
class SequentialSampler(Sampler[int]):
    """The indices in order."""

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


@example("sorted(torch.utils.data.RandomSampler(range(4), generator=torch.Generator().manual_seed(0)))", "[0, 1, 2, 3]")
class RandomSampler(Sampler[int]):
    """The indices shuffled, or drawn with replacement.

    Without a `generator`, each iteration draws a seed from the global one and shuffles with a new generator.
    """

    data_source: Sized
    replacement: bool

    def __init__(self, data_source: Sized, replacement: bool = False, num_samples: int | None = None,
                 generator: Generator | None = None) -> None:  # fmt: skip
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_boolean(TypeError, replacement=replacement)
        _check_positive(boolean_too=True, num_samples=self.num_samples)

    @property
    def num_samples(self) -> int:
        """The number of indices per iteration; by default the length of the data source."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def _own_generator(self) -> Generator:
        if self.generator is not None:
            return self.generator
        generator = penlight.Generator()
        generator.manual_seed(_draw_seed())
        return generator

    def __iter__(self) -> Iterator[int]:
        size = len(self.data_source)
        generator = self._own_generator()
        if self.replacement:
            blocks, rest = divmod(self.num_samples, _BLOCK)
            for _ in range(blocks):
                yield from penlight.randint(size, (_BLOCK,), dtype=penlight.int64, generator=generator).tolist()
            yield from penlight.randint(size, (rest,), dtype=penlight.int64, generator=generator).tolist()
        else:
            rounds, rest = divmod(self.num_samples, size)
            for _ in range(rounds):
                yield from penlight.randperm(size, generator=generator).tolist()
            # PyTorch draws it even if it is not used; a shared generator must be left in the same state.
            if rest or self.generator is not None:
                yield from penlight.randperm(size, generator=generator).tolist()[:rest]

    def __len__(self) -> int:
        return self.num_samples


@example("sorted(torch.utils.data.SubsetRandomSampler([2, 5, 7]))", "[2, 5, 7]")
class SubsetRandomSampler(Sampler[int]):
    """The given indices, shuffled."""

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for position in penlight.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


@example("list(torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], 3))", "[1, 1, 1]")
class WeightedRandomSampler(Sampler[int]):
    """Indices into `weights`, each drawn with a probability proportional to its weight."""

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True,
                 generator: Generator | None = None) -> None:  # fmt: skip
        _check_positive(num_samples=num_samples)
        _check_boolean(ValueError, replacement=replacement)
        as_tensor = penlight.as_tensor(weights, dtype=penlight.float64)
        if len(as_tensor.shape) != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(as_tensor.shape)}")
        self.weights = as_tensor
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = penlight.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler["list[int]"]):
    """Groups the indices of another sampler into lists of `batch_size`.

    >>> from penlight.utils.data import BatchSampler
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    >>> list(BatchSampler(range(5), batch_size=2, drop_last=True))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_positive(batch_size=batch_size)
        _check_boolean(ValueError, drop_last=drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        sampler: Any = self.sampler
        if self.drop_last:
            return len(sampler) // self.batch_size
        return -(-len(sampler) // self.batch_size)


# ----- A sampler for one of several processes that share a dataset ---------------------------------------------------


@example("list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))", "[1, 3, 0]")
class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th index from `rank` on, of the order shuffled by `seed` and epoch.

    If the indices do not divide evenly, the first ones are repeated; with `drop_last` the last ones are dropped. Call `set_epoch` before
    every epoch to change the order. `num_replicas` and `rank` default to those of the default process group.
    """

    def __init__(self, dataset: Dataset[Any], num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            num_replicas = _distributed.get_world_size() if num_replicas is None else num_replicas
            rank = _distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset: Any = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        source: Any = dataset
        size = len(source)
        self.num_samples = size // num_replicas if drop_last else -(-size // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[_T_co]:
        size = len(self.dataset)
        order: Any = range(size)
        if self.shuffle:
            generator = penlight.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = penlight.randperm(size, generator=generator).tolist()
        # Fewer than needed: some occur twice. More: the dataset has grown, or `drop_last` drops them.
        if (size < self.total_size) if self.drop_last else (size > self.total_size):
            raise AssertionError(f"Number of indices ({size}) does not match total_size ({self.total_size})")
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Select the shuffle of this epoch; use the same number on every rank."""
        self.epoch = epoch
