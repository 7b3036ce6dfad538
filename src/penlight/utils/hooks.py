"""torch.utils.hooks: the handle of a registered hook, and the hook checks of pickling."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penlight._common.user_warnings import warn_user

from .._common.arguments import explain as _explain
from ..autograd.node import RemovableHandle
from ..autograd.views import edge_of

if TYPE_CHECKING:
    from ..nn.modules._hooks import BackwardHook
    from ..tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

F = TypeVar("F", bound=Callable[..., Any])


def unserializable_hook(f: F) -> F:
    """Declare that a hook need not be saved with its tensor: `warn_if_has_hooks` ignores it.

    >>> from penlight.utils.hooks import unserializable_hook
    >>> hook = unserializable_hook(lambda grad: None)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]
    return f


def warn_if_has_hooks(tensor: Tensor) -> None:
    """Warn if a tensor has hooks, because saving loses them.

    >>> torch.utils.hooks.warn_if_has_hooks(torch.ones(1))
    """
    node, nr = edge_of(tensor)
    if node is None or node._hooks is None:
        return
    for hook in node._hooks.tensor.get(nr, {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn_user(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the "
                "function with @torch.utils.hooks.unserializable_hook to suppress this warning",
            )


def __getattr__(name: str) -> Any:
    if name == "BackwardHook":
        from ..nn.modules._hooks import BackwardHook

        return BackwardHook
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_explain(globals())
