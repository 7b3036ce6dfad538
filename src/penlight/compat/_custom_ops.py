"""torch._custom_ops: operators of other packages. What they say about shapes is accepted; the rest is refused when it is used."""

from __future__ import annotations

from typing import Any

from penlight._refused import refused_function


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """A decorator that gives back its function: what an operator gives without data is not asked."""
    return (lambda function: function) if func is None else func


_WHY = "Penlight has no dispatcher to register operators with. Use torch.library.custom_op."
custom_op, impl, get_ctx, impl_save_for_backward, impl_backward = (
    refused_function(f"_custom_ops.{name}", _WHY)
    for name in ("custom_op", "impl", "get_ctx", "impl_save_for_backward", "impl_backward")
)
