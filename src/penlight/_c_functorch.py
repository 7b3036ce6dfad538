"""torch._C._functorch: questions about tensors inside transformed functions. Its layers of wrapping are refused."""

from __future__ import annotations

from typing import Any

from ._refused import refused_function


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one of many inside of `vmap`."""
    from .func.batched import Batched

    return isinstance(tensor, Batched)


is_functorch_wrapped_tensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Any) -> bool:
    """False: tensors inside of `grad` and `jvp` are not wrapped."""
    return False


is_functionaltensor = is_legacy_batchedtensor = is_gradtrackingtensor

_WHY = "Penlight's transforms are built otherwise. Use torch.vmap and torch.func."
_add_batch_dim = refused_function("_C._functorch._add_batch_dim", _WHY)
_remove_batch_dim = refused_function("_C._functorch._remove_batch_dim", _WHY)
_vmap_increment_nesting = refused_function("_C._functorch._vmap_increment_nesting", _WHY)
_vmap_decrement_nesting = refused_function("_C._functorch._vmap_decrement_nesting", _WHY)
get_unwrapped = refused_function("_C._functorch.get_unwrapped", _WHY)
maybe_get_bdim = refused_function("_C._functorch.maybe_get_bdim", _WHY)
maybe_get_level = refused_function("_C._functorch.maybe_get_level", _WHY)
