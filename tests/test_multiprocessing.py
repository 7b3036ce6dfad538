"""torch.multiprocessing: shared tensors, and functions in several processes."""

from __future__ import annotations

import gc
import os

import pytest

import penlight as torch
import penlight.multiprocessing as mp

METHODS = [m for m in ("fork", "spawn") if m in mp.get_all_start_methods()]


def add_five(tensor, parameters):
    with torch.no_grad():
        tensor[1:] += 5
        for parameter in parameters:
            parameter.add_(1)


def fail(index, number):
    if index == 1:
        raise ValueError(f"no {number}")


def leave(index):
    os._exit(3)


def put(index, queue):
    queue.put(torch.full((2,), float(index)))


@pytest.mark.parametrize("method", METHODS)
def test_shared_memory(method):
    tensor, parameter = torch.zeros(4).share_memory_(), torch.nn.Parameter(torch.ones(2, 2))
    parameter.share_memory_()
    view = tensor[2:]
    assert tensor.is_shared() and view.is_shared() and parameter.is_shared() and not torch.ones(1).is_shared()
    assert parameter.is_leaf and parameter.requires_grad
    process = mp.get_context(method).Process(target=add_five, args=(tensor, [parameter]))
    process.start()
    process.join(300)
    assert process.exitcode == 0
    assert tensor.tolist() == [0, 5, 5, 5] and view.tolist() == [5, 5] and parameter.tolist() == [[2, 2], [2, 2]]
    (parameter * tensor[:2]).sum().backward()
    assert parameter.grad.tolist() == [[0, 5], [0, 5]]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_shared_memory_leaves_no_descriptors():
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        torch.zeros(10).share_memory_()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_queue_shares_and_refuses():
    queue = mp.get_context(METHODS[0]).SimpleQueue()
    tensor = torch.zeros(2).share_memory_()
    queue.put(tensor)
    queue.get()[0] = 7
    assert tensor.tolist() == [7, 0]
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        queue.put(torch.ones(1, requires_grad=True) * 2)


@pytest.mark.skipif("fork" not in METHODS, reason="fork is cheap")
def test_start_processes():
    queue = mp.get_context("fork").Queue()
    context = mp.start_processes(put, (queue,), nprocs=2, join=False, start_method="fork")
    assert len(context.pids()) == 2
    assert sorted(queue.get(timeout=300)[0].item() for _ in range(2)) == [0.0, 1.0]
    while not context.join():
        pass
    folder = os.path.dirname(context.error_files[0])
    assert os.path.isdir(folder)
    del context
    assert not os.path.exists(folder)
    with pytest.raises(
        mp.ProcessRaisedException, match=r"-- Process 1 terminated with the following error:\n(.|\n)*ValueError: no 9"
    ) as error:
        mp.start_processes(fail, (9,), nprocs=2, start_method="fork")
    assert error.value.error_index == 1
    with pytest.raises(mp.ProcessExitedException, match="process 0 terminated with exit code 3"):
        mp.start_processes(leave, nprocs=1, start_method="fork")


def test_sharing_strategy():
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
