"""torch._vmap_internals: the older `vmap`, which packages import still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penlight.func import vmap as vmap
from penlight.kernels.lazy import lazy_import

_tree = lazy_import(globals(), "_tree", "penlight.utils._pytree")


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """As `torch.vmap`; what a function returns may be None with `allow_none_pass_through`, which stays None."""
    if not allow_none_pass_through:
        return vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        structure: list[Any] = []

        def present(*inner: Any) -> Any:
            leaves, spec = _tree.tree_flatten(func(*inner))
            structure[:] = [spec, [leaf is None for leaf in leaves]]
            return tuple(leaf for leaf in leaves if leaf is not None)

        found = iter(vmap(present, in_dims, out_dims)(*args))
        spec, absent = structure
        return _tree.tree_unflatten([None if gone else next(found) for gone in absent], spec)

    return mapped
