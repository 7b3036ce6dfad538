"""torch._C._functorch: tensors inside transformed functions, what they hold, and the steps of `vmap` one by one."""

from __future__ import annotations

from typing import Any

from penlight.func.batched import Batched
from penlight.func.level import BatchLevel
from penlight.func.mapping import _add_batch_dim as _add_batch_dim, _remove_batch_dim as _remove_batch_dim


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one of many inside of `vmap`."""
    return isinstance(tensor, Batched)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """False: tensors inside of `grad` and `jvp` are not wrapped."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_gradtrackingtensor


def get_unwrapped(tensor: Any) -> Any:
    """What a tensor inside of `vmap` holds: all samples, the batch in dimension 0."""
    return tensor._value if is_batchedtensor(tensor) else tensor


def maybe_get_bdim(tensor: Any) -> int:
    """Which dimension of what a tensor holds is the batch: 0, or -1 for a tensor outside of `vmap`."""
    return 0 if is_batchedtensor(tensor) else -1


def maybe_get_level(tensor: Any) -> int:
    """The number of the `vmap` that a tensor is one sample of, or -1."""
    return tensor._level.number if is_batchedtensor(tensor) else -1


_opened: list[Any] = []


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Open a level of `vmap`; its number."""
    _opened.append(BatchLevel(batch_size, randomness).__enter__())
    return _opened[-1].number


def _vmap_decrement_nesting() -> int:
    """Close the level that was opened last; its number."""
    level = _opened.pop()
    level.__exit__()
    return level.number
