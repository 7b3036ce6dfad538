"""Collectives for Python objects: they are pickled and sent as bytes, so use them only between trusted ranks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import penlight
from penlight.tensor import Tensor

from ._arguments import expect_only_at_root, root_of
from ._collectives import all_gather_single, broadcast, gather, scatter
from ._group import Group, ProcessGroup, Rank, example_in_group, groups
from ._messages import recv, send


def _pickled(value: Any) -> Tensor:
    return penlight.from_numpy(np.frombuffer(pickle.dumps(value), np.uint8).copy())


def _unpickled(tensor: Tensor, size: int) -> Any:
    return pickle.loads(tensor._array[:size].tobytes())


def _padded(tensor: Tensor, size: int) -> Tensor:
    whole = penlight.zeros(size, dtype=penlight.uint8)
    whole[: tensor.numel()] = tensor
    return whole


def _all_sizes(ranks: ProcessGroup, size: int) -> list[int]:
    sizes = penlight.zeros(ranks.size(), dtype=penlight.int64)
    all_gather_single(sizes, penlight.tensor([size]), ranks)
    return sizes.tolist()


@example_in_group('objects = [None]; dist.all_gather_object(objects, {"loss": 0.5}); objects', "[{'loss': 0.5}]")
def all_gather_object(object_list: list[Any], obj: Any, group: Group = None) -> None:
    """Collect the objects of all ranks on every rank.

    Args:
        object_list: a list with one item per rank; overwritten by the objects.
        obj: this rank's object; it must be picklable.
        group: the ranks; all, if it is not given.
    """
    ranks = groups.member(group, "all_gather_object")
    if ranks is None:
        return
    mine = _pickled(obj)
    sizes = _all_sizes(ranks, mine.numel())
    table = penlight.zeros(ranks.size(), max(sizes), dtype=penlight.uint8)
    all_gather_single(table, _padded(mine, max(sizes)), ranks)
    for position, size in enumerate(sizes):
        object_list[position] = _unpickled(table[position], size)


@example_in_group('objects = [None]; dist.gather_object({"loss": 0.5}, objects, dst=0); objects', "[{'loss': 0.5}]")
def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: Rank = None, group: Group = None, group_dst: Rank = None
) -> None:
    """Collect the objects of all ranks on rank `dst`.

    Args:
        obj: this rank's object; it must be picklable.
        object_gather_list: on rank `dst` a list with one item per rank, which is overwritten; None elsewhere.
        dst: the receiving rank, 0 if it is not given; or `group_dst`, its rank in `group`.
        group: the ranks; all, if it is not given.
    """
    ranks = groups.member(group, "gather_object")
    if ranks is None:
        return
    root = root_of(ranks, "gather", dst, group_dst, 0)
    here = expect_only_at_root(ranks, "gather", root, object_gather_list)
    mine = _pickled(obj)
    sizes = _all_sizes(ranks, mine.numel())
    rows = [penlight.zeros(max(sizes), dtype=penlight.uint8) for _ in sizes] if here else None
    gather(_padded(mine, max(sizes)), rows, group=ranks, group_dst=root)
    if rows is not None and object_gather_list is not None:
        for position, (row, size) in enumerate(zip(rows, sizes)):
            object_gather_list[position] = _unpickled(row, size)


@example_in_group('objects = [{"loss": 0.5}]; dist.broadcast_object_list(objects, src=0); objects', "[{'loss': 0.5}]")
def broadcast_object_list(
    object_list: list[Any], src: Rank = None, group: Group = None, device: Any = None, group_src: Rank = None
) -> None:
    """Copy the objects of one rank to all others.

    Args:
        object_list: the objects on rank `src`; elsewhere a list of the same length, which is overwritten.
        src: the sending rank, 0 if it is not given; or `group_src`, its rank in `group`.
        group: the ranks; all, if it is not given.
        device: accepted and ignored: there is only the CPU.
    """
    ranks = groups.member(group, "broadcast_object_list")
    if ranks is None:
        return
    root = root_of(ranks, "broadcast", src, group_src, 0)
    here = ranks.rank() == root
    pickles = [_pickled(value) for value in object_list] if here else []
    sizes = penlight.tensor([one.numel() for one in pickles] if here else [0] * len(object_list), dtype=penlight.int64)
    broadcast(sizes, group=ranks, group_src=root)
    whole = penlight.cat(pickles) if pickles else penlight.zeros(int(sizes.sum()), dtype=penlight.uint8)
    broadcast(whole, group=ranks, group_src=root)
    if not here:
        for position, (piece, size) in enumerate(zip(whole.split(sizes.tolist()), sizes.tolist())):
            object_list[position] = _unpickled(piece, size)


@example_in_group(
    'objects = [None]; dist.scatter_object_list(objects, [{"loss": 0.5}], src=0); objects', "[{'loss': 0.5}]"
)
def scatter_object_list(
    scatter_object_output_list: list[Any], scatter_object_input_list: list[Any] | None = None, src: Rank = None,
    group: Group = None, group_src: Rank = None,
) -> None:  # fmt: skip
    """Distribute the objects of rank `src`, one to each rank.

    Args:
        scatter_object_output_list: a list whose first item is overwritten.
        scatter_object_input_list: on rank `src` one object per rank.
        src: the sending rank, 0 if it is not given; or `group_src`, its rank in `group`.
        group: the ranks; all, if it is not given.
    """
    ranks = groups.member(group, "scatter_object_list")
    if ranks is None:
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    root = root_of(ranks, "scatter", src, group_src, 0)
    here = ranks.rank() == root
    pickles = [_pickled(value) for value in scatter_object_input_list or ()] if here else []
    if here and len(pickles) != ranks.size():
        words = f"scatter_object_input_list needs an object for each of {ranks.size()} ranks, but has {len(pickles)}"
        raise ranks._refuse("scatter", ValueError(words))
    sizes = penlight.tensor([one.numel() for one in pickles] if here else [0] * ranks.size(), dtype=penlight.int64)
    broadcast(sizes, group=ranks, group_src=root)
    most = int(sizes.max())
    piece = penlight.zeros(most, dtype=penlight.uint8)
    scatter(piece, [_padded(one, most) for one in pickles] if here else None, group=ranks, group_src=root)
    scatter_object_output_list[0] = _unpickled(piece, int(sizes[ranks.rank()]))


@example_in_group('if dist.get_world_size() == 2 and dist.get_rank() == 0: dist.send_object_list(["a", 1], dst=1)')
def send_object_list(
    object_list: list[Any], dst: Rank = None, group: Group = None, device: Any = None, group_dst: Rank = None,
    use_batch: bool = False,
) -> None:  # fmt: skip
    """Send objects to another rank, which calls `recv_object_list` with a list of the same length.

    Args:
        object_list: the objects; they must be picklable.
        dst: the receiver's rank in the default group; or `group_dst`, its rank in `group`.
        group: the group in which both are.
        device: accepted and ignored: there is only the CPU.
        use_batch: accepted and ignored.
    """
    pickles = [_pickled(value) for value in object_list]
    send(penlight.tensor([one.numel() for one in pickles], dtype=penlight.int64), dst, group, group_dst=group_dst)
    send(penlight.cat(pickles), dst, group, group_dst=group_dst)


@example_in_group("if dist.get_world_size() == 2 and dist.get_rank() == 1: dist.recv_object_list([None, None], src=0)")
def recv_object_list(
    object_list: list[Any], src: Rank = None, group: Group = None, device: Any = None, group_src: Rank = None,
    use_batch: bool = False,
) -> int:  # fmt: skip
    """Receive objects from another rank into a list.

    Args:
        object_list: overwritten by the objects.
        src: the sender's rank in the default group; or `group_src`, its rank in `group`. Any rank, if neither is given.
        group: the group in which both are.
        device: accepted and ignored: there is only the CPU.
        use_batch: accepted and ignored.

    Returns:
        the rank that sent them.
    """
    sizes = penlight.zeros(len(object_list), dtype=penlight.int64)
    source = recv(sizes, src, group, group_src=group_src)
    whole = penlight.zeros(int(sizes.sum()), dtype=penlight.uint8)
    recv(whole, source if group_src is None else None, group, group_src=group_src)
    for position, (piece, size) in enumerate(zip(whole.split(sizes.tolist()), sizes.tolist())):
        object_list[position] = _unpickled(piece, size)
    return source
