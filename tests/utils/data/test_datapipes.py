"""Pipes of data: streams and maps of samples that are put together from parts, as PyTorch has them."""

from __future__ import annotations

import functools
import importlib
import warnings

import pytest

STREAMS = """list(w()); list(w().map(lambda x: x*2)); list(w().filter(lambda x: x%2==0)); list(w().batch(2));
    list(w().batch(2,drop_last=True)); list(w().batch(2).unbatch()); list(w().batch(2).batch(2).unbatch(-1));
    list(w().batch(2).batch(2).unbatch(2)); list(w(4).batch(2).collate()); list(w().shuffle());
    list(w(20).shuffle(buffer_size=3)); list(w().shuffle().set_seed(4)); list(w().shuffle().set_shuffle(False));
    list(w().zip(w(3))); list(w().concat(w(3))); list(w().mux(w(2))); [list(c) for c in w().fork(2)]; [list(c) for c in
    w().demux(2, lambda x: x%2)]; [list(c) for c in w(6).demux(2, lambda x: x%2 if x<3 else None, drop_none=True)];
    list(w().demux(2, lambda x: 5)[0]); list(w().groupby(lambda x: x%2)); list(w(7).groupby(lambda x: x%3, group_size=2,
    keep_key=True)); list(w(8).groupby(lambda x: x%3, buffer_size=4, group_size=3, guaranteed_group_size=2,
    drop_remaining=True)); len(w()); len(w().batch(2)); len(w().zip(w(3))); len(w().mux(w(3))); len(w().concat(w(3))); len(w().filter(bool));
    len(w().fork(2)[0]); len(w().unbatch()); list(I.IterableWrapper([(1,2),(3,4)]).map(lambda x: x+1, input_col=0));
    list(I.IterableWrapper([(1,2),(3,4)]).map(lambda x: x+1, input_col=0, output_col=1));
    list(I.IterableWrapper([(1,2),(3,4)]).map(lambda x: x+1, input_col=0, output_col=-1));
    list(I.IterableWrapper([(1,2),(3,4)]).map(lambda x,y: x+y, input_col=[0,1]));
    list(I.IterableWrapper([{'a':1,'b':2}]).map(lambda x: x+1, input_col='a', output_col='c'));
    list(I.IterableWrapper([(1,2),(3,4)]).filter(lambda x: x>1, input_col=0)); w(); w().map(len); str(w().shuffle());
    isinstance(w(), IterableDataset); list(w().sharding_filter()); list(DataLoader(w(), batch_size=2));
    sorted(MapDataPipe.functions); w().batch(0); [str(b) for b in w().batch(2)];
    isinstance(next(iter(w().batch(2))), D.datapipe.DataChunk)"""
MAPS = """M.SequenceWrapper([1,2,3])[1]; list(M.SequenceWrapper([1,2,3]).map(lambda x: x*2));
    M.SequenceWrapper([1,2,3]).batch(2)[1]; list(M.SequenceWrapper([1,2,3]).shuffle());
    M.SequenceWrapper([1,2]).zip(M.SequenceWrapper([3,4]))[1];
    M.SequenceWrapper([1,2]).concat(M.SequenceWrapper([3,4]))[3];
    len(M.SequenceWrapper([1,2]).concat(M.SequenceWrapper([3,4])));
    M.SequenceWrapper([1,2]).concat(M.SequenceWrapper([3,4]))[9]"""


def parts(torch):
    """The names that expressions use."""
    name = torch.__name__ + ".utils.data"
    iter_, map_, datapipe = (
        importlib.import_module(f"{name}.datapipes.{part}") for part in ("iter", "map", "datapipe")
    )
    data = importlib.import_module(name)
    return {
        "I": iter_, "M": map_, "D": importlib.import_module(name + ".datapipes"), "DataLoader": data.DataLoader,
        "IterableDataset": data.IterableDataset, "MapDataPipe": data.MapDataPipe, "w": lambda n=5: iter_.IterableWrapper(list(range(n))),
        "IterDataPipe": datapipe.IterDataPipe, "functional_datapipe": data.functional_datapipe,
    }  # fmt: skip


@pytest.mark.parametrize("expressions", [STREAMS, MAPS], ids=["streams", "maps"])
def test_pipes(same, expressions):
    def program(torch, say):
        names = parts(torch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for expression in expressions.split(";"):
                torch.manual_seed(1)
                say.attempt(functools.partial(eval, " ".join(expression.split()), names))

    same(program)


def test_a_pipe_of_ones_own(same):
    def program(torch, say):
        names = parts(torch)
        base = names["IterDataPipe"]
        base.functions.pop("thrice", None)

        @names["functional_datapipe"]("thrice")
        class Thrice(base):
            def __init__(self, source):
                self.source = source

            def __iter__(self):
                for sample in self.source:
                    yield sample * 3

        say(list(names["w"]().thrice()), isinstance(names["w"]().thrice(), base))
        say.attempt(lambda: names["functional_datapipe"]("map")(Thrice))

    same(program)


def test_children_read_at_their_own_pace(same):
    def program(torch, say):
        one, two = parts(torch)["w"]().fork(2)
        say(list(one), list(two), list(one), list(two), list(zip(one, two)))
        say.attempt(lambda: list(parts(torch)["w"](10).fork(2, buffer_size=3)[0]))
        shard = parts(torch)["w"]().sharding_filter()
        shard.apply_sharding(2, 1)
        say(list(shard), len(shard))

    same(program)


def test_files(same, tmp_path):
    (tmp_path / "sub").mkdir()
    for name, text in (("a.txt", "hello"), ("b.csv", "x"), ("sub/c.txt", "zz")):
        (tmp_path / name).write_text(text)

    def program(torch, say):
        lister = parts(torch)["I"].FileLister
        for masks, recursive in (("", False), ("*.txt", False), (["*.csv", "*.txt"], True)):
            say([path.removeprefix(str(tmp_path)) for path in lister(str(tmp_path), masks, recursive=recursive)])
        say([text for _, text in lister(str(tmp_path), "*.txt").open_files().read_from_stream()])
        say([text for _, text in lister(str(tmp_path), "*.txt").open_files("rb").read_from_stream(2)])

    same(program)
