"""Operations on the tensors of all ranks of a group, and messages between two ranks.

Tensors are filled in place. An operation that involves all ranks is called by all of them, with tensors of one dtype
and number of elements; see Note [Agreement before data] for what happens otherwise. With `async_op=True` each of them
gives a `Work`, whose `wait()` comes before the tensors are used.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from penlight.tensor import Tensor

from . import _mpi
from ._group import ProcessGroup, RedOpType, ReduceOp, Work, _check_timeout, get_group_rank, groups
from ._mpi import Array, Request

BARRIER_TAG = 30002


# ----- Arguments ------------------------------------------------------------------------------------------------------


def _expect(value: Any, name: str) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    if not isinstance(value._array, np.ndarray):
        raise NotImplementedError(f"torch.distributed moves dense tensors: `{name}` is not one. Use tensor.to_dense().")


def _expect_list(values: Any, name: str) -> None:
    words = (
        f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
        f"             but got {type(values)}"
    )
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{words} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        raise TypeError(f"{words} with elements of type {[type(value) for value in values]}.")
    for value in values:
        _expect(value, name)


def _one_dtype(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        if tensor.dtype is not tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {tensor.dtype}"
            )


def _root(group: ProcessGroup, name: str, rank: int | None, group_rank: int | None, default: int | None = None) -> int:
    """The rank in the group that an operation begins or ends at."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is None:
        rank = default if rank is None else rank
        if rank is None:
            raise ValueError("Must specify global_rank or group_rank")
        group_rank = rank if group is groups.default() else get_group_rank(group, rank)
    if not 0 <= group_rank < group.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {group_rank}")
    return group_rank


def _reduction(op: Any, name: str, tensor: Tensor) -> str:
    """The name of a reduction, which this tensor's dtype must allow."""
    op = getattr(op, "op", op)
    if not isinstance(op, RedOpType) or op is RedOpType.PREMUL_SUM:
        raise TypeError(f"{name}(): incompatible function arguments: {op!r} is no reduction that there is on the CPU")
    if tensor.is_complex() and op not in (RedOpType.SUM, RedOpType.AVG):
        raise ValueError(f"{name} does not support {op} on complex tensors")
    if op in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR) and tensor.is_floating_point():
        raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
    if op is RedOpType.AVG and not (tensor.is_floating_point() or tensor.is_complex()):
        kind = tensor.type().rpartition(".")[2].removesuffix("Tensor")
        raise RuntimeError(f"result type Float can't be cast to the desired output type {kind}")
    return op.name


def _sent(tensor: Tensor) -> Array:
    """A tensor's elements in contiguous memory."""
    return np.ascontiguousarray(tensor._array)


def _filled(tensor: Tensor) -> tuple[Array, Callable[[], None] | None]:
    """A tensor's elements in contiguous memory to be written to, and what copies it back if it is not the tensor's."""
    array = tensor._array
    if array.flags.c_contiguous and array.flags.writeable:
        return array, None
    memory = array.copy(order="C")

    def back() -> None:
        if array.flags.writeable:
            array[...] = memory
        else:
            np.lib.stride_tricks.as_strided(array, writeable=True)[...] = memory

    return memory, back


def _real(array: Array) -> Array:
    """The same memory in numbers that MPI reduces: complex ones are pairs."""
    if array.dtype.kind != "c":
        return array
    return array.reshape(-1).view(np.float32 if array.dtype.itemsize == 8 else np.float64)


def _averaged(array: Array, op: str, group: ProcessGroup) -> None:
    if op == "AVG":
        np.divide(array, group.size(), out=array)


def _what(tensor: Tensor, *more: Any) -> list[Any]:
    """What must be equal on all ranks."""
    return [tensor.dtype, f"{tensor.numel()} elements", *more]


