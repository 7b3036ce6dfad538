"""Datasets: maps from an index to a sample, streams of samples, and combinations of them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable as _Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Iterable, TypeVar  # noqa: UP035 (a base class next to Generic)

import penlight
from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user

if TYPE_CHECKING:
    from penlight import Generator, Tensor

__all__ = [
    "ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
    "random_split",
]  # fmt: skip

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class Dataset(Generic[_T_co]):
    """A map from keys to samples. A subclass defines `__getitem__`, and usually `__len__`.

    A subclass may also define `__getitems__(indices)`, which fetches a full batch as a list of samples.

    >>> from penlight.utils.data import Dataset
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 4
    ...     def __getitem__(self, index):
    ...         return index * index
    >>> Squares()[3]
    9
    """

    def __getitem__(self, index: Any) -> _T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[_T_co]) -> ConcatDataset[_T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[_T_co], Iterable[_T_co]):
    """A stream of samples. A subclass defines `__iter__`.

    With `DataLoader(num_workers=n)` every worker iterates its own copy; a copy can use `get_worker_info()` to select its share of the stream.

    >>> from penlight.utils.data import DataLoader, IterableDataset, get_worker_info
    >>> class Count(IterableDataset):
    ...     def __iter__(self):
    ...         info = get_worker_info()
    ...         return iter(range(4)) if info is None else iter(range(info.id, 4, info.num_workers))
    >>> list(DataLoader(Count(), batch_size=None))
    [0, 1, 2, 3]
    """

    def __add__(self, other: Dataset[_T_co]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


@example("torch.utils.data.TensorDataset(torch.arange(3), torch.arange(3) * 10)[1]", "(tensor(1), tensor(10))")
class TensorDataset(Dataset["tuple[Tensor, ...]"]):
    """A dataset whose samples are tuples of rows of the given tensors."""

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(tensor.size(0) != tensors[0].size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


def _fetch_all(dataset: Any, indices: list[Any]) -> Sequence[Any]:
    """The samples at `indices`, in one call if the dataset supports it."""
    if not callable(getattr(dataset, "__getitems__", None)):
        return [dataset[index] for index in indices]
    samples: Sequence[Any] = dataset.__getitems__(indices)
    if len(samples) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(samples)}")
    return samples


class StackDataset(Dataset[Any]):
    """Several datasets of one length combined: samples are tuples, or dicts if the datasets are given by name.

    >>> from penlight.utils.data import StackDataset
    >>> StackDataset("abc", [1, 2, 3])[0]
    ('a', 1)
    >>> StackDataset(letter="abc", number=[1, 2, 3])[2]
    {'letter': 'c', 'number': 3}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or"
                "``dict``- (via ``kwargs``) like input/output, but both types are given."
            )
        members = args or tuple(kwargs.values())
        if not members:
            raise ValueError("At least one dataset should be passed")
        self._length = len(members[0])
        if any(len(dataset) != self._length for dataset in members):
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_fetch_all(dataset, indices) for dataset in self.datasets.values()]
            return [dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)]
        return list(zip(*(_fetch_all(dataset, indices) for dataset in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[_T_co]):
    """Several datasets concatenated; `a + b` makes one too.

    >>> from penlight.utils.data import ConcatDataset
    >>> both = ConcatDataset(["abc", "de"])
    >>> len(both), both[3], both[-1]
    (5, 'd', 'e')
    """

    datasets: list[Dataset[_T_co]]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: _Iterable[Any]) -> list[int]:
        """The running total of the lengths."""
        return list(accumulate(len(dataset) for dataset in sequence))

    def __init__(self, datasets: _Iterable[Dataset[_T_co]]) -> None:
        members = self.datasets = list(datasets)
        streams = (member for member in members if isinstance(member, IterableDataset))
        if not members:
            raise AssertionError("datasets should not be an empty iterable")
        if next(streams, None) is not None:
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(members)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> _T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect_right(self.cumulative_sizes, idx)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][idx - start]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old, misspelt name of `cumulative_sizes`."""
        warn_user("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Several streams concatenated.

    >>> from penlight.utils.data import ChainDataset, IterableDataset
    >>> class Letters(IterableDataset):
    ...     def __init__(self, text):
    ...         self.text = text
    ...     def __iter__(self):
    ...         return iter(self.text)
    >>> list(ChainDataset([Letters("ab"), Letters("c")]))
    ['a', 'b', 'c']
    """

    def __init__(self, datasets: _Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def _streams(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset

    def __iter__(self) -> Iterator[Any]:
        for stream in self._streams():
            yield from stream

    def __len__(self) -> int:
        return sum(len(stream) for stream in self._streams())


@example('torch.utils.data.Subset("abcdef", [5, 0])[0]', "'f'")
class Subset(Dataset[_T_co]):
    """The samples of a dataset at the given indices.

    A subclass that redefines `__getitem__` must redefine `__getitems__` too, because `DataLoader` calls the latter.
    """

    dataset: Dataset[_T_co]
    indices: Sequence[int]

    def __init__(self, dataset: Dataset[_T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        cls = type(self)
        if cls.__getitem__ is not Subset.__getitem__ and cls.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{cls.__name__} overrides __getitem__ but not __getitems__. "
                "When subclassing Subset and overriding __getitem__, you must also override "
                "__getitems__ to ensure DataLoader works correctly with your custom logic. "
                "A simple implementation:\n\n"
                "def __getitems__(self, indices):\n"
                "    return [self.__getitem__(idx) for idx in indices]"
            )

    def __getitem__(self, idx: Any) -> _T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[_T_co]:
        chosen = [self.indices[index] for index in indices]
        if callable(getattr(self.dataset, "__getitems__", None)):
            return self.dataset.__getitems__(chosen)  # type: ignore[attr-defined]
        return [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def _lengths_from_fractions(fractions: Sequence[float], total: int) -> list[int]:
    """Integer lengths for fractions of `total`; the remainder is distributed one by one, starting at the first."""
    for position, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {position} is not between 0 and 1")
    lengths = [math.floor(total * fraction) for fraction in fractions]
    for spare in range(total - sum(lengths)):
        lengths[spare % len(lengths)] += 1
    for position, length in enumerate(lengths):
        if length == 0:
            warn_user(f"Length of split at index {position} is 0. This might result in an empty dataset.")
    return lengths


def random_split(
    dataset: Dataset[_T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[_T]]:
    """Split a dataset at random into parts of the given lengths, or of fractions that sum to 1.

    >>> from penlight.utils.data import random_split
    >>> parts = random_split(range(10), [0.7, 0.3], generator=torch.Generator().manual_seed(0))
    >>> [len(part) for part in parts]
    [7, 3]
    """
    source: Any = dataset
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths_from_fractions(lengths, len(source))
    if sum(lengths) != len(source):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = penlight.randperm(sum(lengths), generator=generator).tolist()  # type: ignore[arg-type]
    whole: Any = lengths
    return [Subset(dataset, order[end - n : end]) for end, n in zip(accumulate(whole), whole, strict=True)]
