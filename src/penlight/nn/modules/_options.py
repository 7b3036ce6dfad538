"""Modules without parameters: a function and its options."""

from __future__ import annotations

from typing import Any, ClassVar

from .module import Module


class Options(Module):
    """A module that holds the options of a function, which its `forward` calls.

    A class names its options once, in the signature of `__init__`, whose body is `self._set_options(locals())`. What
    is printed of them is the format string `_shown`.

    >>> import penlight as torch
    >>> class Scaled(Options):
    ...     _shown = "by={self.by}"
    ...     def __init__(self, by: float = 2.0) -> None:
    ...         self._set_options(locals())
    ...     def forward(self, input):
    ...         return input * self.by
    >>> Scaled(3.0), Scaled()(torch.ones(1))
    (Scaled(by=3.0), tensor([2.]))
    """

    _shown: ClassVar[str] = ""
    _tensor_options: ClassVar[tuple[str, ...]] = ()  # options that are buffers

    def _set_options(self, options: dict[str, Any]) -> None:
        super().__init__()
        for name, value in options.items():
            if name in self._tensor_options:
                self.register_buffer(name, value)
            elif name != "self":
                setattr(self, name, value)

    def extra_repr(self) -> str:
        return self._shown.format(self=self)
