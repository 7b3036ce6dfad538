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
    """Refuse what is not a dense tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(value)} instead."
        )
    if not isinstance(value._array, np.ndarray):
        raise NotImplementedError(f"torch.distributed moves dense tensors: `{name}` is not one. Use tensor.to_dense().")


def expect_list(name: str, values: Any) -> None:
    """Refuse what is not a list of dense tensors."""
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


def expect_for_each_rank(group: ProcessGroup, name: str, tensors: Sequence[Tensor], like: Tensor) -> None:
    """Refuse, on all ranks, a list of tensors that are not as many as the ranks, or not shaped like this one."""
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
    """Refuse, on all ranks, the list of `gather` or `scatter` where it is missing or of no use; whether this is `root`."""
    here = group.rank() == root
    role = "destination" if name == "gather" else "source"
    if here and not given:
        raise group._refuse(name, ValueError(f"Argument ``{name}_list`` must be specified on {role} rank."))
    if not here and given:
        words = f"Argument ``{name}_list`` must NOT be specified on non-{role} ranks."
        raise group._refuse(name, ValueError(words))
    return here


def reduction(op: Any, name: str, tensor: Tensor) -> str:
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


# ----- Memory ---------------------------------------------------------------------------------------------------------


def elements(tensor: Tensor) -> Array:
    """A tensor's elements in contiguous memory, to be read."""
    return np.ascontiguousarray(tensor._array)


def filled(tensor: Tensor) -> tuple[Array, Callable[[], None]]:
    """Contiguous memory with a tensor's elements, to be written to, and what brings it to the tensor."""
    array = tensor._array
    if array.flags.c_contiguous and array.flags.writeable:
        return array, nothing
    memory = array.copy(order="C")

    def finish() -> None:
        writeable = array if array.flags.writeable else np.lib.stride_tricks.as_strided(array, writeable=True)
        writeable[...] = memory

    return memory, finish


def nothing() -> None:
    """Do nothing: the memory is the tensor's."""


def reduced(tensor: Tensor, op: str, group: ProcessGroup) -> tuple[Array, Callable[[], None]]:
    """The same for the result of a reduction, of which an average is made at the end."""
    memory, finish = filled(tensor)
    if op != "AVG":
        return memory, finish

    def average() -> None:
        np.divide(memory, group.size(), out=memory)
        finish()

    return memory, average


def real(array: Array) -> Array:
    """The same memory as real elements, which MPI reduces: complex ones are pairs of them."""
    if array.dtype.kind != "c":
        return array
    return array.reshape(-1).view(np.float32 if array.dtype.itemsize == 8 else np.float64)


def copy_rows(rows: Sequence[Array] | Array, tensors: Sequence[Tensor]) -> None:
    """Copy each row to its tensor."""
    for row, tensor in zip(rows, tensors):
        tensor._array[...] = row.reshape(tensor._array.shape)
