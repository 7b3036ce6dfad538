"""torch.functional: the old home of some functions that are at the top of torch."""

from __future__ import annotations

from typing import Any

_NAMES = (
    "align_tensors", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors",
    "cartesian_prod", "cdist", "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "split", "stft", "tensordot", "unique",
    "unique_consecutive", "unravel_index",
)  # fmt: skip


__all__ = list(_NAMES)


def __getattr__(name: str) -> Any:
    import penlight

    if name in _NAMES:
        return getattr(penlight, name)
    raise AttributeError(f"module 'torch.functional' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
