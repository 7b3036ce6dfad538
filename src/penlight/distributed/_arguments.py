"""The arguments of collectives: their checks, the reductions, and the memory that MPI reads and fills."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penlight.tensor import Tensor

from ._group import ProcessGroup, get_group_rank, groups
from ._mpi import Array


class RedOpType(enum.Enum):
    """The reductions, as members of `ReduceOp`."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


class _ReduceOpMeta(type):
    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, RedOpType) or type.__instancecheck__(cls, other)


class ReduceOp(metaclass=_ReduceOpMeta):
    """The reductions: `SUM`, `AVG`, `PRODUCT`, `MIN`, `MAX`, `BAND`, `BOR`, `BXOR`.

    Args:
        op: a member.

    >>> from penlight.distributed import ReduceOp
    >>> ReduceOp.SUM, str(ReduceOp.MAX)
    (<RedOpType.SUM: 0>, 'RedOpType.MAX')
    """

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = RedOpType.SUM, RedOpType.AVG, RedOpType.PRODUCT, RedOpType.MIN, RedOpType.MAX
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM

    def __init__(self, op: Any) -> None:
        self.op: Any = getattr(op, "op", op)

    def __eq__(self, other: object) -> bool:
        return self.op is (other if isinstance(other, RedOpType) else getattr(other, "op", None))

    def __hash__(self) -> int:
        return hash(self.op)


# ----- Checks ---------------------------------------------------------------------------------------------------------


def expect(name: str, value: Any) -> None:
    """Raise unless the argument is a dense tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    if not isinstance(value._array, np.ndarray):
        raise NotImplementedError(f"torch.distributed moves dense tensors: `{name}` is not one. Use tensor.to_dense().")


def expect_list(name: str, values: Any) -> None:
    """Raise unless the argument is a list of dense tensors."""
    words = (
        f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
        f"             but got {type(values)}"
    )
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"{words} instead.")
    if not all(isinstance(value, Tensor) for value in values):
        raise TypeError(f"{words} with elements of type {[type(value) for value in values]}.")
    for value in values:
        expect(name, value)


def expect_one_dtype(*tensors: Tensor) -> None:
    """Refuse tensors of different dtypes."""
    for tensor in tensors:
        if tensor.dtype is not tensors[0].dtype:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {tensor.dtype}"
            )


def root_of(
    group: ProcessGroup, name: str, rank: int | None, group_rank: int | None, default: int | None = None
) -> int:
    """The group rank of an operation's source or destination."""
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


def expect_for_each_rank(group: ProcessGroup, name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """Raise, on all ranks, unless the list has one tensor per rank, each of this tensor's shape."""
    size, given = group.size(), len(tensors)
    words = None
    if given != size:
        should = f"{size}, same as size of the process group."
        words = {
            "allgather": f"invalid output tensor list at index 0 (expected length {size}, got {given})",
            "scatter": f"Incorrect input list size {given}. Input list size should be {should}",
            "gather": f"Incorrect output list size {given}. Output list size should be {should}",
        }[name]
    for index, tensor in enumerate(tensors):
        if words is None and tensor.shape != like.shape:
            words = f"invalid tensor size at index {index} (expected {_shape(like)}, got {_shape(tensor)})"
    if words is not None:
        raise group._refuse(name, RuntimeError(f"ProcessGroupGloo::{name}: {words}"))


def _shape(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def expect_only_at_root(group: ProcessGroup, name: str, root: int, given: Any) -> bool:
    """Raise, on all ranks, unless exactly the root passes the list of `gather` or `scatter`. Returns whether this rank is the root."""
    here = group.rank() == root
    role = "destination" if name == "gather" else "source"
    if here and not given:
        raise group._refuse(name, ValueError(f"Argument ``{name}_list`` must be specified on {role} rank."))
    if not here and given:
        words = f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks."
        raise group._refuse(name, ValueError(words))
    return here


def reduction(op: Any, name: str, tensor: Tensor) -> str:
    """The name of a reduction; raises if this tensor's dtype does not support it."""
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


# ----- Memory ---------------------------------------------------------------------------------------------------------


def elements(tensor: Tensor) -> Array:
    """A tensor's elements as a contiguous array, for reading."""
    return np.ascontiguousarray(tensor._array)


def filled(tensor: Tensor) -> tuple[Array, Callable[[], None]]:
    """A contiguous array for writing, filled with a tensor's elements, and a function that copies it back to the tensor."""
    array = tensor._array
    if array.flags.c_contiguous and array.flags.writeable:
        return array, nothing
    memory = array.copy(order="C")

    def finish() -> None:
        writeable = array if array.flags.writeable else np.lib.stride_tricks.as_strided(array, writeable=True)
        writeable[...] = memory

    return memory, finish


def nothing() -> None:
    """Do nothing: the array is the tensor's own memory."""


def reduced(tensor: Tensor, op: str, group: ProcessGroup) -> tuple[Array, Callable[[], None]]:
    """As `filled`, for the result of a reduction; the function also divides for an average."""
    memory, finish = filled(tensor)
    if op != "AVG":
        return memory, finish

    def average() -> None:
        np.divide(memory, group.size(), out=memory)
        finish()

    return memory, average


def real(array: Array) -> Array:
    """The same memory as real elements, because MPI does not reduce complex ones."""
    if array.dtype.kind != "c":
        return array
    return array.reshape(-1).view(np.float32 if array.dtype.itemsize == 8 else np.float64)


def copy_rows(rows: Sequence[Array] | Array, tensors: Sequence[Tensor]) -> None:
    """Copy each row to its tensor."""
    for row, tensor in zip(rows, tensors):
        tensor._array[...] = row.reshape(tensor._array.shape)
