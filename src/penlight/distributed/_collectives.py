"""Collectives: operations on the tensors of all ranks of a group.

Tensors are filled in place. All ranks call a collective, with tensors of the same dtype and number of elements; Note
[Agreement before data] says what happens otherwise. With `async_op=True` each collective returns a `Work`; call its
`wait()` before using the tensors.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from penlight._common.user_warnings import warn_user
from penlight.tensor import Tensor

from . import _mpi
from ._arguments import (
    ReduceOp,
    copy_rows,
    elements,
    expect,
    expect_for_each_rank,
    expect_list,
    expect_one_dtype,
    expect_only_at_root,
    filled,
    nothing,
    real,
    reduced,
    reduction,
    root_of,
)  # fmt: skip
from ._group import Group, ProcessGroup, Rank, Work, check_timeout, example_in_group, groups
from ._mpi import Array, Request

BARRIER_TAG = 30002


def _run(
    ranks: ProcessGroup, name: str, like: Tensor, same: Sequence[str], start: Callable[[], Request],
    finish: Callable[[], None], async_op: bool, result: Sequence[Tensor] | None = None,
) -> Work | None:  # fmt: skip
    """Start a collective, and wait for it unless it is asynchronous.

    Args:
        like: a tensor whose dtype and number of elements must be equal on all ranks.
        same: other values that must be equal on all ranks.
        start: starts it in the engine.
        finish: copies the results to their tensors.
        result: the tensors that it fills, if not `like`.
    """
    agreed = [like.dtype, f"{like.numel()} elements", *same]
    filled = [like] if result is None else list(result)
    work = ranks._begin(name, start, same=agreed, finish=finish, result=filled, size=like.nbytes)
    return _waited([work], async_op)


def _waited(works: Sequence[Work | None], async_op: bool) -> Work | None:
    """Return the last of these works; without `async_op`, wait for all of them instead."""
    if async_op:
        return works[-1] if works else None
    for work in works:
        if work is not None:
            work.wait()
    return None


def _deprecated(old: str, new: str) -> None:
    warn_user(f"`torch.distributed.{old}` is deprecated. Please use `torch.distributed.{new}` instead.", FutureWarning)


@example_in_group("x = torch.ones(2); dist.all_reduce(x); x", "tensor([1., 1.])")
def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False) -> Work | None:
    """Reduce the tensors of all ranks, and write the result to every rank's tensor.

    Args:
        tensor: what is reduced, and overwritten by the result.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("tensor", tensor)
    ranks = groups.member(group, "all_reduce")
    if ranks is None:
        return None
    name = reduction(op, "all_reduce", tensor)
    memory, finish = reduced(tensor, name, ranks)
    return _run(
        ranks, "all_reduce", tensor, [name], lambda: ranks._data.all_reduce(real(memory), name), finish, async_op
    )


@example_in_group(
    "x, y = torch.ones(2), torch.zeros(1); dist.all_reduce_coalesced([x, y]); x, y", "(tensor([1., 1.]), tensor([0.]))"
)
def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors. With `async_op` it returns the last `Work`, which ends after the others.

    Args:
        tensors: what is reduced, and overwritten by the results.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    expect_list("tensor", tensors)
    return _waited([all_reduce(tensor, op, group, async_op=True) for tensor in tensors], async_op)


@example_in_group("x = torch.ones(2); dist.broadcast(x, src=0); x", "tensor([1., 1.])")
def broadcast(
    tensor: Tensor, src: Rank = None, group: Group = None, async_op: bool = False, group_src: Rank = None
) -> Work | None:
    """Copy the tensor of one rank to all others, whose tensors are overwritten.

    Args:
        tensor: sent on rank `src`, overwritten on the others.
        src: the sender's rank in the default group; or `group_src`, its rank in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("tensor", tensor)
    ranks = groups.member(group, "broadcast")
    if ranks is None:
        return None
    root = root_of(ranks, "broadcast", src, group_src)
    memory, finish = filled(tensor)
    same = [f"from rank {root}"]
    return _run(ranks, "broadcast", tensor, same, lambda: ranks._data.broadcast(memory, root), finish, async_op)


@example_in_group("x = torch.ones(2); dist.reduce(x, dst=0, op=dist.ReduceOp.MAX); x", "tensor([1., 1.])")
def reduce(
    tensor: Tensor, dst: Rank = None, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False,
    group_dst: Rank = None,
) -> Work | None:  # fmt: skip
    """Reduce the tensors of all ranks into that of rank `dst`; the others are unchanged.

    Args:
        tensor: the input; on rank `dst` it is overwritten by the result.
        dst: the receiver's rank in the default group; or `group_dst`, its rank in `group`.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("tensor", tensor)
    ranks = groups.member(group, "reduce")
    if ranks is None:
        return None
    root = root_of(ranks, "reduce", dst, group_dst)
    name = reduction(op, "reduce", tensor)
    memory, finish = reduced(tensor, name, ranks)
    same = [name, f"to rank {root}"]
    end = finish if ranks.rank() == root else nothing
    return _run(ranks, "reduce", tensor, same, lambda: ranks._data.reduce(real(memory), name, root), end, async_op)


