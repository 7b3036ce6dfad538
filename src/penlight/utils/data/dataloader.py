"""DataLoader: iterates over batches, given a dataset, an order and a merge function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import penlight
from penlight._common.user_warnings import warn_user
from penlight.utils.data import _utils
from penlight.utils.data._utils.collate import default_collate, default_convert
from penlight.utils.data._utils.worker import get_worker_info
from penlight.utils.data.dataset import Dataset, IterableDataset
from penlight.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, _draw_seed

if TYPE_CHECKING:
    from penlight import Generator

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

_T_co = TypeVar("_T_co", covariant=True)
_collate_fn_t = Callable[[list[Any]], Any]
_worker_init_fn_t = Callable[[int], None]


class _DatasetKind:
    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(
        kind: int, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool
    ) -> Any:
        fetcher = _utils.fetch._MapDatasetFetcher if kind == _DatasetKind.Map else _utils.fetch._IterableDatasetFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler[None]):
    """Endless Nones: requests for the next sample of a stream."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Iterates over a dataset in batches, optionally shuffled and loaded by worker processes.

    Batches come in the same order as PyTorch's for the same seed.

    >>> from penlight.utils.data import DataLoader, TensorDataset
    >>> loader = DataLoader(TensorDataset(torch.arange(5), torch.arange(5) * 10), batch_size=2)
    >>> for x, y in loader:
    ...     print(x, y)
    tensor([0, 1]) tensor([ 0, 10])
    tensor([2, 3]) tensor([20, 30])
    tensor([4]) tensor([40])

    Args:
        dataset: what to load from: anything with `__getitem__` and `__len__`, or an `IterableDataset`.
        batch_size: samples in a batch; None gives the samples one by one, without a batch dimension.
        shuffle: another order in every epoch.
        sampler: the order, as an iterable over indices, instead of `shuffle`.
        batch_sampler: the batches, as an iterable over lists of indices, instead of all of the above and `drop_last`.
        num_workers: how many processes load ahead; 0 loads in this process.
        collate_fn: merges a list of samples into a batch (default: `default_collate`).
        pin_memory: accepted; there is no accelerator to pin memory for, and a warning says so.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch from the workers; 0 waits for ever.
        worker_init_fn: called in each worker with its number, after seeding.
        multiprocessing_context: how processes are started ("fork", "spawn", "forkserver", or a context object).
        generator: for shuffling and for the workers' seeds.
        prefetch_factor: batches that each worker loads ahead (default with workers: 2).
        persistent_workers: keep the workers from one epoch to the next.
        pin_memory_device: accepted.
        in_order: False gives batches as they come in from the workers.
    """

    dataset: Dataset[_T_co]
    batch_size: int | None
    num_workers: int
    pin_memory: bool
    drop_last: bool
    timeout: float
    sampler: Sampler[Any] | Iterable[Any]
    pin_memory_device: str
    prefetch_factor: int | None
    _iterator: _BaseDataLoaderIter | None
    __initialized = False

    def __init__(self, dataset: Dataset[_T_co], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler[Any] | Iterable[Any] | None = None,
                 batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[list[Any]], Any] | None = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: Any = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:  # fmt: skip
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order

        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map
        _check_sampling_options(
            self._dataset_kind == _DatasetKind.Iterable, batch_size, shuffle, sampler, batch_sampler, drop_last
        )
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            sampler = self._default_sampler(dataset, shuffle, generator)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn or (default_collate if self._auto_collation else default_convert)
        self.persistent_workers = persistent_workers
        self.__initialized = True
        self._IterableDataset_len_called: int | None = None
        self._iterator = None
        self.check_worker_number_rationality()

    def _default_sampler(self, dataset: Any, shuffle: bool | None, generator: Generator | None) -> Sampler[Any]:
        if self._dataset_kind == _DatasetKind.Iterable:
            return _InfiniteConstantSampler()
        return RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)

    @property
    def multiprocessing_context(self) -> Any:
        """The context that starts worker processes; None for the default one.

        >>> loader = torch.utils.data.DataLoader([1, 2], num_workers=1)
        >>> loader.multiprocessing_context = "spawn"
        >>> loader.multiprocessing_context.get_start_method()
        'spawn'
        """
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self.__multiprocessing_context = context

    def __setattr__(self, attr: str, val: Any) -> None:
        if self.__initialized and attr in _FIXED_ATTRIBUTES:
            raise ValueError(f"{attr} attribute should not be set after {self.__class__.__name__} is initialized")
        super().__setattr__(attr, val)

    def __iter__(self) -> _BaseDataLoaderIter:
        if not (self.persistent_workers and self.num_workers > 0):
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def _get_iterator(self) -> _BaseDataLoaderIter:
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        from penlight.utils.data._utils.parallel import start_workers

        self.check_worker_number_rationality()
        return start_workers(self)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.batch_sampler if self._auto_collation else self.sampler

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # Stored, so that an iterator that yields more than promised can report it.
        source: Any = self.dataset
        length = self._IterableDataset_len_called = len(source)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warn if there are more workers than processors.

        >>> torch.utils.data.DataLoader([1, 2]).check_worker_number_rationality()
        """
        if not self.num_workers:
            return
        cpus, caveat = os.cpu_count(), " (`cpuset` is not taken into account)"
        with suppress(AttributeError, OSError):  # macOS and Windows have no such function, and a sandbox may refuse it
            cpus, caveat = len(os.sched_getaffinity(0)), ""
        if cpus is not None and self.num_workers <= cpus:
            return
        advice = "DataLoader is not able to compute a suggested max number of worker in current system."
        if cpus is not None:
            advice = (
                f"Our suggested max number of worker in current system is {cpus}{caveat}, which is smaller "
                "than what this DataLoader is going to create."
            )
        warn_user(
            f"This DataLoader will create {self.num_workers} worker processes in total. {advice} "
            "Please be aware that excessive worker creation might get DataLoader running slow or even freeze, "
            "lower the worker number to avoid potential slowness/freeze if necessary.",
        )


