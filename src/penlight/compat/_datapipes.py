"""torch.utils.data.datapipes: streams and maps of samples, composed of small parts. Deprecated in PyTorch; kept for existing
programs.

A part is a class and, by `functional_datapipe`, a method of every pipe: `Mapper(pipe, f)` is `pipe.map(f)`.
"""

from __future__ import annotations

import copy
import fnmatch
import functools
import itertools
import os
import random
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import penlight
from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user
from penlight.utils.data import Dataset, IterableDataset, SequentialSampler, default_collate

example_of_stream = functools.partial(
    example, before=(">>> from penlight.utils.data.datapipes.iter import IterableWrapper",)
)
example_of_map = functools.partial(
    example, before=(">>> from penlight.utils.data.datapipes.map import SequenceWrapper",)
)


class _Pipe:
    """The common part of both kinds of pipes: their methods and their repr."""

    functions: ClassVar[dict[str, Callable[..., Any]]]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).functions:
            make = type(self).functions[name]
            return lambda *args, **kwargs: make(self, *args, **kwargs)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        """Add a method to every pipe of this kind."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name: str, cls_to_register: Any, enable_df_api_tracing: bool = False
    ) -> None:
        """Add a method to every pipe of this kind that creates another pipe."""
        if function_name in cls.functions:
            raise Exception(f"Unable to add DataPipe function name {function_name} as it is already taken")
        cls.functions[function_name] = cls_to_register

    def __repr__(self) -> str:
        return type(self).__qualname__

    __str__ = __repr__


@example_of_stream("isinstance(IterableWrapper([1]), torch.utils.data.IterDataPipe)", "True")
class IterDataPipe(_Pipe, IterableDataset[Any]):
    """A stream of samples with the methods of `functions`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __iter__(self) -> Iterator[Any]:
        return self  # for a pipe that has `__next__`

    def reset(self) -> None:
        """Not called by Penlight: each new iterator starts from the beginning."""


@example_of_map("isinstance(SequenceWrapper([1]), torch.utils.data.MapDataPipe)", "True")
class MapDataPipe(_Pipe, Dataset[Any]):
    """A map from keys to samples with the methods of `functions`."""

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


@example("issubclass(torch.utils.data.DFIterDataPipe, torch.utils.data.IterDataPipe)", "True")
class DFIterDataPipe(IterDataPipe):
    """A placeholder: Penlight has no pipes of data frames."""


