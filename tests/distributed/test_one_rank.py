"""What needs no MPI: stores, a group of one rank, questions and refusals."""

from __future__ import annotations

import socket
import threading
import time
from datetime import timedelta

import pytest

import penlight as torch
from penlight import distributed as dist
from penlight.distributed import _mpi
from penlight.distributed.run import reserved_port


@pytest.fixture
def alone():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture(params=["hash", "tcp", "file", "prefix"])
def store(request, tmp_path):
    if request.param == "tcp":
        return dist.TCPStore("127.0.0.1", 0, is_master=True)
    if request.param == "file":
        return dist.FileStore(str(tmp_path / "store"), 1)
    return dist.PrefixStore("a", dist.HashStore()) if request.param == "prefix" else dist.HashStore()


def test_store(store):
    store.set("key", "value")
    assert store.get("key") == b"value" and store.check(["key"]) and not store.check(["key", "other"])
    assert (store.add("count", 3), store.add("count", 2), store.get("count")) == (3, 5, b"5")
    assert store.compare_set("c", "x", "y") == b"x" and not store.check(["c"])
    assert store.compare_set("c", "", "y") == b"y" and store.compare_set("c", "y", "z") == b"z"
    assert store.compare_set("c", "y", "w") == b"z"
    store.append("text", "a")
    store.append("text", b"b")
    store.multi_set(["m", "n"], ["1", "2"])
    assert store.multi_get(["text", "m", "n"]) == [b"ab", b"1", b"2"]
    assert store.delete_key("m") and not store.check(["m"])
    assert store.num_keys() >= 5 and any("text" in key for key in store.list_keys())
    store.set_timeout(timedelta(milliseconds=100))
    for call in (lambda: store.get("none"), lambda: store.wait(["key", "none"])):
        with pytest.raises(RuntimeError, match=r"[Tt]imeout"):
            call()
    threading.Timer(0.1, lambda: store.set("later", "1")).start()
    store.wait(["later"], timedelta(seconds=20))
    with pytest.raises(TypeError):
        store.set("key", 3)


def test_queues():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    store.queue_push("q", "1")
    store.queue_push("q", "2")
    assert store.queue_len("q") == 2 and store.queue_pop("q") == b"1" and store.queue_pop("q", block=False) == b"2"
    with pytest.raises(dist.QueueEmptyError):
        store.queue_pop("q", block=False)
    with pytest.raises(NotImplementedError):
        dist.Store().get("x")


def test_tcp_store_addresses():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with pytest.raises(dist.DistNetworkError, match="address already in use"):
        dist.TCPStore("127.0.0.1", server.port, is_master=True)
    with (
        reserved_port() as port,
        pytest.raises(dist.DistNetworkError, match="timed out after 300ms while trying to connect"),
    ):
        dist.TCPStore("127.0.0.1", port, timeout=timedelta(milliseconds=300))
    with pytest.raises(dist.DistStoreError, match="1/2 clients joined"):
        dist.TCPStore("127.0.0.1", 0, 2, True, timedelta(milliseconds=300))
    client = dist.TCPStore("127.0.0.1", server.port)
    client.set_timeout(timedelta(milliseconds=200))
    with pytest.raises(dist.DistStoreError, match="wait timeout after 200ms, keys: /x, /y"):
        client.wait(["x", "y"])


def test_the_server_tells_who_has_ended():
    server = dist.TCPStore("127.0.0.1", 0, is_master=True)
    watches = [server.watch(rank) for rank in range(3)]
    watches[1]._connection.close()
    watches[2].leave()
    end = time.monotonic() + 20
    while (watches[0].dead, watches[0].left) != ({1}, {2}):
        watches[0].look()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_mpich_hears_of_a_rank_that_does_not_come(capsys):
    store = dist.HashStore()
    store.set_timeout(timedelta(milliseconds=50))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"cmd=get_universe_size\ncmd=barrier_in\n")
        _mpi._answer_or_end(ours, store, "name", ["host", "host"])
        assert theirs.recv(100) == b"cmd=universe_size size=2\n" and theirs.recv(100) == b""
    assert "MPI can't start: Wait timeout" in capsys.readouterr().err


