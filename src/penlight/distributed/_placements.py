"""DTensor placements: descriptions of how a tensor is distributed, which packages construct at import.

Penlight has no distributed tensors. `DTensor`, `distribute_tensor` and `parallelize_module` raise when they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Placement:
    """Base class: the part of a tensor that each process would hold.

    >>> torch.distributed.tensor.Placement().is_shard()
    False
    """

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each process holds a slice, along this dimension if one is given."""
        return False

    def is_replicate(self) -> bool:
        """Whether each process holds the full tensor."""
        return False

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether each process holds a term of the tensor, reduced by this operation if one is given."""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Each process holds a slice along `dim`.

    >>> torch.distributed.tensor.Shard(0)
    Shard(dim=0)
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"

    def is_shard(self, dim: int | None = None) -> bool:
        return dim is None or dim == self.dim


@dataclass(frozen=True)
class _StridedShard(Placement):
    """Each process holds one slice of each of `split_factor` groups along `dim`."""

    dim: int
    split_factor: int = field(default=1, kw_only=True)

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process holds the full tensor.

    >>> torch.distributed.tensor.Replicate().is_replicate()
    True
    """

    def __str__(self) -> str:
        return "R"

    def is_replicate(self) -> bool:
        return True


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is the reduction, by `reduce_op`, of the processes' tensors.

    >>> torch.distributed.tensor.Partial("sum")
    Partial(sum)
    """

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"

    def is_partial(self, reduce_op: str | None = None) -> bool:
        return reduce_op is None or reduce_op == self.reduce_op