@example_in_group("parts = [torch.empty(2)]; dist.all_gather(parts, torch.ones(2)); parts", "[tensor([1., 1.])]")
def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all ranks on every rank.

    Args:
        tensor_list: one output tensor per rank, overwritten by that rank's tensor.
        tensor: this rank's contribution.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect_list("tensor_list", tensor_list)
    expect("tensor", tensor)
    expect_one_dtype(*tensor_list, tensor)
    ranks = groups.member(group, "all_gather")
    if ranks is None:
        return None
    expect_for_each_rank(ranks, "allgather", tensor_list, tensor)
    sent = elements(tensor)
    received = np.empty((ranks.size(), *sent.shape), sent.dtype)
    return _run(
        ranks, "all_gather", tensor, [], lambda: ranks._data.all_gather(sent, received),
        lambda: copy_rows(received, tensor_list), async_op, tensor_list,
    )  # fmt: skip


@example_in_group(
    "parts = [[torch.empty(2)]]; dist.all_gather_coalesced(parts, [torch.ones(2)]); parts", "[[tensor([1., 1.])]]"
)
def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]], input_tensor_list: Sequence[Tensor], group: Group = None,
    async_op: bool = False,
) -> Any:  # fmt: skip
    """`all_gather` of several tensors; `output_tensor_lists` has one list per rank.

    Args:
        output_tensor_lists: for each rank a list of output tensors, overwritten by that rank's tensors.
        input_tensor_list: the tensors of this rank.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Future` instead of waiting.

    Returns:
        a `Future` with `async_op`; otherwise None.
    """
    expect_list("tensor_list", input_tensor_list)
    works = [
        all_gather([outputs[index] for outputs in output_tensor_lists], tensor, group, async_op=True)
        for index, tensor in enumerate(input_tensor_list)
    ]
    last = _waited(works, async_op)
    return None if last is None else last.get_future()


@example_in_group("x = torch.empty(2); dist.all_gather_single(x, torch.ones(2)); x", "tensor([1., 1.])")
def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """Collect the tensors of all ranks in one tensor on every rank.

    Args:
        output_tensor: overwritten; its shape is that of all ranks' tensors joined by `cat` or by `stack`.
        input_tensor: this rank's contribution.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("input_tensor", input_tensor)
    expect("output_tensor", output_tensor)
    ranks = groups.member(group, "all_gather_into_tensor")
    if ranks is None:
        return None
    given, wanted = tuple(input_tensor.shape), tuple(output_tensor.shape)
    joined = ((ranks.size() * given[0], *given[1:]) if given else (ranks.size(),), (ranks.size(), *given))
    words = None
    if output_tensor.dtype is not input_tensor.dtype:
        words = f"invalid tensor type at index 0 (expected {input_tensor.dtype}, got {output_tensor.dtype})"
    elif wanted not in joined:
        words = f"invalid tensor size at index 0 (expected {joined[0]} or {joined[1]} for the whole, got {wanted})"
    if words is not None:
        raise ranks._refuse("all_gather_into_tensor", RuntimeError(f"ProcessGroupGloo::allgather: {words}"))
    sent = elements(input_tensor)
    memory, finish = filled(output_tensor)
    return _run(
        ranks, "all_gather_into_tensor", input_tensor, [], lambda: ranks._data.all_gather(sent, memory), finish,
        async_op, [output_tensor],
    )  # fmt: skip


@example_in_group("x = torch.empty(2); dist.all_gather_into_tensor(x, torch.ones(2)); x", "tensor([1., 1.])")
def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Group = None, async_op: bool = False
) -> Work | None:
    """The older name of `all_gather_single`.

    Args:
        output_tensor: overwritten.
        input_tensor: this rank's contribution.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _deprecated("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