def _done(work: Work, async_op: bool) -> Work | None:
    if async_op:
        return work
    work.wait()
    return None


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def _check_shapes(group: ProcessGroup, name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """Refuse, on all ranks, a list of tensors that are not as many as the ranks, or not shaped like this one."""
    error: Exception | None = None
    if len(tensors) != group.size():
        should = f"{group.size()}, same as size of the process group."
        known = {
            "allgather": f"invalid output tensor list at index 0 (expected length {group.size()}, got {len(tensors)})",
            "scatter": f"Incorrect input list size {len(tensors)}. Input list size should be {should}",
            "gather": f"Incorrect output list size {len(tensors)}. Output list size should be {should}",
        }
        words = known.get(name, f"invalid tensor list (expected length {group.size()}, got {len(tensors)})")
        error = RuntimeError(f"ProcessGroupGloo::{name}: {words}")
    else:
        for place, tensor in enumerate(tensors):
            if tensor.shape != like.shape:
                error = RuntimeError(
                    f"ProcessGroupGloo::{name}: invalid tensor size at index {place} "
                    f"(expected {_shape(like)}, got {_shape(tensor)})"
                )
                break
    if error is not None:
        raise group._refuse(name, error)


def _check_only_at_root(group: ProcessGroup, name: str, here: bool, given: Any) -> None:
    """Refuse, on all ranks, the list of `gather` or `scatter` where it is missing, or where it has no use."""
    role = "destination" if name == "gather" else "source"
    if here and not given:
        raise group._refuse(name, ValueError(f"Argument ``{name}_list`` must be specified on {role} rank."))
    if not here and given:
        words = f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks."
        raise group._refuse(name, ValueError(words))


def _deprecated(old: str, new: str) -> None:
    warnings.warn(
        f"`torch.distributed.{old}` is deprecated. Please use `torch.distributed.{new}` instead.",
        FutureWarning,
        stacklevel=3,
    )


# ----- All ranks ------------------------------------------------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks into one, which every rank's tensor becomes.

    Args:
        tensor: what is reduced, and overwritten by the result.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.

    >>> import penlight as torch, penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> x = torch.ones(2)
    >>> dist.all_reduce(x); x
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _expect(tensor, "tensor")
    ranks = groups.member(group, "all_reduce")
    if ranks is None:
        return None
    name = _reduction(op, "all_reduce", tensor)
    memory, back = _filled(tensor)

    def finish() -> None:
        _averaged(memory, name, ranks)
        if back is not None:
            back()

    work = ranks._begin(
        "all_reduce", lambda: ranks._data.all_reduce(_real(memory), name), same=_what(tensor, name), finish=finish,
        result=[tensor], size=memory.nbytes,
    )  # fmt: skip
    return _done(work, async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Any:
    """`all_reduce` of several tensors; the last `Work` of them with `async_op`, which ends after the others."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    _expect_list(tensors, "tensor")
    works = [all_reduce(tensor, op, group, async_op=True) for tensor in tensors]
    if async_op:
        return works[-1]
    for work in works:
        if work is not None:
            work.wait()
    return None


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give the tensor of one rank to all: every other rank's tensor is overwritten.

    Args:
        tensor: what is sent on rank `src`, and overwritten elsewhere.
        src: the rank that sends, by its number in the default group; or `group_src`, by its number in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(tensor, "tensor")
    ranks = groups.member(group, "broadcast")
    if ranks is None:
        return None
    root = _root(ranks, "broadcast", src, group_src)
    memory, back = _filled(tensor)
    work = ranks._begin(
        "broadcast", lambda: ranks._data.broadcast(memory, root), same=_what(tensor, f"from rank {root}"), finish=back,
        result=[tensor], size=memory.nbytes,
    )  # fmt: skip
    return _done(work, async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce the tensors of all ranks into that of rank `dst`; the others stay as they are.

    Args:
        tensor: what is reduced, and on rank `dst` overwritten by the result.
        dst: the rank that gets it, by its number in the default group; or `group_dst`, by its number in `group`.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(tensor, "tensor")
    ranks = groups.member(group, "reduce")
    if ranks is None:
        return None
    root = _root(ranks, "reduce", dst, group_dst)
    name = _reduction(op, "reduce", tensor)
    memory, back = _filled(tensor)

    def finish() -> None:
        if ranks.rank() == root:
            _averaged(memory, name, ranks)
            if back is not None:
                back()

    work = ranks._begin(
        "reduce", lambda: ranks._data.reduce(_real(memory), name, root), same=_what(tensor, name, f"to rank {root}"),
        finish=finish, result=[tensor], size=memory.nbytes,
    )  # fmt: skip
    return _done(work, async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every rank the tensors of all.

    Args:
        tensor_list: a tensor for each rank, which is overwritten by that rank's.
        tensor: what this rank gives.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect_list(tensor_list, "tensor_list")
    _expect(tensor, "tensor")
    _one_dtype([*tensor_list, tensor])
    ranks = groups.member(group, "all_gather")
    if ranks is None:
        return None
    _check_shapes(ranks, "allgather", tensor_list, tensor)
    sent = _sent(tensor)
    received = np.empty((ranks.size(), *sent.shape), sent.dtype)
    return _done(
        ranks._begin(
            "all_gather", lambda: ranks._data.all_gather(sent, received), same=_what(tensor), result=list(tensor_list),
            finish=lambda: _deal(received, tensor_list), size=received.nbytes,
        ),
        async_op,
    )  # fmt: skip


def _deal(received: Array, tensors: Sequence[Tensor]) -> None:
    """Copy the rows of an array to tensors."""
    for row, tensor in zip(received, tensors):
        tensor._array[...] = row.reshape(tensor._array.shape)


def all_gather_coalesced(
    output_tensor_lists: Sequence[Sequence[Tensor]],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Any:
    """`all_gather` of several tensors; `output_tensor_lists` has a list for each rank."""
    _expect_list(input_tensor_list, "tensor_list")
    works = [
        all_gather([outputs[place] for outputs in output_tensor_lists], tensor, group, async_op=True)
        for place, tensor in enumerate(input_tensor_list)
    ]
    if async_op:
        return works[-1].get_future() if works and works[-1] is not None else None
    for work in works:
        if work is not None:
            work.wait()
    return None


def all_gather_single(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every rank the tensors of all, one after the other in one tensor.

    Args:
        output_tensor: overwritten; for the tensors of all ranks, joined by `cat` or by `stack`.
        input_tensor: what this rank gives.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(input_tensor, "input_tensor")
    _expect(output_tensor, "output_tensor")
    ranks = groups.member(group, "all_gather_into_tensor")
    if ranks is None:
        return None
    given, wanted = tuple(input_tensor.shape), tuple(output_tensor.shape)
    joined = ((ranks.size() * given[0], *given[1:]) if given else (ranks.size(),), (ranks.size(), *given))
    if output_tensor.dtype is not input_tensor.dtype:
        words = f"invalid tensor type at index 0 (expected {input_tensor.dtype}, got {output_tensor.dtype})"
        raise ranks._refuse("all_gather_into_tensor", RuntimeError(f"ProcessGroupGloo::allgather: {words}"))
    if wanted not in joined:
        words = f"invalid tensor size at index 0 (expected {joined[0]} or {joined[1]} for the whole, got {wanted})"
        raise ranks._refuse("all_gather_into_tensor", RuntimeError(f"ProcessGroupGloo::allgather: {words}"))
    sent = _sent(input_tensor)
    memory, back = _filled(output_tensor)
    work = ranks._begin(
        "all_gather_into_tensor", lambda: ranks._data.all_gather(sent, memory), same=_what(input_tensor), finish=back,
        result=[output_tensor], size=memory.nbytes,
    )  # fmt: skip
    return _done(work, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """The older name of `all_gather_single`."""
    _deprecated("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: Sequence[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Give rank `dst` the tensors of all.

    Args:
        tensor: what this rank gives.
        gather_list: on rank `dst` a tensor for each rank, which is overwritten by that rank's; None elsewhere.
        dst: the rank that gets them, 0 if it is not given; or `group_dst`, by its number in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(tensor, "tensor")
    ranks = groups.member(group, "gather")
    if ranks is None:
        return None
    root = _root(ranks, "gather", dst, group_dst, 0)
    here = ranks.rank() == root
    _check_only_at_root(ranks, "gather", here, gather_list)
    sent, received = _sent(tensor), None
    if here:
        assert gather_list is not None
        _expect_list(gather_list, "gather_list")
        _one_dtype([*gather_list, tensor])
        _check_shapes(ranks, "gather", gather_list, tensor)
        received = np.empty((ranks.size(), *sent.shape), sent.dtype)
    work = ranks._begin(
        "gather", lambda: ranks._data.gather(sent, received, root), same=_what(tensor, f"to rank {root}"),
        finish=lambda: None if received is None or gather_list is None else _deal(received, gather_list),
        result=list(gather_list or ()), size=sent.nbytes * ranks.size(),
    )  # fmt: skip
    return _done(work, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: Sequence[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give each rank one of the tensors of rank `src`.

    Args:
        tensor: overwritten.
        scatter_list: on rank `src` a tensor for each rank; None elsewhere.
        src: the rank that has them, 0 if it is not given; or `group_src`, by its number in `group`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(tensor, "tensor")
    ranks = groups.member(group, "scatter")
    if ranks is None:
        return None
    root = _root(ranks, "scatter", src, group_src, 0)
    here = ranks.rank() == root
    _check_only_at_root(ranks, "scatter", here, scatter_list)
    sent = None
    if here:
        assert scatter_list is not None
        _expect_list(scatter_list, "scatter_list")
        _one_dtype([*scatter_list, tensor])
        _check_shapes(ranks, "scatter", scatter_list, tensor)
        sent = np.stack([one._array for one in scatter_list])
    memory, back = _filled(tensor)
    work = ranks._begin(
        "scatter",
        lambda: ranks._data.scatter(sent, memory, root),
        same=_what(tensor, f"from rank {root}"),
        finish=back,
        result=[tensor],
        size=memory.nbytes * ranks.size(),
    )
    return _done(work, async_op)


def reduce_scatter(
    output: Tensor,
    input_list: Sequence[Tensor],
    op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce lists of tensors over the ranks, and give each rank one of the results.

    Args:
        output: overwritten by the reduction of all ranks' `input_list[rank]`.
        input_list: a tensor for each rank.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(output, "output")
    _expect_list(input_list, "input_list")
    _one_dtype([*input_list, output])
    ranks = groups.member(group, "reduce_scatter")
    if ranks is None:
        return None
    if len(input_list) != ranks.size():
        words = "invalid input tensor list size, must be world size"
        raise ranks._refuse("reduce_scatter", RuntimeError(words))
    _check_shapes(ranks, "reduce_scatter", input_list, output)
    sent = np.stack([one._array for one in input_list])
    return _reduce_scatter(ranks, "reduce_scatter", output, sent, op, async_op)


def _reduce_scatter(
    ranks: ProcessGroup, called: str, output: Tensor, sent: Array, op: Any, async_op: bool
) -> Work | None:
    name = _reduction(op, called, output)
    memory, back = _filled(output)

    def finish() -> None:
        _averaged(memory, name, ranks)
        if back is not None:
            back()

    def start() -> Request:
        return ranks._data.reduce_scatter(_real(sent), _real(memory), name)

    work = ranks._begin(called, start, same=_what(output, name), finish=finish, result=[output], size=sent.nbytes)
    return _done(work, async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduce the tensors of all ranks, and give each rank one of equal pieces of the result.

    Args:
        output: overwritten by this rank's piece.
        input: as many times as large as `output` as there are ranks, joined by `cat` or `stack`.
        op: a member of `ReduceOp`.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(output, "output")
    _expect(input, "input")
    ranks = groups.member(group, "reduce_scatter_tensor")
    if ranks is None:
        return None
    _one_dtype([input, output])
    if input.numel() != output.numel() * ranks.size():
        words = (
            f"Check failed: the input has {input.numel()} elements, and the output {output.numel()} on each of "
            f"{ranks.size()} ranks ({output.numel() * ranks.size()} vs. {input.numel()})."
        )
        raise ranks._refuse("reduce_scatter_tensor", RuntimeError(words))
    return _reduce_scatter(ranks, "reduce_scatter_tensor", output, _sent(input), op, async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """The older name of `reduce_scatter_single`."""
    _deprecated("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: Sequence[Tensor],
    input_tensor_list: Sequence[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give each rank one tensor, and get one from each. Sizes may differ, if both sides know them.

    Args:
        output_tensor_list: a tensor for each rank, which is overwritten by what that rank sends.
        input_tensor_list: a tensor for each rank: what it gets.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect_list(output_tensor_list, "output_tensor_list")
    _expect_list(input_tensor_list, "input_tensor_list")
    _one_dtype([*output_tensor_list, *input_tensor_list])
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
        _deal(np.split(received, np.cumsum(expected)[:-1]), output_tensor_list)  # type: ignore[arg-type]

    return _all_to_all(ranks, "all_to_all", sent, sizes, received, expected, finish, list(output_tensor_list), async_op)


def _all_to_all(
    ranks: ProcessGroup, called: str, sent: Array, sizes: Sequence[int], received: Array, expected: Sequence[int],
    finish: Callable[[], None] | None, result: list[Tensor], async_op: bool,
) -> Work | None:  # fmt: skip
    """Exchange pieces of arrays, after all ranks know how many elements each of them sends and expects."""
    plan = np.empty((ranks.size(), 2, ranks.size()), np.int64)
    mine = np.array([sizes, expected], np.int64)
    item = sent.dtype.itemsize
    told = ranks._begin(called, lambda: ranks._data.all_gather(mine, plan), same=[sent.dtype.name])

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
        if finish is not None:
            finish()

    return _done(
        ranks._begin(called, start, same=None, after=told, finish=end, result=result, size=sent.nbytes), async_op
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Cut a tensor along its first dimension, give each rank one piece, and join the pieces that come from each.

    Args:
        output: overwritten by the pieces from each rank.
        input: what is cut.
        output_split_sizes: how long the piece from each rank is; equally long, if it is not given.
        input_split_sizes: how long the piece for each rank is; equally long, if it is not given.
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
    """
    _expect(output, "output")
    _expect(input, "input")
    ranks = groups.member(group, "all_to_all_single")
    if ranks is None:
        return None
    _one_dtype([output, input])
    sizes = _splits(ranks, input, input_split_sizes)
    expected = _splits(ranks, output, output_split_sizes)
    memory, back = _filled(output)
    return _all_to_all(ranks, "all_to_all_single", _sent(input), sizes, memory, expected, back, [output], async_op)


def _splits(ranks: ProcessGroup, tensor: Tensor, given: Sequence[int] | None) -> list[int]:
    """How many elements of a tensor go to, or come from, each rank."""
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


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None, timeout: timedelta | None = None
) -> Work | None:
    """Wait until all ranks have come here.

    Args:
        group: the ranks; all, if it is not given.
        async_op: whether to return a `Work` instead of waiting.
        timeout: how long to wait, instead of the group's timeout.
    """
    ranks = groups.member(group, "barrier")
    if ranks is None:
        return None
    work = ranks._begin("barrier", ranks._data.barrier, same=[])
    if async_op:
        return work
    work.wait(timeout)
    return None


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """A barrier that tells which ranks have not come: rank 0 raises an error that names them.

    Args:
        group: the ranks; all, if it is not given.
        timeout: how long rank 0 waits; the group's, if it is not given.
        wait_all_ranks: whether to name all ranks that have not come, or the first.
    """
    ranks = groups.member(group, "monitored_barrier")
    if ranks is None:
        return
    limit = ranks._timeout if timeout is None else timeout
    _check_timeout(limit)
    end = time.monotonic() + limit.total_seconds()
    nothing = np.zeros(0, np.uint8)

    def token(way: Callable[[Array, int, int], Request], peer: int) -> Work:
        called = "monitored_barrier"
        return ranks._begin(
            called, lambda: way(nothing, peer, BARRIER_TAG), same=None, peers=frozenset([ranks._ranks[peer]])
        )

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


# ----- Two ranks ------------------------------------------------------------------------------------------------------


def _peer(ranks: ProcessGroup, role: str, rank: int | None, group_rank: int | None) -> int:
    peer = _root(ranks, role, rank, group_rank)
    if peer == ranks.rank():
        raise ValueError(f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.")
    return peer


def _contiguous(tensor: Tensor) -> Array:
    _expect(tensor, "tensor")
    if not tensor.is_contiguous():
        raise RuntimeError("input tensor has to be contiguous")
    return tensor._array


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work | None:
    """Start to send a tensor to another rank.

    Args:
        tensor: what is sent; it stays as it is until the work is done.
        dst: the rank that gets it, by its number in the default group; or `group_dst`, by its number in `group`.
        group: the group in which both are.
        tag: a number by which the receiver knows the message.

    Returns a `Work`.
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


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work | None:
    """Start to receive a tensor from another rank.

    Args:
        tensor: overwritten.
        src: the rank that sends, by its number in the default group; or `group_src`, by its number in `group`.
            Any rank, if neither is given.
        group: the group in which both are.
        tag: the number that the sender gave the message.

    Returns a `Work`.
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


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Send a tensor to another rank; see `isend` for the arguments."""
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receive a tensor from another rank; see `irecv` for the arguments. Returns the rank that sent it."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


class P2POp:
    """One of the messages of `batch_isend_irecv`.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent or overwritten.
        peer: the other rank, by its number in the default group; or `group_peer`, by its number in `group`.
        group: the group in which both are.
        tag: a number by which both know the message.
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: ProcessGroup | None = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        _expect(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = groups.find(group)
        self.group_peer = _root(self.group, "p2p", peer, group_peer)
        self.peer = self.group._ranks[self.group_peer]

    def __repr__(self) -> str:
        ranks = (self.group.rank(), self.group_peer)
        source, to = ranks if self.op is isend else ranks[::-1]
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={source}, group_dst={to},  "
            f"{self.tensor.shape}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several sends and receives; a `Work` for each."""
    if not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    p2p_op_list[0]  # none is refused
    return [op.op(op.tensor, group=op.group, tag=op.tag, **{_PEER[op.op]: op.group_peer}) for op in p2p_op_list]


_PEER = {isend: "group_dst", irecv: "group_src"}