_FIXED_ATTRIBUTES = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


def _refuse(*complaints: tuple[bool, str]) -> None:
    for wrong, message in complaints:
        if wrong:
            raise ValueError(message)


def _check_worker_options(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    alone = num_workers == 0
    _refuse(
        (num_workers < 0, "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."),
        (timeout < 0, "timeout option should be non-negative"),
        (
            alone and prefetch_factor is not None,
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None.",
        ),
        (prefetch_factor is not None and prefetch_factor < 0, "prefetch_factor option should be non-negative"),
        (alone and persistent_workers, "persistent_workers option needs num_workers > 0"),
    )


def _check_sampling_options(is_stream: bool, batch_size: int | None, shuffle: bool | None, sampler: Any,
                            batch_sampler: Any, drop_last: bool) -> None:  # fmt: skip
    orders = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    given = [(name, value) for name, value in orders.items() if value is not None]
    if is_stream and given:
        name, value = given[0]
        raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")
    by_batches = batch_sampler is not None
    _refuse(
        (sampler is not None and bool(shuffle), "sampler option is mutually exclusive with shuffle"),
        (
            by_batches and (batch_size != 1 or len(given) > 1 or drop_last),
            "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
        ),
        (
            not by_batches and batch_size is None and drop_last,
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
        ),
    )


def _checked_context(context: Any, num_workers: int) -> Any:
    import multiprocessing
    from multiprocessing.context import BaseContext

    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with "
            f"multi-process loading (num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context "
            f"object or a string specifying the start method, but got multiprocessing_context={context}"
        )
    return context


class _BaseDataLoaderIter:
    """One pass over a loader's batches."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset, self._dataset_kind = loader.dataset, loader._dataset_kind
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._index_sampler, self._drop_last = loader._index_sampler, loader.drop_last
        self._auto_collation, self._collate_fn = loader._auto_collation, loader.collate_fn
        self._num_workers, self._timeout = loader.num_workers, loader.timeout
        self._persistent_workers = loader.persistent_workers
        if loader.pin_memory and loader.pin_memory_device:
            warn_user(
                "pin_memory_device is deprecated, the current accelerator will be used as the device,"
                f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            )
        if loader.pin_memory and not penlight.accelerator.is_available():
            warn_user(
                "'pin_memory' argument is set as true but no accelerator is found, "
                "then device pinned memory won't be used.",
            )
        self._sampler_iter = iter(self._index_sampler)
        # PyTorch draws this in every epoch, with workers or without, so the global stream must advance equally.
        self._base_seed = _draw_seed(loader.generator)
        self._num_yielded = 0

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def _reset(self, loader: DataLoader[Any]) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        data = self._next_data()
        self._num_yielded += 1
        promised = self._IterableDataset_len_called
        if self._dataset_kind == _DatasetKind.Iterable and promised is not None and self._num_yielded > promised:
            self._warn_of_surplus(promised)
        return data

    def _warn_of_surplus(self, promised: int) -> None:
        message = (
            f"Length of IterableDataset {self._dataset} was reported to be {promised}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            message += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warn_user(message)

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Loads each batch on demand."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self) -> Any:
        return self._dataset_fetcher.fetch(self._next_index())


def __getattr__(name: str) -> Any:
    if name == "_MultiProcessingDataLoaderIter":
        from penlight.utils.data._utils.parallel import _MultiProcessingDataLoaderIter

        return _MultiProcessingDataLoaderIter
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
