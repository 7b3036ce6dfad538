"""Switches of PyTorch's engine that do not change results: accepted and remembered, otherwise without effect.

The engine here runs in the calling thread, always gives `.grad` the layout of its tensor, and regenerates views itself.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .grad_mode import _Decorator
from .saved import versions_of

if TYPE_CHECKING:
    from ..tensor import Tensor

_DecoratorContextManager = _Decorator

_multithreading: ContextVar[bool] = ContextVar("penlight_multithreading", default=True)
_layout: ContextVar[bool] = ContextVar("penlight_grad_layout_policy", default=True)
_view_replay: ContextVar[bool] = ContextVar("penlight_view_replay", default=False)


class _Switch(_Decorator):
    """A setting: immediate as a function, for a block as a context manager, for calls as a decorator."""

    _flag: ContextVar[bool]

    def __init__(self, mode: bool) -> None:
        self.prev, self.mode = self._flag.get(), mode
        self._flag.set(mode)

    def __call__(self, function: Callable[..., Any]) -> Any:
        self._flag.set(self.prev)
        return super().__call__(function)

    def __enter__(self) -> None:
        self._flag.set(self.mode)

    def __exit__(self, *exc: object) -> None:
        self._flag.set(self.prev)

    def clone(self) -> Any:
        """Another one with the same settings."""
        return type(self)(self.mode)


class set_multithreading_enabled(_Switch):
    """Whether backward may use several threads; here it never does.

    >>> with torch.autograd.set_multithreading_enabled(False):
    ...     torch.autograd.is_multithreading_enabled()
    False
    """

    _flag = _multithreading


class enforce_grad_layout_policy(_Switch):
    """Whether `.grad` must have the layout of its tensor; here it always does.

    >>> with torch.autograd.enforce_grad_layout_policy(True):
    ...     pass
    """

    _flag = _layout

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _force_original_view_tracking(_Switch):
    _flag = _view_replay


class _unsafe_preserve_version_counter(_Decorator):
    """Inside, autograd does not notice writes to these tensors: their versions are restored."""

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        if not isinstance(tensors, tuple):
            if not hasattr(tensors, "_array"):
                raise AssertionError("Expected tensors to be a tuple")
            tensors = (tensors,)
        self.tensors: tuple[Tensor, ...] = tensors
        self.prev_versions = tuple(t._version for t in self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions):
            versions_of(tensor)[0] = version

    def clone(self) -> _unsafe_preserve_version_counter:
        return _unsafe_preserve_version_counter(self.tensors)


def is_multithreading_enabled() -> bool:
    """The last setting of `set_multithreading_enabled`.

    >>> torch.autograd.is_multithreading_enabled()
    True
    """
    return _multithreading.get()


def is_view_replay_enabled() -> bool:
    """Whether views are always regenerated op by op.

    >>> torch.autograd.is_view_replay_enabled()
    False
    """
    return _view_replay.get()