@example('torch.utils.data.DataChunk([1, 2]).as_str("> ")', "'> [1, 2]'")
class DataChunk(list[Any]):
    """A batch of samples: the list of `items`."""

    def __init__(self, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The batch as text, with an indentation."""
        return indent + "[" + ", ".join(map(str, self)) + "]"

    def raw_iterator(self) -> Iterator[Any]:
        """An iterator over the samples."""
        return iter(self.items)


class functional_datapipe:
    """A class decorator that registers a pipe as the method `name` of all pipes of its kind; `enable_df_api_tracing` is ignored.

    >>> from penlight.utils.data import IterDataPipe, functional_datapipe
    >>> from penlight.utils.data.datapipes.iter import IterableWrapper
    >>> @functional_datapipe("twice")
    ... class Twice(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (sample for sample in self.source for _ in range(2))
    >>> list(IterableWrapper([1, 2]).twice())
    [1, 1, 2, 2]
    >>> del IterDataPipe.functions["twice"]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name

    def __call__(self, cls: Any) -> Any:
        kind = IterDataPipe if issubclass(cls, IterDataPipe) else MapDataPipe
        if not issubclass(cls, _Pipe):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        kind.register_datapipe_as_function(self.name, cls)
        return cls


def _sized(pipe: Any, source: Any) -> int:
    try:
        return len(source)
    except TypeError:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length") from None


class _BasedOn(IterDataPipe):
    """A stream based on another one."""

    def __init__(self, datapipe: Any) -> None:
        self.datapipe = datapipe


class _SameLength(_BasedOn):
    """A stream based on another one of the same length."""

    def __len__(self) -> int:
        return _sized(self, self.datapipe)


@example_of_stream("list(IterableWrapper([1, 2]))", "[1, 2]")
class IterableWrapperIterDataPipe(IterDataPipe):
    """The samples of `iterable`, which is copied for each pass if `deepcopy` is set."""

    def __init__(self, iterable: Iterable[Any], deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warn_user(
                    "The input iterable can not be deepcopied, please be aware of in-place modification would affect source data."
                )
        yield from source

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


@example_of_stream("list(IterableWrapper([1, 2]).map(lambda sample: 10 * sample))", "[10, 20]")
@functional_datapipe("map")
class MapperIterDataPipe(_SameLength):
    """Applies the function `fn` to each sample of `datapipe`, or to its columns `input_col`; the result replaces column `output_col`."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any], input_col: Any = None, output_col: Any = None) -> None:
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        super().__init__(datapipe)
        self.fn, self.input_col, self.output_col = fn, input_col, output_col

    def _apply(self, data: Any) -> Any:
        if self.input_col is None:
            return self.fn(data)
        several = isinstance(self.input_col, (list, tuple))
        result = self.fn(*(data[c] for c in self.input_col)) if several else self.fn(data[self.input_col])
        was_tuple = isinstance(data, tuple)
        data = list(data) if was_tuple else copy.copy(data)
        if self.output_col == -1:
            data.append(result)
        elif self.output_col is not None:
            data[self.output_col] = result
        else:
            first, *rest = self.input_col if several else [self.input_col]
            data[first] = result
            for column in sorted(rest, reverse=True):
                del data[column]
        return tuple(data) if was_tuple else data

    def __iter__(self) -> Iterator[Any]:
        return map(self._apply, self.datapipe)


@example_of_stream("list(IterableWrapper([[1, 2], [3, 4]]).collate())", "[tensor([1, 2]), tensor([3, 4])]")
@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Collates the batches of `datapipe` into tensors by `conversion`, or by `collate_fn`."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)


@example_of_stream("list(IterableWrapper(range(4)).filter(lambda sample: sample > 1))", "[2, 3]")
@functional_datapipe("filter")
class FilterIterDataPipe(_BasedOn):
    """The samples of `datapipe` for which the predicate `filter_fn` of the sample, or of its columns `input_col`, is true."""

    def __init__(self, datapipe: Any, filter_fn: Callable[..., Any], input_col: Any = None) -> None:
        super().__init__(datapipe)
        self.filter_fn, self.input_col = filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            if self.input_col is None:
                kept = self.filter_fn(sample)
            elif isinstance(self.input_col, (list, tuple)):
                kept = self.filter_fn(*(sample[c] for c in self.input_col))
            else:
                kept = self.filter_fn(sample[self.input_col])
            if not isinstance(kept, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(kept))
            if kept:
                yield sample


@example_of_stream("list(IterableWrapper(range(3)).batch(2))", "[[0, 1], [2]]")
@functional_datapipe("batch")
class BatcherIterDataPipe(_BasedOn):
    """Batches of `batch_size` samples of `datapipe`, as instances of `wrapper_class`; `drop_last` leaves out a last one that is not full."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        super().__init__(datapipe)
        self.batch_size, self.drop_last, self.wrapper_class = batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        samples = iter(self.datapipe)
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)

    def __len__(self) -> int:
        count = _sized(self, self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@example_of_stream("list(IterableWrapper([[0, 1], [2]]).unbatch())", "[0, 1, 2]")
@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(_BasedOn):
    """The samples of the batches of `datapipe`, `unbatch_level` deep; -1 unbatches all levels."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        super().__init__(datapipe)
        self.unbatch_level = unbatch_level

    def _unbatch(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(element, (list, DataChunk))):
            yield element
        elif level > 0 and not isinstance(element, (list, DataChunk)):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        else:
            for inner in element:
                yield from self._unbatch(inner, level - 1 if level > 0 else -1)

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._unbatch(element, self.unbatch_level)


@example_of_stream("sorted(IterableWrapper(range(3)).shuffle())", "[0, 1, 2]")
@functional_datapipe("shuffle")
class ShufflerIterDataPipe(_SameLength):
    """Shuffles the samples of `datapipe`: each is drawn from a buffer of `buffer_size` upcoming samples.

    Batches are unbatched first, `unbatch_level` deep.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        super().__init__(datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level))
        self.buffer_size, self._enabled, self._seed = buffer_size, True, None

    def set_shuffle(self, shuffle: bool = True) -> Any:
        """Switch shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Any:
        """Set the seed of the next pass."""
        self._seed = seed  # type: ignore[assignment]
        return self

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        rng = random.Random(_drawn_seed() if self._seed is None else self._seed)
        buffer: list[Any] = []
        self._seed = None
        for sample in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(sample)
            else:
                at = rng.randint(0, len(buffer) - 1)
                drawn, buffer[at] = buffer[at], sample
                yield drawn
        while buffer:
            yield buffer.pop(rng.randint(0, len(buffer) - 1))


def _drawn_seed() -> int:
    return int(penlight.empty((), dtype=penlight.int64).random_().item())


@example_of_stream('list(torch.utils.data.datapipes.iter.Sampler(IterableWrapper("abc")))', "[0, 1, 2]")
class SamplerIterDataPipe(_BasedOn):
    """The indices into `datapipe` in the order of `sampler`, a class that is called with `sampler_args` and `sampler_kwargs`."""

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None, sampler_kwargs: Any = None) -> None:  # fmt: skip
        super().__init__(datapipe)
        self.sampler = sampler(*(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return _sized(self, self.sampler)


@example_of_stream("list(IterableWrapper([1]).concat(IterableWrapper([2])))", "[1, 2]")
@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """Concatenates several streams, `datapipes`."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _pipes(datapipes, IterDataPipe)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datapipes)

    def __len__(self) -> int:
        return sum(_sized(self, pipe) for pipe in self.datapipes)


@example_of_stream('list(IterableWrapper([1, 2]).zip(IterableWrapper("ab")))', "[(1, 'a'), (2, 'b')]")
@functional_datapipe("zip")
class ZipperIterDataPipe(ConcaterIterDataPipe):
    """Tuples with one sample of each of `datapipes`, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        return zip(*self.datapipes)

    def __len__(self) -> int:
        return min(_sized(self, pipe) for pipe in self.datapipes)


@example_of_stream('list(IterableWrapper([1, 2]).mux(IterableWrapper("ab")))', "[1, 'a', 2, 'b']")
@functional_datapipe("mux")
class MultiplexerIterDataPipe(ZipperIterDataPipe):
    """One sample of each of `datapipes` in turn, until the shortest ends."""

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(zip(*self.datapipes))

    def __len__(self) -> int:
        return super().__len__() * len(self.datapipes)


def _pipes(given: tuple[Any, ...], kind: type) -> tuple[Any, ...]:
    if not given:
        raise ValueError(
            f"Expected at least one {'DataPipe' if kind is IterDataPipe else 'MapDataPipe'}, but got nothing"
        )
    if not all(isinstance(pipe, kind) for pipe in given):
        raise TypeError(f"Expected all inputs to be `{kind.__name__}`")
    return given


class _Shared:
    """One pass over a stream that several children read, each at its own pace."""

    def __init__(self, name: str, source: Any, count: int, buffer_size: int, choose: Callable[[Any], Any]) -> None:
        self.name, self.source, self.count, self.buffer_size, self.choose = name, source, count, buffer_size, choose
        self.waiting: list[deque[Any]] = []
        self.reading: set[int] = set()

    def begin(self, child: int) -> None:
        """Start a new pass for all children, when one of them reads again."""
        if not self.waiting or child in self.reading:
            self.samples, self.reading = iter(self.source), set()
            self.waiting = [deque() for _ in range(self.count)]
        self.reading.add(child)

    def read(self, child: int) -> Iterator[Any]:
        self.begin(child)
        mine, samples = self.waiting[child], self.samples
        while True:
            while mine:
                yield mine.popleft()
            try:
                sample = next(samples)
            except StopIteration:
                return
            for to in self.choose(sample):
                self.waiting[to].append(sample)
            if self.buffer_size >= 0 and sum(map(len, self.waiting)) - len(mine) > self.buffer_size:
                raise BufferError(f"{self.name} buffer overflow,buffer size {self.buffer_size} is insufficient.")


class _ChildDataPipe(IterDataPipe):
    def __init__(self, shared: _Shared, number: int, sized: bool) -> None:
        self.shared, self.number, self.sized = shared, number, sized

    def __iter__(self) -> Iterator[Any]:
        return self.shared.read(self.number)

    def __len__(self) -> int:
        return _sized(self, self.shared.source if self.sized else None)


@example_of_stream("[list(fork) for fork in IterableWrapper([1, 2]).fork(num_instances=2)]", "[[1, 2], [1, 2]]")
def ForkerIterDataPipe(datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
    """Several streams with the samples of `datapipe`; one may be `buffer_size` samples ahead of another. `copy` is ignored.

    Returns:
        a list of `num_instances` streams.
    """
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
    shared = _Shared("ForkerIterDataPipe", datapipe, num_instances, buffer_size, lambda sample: range(num_instances))
    return [datapipe] if num_instances == 1 else [_ChildDataPipe(shared, i, True) for i in range(num_instances)]


@example_of_stream(
    "[list(part) for part in IterableWrapper(range(4)).demux(2, lambda sample: sample % 2)]", "[[0, 2], [1, 3]]"
)
def DemultiplexerIterDataPipe(
    datapipe: Any, num_instances: int, classifier_fn: Callable[[Any], Any], drop_none: bool = False, buffer_size: int = 1000
) -> Any:  # fmt: skip
    """Splits `datapipe` into several streams: `classifier_fn` returns the number of the stream for a sample, or None with `drop_none`.

    At most `buffer_size` samples wait to be read.

    Returns:
        a list of `num_instances` streams.
    """
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")

    def choose(sample: Any) -> Any:
        to = classifier_fn(sample)
        if to is None and drop_none:
            return ()
        if to is None or not 0 <= to < num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {num_instances - 1}. {to} is returned."
            )
        return (to,)

    shared = _Shared("DemultiplexerIterDataPipe", datapipe, num_instances, buffer_size, choose)
    return [_ChildDataPipe(shared, i, False) for i in range(num_instances)]


@example_of_stream("list(IterableWrapper(range(4)).groupby(lambda sample: sample % 2))", "[[0, 2], [1, 3]]")
@functional_datapipe("groupby")
class GrouperIterDataPipe(_BasedOn):
    """Batches of samples of `datapipe` with the same key.

    Args:
        group_key_fn: a function that returns the key of a sample.
        keep_key: whether to yield pairs of a key and a batch.
        buffer_size: the number of samples to keep; when it is reached, the largest group is yielded.
        group_size: the size of a full group; None for no limit.
        guaranteed_group_size: the minimum size of a group that is yielded before it is full.
        drop_remaining: drop smaller groups, instead of raising an error.
    """

    def __init__(
        self, datapipe: Any, group_key_fn: Callable[[Any], Any], *, keep_key: bool = False, buffer_size: int = 10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None, drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(datapipe)
        self.group_key_fn, self.keep_key, self.buffer_size = group_key_fn, keep_key, buffer_size
        self.group_size, self.drop_remaining = group_size, drop_remaining
        self.guaranteed = group_size if guaranteed_group_size is None else guaranteed_group_size

    def __iter__(self) -> Iterator[Any]:
        groups: OrderedDict[Any, list[Any]] = OrderedDict()
        held = 0
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            groups.setdefault(key, []).append(sample)
            held += 1
            if self.group_size is not None and len(groups[key]) == self.group_size:
                held -= self.group_size
                yield self._batch_of(key, groups.pop(key))
            if held == self.buffer_size:
                key = max(groups, key=lambda k: len(groups[k]))
                if self.guaranteed is not None and len(groups[key]) < self.guaranteed and not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(groups[key]))
                group = groups.pop(key)
                held -= len(group)
                if self.guaranteed is None or len(group) >= self.guaranteed or not self.drop_remaining:
                    yield self._batch_of(key, group)
        for key, group in groups.items():
            yield self._batch_of(key, group)

    def _batch_of(self, key: Any, group: list[Any]) -> Any:
        batch = DataChunk(group)
        return (key, batch) if self.keep_key else batch


@example_of_stream("list(IterableWrapper(range(3)).sharding_filter())", "[0, 1, 2]")
@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_BasedOn):
    """Every n-th sample of `datapipe`: the share of one of n instances, as set by `apply_sharding`."""

    num_of_instances, instance_id = 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        """Set the number of instances, and the index of this one."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self) -> int:
        count = _sized(self, self.datapipe)
        return count // self.num_of_instances + (self.instance_id < count % self.num_of_instances)


@functional_datapipe("list_files")
class FileListerIterDataPipe(IterDataPipe):
    """The paths of the files in `root`, a directory or several, whose names match one of `masks`.

    With `recursive` also in the directories below, with `abspath` as absolute paths; `length` is the length of the stream, and
    `non_deterministic` is ignored.

    >>> import os, tempfile
    >>> from penlight.utils.data.datapipes.iter import FileLister
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open(os.path.join(folder, "a.txt"), "w").close()
    ...     files = [os.path.basename(path) for path in FileLister(folder, "*.txt")]
    >>> files
    ['a.txt']
    """

    def __init__(
        self, root: Any = ".", masks: Any = "", *, recursive: bool = False, abspath: bool = False, non_deterministic: bool = False,
        length: int = -1,
    ) -> None:  # fmt: skip
        self.datapipe = [root] if isinstance(root, str) else root
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath, self.length = recursive, abspath, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            for path, folders, names in os.walk(os.path.abspath(root) if self.abspath else root):
                folders.sort()
                for name in sorted(names):
                    if any(not mask or fnmatch.fnmatch(name, mask) for mask in self.masks or [""]):
                        yield os.path.join(path, name)
                if not self.recursive:
                    break

    def __len__(self) -> int:
        return _sized(self, None if self.length == -1 else range(self.length))


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_BasedOn):
    """Pairs of a path of `datapipe` and its file, opened with `mode` and `encoding`; `length` is the length of the stream.

    >>> import os, tempfile
    >>> from penlight.utils.data.datapipes.iter import FileLister
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(os.path.join(folder, "a.txt"), "w") as file:
    ...         count = file.write("words")
    ...     words = [data for path, data in FileLister(folder).open_files().read_from_stream()]
    >>> words
    ['words']
    """

    def __init__(self, datapipe: Any, mode: str = "r", encoding: str | None = None, length: int = -1) -> None:
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        super().__init__(datapipe)
        self.mode, self.encoding, self.length = mode if "r" in mode else "r" + mode, encoding, length

    def __iter__(self) -> Iterator[Any]:
        for path in self.datapipe:
            yield path, open(path, self.mode, encoding=self.encoding)  # noqa: SIM115  # the reader closes it

    def __len__(self) -> int:
        return _sized(self, None if self.length == -1 else range(self.length))


@example_of_stream(
    'import io; list(IterableWrapper([("a", io.StringIO("words"))], deepcopy=False).read_from_stream(chunk=3))',
    "[('a', 'wor'), ('a', 'ds')]",
)
@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(_BasedOn):
    """Pairs of a name and the contents of a stream, from pairs of a name and a stream in `datapipe`, whole or in chunks of `chunk` characters."""

    def __init__(self, datapipe: Any, chunk: int | None = None) -> None:
        super().__init__(datapipe)
        self.chunk = chunk

    def __iter__(self) -> Iterator[Any]:
        for name, stream in self.datapipe:
            while data := stream.read(self.chunk):
                yield name, data
            stream.close()


@example_of_map('SequenceWrapper(["a", "b"])[1]', "'b'")
class SequenceWrapperMapDataPipe(MapDataPipe):
    """The samples of `sequence`, a sequence or a dict, which is copied if `deepcopy` is set."""

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@example_of_map("SequenceWrapper([1, 2]).map(lambda sample: 10 * sample)[1]", "20")
@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """Applies the function `fn` to each sample of `datapipe`."""

    def __init__(self, datapipe: Any, fn: Callable[..., Any] = lambda sample: sample) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@example_of_map("SequenceWrapper([1, 2, 3]).batch(2)[0]", "[1, 2]")
@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Batches of `batch_size` samples of `datapipe`, as instances of `wrapper_class`; `drop_last` leaves out a last one that is not full."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        first = index * self.batch_size
        if index >= len(self):
            raise IndexError(f"Index {index} is out of bound.")
        wanted = range(first, min(first + self.batch_size, len(self.datapipe)))
        return self.wrapper_class([self.datapipe[i] for i in wanted])

    def __len__(self) -> int:
        count = len(self.datapipe)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


@example_of_map("SequenceWrapper([1]).concat(SequenceWrapper([2]))[1]", "2")
@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """Concatenates several maps with integer keys, `datapipes`."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = _pipes(datapipes, MapDataPipe)

    def __getitem__(self, index: int) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@example_of_map('SequenceWrapper([1, 2]).zip(SequenceWrapper("ab"))[1]', "(2, 'b')")
@functional_datapipe("zip")
class ZipperMapDataPipe(ConcaterMapDataPipe):
    """Tuples with one sample of each of `datapipes`."""

    def __getitem__(self, index: Any) -> Any:
        return tuple(pipe[index] for pipe in self.datapipes)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@example_of_map("sorted(SequenceWrapper([1, 2]).shuffle())", "[1, 2]")
def _shuffled_map(datapipe: Any, *, indices: list[Any] | None = None) -> Any:
    """The samples of `datapipe`, a map with the keys `indices`, in random order.

    Returns:
        a stream.
    """
    keys = list(range(len(datapipe))) if indices is None else indices
    return _ShuffledMap(datapipe, keys)


class _ShuffledMap(_SameLength):
    def __init__(self, datapipe: Any, indices: list[Any]) -> None:
        super().__init__(datapipe)
        self.indices = indices

    def __iter__(self) -> Iterator[Any]:
        rng = random.Random(_drawn_seed())
        return (self.datapipe[i] for i in reversed(rng.sample(self.indices, len(self.indices))))


for _name, _make in (("fork", ForkerIterDataPipe), ("demux", DemultiplexerIterDataPipe)):
    IterDataPipe.register_function(_name, _make)
MapDataPipe.register_function("shuffle", _shuffled_map)


def non_deterministic(arg: Any) -> Any:
    """Accepted as a decorator of pipes whose order varies: with or without `arg`, the class is unchanged.

    Returns:
        the class, or a decorator that returns its class.

    >>> @torch.utils.data.non_deterministic
    ... class Pipe(torch.utils.data.IterDataPipe):
    ...     pass
    """
    return arg if isinstance(arg, type) else lambda cls: cls


class guaranteed_datapipes_determinism:
    """Accepted without effect: no pipe here checks for determinism.

    >>> with torch.utils.data.guaranteed_datapipes_determinism():
    ...     pass
    """

    def __init__(self) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


class runtime_validation_disabled(guaranteed_datapipes_determinism):
    """Accepted without effect: the types of samples are not checked.

    >>> with torch.utils.data.runtime_validation_disabled():
    ...     pass
    """


@example('torch.utils.data.argument_validation(len)("abc")', "3")
def argument_validation(f: Any) -> Any:
    """Returns the function `f`: the types of its arguments are not checked.

    Returns:
        the function.
    """
    return f


runtime_validation = argument_validation