def test_a_group_of_one(alone):
    x = torch.arange(6.0).reshape(2, 3).t()
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX):
        dist.all_reduce(x, op)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    assert torch.equal(x, torch.arange(6.0).reshape(2, 3).t())
    outputs = [torch.zeros(3, 2)]
    dist.all_gather(outputs, x)
    assert torch.equal(outputs[0], x)
    dist.scatter(outputs[0], [x + 1])
    dist.gather(x, outputs)
    dist.reduce_scatter(outputs[0], [x])
    dist.all_to_all(outputs, [x])
    y = torch.zeros(3, 2)
    dist.all_to_all_single(y, x.contiguous())
    assert torch.equal(outputs[0], x) and torch.equal(y, x)
    assert dist.barrier() is None and dist.barrier(async_op=True).wait()
    objects = [None]
    dist.all_gather_object(objects, "a")
    assert objects == ["a"]
    dist.monitored_barrier()
    group = dist.new_group([0])
    assert dist.get_world_size(group) == 1 and dist.get_process_group_ranks(group) == [0]
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        dist.send(x.contiguous(), 0)
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1), find_unused_parameters=True)
    model(torch.ones(1, 2)).sum().backward()
    assert model.module.weight.grad.tolist() == [[1.0, 1.0]]
    assert list(torch.utils.data.DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    norm = torch.nn.SyncBatchNorm(2)
    assert torch.allclose(norm(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).mean(0), torch.zeros(2), atol=1e-6)


def test_refusals(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    for call, error, words in (
        (lambda: dist.init_process_group("nccl"), RuntimeError, "doesn't have NCCL built in"),
        (lambda: dist.init_process_group("foo"), AssertionError, "Unknown backend type foo"),
        (lambda: dist.init_process_group(3), ValueError, "must be string-ish"),
        (
            lambda: dist.init_process_group("gloo", init_method="foo://x"),
            RuntimeError,
            "No rendezvous handler for foo://",
        ),
        (lambda: dist.init_process_group("gloo", timeout=3), TypeError, "datetime.timedelta, got 3"),
        (
            lambda: dist.init_process_group("gloo", store=dist.HashStore()),
            AssertionError,
            "world_size must be positive",
        ),
        (lambda: dist.init_process_group("gloo"), ValueError, "environment variable RANK expected, but not set"),
        (lambda: dist.init_process_group(init_method="tcp://a:1"), ValueError, "rank parameter missing"),
        (lambda: dist.get_rank(), ValueError, "Default process group has not been initialized"),
        (lambda: dist.all_reduce(torch.ones(1)), ValueError, "Default process group has not been initialized"),
        (lambda: dist.destroy_process_group(), AssertionError, "Process group cannot be None"),
        (lambda: torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1)), ValueError, "Default process group"),
        (lambda: torch.utils.data.DistributedSampler(range(3)), ValueError, "Default process group"),
        (lambda: torch.autograd.Variable._execution_engine.queue_callback(print), RuntimeError, "during backward pass"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_names():
    assert dist.is_available() and not dist.is_initialized() and not dist.is_nccl_available()
    assert repr(dist.ReduceOp.SUM) == "<RedOpType.SUM: 0>" and isinstance(dist.ReduceOp.SUM, dist.ReduceOp)
    assert dist.ReduceOp(dist.ReduceOp.MAX) == dist.ReduceOp.MAX
    assert dist.distributed_c10d._get_default_group and dist.distributed_c10d.all_reduce is dist.all_reduce
    assert dist.group.WORLD is None and dist.GroupMember.NON_GROUP_MEMBER == -100
    from penlight.distributed.algorithms.join import Join, Joinable

    assert issubclass(torch.nn.parallel.DistributedDataParallel, Joinable)
    with pytest.raises(ValueError, match="at least one joinable"):
        Join([])


def test_callbacks_at_the_end_of_a_backward_pass():
    engine = torch.autograd.Variable._execution_engine
    x = torch.ones(1, requires_grad=True)
    seen = []
    x.register_hook(lambda grad: engine.queue_callback(lambda: seen.append(x.grad.item())))
    (x * 2).backward()
    assert seen == [2.0]


def test_placements_are_descriptions():
    """Packages write them down as they are imported; only what would lay a tensor out is refused."""
    from penlight.distributed.tensor import DTensor, Partial, Replicate, Shard
    from penlight.distributed.tensor.placement_types import Placement, _StridedShard

    kinds = [Shard(-1), _StridedShard(0, split_factor=2), Replicate(), Partial(), Partial("avg")]
    assert [repr(k) for k in kinds] == [
        "Shard(dim=-1)", "_StridedShard(dim=0, sf=2)", "Replicate()", "Partial(sum)", "Partial(avg)"
    ]  # fmt: skip
    assert [str(k) for k in kinds] == ["S(-1)", "_S(0, 2)", "R", "P(sum)", "P(avg)"]
    assert [(k.is_shard(), k.is_shard(-1), k.is_replicate(), k.is_partial(), k.is_partial("avg")) for k in kinds] == [
        (True, True, False, False, False), (False,) * 5, (False, False, True, False, False),
        (False, False, False, True, False), (False, False, False, True, True),
    ]  # fmt: skip
    assert len({Shard(0), Shard(0), Shard(1), Replicate()}) == 3 and isinstance(kinds[0], Placement)
    with pytest.raises(NotImplementedError, match="collectives and DistributedDataParallel"):
        DTensor.from_local(torch.ones(2), None, [Replicate()])
