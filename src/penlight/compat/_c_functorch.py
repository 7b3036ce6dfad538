"""torch._C._functorch: queries about tensors inside transformed functions, and the separate steps of `vmap`."""

from __future__ import annotations

from typing import Any

from penlight.func.batched import Batched
from penlight.func.level import BatchLevel
from penlight.func.mapping import _add_batch_dim as _add_batch_dim, _remove_batch_dim as _remove_batch_dim


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is batched by `vmap`."""
    return isinstance(tensor, Batched)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """False: tensors inside of `grad` and `jvp` are not wrapped."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_gradtrackingtensor


def get_unwrapped(tensor: Any) -> Any:
    """The full tensor behind a tensor inside `vmap`: all samples, with the batch in dimension 0."""
    return tensor._value if is_batchedtensor(tensor) else tensor


def maybe_get_bdim(tensor: Any) -> int:
    """The batch dimension of the full tensor: 0, or -1 for a tensor outside `vmap`."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """The level of the `vmap` that batches a tensor, or -1."""
    return tensor._level.number if is_batchedtensor(tensor) else -1


_opened: list[Any] = []


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Open a level of `vmap`, and return its number."""
    _opened.append(BatchLevel(batch_size, randomness).__enter__())
    return _opened[-1].number


def _vmap_decrement_nesting() -> int:
    """Close the innermost level, and return its number."""
    level = _opened.pop()
    level.__exit__()
    return level.number
