"""Orders, lengths, warnings and errors of data loading against PyTorch."""

from __future__ import annotations

import random
import warnings
from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore:This DataLoader will create")]

LIBRARIES = (torch, penlight)


def plain(value):
    """A value of either library as one of neither."""
    if isinstance(value, (torch.Tensor, penlight.Tensor)):
        return ("tensor", str(value.dtype), tuple(value.shape), value.tolist())
    if isinstance(value, dict):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def outcomes(function):
    """What a function of the library does with each of them: its value and its warnings, or its exception."""
    found = []
    for library in LIBRARIES:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = ("value", plain(function(library)))
            except Exception as error:
                result = ("error", type(error).__name__, str(error))
        said = [(w.category.__name__, str(w.message)) for w in caught if "DataLoader will create" not in str(w.message)]
        found.append((result, said))
    return found


def agree(function):
    theirs, ours = outcomes(function)
    assert ours == theirs
    return ours


LOADERS = [
    {},
    {"batch_size": 3},
    {"batch_size": 3, "shuffle": True},
    {"batch_size": 4, "shuffle": True, "drop_last": True},
    {"batch_size": None},
    {"batch_size": None, "shuffle": True},
    {"batch_size": 3, "shuffle": True, "num_workers": 2},
    {"batch_size": 3, "shuffle": True, "num_workers": 2, "persistent_workers": True},
    {"batch_size": 2, "num_workers": 1, "prefetch_factor": 5},
]


@pytest.mark.parametrize("options", LOADERS)
@pytest.mark.parametrize("seed", [0, 1234567890123])
@pytest.mark.parametrize("own", [False, True])
def test_the_same_batches_for_the_same_seed(options, seed, own):
    def run(library):
        library.manual_seed(seed)
        generator = library.Generator().manual_seed(seed + 1) if own else None
        data = library.utils.data
        dataset = data.TensorDataset(library.arange(11), library.arange(22.0).view(11, 2))
        loader = data.DataLoader(dataset, generator=generator, **options)
        epochs = [list(loader), list(loader)]
        drawn = library.randint(1000, (5,), generator=generator), library.randint(1000, (5,))
        return len(loader), epochs, drawn

    agree(run)


SAMPLERS = {
    "random": lambda data, g: data.RandomSampler(range(100), generator=g),
    "part": lambda data, g: data.RandomSampler(range(10), num_samples=7, generator=g),
    "rounds": lambda data, g: data.RandomSampler(range(10), num_samples=25, generator=g),
    "replacement": lambda data, g: data.RandomSampler(range(10), replacement=True, num_samples=75, generator=g),
    "global": lambda data, g: data.RandomSampler(range(10)),
    "subset": lambda data, g: data.SubsetRandomSampler([3, 1, 4, 1, 5, 9], generator=g),
    "weighted": lambda data, g: data.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7], 20, generator=g),
    "weighted once": lambda data, g: data.WeightedRandomSampler(
        [0.1, 0.9, 0.4, 0.7], 3, replacement=False, generator=g
    ),
    "distributed": lambda data, g: data.DistributedSampler(range(10), num_replicas=3, rank=1, seed=5),
    "distributed short": lambda data, g: data.DistributedSampler(range(2), num_replicas=5, rank=3),
    "distributed dropping": lambda data, g: data.DistributedSampler(range(10), num_replicas=3, rank=2, drop_last=True),
}


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_the_same_samples(name):
    def run(library):
        library.manual_seed(7)
        generator = library.Generator().manual_seed(3)
        sampler = SAMPLERS[name](library.utils.data, generator)
        return len(sampler), list(sampler), list(sampler), library.rand(1), library.rand(1, generator=generator)

    assert agree(run)[0][0] == "value"


@pytest.mark.parametrize(
    "lengths", [[3, 7], [0.3, 0.7], [0.5, 0.25, 0.25], [10], [1.0], [3, 6], [-0.5, 1.5], [0.05, 0.95]]
)
def test_the_same_splits(lengths):
    def run(library):
        generator = library.Generator().manual_seed(42)
        parts = library.utils.data.random_split(range(10), lengths, generator=generator)
        return [list(part.indices) for part in parts]

    agree(run)


def test_splits_by_the_global_generator():
    def run(library):
        library.manual_seed(1)
        return [list(part.indices) for part in library.utils.data.random_split(range(10), [4, 6])]

    agree(run)


def test_the_same_seeds_in_workers():
    def run(library):
        class Draws(library.utils.data.Dataset):
            def __len__(self):
                return 4

            def __getitem__(self, index):
                info = library.utils.data.get_worker_info()
                return info.id, info.seed, random.random(), library.rand(1).item(), float(np.random.rand())

        library.manual_seed(5)
        loader = library.utils.data.DataLoader(Draws(), batch_size=None, num_workers=2)
        return list(loader), list(loader)

    assert agree(run)[0][0] == "value"


STREAMS = [
    {},
    {"batch_size": 3},
    {"batch_size": 3, "drop_last": True},
    {"batch_size": None},
    {"batch_size": 2, "num_workers": 3},
    {"batch_size": 2, "num_workers": 3, "drop_last": True},
    {"batch_size": 2, "num_workers": 3, "persistent_workers": True},
]