@example_in_group("parts = [torch.empty(2)]; dist.gather(torch.ones(2), parts, dst=0); parts", "[tensor([1., 1.])]")
def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None, dst: Rank = None, group: Group = None,
    async_op: bool = False, group_dst: Rank = None,
) -> Work | None:  # fmt: skip
    """Collect the tensors of all ranks on rank `dst`.

    Args:
        tensor: this rank's contribution.
        gather_list: on rank `dst` one tensor per rank, overwritten by that rank's tensor; None elsewhere.
        dst: the receiving rank, 0 if it is not given; or `group_dst`, its rank in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("tensor", tensor)
    ranks = groups.member(group, "gather")
    if ranks is None:
        return None
    root = root_of(ranks, "gather", dst, group_dst, 0)
    sent, received, outputs = elements(tensor), None, gather_list or ()
    if expect_only_at_root(ranks, "gather", root, gather_list):
        expect_list("gather_list", outputs)
        expect_one_dtype(*outputs, tensor)
        expect_for_each_rank(ranks, "gather", outputs, tensor)
        received = np.empty((ranks.size(), *sent.shape), sent.dtype)
    return _run(
        ranks, "gather", tensor, [f"to rank {root}"], lambda: ranks._data.gather(sent, received, root),
        lambda: copy_rows([] if received is None else received, outputs), async_op, outputs,
    )  # fmt: skip


@example_in_group("x = torch.empty(2); dist.scatter(x, [torch.ones(2)], src=0); x", "tensor([1., 1.])")
def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None, src: Rank = None, group: Group = None,
    async_op: bool = False, group_src: Rank = None,
) -> Work | None:  # fmt: skip
    """Distribute the tensors of rank `src`, one to each rank.

    Args:
        tensor: overwritten.
        scatter_list: on rank `src` one tensor per rank; None elsewhere.
        src: the sending rank, 0 if it is not given; or `group_src`, its rank in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("tensor", tensor)
    ranks = groups.member(group, "scatter")
    if ranks is None:
        return None
    root = root_of(ranks, "scatter", src, group_src, 0)
    sent, given = None, scatter_list or ()
    if expect_only_at_root(ranks, "scatter", root, scatter_list):
        expect_list("scatter_list", given)
        expect_one_dtype(*given, tensor)
        expect_for_each_rank(ranks, "scatter", given, tensor)
        sent = np.stack([one._array for one in given])
    memory, finish = filled(tensor)
    same = [f"from rank {root}"]
    return _run(ranks, "scatter", tensor, same, lambda: ranks._data.scatter(sent, memory, root), finish, async_op)


@example_in_group("x = torch.empty(2); dist.reduce_scatter(x, [torch.ones(2)]); x", "tensor([1., 1.])")
def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce lists of tensors over the ranks, and write one result to each rank.

    Args:
        output: overwritten by the reduction of all ranks' `input_list[rank]`.
        input_list: a tensor for each rank.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("output", output)
    expect_list("input_list", input_list)
    expect_one_dtype(*input_list, output)
    ranks = groups.member(group, "reduce_scatter")
    if ranks is None:
        return None
    if len(input_list) != ranks.size():
        words = "invalid input tensor list size, must be world size"
        raise ranks._refuse("reduce_scatter", RuntimeError(words))
    expect_for_each_rank(ranks, "reduce_scatter", input_list, output)
    sent = np.stack([one._array for one in input_list])
    return _reduce_scatter(ranks, "reduce_scatter", output, sent, op, async_op)


def _reduce_scatter(
    ranks: ProcessGroup, called: str, output: Tensor, sent: Array, op: Any, async_op: bool
) -> Work | None:
    name = reduction(op, called, output)
    memory, finish = reduced(output, name, ranks)
    return _run(
        ranks,
        called,
        output,
        [name],
        lambda: ranks._data.reduce_scatter(real(sent), real(memory), name),
        finish,
        async_op,
    )


