"""DataLoader in one process, and how samples become batches."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, defaultdict, namedtuple

import numpy as np
import pytest

import penlight as torch
from penlight.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    default_convert,
)
from penlight.utils.data._utils.collate import collate, default_collate_fn_map
from penlight.utils.data._utils.pin_memory import pin_memory


class Count(IterableDataset):
    def __init__(self, size, length=None):
        self.size, self.length = size, length

    def __iter__(self):
        return iter(range(self.size))

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length


def lists(loader):
    return [batch.tolist() for batch in loader]


# ----- Order --------------------------------------------------------------------------------------------------------------


def test_batches_in_order():
    data = range(5)
    assert lists(DataLoader(data)) == [[0], [1], [2], [3], [4]]
    assert lists(DataLoader(data, batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(data, batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(data, batch_size=None)) == [0, 1, 2, 3, 4]
    assert lists(DataLoader(data, sampler=[3, 1])) == [[3], [1]]
    assert lists(DataLoader(data, batch_sampler=[[4, 0], [2]])) == [[4, 0], [2]]
    assert lists(DataLoader({"a": 1, "b": 2}, sampler=["b", "a"])) == [[2], [1]]


def test_shuffled_batches_are_those_of_pytorch():
    torch.manual_seed(0)
    loader = DataLoader(range(10), batch_size=4, shuffle=True)
    assert lists(loader) == [[6, 7, 1, 4], [2, 0, 9, 8], [3, 5]]
    generator = torch.Generator().manual_seed(1)
    one = lists(DataLoader(range(10), batch_size=4, shuffle=True, generator=generator))
    two = lists(DataLoader(range(10), batch_size=4, shuffle=True, generator=generator))
    generator.manual_seed(1)
    assert one == lists(DataLoader(range(10), batch_size=4, shuffle=True, generator=generator)) and one != two
    torch.manual_seed(5)
    first = torch.rand(1)
    torch.manual_seed(5)
    lists(DataLoader(range(10), generator=generator))  # draws from its own generator only
    assert torch.rand(1).item() == first.item()


def test_every_iteration_begins_anew():
    loader = DataLoader(range(3))
    one, two = iter(loader), iter(loader)
    assert next(one).item() == 0 and next(one).item() == 1 and next(two).item() == 0
    assert len(loader) == 3 and iter(one) is one and len(one) == 3
    assert lists(one) == [[2]]
    with pytest.raises(StopIteration):
        next(one)
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        one.__getstate__()


# ----- Tensor datasets take a short cut ----------------------------------------------------------------------------------


def same(one, two):
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert type(a) is type(b) and [x.tolist() for x in a] == [x.tolist() for x in b]
        assert [(x.dtype, x.shape) for x in a] == [(x.dtype, x.shape) for x in b]


def long_way(batch):
    return default_collate(batch)


@pytest.mark.parametrize("indices", [[0, 2, 1], [-1, 0], [np.int64(3)]])
def test_rows_at_once_give_what_rows_one_by_one_give(indices):
    tensors = TensorDataset(torch.arange(12.0).view(4, 3), torch.tensor([True, False, True, True]), torch.ones(4, 0))
    for dataset in (tensors, Subset(tensors, [2, 0, 3, 1]), Subset(Subset(tensors, [3, 2, 1, 0]), [1, 0, 2, 3])):
        short = list(DataLoader(dataset, batch_sampler=[indices]))
        same(short, list(DataLoader(dataset, batch_sampler=[indices], collate_fn=long_way)))


def test_the_short_cut_is_not_taken_where_it_would_show():
    leaf = torch.ones(3, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(leaf), batch_size=2)))
    assert batch.grad_fn is not None and "Stack" in type(batch.grad_fn).__name__

    class Doubled(TensorDataset):
        def __getitem__(self, index):
            return (self.tensors[0][index] * 2,)

    (batch,) = next(iter(DataLoader(Doubled(torch.ones(3)), batch_size=2)))
    assert batch.tolist() == [2.0, 2.0]
    with pytest.raises(IndexError, match="index 7 is out of bounds for dimension 0 with size 4"):
        next(iter(DataLoader(TensorDataset(torch.arange(4)), batch_sampler=[[0, 7]])))
    (batch,) = next(iter(DataLoader(TensorDataset(torch.arange(4)), batch_sampler=[[True, True]])))
    assert batch.tolist() == [[[0, 1, 2, 3]], [[0, 1, 2, 3]]]  # a bool adds a dimension; a list of them would be a mask
    batch = next(iter(DataLoader(TensorDataset(torch.arange(4)), batch_size=2)))[0]
    batch[0] = 9  # a copy, as stacking makes one
    assert next(iter(DataLoader(TensorDataset(torch.arange(4)), batch_size=2)))[0].tolist() == [0, 1]


def test_a_change_of_the_collate_functions_is_seen(monkeypatch):
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, lambda batch, *, collate_fn_map: len(batch))
    assert next(iter(DataLoader(TensorDataset(torch.arange(4)), batch_size=3))) == [3]


def test_getitems_is_preferred():
    class Both(Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            raise AssertionError("one by one")

        def __getitems__(self, indices):
            return [i * 10 for i in indices]

    assert lists(DataLoader(Both(), batch_size=3)) == [[0, 10, 20], [30]]


# ----- Streams ------------------------------------------------------------------------------------------------------------


def test_streams():
    assert lists(DataLoader(Count(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(Count(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Count(3), batch_size=None)) == [0, 1, 2]
    assert lists(DataLoader(Count(0))) == []
    assert len(DataLoader(Count(5, 5), batch_size=2)) == 3
    assert len(DataLoader(Count(5, 5), batch_size=2, drop_last=True)) == 2
    assert len(DataLoader(Count(5, 5), batch_size=None)) == 5
    with pytest.raises(TypeError, match="no length"):
        len(DataLoader(Count(5)))


def test_a_stream_that_gives_more_than_it_promised():
    loader = DataLoader(Count(3, 1), batch_size=1)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match=r"was reported to be 1\(when accessing len\(dataloader\)\), but 2 samples"):
        list(loader)


@pytest.mark.parametrize("option", [{"shuffle": True}, {"sampler": [0]}, {"batch_sampler": [[0]]}])
def test_streams_have_an_order_of_their_own(option):
    name = next(iter(option))
    with pytest.raises(ValueError, match=f"DataLoader with IterableDataset: expected unspecified {name} option"):
        DataLoader(Count(3), **option)


# ----- Options ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"num_workers": -1},
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        ),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"num_workers": 1, "prefetch_factor": -1}, "prefetch_factor option should be non-negative"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        (
            {"batch_sampler": [[0]], "batch_size": 2},
            "batch_sampler option is mutually exclusive with batch_size, shuffle",
        ),
        ({"batch_sampler": [[0]], "drop_last": True}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"batch_size": 0}, "batch_size should be a positive integer value, but got batch_size=0"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with multi-process loading"),
        ({"num_workers": 1, "multiprocessing_context": "bad"}, "should specify a valid start method in"),
    ],
)
def test_options_that_do_not_go_together(options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        DataLoader(range(3), **options)


def test_more_mistakes():
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid context object"):
        DataLoader(range(3), num_workers=1, multiprocessing_context=5)
    loader = DataLoader(range(3))
    for name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
            setattr(loader, name, None)
    loader.timeout = 3
    with pytest.raises(AssertionError, match="requires timeout == 0"):
        iter(loader)
    with pytest.warns(UserWarning, match="This DataLoader will create 1000 worker processes in total"):
        DataLoader(range(3), num_workers=1000)


def test_pin_memory_is_accepted_with_a_warning():
    loader = DataLoader(range(3), pin_memory=True)
    with pytest.warns(UserWarning, match="'pin_memory' argument is set as true but no accelerator is found"):
        assert lists(loader) == [[0], [1], [2]]
    with pytest.warns(UserWarning, match="pin_memory_device is deprecated"):
        list(DataLoader(range(3), pin_memory=True, pin_memory_device="cuda"))
    Pair = namedtuple("Pair", "a b")
    data = {"a": [torch.ones(1), "x"], "b": Pair(1, (2,)), "c": range(2)}
    pinned = pin_memory(data)
    assert pinned["a"][0].item() == 1.0 and pinned["b"] == Pair(1, (2,)) and pinned["c"] == [0, 1]


def test_a_subclass_may_change_what_it_likes():
    class Chatty(DataLoader):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.told = 0

        def __iter__(self):
            self.told += 1
            return super().__iter__()

    loader = Chatty(range(2), batch_size=2, collate_fn=tuple)
    assert list(loader) == [(0, 1)] and loader.told == 1


# ----- Collation ----------------------------------------------------------------------------------------------------------

Point = namedtuple("Point", "x y")


def test_collating_the_usual_types():
    assert torch.equal(default_collate([torch.ones(2), torch.zeros(2)]), torch.tensor([[1.0, 1.0], [0.0, 0.0]]))
    assert default_collate([1, 2]).dtype == torch.int64
    assert default_collate([1.5, 2.5]).dtype == torch.float64
    assert default_collate([True, False]).dtype == torch.bool
    assert default_collate(["a", "b"]) == ["a", "b"] and default_collate([b"a"]) == [b"a"]
    assert default_collate([np.float32(1), np.float32(2)]).dtype == torch.float32
    assert default_collate([np.array([1, 2], np.int16)] * 2).dtype == torch.int16
    point = default_collate([Point(1, 2.0), Point(3, 4.0)])
    assert type(point) is Point and point.x.tolist() == [1, 3] and point.y.tolist() == [2.0, 4.0]
    pair = default_collate([(1, "a"), (2, "b")])
    assert type(pair) is list and pair[0].tolist() == [1, 2] and pair[1] == ("a", "b")
    nested = default_collate([{"a": [1, {"b": 2}]}, {"a": [3, {"b": 4}]}])
    assert nested["a"][0].tolist() == [1, 3] and nested["a"][1]["b"].tolist() == [2, 4]


def test_collating_keeps_the_type_of_containers():
    assert type(default_collate([OrderedDict(a=1)])) is OrderedDict
    kept = default_collate([defaultdict(list, a=1)])
    assert type(kept) is defaultdict and kept.default_factory is list
    assert type(default_collate([UserDict(a=1)])) is UserDict and type(default_collate([UserList([1])])) is UserList
    assert [t.tolist() for t in default_collate([range(2), range(2)])] == [[0, 0], [1, 1]]


def test_what_cannot_be_collated():
    message = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
    with pytest.raises(TypeError, match=f"{message}<class 'object'>"):
        default_collate([object()])
    with pytest.raises(TypeError, match=f"{message}<U1"):
        default_collate([np.array(["a"])])
    with pytest.raises(TypeError, match=f"{message}object"):
        default_collate([np.array([None])])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([torch.ones(1), torch.ones(2)])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([np.ones(1), np.ones(2)])


def test_collating_by_functions_of_ones_own():
    class Odd:
        pass

    class Odder(Odd):
        pass

    table = {Odd: lambda batch, *, collate_fn_map: "odd", (int, float): lambda batch, *, collate_fn_map: sum(batch)}
    assert collate([{"a": Odder(), "n": 1}, {"a": Odder(), "n": 2}], collate_fn_map=table) == {"a": "odd", "n": 3}


def test_converting_without_batches():
    converted = default_convert(
        {"a": np.arange(2), "b": (1, np.float64(2.0)), "c": Point(np.array(1), "x"), "d": np.str_("s")}
    )
    assert converted["a"].tolist() == [0, 1] and converted["b"][1].item() == 2.0 and type(converted["b"]) is list
    assert type(converted["c"]) is Point and converted["c"].x.item() == 1 and converted["d"] == "s"
    text = np.array(["a"])
    assert default_convert(text) is text and default_convert(5) == 5 and default_convert("ab") == "ab"
    assert [t.item() for t in default_convert([np.int64(1), np.int64(2)])] == [1, 2]