@pytest.mark.parametrize("options", STREAMS)
def test_streams_of_uneven_length(options):
    def run(library):
        class Stream(library.utils.data.IterableDataset):
            def __iter__(self):
                info = library.utils.data.get_worker_info()
                bounds = (0, 14) if info is None else ((0, 2), (2, 3), (3, 14))[info.id]
                return iter(range(*bounds))

            def __repr__(self):
                return "Stream()"

            def __len__(self):
                return 4

        loader = library.utils.data.DataLoader(Stream(), **options)
        return len(loader), list(loader), list(loader)

    agree(run)


MISTAKES = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True},
    {"sampler": [0], "shuffle": True},
    {"batch_sampler": [[0]], "batch_size": 2},
    {"batch_sampler": [[0]], "sampler": [0]},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": 1.5},
    {"drop_last": 1},
    {"multiprocessing_context": "fork"},
    {"num_workers": 1, "multiprocessing_context": "bad"},
    {"num_workers": 1, "multiprocessing_context": 5},
    {"timeout": 3},
    {"num_workers": 1, "prefetch_factor": 0},
    {"pin_memory": True},
    {"pin_memory": True, "pin_memory_device": "cuda"},
]


@pytest.mark.parametrize("options", MISTAKES)
def test_mistakes_in_the_same_words(options):
    agree(lambda library: list(library.utils.data.DataLoader(range(3), **options)))


def test_more_mistakes_in_the_same_words():
    def wrong(library):
        data = library.utils.data
        yield lambda: data.RandomSampler([])
        yield lambda: data.RandomSampler(range(3), replacement="yes")
        yield lambda: data.RandomSampler(range(3), num_samples=0)
        yield lambda: data.WeightedRandomSampler([[1.0]], 1)
        yield lambda: data.WeightedRandomSampler([1.0], 0)
        yield lambda: data.BatchSampler(range(3), 2, "no")
        yield lambda: data.DistributedSampler(range(3), num_replicas=2, rank=2)
        yield lambda: data.TensorDataset(library.ones(2), library.ones(3))
        yield lambda: data.ConcatDataset([])
        yield lambda: data.ConcatDataset([range(3)])[-4]
        yield lambda: data.StackDataset()
        yield lambda: data.StackDataset([1], [1, 2])
        yield lambda: data.Dataset()[0]
        yield lambda: list(data.DataLoader([object()]))
        yield lambda: list(data.DataLoader([[1], [1, 2]], batch_size=2))
        yield lambda: list(data.DataLoader([np.array(["a"])]))
        yield lambda: list(data.DataLoader([np.ones(1), np.ones(2)], batch_size=2))
        yield lambda: setattr(data.DataLoader([1]), "batch_size", 2)

    for place in range(len(list(wrong(torch)))):
        assert agree(lambda library, place=place: list(wrong(library))[place]())[0][0] == "error"


Point = namedtuple("Point", "x y")

BATCHES = [
    [1, 2],
    [1.5, 2.5],
    [True, False],
    [1, 2.5],
    ["a", "b"],
    [b"a", b"b"],
    [np.float32(1), np.float32(2)],
    [np.float64(1), np.float64(2)],
    [np.int8(1), np.int8(2)],
    [np.bool_(True), np.bool_(False)],
    [np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)],
    [np.arange(3), np.arange(3)],
    [np.array(1.5), np.array(2.5)],
    [(1, "a"), (2, "b")],
    [[1, 2.0], [3, 4.0]],
    [{"a": 1, "b": [1, 2]}, {"a": 3, "b": [4, 5]}],
    [OrderedDict(a=1), OrderedDict(a=2)],
    [Point(1, 2.0), Point(3, 4.0)],
    [range(2), range(2)],
    [None, None],
    [np.array([1], np.uint16)],
    [np.array([1.0])[::-1], np.array([2.0])],
]


@pytest.mark.parametrize("batch", BATCHES, ids=repr)
def test_the_same_collation(batch):
    agree(lambda library: library.utils.data.default_collate(batch))
    agree(lambda library: library.utils.data.default_convert(batch))


def test_collating_tensors():
    def run(library):
        batch = [(library.ones(2), {"a": library.tensor(1)}), (library.zeros(2), {"a": library.tensor(2)})]
        return library.utils.data.default_collate(batch)

    agree(run)


@pytest.mark.parametrize("workers", [0, 2])
def test_exceptions_of_datasets(workers):
    def run(library):
        class Failing(library.utils.data.Dataset):
            def __len__(self):
                return 8

            def __getitem__(self, index):
                if index == 5:
                    raise ValueError("five")
                return index

        got, loader = [], library.utils.data.DataLoader(Failing(), num_workers=workers)
        iterator = iter(loader)
        while True:
            try:
                got.append(next(iterator).item())
            except ValueError as error:
                got.append(str(error).splitlines()[0])
                if not workers:
                    break
            except StopIteration:
                break
        return got

    assert agree(run)[0][0] == "value"


def test_public_names():
    ours, theirs = penlight.utils.data, torch.utils.data
    pipes = {"DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe", "argument_validation", "functional_datapipe"}
    pipes |= {
        "guaranteed_datapipes_determinism",
        "non_deterministic",
        "runtime_validation",
        "runtime_validation_disabled",
    }
    assert set(theirs.__all__) - set(ours.__all__) == pipes
    import inspect

    for name in ours.__all__:
        one, other = getattr(ours, name), getattr(theirs, name)
        if inspect.isclass(one) and name not in ("Dataset", "IterableDataset", "Sampler", "_DatasetKind"):
            assert list(inspect.signature(one).parameters) == list(inspect.signature(other).parameters), name