@example_in_group("x = torch.empty(2); dist.reduce_scatter_single(x, torch.ones(2)); x", "tensor([1., 1.])")
def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks, and write one of equal pieces of the result to each rank.

    Args:
        output: overwritten by this rank's piece.
        input: one piece of the size of `output` per rank, joined by `cat` or `stack`.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("output", output)
    expect("input", input)
    ranks = groups.member(group, "reduce_scatter_tensor")
    if ranks is None:
        return None
    expect_one_dtype(input, output)
    if input.numel() != output.numel() * ranks.size():
        words = (
            f"Check failed: the input has {input.numel()} elements, and the output {output.numel()} on each of "
            f"{ranks.size()} ranks ({output.numel() * ranks.size()} vs. {input.numel()})."
        )
        raise ranks._refuse("reduce_scatter_tensor", RuntimeError(words))
    return _reduce_scatter(ranks, "reduce_scatter_tensor", output, elements(input), op, async_op)


@example_in_group("x = torch.empty(2); dist.reduce_scatter_tensor(x, torch.ones(2)); x", "tensor([1., 1.])")
def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Group = None, async_op: bool = False
) -> Work | None:
    """The older name of `reduce_scatter_single`.

    Args:
        output: overwritten by this rank's piece.
        input: one piece per rank.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _deprecated("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


@example_in_group("parts = [torch.empty(2)]; dist.all_to_all(parts, [torch.ones(2)]); parts", "[tensor([1., 1.])]")
def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Group = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send one tensor to each rank, and receive one from each. Sizes may differ between pairs if both sides know them.

    Args:
        output_tensor_list: one tensor per rank, overwritten by what that rank sends.
        input_tensor_list: one tensor per rank, to be sent to it.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect_list("output_tensor_list", output_tensor_list)
    expect_list("input_tensor_list", input_tensor_list)
    expect_one_dtype(*output_tensor_list, *input_tensor_list)
    ranks = groups.member(group, "all_to_all")
    if ranks is None:
        return None
    for tensors in (output_tensor_list, input_tensor_list):
        if len(tensors) != ranks.size():
            words = f"all_to_all needs a tensor for each of {ranks.size()} ranks, but got {len(tensors)}"
            raise ranks._refuse("all_to_all", RuntimeError(words))
    sent = np.concatenate([one._array.reshape(-1) for one in input_tensor_list])
    received = np.empty(sum(one.numel() for one in output_tensor_list), sent.dtype)
    sizes = [one.numel() for one in input_tensor_list]
    expected = [one.numel() for one in output_tensor_list]

    def finish() -> None:
        copy_rows(np.split(received, np.cumsum(expected)[:-1]), output_tensor_list)

    return _all_to_all(ranks, "all_to_all", sent, sizes, received, expected, finish, output_tensor_list, async_op)


def _all_to_all(
    ranks: ProcessGroup, called: str, sent: Array, sizes: Sequence[int], received: Array, expected: Sequence[int],
    finish: Callable[[], None], result: Sequence[Tensor], async_op: bool
) -> Work | None:  # fmt: skip
    """Exchange pieces of arrays, after all ranks have exchanged how many elements each sends and expects."""
    plan = np.empty((ranks.size(), 2, ranks.size()), np.int64)
    mine = np.array([sizes, expected], np.int64)
    item = sent.dtype.itemsize
    counts = ranks._begin(called, lambda: ranks._data.all_gather(mine, plan), same=[sent.dtype.name])

    def start() -> Request:
        if (plan[:, 0] != plan[:, 1].T).any():
            return _mpi.DONE
        return ranks._data.all_to_all(sent, [n * item for n in sizes], received, [n * item for n in expected])

    def end() -> None:
        wrong = np.argwhere(plan[:, 0] != plan[:, 1].T)
        if len(wrong):
            source, to = wrong[0]
            raise RuntimeError(
                f"{called}: split sizes of the ranks do not fit each other: rank {ranks._ranks[source]} sends "
                f"{plan[source, 0, to]} elements to rank {ranks._ranks[to]}, which expects {plan[to, 1, source]}"
            )
        finish()

    work = ranks._begin(called, start, same=None, after=counts, finish=end, result=list(result), size=sent.nbytes)
    return _waited([work], async_op)


@example_in_group("x = torch.empty(2); dist.all_to_all_single(x, torch.ones(2)); x", "tensor([1., 1.])")
def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None, group: Group = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Split a tensor along its first dimension, send one piece to each rank, and join the received pieces.

    Args:
        output: overwritten by the pieces from all ranks.
        input: the tensor to split.
        output_split_sizes: the length of the piece from each rank; equal if not given.
        input_split_sizes: the length of the piece for each rank; equal if not given.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    expect("output", output)
    expect("input", input)
    ranks = groups.member(group, "all_to_all_single")
    if ranks is None:
        return None
    expect_one_dtype(output, input)
    sizes = _splits(ranks, input, input_split_sizes)
    expected = _splits(ranks, output, output_split_sizes)
    memory, finish = filled(output)
    return _all_to_all(ranks, "all_to_all_single", elements(input), sizes, memory, expected, finish, [output], async_op)


def _splits(ranks: ProcessGroup, tensor: Tensor, given: Sequence[int] | None) -> list[int]:
    """The number of a tensor's elements sent to, or received from, each rank."""
    length = tensor.shape[0] if tensor.dim() else 0
    if not given:
        if length % ranks.size():
            words = f"Tensor's dim 0 does not divide equally across group size: {length} rows on {ranks.size()} ranks"
            raise ranks._refuse("all_to_all_single", RuntimeError(words))
        given = [length // ranks.size()] * ranks.size()
    if len(given) != ranks.size():
        raise ranks._refuse("all_to_all_single", RuntimeError("Number of tensor splits not equal to group size"))
    if sum(given) != length:
        raise ranks._refuse("all_to_all_single", RuntimeError("Split sizes doesn't match total dim 0 size"))
    return [size * math.prod(tensor.shape[1:]) for size in given]


@example_in_group("dist.barrier(async_op=True).wait()", "True")
def barrier(
    group: Group = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks have reached this call.

    Args:
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
        timeout: how long to wait, instead of the group's timeout.
        device_ids: accepted and ignored: there are no GPUs.
    """
    ranks = groups.member(group, "barrier")
    if ranks is None:
        return None
    work = ranks._begin("barrier", ranks._data.barrier, same=[])
    if async_op:
        return work
    work.wait(timeout)
    return None


@example_in_group("dist.monitored_barrier()")
def monitored_barrier(group: Group = None, timeout: timedelta | None = None, wait_all_ranks: bool = False) -> None:
    """A barrier that detects missing ranks: rank 0 raises an error that names them.

    Args:
        group: the ranks; all, if it is not given.
        timeout: how long rank 0 waits; the group's, if it is not given.
        wait_all_ranks: whether to name all missing ranks, or only the first.
    """
    ranks = groups.member(group, "monitored_barrier")
    if ranks is None:
        return
    limit = ranks._timeout if timeout is None else check_timeout(timeout)
    end = time.monotonic() + limit.total_seconds()

    def token(way: Callable[[Array, int, int], Request], peer: int) -> Work:
        return ranks._token("monitored_barrier", way, peer, BARRIER_TAG)

    if ranks.rank():
        try:
            token(ranks._data.send, 0).wait(limit)
            token(ranks._data.receive, 0).wait(limit)
        except RuntimeError as error:
            raise RuntimeError(
                f"Rank {ranks.rank()} successfully reached monitoredBarrier, but received errors while waiting for "
                f"send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n{error}"
            ) from None
        return
    missing: list[tuple[int, RuntimeError]] = []
    for peer, work in [(peer, token(ranks._data.receive, peer)) for peer in range(1, ranks.size())]:
        try:
            work.wait(timedelta(seconds=max(0.0, end - time.monotonic())))
        except RuntimeError as error:
            missing.append((peer, error))
            if not wait_all_ranks:
                break
    if missing:
        _mpi.job.failed = True  # type: ignore[union-attr]  # tokens that never came
        ranks._broken = "Application timeout caused pair closure"
        names = ", ".join(str(peer) for peer, _ in missing)
        which = f"Ranks {names}" if wait_all_ranks else f"Rank {names}"
        original = "" if wait_all_ranks else f"\n Original exception: \n{missing[0][1]}"
        raise RuntimeError(
            f"[Rank 0]: {which} failed to pass monitoredBarrier in {limit // timedelta(milliseconds=1)} ms{original}"
        )
    for work in [token(ranks._data.send, peer) for peer in range(1, ranks.size())]:
        work.wait()
