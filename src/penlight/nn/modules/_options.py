"""Modules without parameters: a function and its options."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, ClassVar

from penlight import Tensor
from penlight._common.declared_classes import argument_names, declared_init

from .module import Module


class Options(Module):
    """A module that holds the options of a function, which its `forward` calls.

    A class names its `function`, and lists its options once, in the signature of `__init__`. The function takes them in this order after
    the tensors. `shown` is the format string for printing them. In a class with either keyword, `__init__` has no body: it calls
    `_set_options` and `_check`, which a class may extend.

    >>> class Scaled(Unary, function=torch.mul, shown="by={self.by}"):
    ...     def __init__(self, by: float = 2.0) -> None: ...
    >>> Scaled(3.0), Scaled()(torch.ones(1))
    (Scaled(by=3.0), tensor([2.]))
    """

    _shown: ClassVar[str] = ""
    _tensor_options: ClassVar[tuple[str, ...]] = ()  # options that are buffers
    _not_kept: ClassVar[tuple[str, ...]] = ()  # options for which the function gets None
    _none: ClassVar[None] = None
    _function: ClassVar[Callable[..., Any]]
    _values: ClassVar[Any] = ()  # returns a tuple of a module's options, if there are several

    def __init_subclass__(
        cls, function: Callable[..., Any] | None = None, shown: str | None = None, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if shown is not None:
            cls._shown = shown
        if function is not None:
            cls._function = staticmethod(function)
        if (function is not None or shown is not None) and "__init__" in vars(cls):
            kept = ["_none" if name in cls._not_kept else name for name in argument_names(cls.__init__)]
            cls.__init__ = declared_init(cls.__init__, Options._set_up)  # type: ignore[method-assign]
            cls._values = attrgetter(*kept) if kept else ()
            if cls.forward in _UNARY:
                cls.forward = _UNARY[min(len(kept), 2)]

    def _set_up(self, options: dict[str, Any]) -> None:
        self._set_options(options)
        self._check()

    def _set_options(self, options: dict[str, Any]) -> None:
        super().__init__()
        for name, value in options.items():
            if name in self._tensor_options:
                self.register_buffer(name, value)
            elif name != "self":
                setattr(self, name, value)

    def _check(self) -> None:
        """Refuses invalid options."""

    def extra_repr(self) -> str:
        return self._shown.format(self=self)


def _without(self: Options, input: Tensor) -> Any:
    """The function of the input."""
    return self._function(input)


def _with_one(self: Options, input: Tensor) -> Any:
    """The function of the input."""
    return self._function(input, self._values(self))


def _with_several(self: Options, input: Tensor) -> Any:
    """The function of the input."""
    return self._function(input, *self._values(self))


_UNARY = (_without, _with_one, _with_several)


class Unary(Options):
    """A function of one tensor."""

    forward = _without
