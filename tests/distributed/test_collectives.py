"""Collectives, messages, groups and their failures, on real ranks."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import timedelta

import numpy as np
import pytest

import penlight

from .ranks import needs_mpi, nothing_left_behind, run

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
)
OPS = {
    "SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum, "BAND": np.bitwise_and,
    "BOR": np.bitwise_or, "BXOR": np.bitwise_xor,
}  # fmt: skip


def error_of(function):
    """The words of the error that a function raises."""
    try:
        function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def values(torch, dtype, rank):
    return torch.tensor([[rank + 1, 2, 3], [1, rank, 0]]).to(getattr(torch, dtype))


def reductions(torch, rank, size):
    """all_reduce, reduce and reduce_scatter of every dtype by every op, contiguous or not, against NumPy."""
    dist = torch.distributed
    checked = 0
    for dtype in DTYPES:
        for name, ufunc in OPS.items():
            op = getattr(dist.ReduceOp, name)
            for layout in ("plain", "transposed", "strided"):
                mine = values(torch, dtype, rank)
                if layout == "transposed":
                    mine = mine.t().contiguous().t()
                elif layout == "strided":
                    mine = mine.repeat_interleave(2, 1)[:, ::2]
                floating, complex_ = mine.is_floating_point(), mine.is_complex()
                refused = (
                    (complex_ and name not in ("SUM", "AVG"))
                    or (name[0] == "B" and floating)
                    or (name == "AVG" and not (floating or complex_))
                )
                words = error_of(lambda mine=mine, op=op: dist.all_reduce(mine, op))
                if refused:
                    assert words is not None
                    continue
                assert words is None, (dtype, name, words)
                every = [values(torch, dtype, other)._array for other in range(size)]
                if dtype == "bool":
                    ufunc = {
                        "SUM": np.logical_or,
                        "PRODUCT": np.logical_and,
                        "MIN": np.logical_and,
                        "MAX": np.logical_or,
                    }.get(name, ufunc)
                want = every[0].copy()
                for other in every[1:]:
                    want = ufunc(want, other).astype(want.dtype)
                want = want / size if name == "AVG" else want
                np.testing.assert_array_equal(mine._array, want.astype(mine._array.dtype), f"{dtype} {name} {layout}")
                once = values(torch, dtype, rank)
                dist.reduce(once, size - 1, op)
                np.testing.assert_array_equal(
                    once._array,
                    want.astype(once._array.dtype) if rank == size - 1 else values(torch, dtype, rank)._array,
                )
                piece = torch.empty(2, 3, dtype=mine.dtype)
                dist.reduce_scatter(piece, [values(torch, dtype, rank)] * size, op)
                np.testing.assert_array_equal(piece._array, want.astype(piece._array.dtype))
                checked += 1
    return checked


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_reductions(size):
    pytest.importorskip("ml_dtypes")
    assert run(penlight, size, reductions) == [len(DTYPES) * 8 * 3 - 3 * (4 * 3 + 6 + 2 * 6)] * size


def moves(torch, rank, size):
    """What moves data without reducing it."""
    dist = torch.distributed
    for dtype in DTYPES:
        mine = values(torch, dtype, rank)
        rows = [torch.zeros_like(mine) for _ in range(size)]
        rows[0] = torch.zeros_like(mine.t()).t()
        dist.all_gather(rows, mine.t().contiguous().t())
        assert all(torch.equal(row, values(torch, dtype, other)) for other, row in enumerate(rows)), dtype
        joined = torch.zeros(2 * size, 3, dtype=mine.dtype)
        dist.all_gather_single(joined, mine)
        assert torch.equal(joined, torch.cat(rows))
        stacked = torch.zeros(size, 2, 3, dtype=mine.dtype)
        dist.all_gather_single(stacked, mine)
        assert torch.equal(stacked, torch.stack(rows))
        sent = values(torch, dtype, rank)
        dist.broadcast(sent, size - 1)
        assert torch.equal(sent, rows[-1])
        got = [torch.zeros_like(mine) for _ in range(size)] if rank == 1 else None
        dist.gather(mine, got, 1)
        assert got is None or all(torch.equal(a, b) for a, b in zip(got, rows))
        piece = torch.zeros_like(mine)
        dist.scatter(piece, rows if rank == 0 else None)
        assert torch.equal(piece, rows[rank])
        got = [torch.zeros_like(mine) for _ in range(size)]
        dist.all_to_all(got, [mine] * size)
        assert all(torch.equal(a, b) for a, b in zip(got, rows))
        if rank == 0:
            dist.send(mine, 1, tag=3)
        elif rank == 1:
            place = torch.zeros_like(mine)
            assert dist.recv(place, tag=3) == 0 and torch.equal(place, rows[0])
    # Pieces of different sizes: rank r sends r + 1 rows to each.
    got = torch.zeros(sum(r + 1 for r in range(size)), 2)
    dist.all_to_all_single(
        got, torch.full(((rank + 1) * size, 2), float(rank)), [r + 1 for r in range(size)], [rank + 1] * size
    )
    assert got[:, 0].tolist() == [float(r) for r in range(size) for _ in range(r + 1)]
    total = torch.zeros(2)
    dist.reduce_scatter_single(total, torch.arange(2.0 * size))
    assert total.tolist() == [2.0 * rank * size, (2.0 * rank + 1) * size]
    with pytest.warns(FutureWarning, match="all_gather_single"):
        dist.all_gather_into_tensor(joined, mine)
    with pytest.warns(FutureWarning, match="reduce_scatter_single"):
        dist.reduce_scatter_tensor(total, torch.arange(2.0 * size))
    assert torch.equal(joined, torch.cat(rows)) and total[0].item() == 2.0 * rank * size
    tensors = [torch.ones(2), torch.ones(3, dtype=torch.int64)]
    dist.all_reduce_coalesced(tensors)
    assert [t.tolist() for t in tensors] == [[size] * 2, [size] * 3]
    dist.all_reduce(torch.zeros(0))
    scalar = torch.tensor(1.0)
    dist.all_reduce(scalar)
    assert scalar.item() == size
    # Large enough for chunks; what comes after them waits for its turn.
    large = [torch.arange(3_000_000.0) + rank for _ in range(2)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in [*large, scalar]]
    for work in works if rank else reversed(works):
        work.wait()
    assert all(torch.equal(tensor, torch.arange(3_000_000.0) * size + sum(range(size))) for tensor in large)
    assert scalar.item() == size**2
    return True


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_moves(size):
    pytest.importorskip("ml_dtypes")
    assert all(run(penlight, size, moves))


def objects(torch, rank, size):
    dist = torch.distributed
    every = [None] * size
    dist.all_gather_object(every, {"rank": rank, "data": "x" * rank * 1000})
    assert [one["rank"] for one in every] == list(range(size)) and len(every[-1]["data"]) == (size - 1) * 1000
    got = [None] * size if rank == 0 else None
    dist.gather_object(torch.full((2,), float(rank)), got)
    assert got is None or [one.tolist() for one in got] == [[r, r] for r in map(float, range(size))]
    some = [1, "two", [3]] if rank == 1 else [None] * 3
    dist.broadcast_object_list(some, 1)
    assert some == [1, "two", [3]]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(size)] if rank == 0 else None)
    assert mine == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list([{"a": 1}, None], 1)
    elif rank == 1:
        pair = [0, 0]
        assert dist.recv_object_list(pair, 0) == 0 and pair == [{"a": 1}, None]
    return True


def asynchronous(torch, rank, size):
    """Works in another order than they were begun in, futures, messages that cross."""
    dist = torch.distributed
    tensors = [torch.full((n,), float(rank)) for n in range(1, 30)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in works if rank % 2 else reversed(works):
        assert work.wait() is True and work.is_completed() and work.is_success()
    assert all((tensor == sum(range(size))).all() for tensor in tensors)
    work = dist.broadcast(torch.full((2,), float(rank)), 1, async_op=True)
    assert work.get_future().wait()[0].tolist() == [1.0, 1.0]
    doubled = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(lambda f: f.value()[0] * 2)
    assert torch.futures.wait_all([doubled])[0].tolist() == [2.0 * size] * 2
    right, left = (rank + 1) % size, (rank - 1) % size
    got = torch.zeros(100_000)
    ops = [
        dist.P2POp(dist.isend, torch.full((100_000,), float(rank)), right),
        dist.P2POp(dist.irecv, got, left),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert (got == left).all() and f"group_dst={right}" in repr(ops[0])
    dist.all_reduce(torch.ones(1), async_op=True)  # nobody waits for it
    dist.barrier()
    dist.monitored_barrier()
    return True


def parts(torch, rank, size):
    """Groups of some ranks."""
    dist = torch.distributed
    evens, odds = dist.new_group(range(0, size, 2)), dist.new_group(range(1, size, 2))
    mine = odds if rank % 2 else evens
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=mine)
    assert x.item() == sum(range(rank % 2, size, 2))
    assert dist.get_rank(odds if rank % 2 == 0 else evens) == -1
    with pytest.warns(UserWarning, match="does not belong to the given group"):
        assert dist.all_reduce(x, group=evens if rank % 2 else odds) is None
    turned = dist.new_group(range(size - 1, -1, -1), sort_ranks=False)
    assert dist.get_rank(turned) == size - 1 - rank and dist.get_global_rank(turned, 0) == size - 1
    y = torch.tensor([float(rank)])
    dist.broadcast(y, group=turned, group_src=0)
    assert y.item() == size - 1
    pair, pairs = dist.new_subgroups(2)
    assert len(pairs) == size // 2 and dist.get_process_group_ranks(pair) == [rank // 2 * 2, rank // 2 * 2 + 1]
    if rank < 2:
        local = dist.new_group([0, 1], use_local_synchronization=True)
        dist.barrier(local)
    dist.destroy_process_group(mine)
    assert "destroyed" in error_of(lambda: dist.all_reduce(x, group=mine))
    # Again, in the same processes.
    dist.destroy_process_group()
    assert not dist.is_initialized()
    dist.init_process_group("mpi")
    z = torch.ones(1)
    dist.all_reduce(z)
    assert z.item() == size and dist.get_backend() == "mpi"
    return True


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("function", [objects, asynchronous, parts])
def test_on_ranks(function, size):
    assert all(run(penlight, size, function))


def disagreements(torch, rank, size):
    """What ranks do not agree on is refused on all of them, and the group goes on to work."""
    dist = torch.distributed
    first = rank == 0
    calls = {
        "shape": lambda: dist.all_reduce(torch.ones(2 if first else 3)),
        "dtype": lambda: dist.all_reduce(torch.ones(2, dtype=torch.float32 if first else torch.float64)),
        "op": lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.SUM if first else dist.ReduceOp.MAX),
        "root": lambda: dist.broadcast(torch.ones(2), 0 if first else 1),
        "kind": lambda: dist.all_reduce(torch.ones(2)) if first else dist.broadcast(torch.ones(2), 0),
        "gather": lambda: dist.gather(torch.ones(2), [torch.ones(2)] * size),
        "scatter": lambda: dist.scatter(torch.ones(2), [torch.ones(3)] * size if first else None),
        "list": lambda: dist.all_gather([torch.ones(2)] * (size if first else size + 1), torch.ones(2)),
        "splits": lambda: dist.all_to_all_single(
            torch.ones(size), torch.ones(size + 1), [1] * size, [1] * (size - 1) + [2]
        ),
    }
    words = {}
    for name, call in calls.items():
        words[name] = error_of(call)
        x = torch.ones(1)
        dist.all_reduce(x)
        assert x.item() == size, name
    return words


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_disagreements_are_refused_on_every_rank(size):
    for words in run(penlight, size, disagreements):
        assert all(words.values()), words
        for name in ("shape", "dtype", "op", "root", "kind"):
            assert "Detected mismatch between collectives on ranks. Rank 0 is running collective:" in words[name]
        assert "2 elements" in words["shape"] and "3 elements" in words["shape"]
        assert "must NOT be specified" in words["gather"]
        assert "expected (2), got (3)" in words["scatter"]
        assert "split sizes" in words["splits"]


def until_rank_0(torch, rank, size, function):
    """What a function gives on rank 0; the others wait until it has, outside of collectives."""
    store = torch.distributed.distributed_c10d._get_default_store()
    if rank:
        store.wait(["rank 0 is done"])
        with suppress(RuntimeError):  # rank 0 serves the store, and ends when it has heard of all
            store.set(f"rank {rank} knows", "")
        return None
    result = function()
    store.set("rank 0 is done", "")
    store.wait([f"rank {other} knows" for other in range(1, size)])
    return result


def timed(torch, rank, size):
    dist = torch.distributed
    group = dist.new_group(timeout=timedelta(seconds=0.5))
    return until_rank_0(
        torch,
        rank,
        size,
        lambda: (error_of(lambda: dist.all_reduce(torch.ones(1), group=group)), error_of(lambda: dist.barrier(group))),
    )


@needs_mpi
def test_timeout():
    first, second = run(penlight, 2, timed)[0]
    assert "Timed out waiting 500ms for recv operation to complete" in first and "all_reduce" in first
    assert "Application timeout caused pair closure" in second


def waiting(torch, rank, size):
    """A wait with a time limit of its own gives up without breaking anything."""
    dist = torch.distributed
    work = None if rank else dist.all_reduce(torch.ones(1), async_op=True)
    words = until_rank_0(torch, rank, size, lambda: error_of(lambda: work.wait(timedelta(milliseconds=100))))
    if rank:
        dist.all_reduce(torch.ones(1))
    else:
        work.wait()
    return words


@needs_mpi
def test_a_wait_with_its_own_limit():
    assert run(penlight, 2, waiting)[0] == "RuntimeError: Operation timed out!"


def dying(torch, rank, size, how):
    dist = torch.distributed
    dist.barrier()
    if rank == size - 1:
        if how == "killed":
            os.kill(os.getpid(), 9)
        os._exit(0)
    return error_of(lambda: dist.all_reduce(torch.ones(1)))


@needs_mpi
@pytest.mark.parametrize("how", ["killed", "left"])
@pytest.mark.parametrize("size", [2, 4])
def test_a_rank_that_dies(size, how):
    with nothing_left_behind():
        found = run(penlight, size, dying, how, missing=1)
    for words in found[:-1]:
        # Others may have ended by then, because of it.
        assert re.search(rf"Connection closed by peer: ranks? [\d, ]*{size - 1} (has|have) ended", words), words


def absent(torch, rank, size):
    dist = torch.distributed
    limit = timedelta(seconds=1)
    return until_rank_0(
        torch, rank, size, lambda: error_of(lambda: dist.monitored_barrier(timeout=limit, wait_all_ranks=True))
    )


@needs_mpi
def test_monitored_barrier_names_who_is_missing():
    found = run(penlight, 3, absent)[0]
    assert found == "RuntimeError: [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 1000 ms"
