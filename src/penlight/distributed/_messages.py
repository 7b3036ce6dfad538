"""Messages between two ranks of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penlight.tensor import Tensor

from ._arguments import expect, root_of
from ._group import Group, ProcessGroup, Rank, Work, example_in_group, groups
from ._mpi import Array


def _peer(ranks: ProcessGroup, role: str, rank: int | None, group_rank: int | None) -> int:
    peer = root_of(ranks, role, rank, group_rank)
    if peer == ranks.rank():
        raise ValueError(f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.")
    return peer


def _contiguous(tensor: Tensor) -> Array:
    expect("tensor", tensor)
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    return tensor._array


@example_in_group("if dist.get_world_size() == 2 and dist.get_rank() == 0: dist.isend(torch.ones(2), dst=1).wait()")
def isend(tensor: Tensor, dst: Rank = None, group: Group = None, tag: int = 0, group_dst: Rank = None) -> Work | None:
    """Start to send a tensor to another rank.

    Args:
        tensor: the tensor to send; do not modify it until the work is done.
        dst: the receiver's rank in the default group; or `group_dst`, its rank in `group`.
        group: the group in which both are.
        tag: a number that the receiver must match.

    Returns:
        a `Work`.
    """
    ranks = groups.member(group, "isend")
    if ranks is None:
        return None
    array = _contiguous(tensor)
    peer = _peer(ranks, "destination", dst, group_dst)
    return ranks._begin(
        "send", lambda: ranks._data.send(array, peer, tag), same=None, result=[tensor], size=array.nbytes,
        peers=frozenset([ranks._ranks[peer]]),
    )  # fmt: skip


@example_in_group("if dist.get_world_size() == 2 and dist.get_rank() == 1: dist.irecv(torch.empty(2), src=0).wait()")
def irecv(tensor: Tensor, src: Rank = None, group: Group = None, tag: int = 0, group_src: Rank = None) -> Work | None:
    """Start to receive a tensor from another rank.

    Args:
        tensor: overwritten.
        src: the sender's rank in the default group; or `group_src`, its rank in `group`.
            Any rank, if neither is given.
        group: the group in which both are.
        tag: the sender's tag.

    Returns:
        a `Work`.
    """
    ranks = groups.member(group, "irecv")
    if ranks is None:
        return None
    array = _contiguous(tensor)
    anybody = src is None and group_src is None
    peer = None if anybody else _peer(ranks, "source", src, group_src)
    peers = ranks._everyone - {ranks._global_rank} if peer is None else frozenset([ranks._ranks[peer]])
    return ranks._begin(
        "recv",
        lambda: ranks._data.receive(array, peer, tag),
        same=None,
        result=[tensor],
        size=array.nbytes,
        peers=peers,
    )


@example_in_group("if dist.get_world_size() == 2 and dist.get_rank() == 0: dist.send(torch.ones(2), dst=1)")
def send(tensor: Tensor, dst: Rank = None, group: Group = None, tag: int = 0, group_dst: Rank = None) -> None:
    """Send a tensor to another rank, and wait until it may be modified.

    Args:
        tensor: the tensor to send.
        dst: the receiver's rank in the default group; or `group_dst`, its rank in `group`.
        group: the group in which both are.
        tag: a number that the receiver must match.
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


@example_in_group("if dist.get_world_size() == 2 and dist.get_rank() == 1: dist.recv(torch.empty(2), src=0)")
def recv(tensor: Tensor, src: Rank = None, group: Group = None, tag: int = 0, group_src: Rank = None) -> int:
    """Receive a tensor from another rank, and wait for it.

    Args:
        tensor: overwritten.
        src: the sender's rank in the default group; or `group_src`, its rank in `group`. Any rank, if neither is given.
        group: the group in which both are.
        tag: the sender's tag.

    Returns:
        the rank that sent it.
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


@example_in_group("dist.P2POp(dist.isend, torch.ones(2), peer=0).tensor", "tensor([1., 1.])")
class P2POp:
    """One of the messages of `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: the tensor to send or overwrite.
        peer: the other process's rank in the default group; or `group_peer`, its rank in `group`.
        group: the group in which both are.
        tag: a number that both sides must match.
    """

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: Rank = None, group: Group = None, tag: int = 0,
        group_peer: Rank = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        expect("tensor", tensor)
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = groups.find(group)
        self.group_peer = root_of(self.group, "p2p", peer, group_peer)
        self.peer = self.group._ranks[self.group_peer]

    def __repr__(self) -> str:
        ranks = (self.group.rank(), self.group_peer)
        source, to = ranks if self.op is isend else ranks[::-1]
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={to},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several sends and receives.

    Args:
        p2p_op_list: a `P2POp` for each.

    Returns:
        a list with a `Work` for each.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> peers = [rank for rank in range(dist.get_world_size()) if rank != dist.get_rank()]
    >>> messages = [dist.P2POp(dist.isend, torch.ones(2), peer) for peer in peers]
    >>> messages += [dist.P2POp(dist.irecv, torch.empty(2), peer) for peer in peers]
    >>> if messages:  # there are none in a group of one process
    ...     for work in dist.batch_isend_irecv(messages):
    ...         work.wait()
    >>> dist.destroy_process_group()
    """
    if not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    p2p_op_list[0]  # raises for an empty list
    return [op.op(op.tensor, group=op.group, tag=op.tag, **{_PEER[op.op]: op.group_peer}) for op in p2p_op_list]


_PEER = {isend: "group_dst", irecv: "group_src"}
