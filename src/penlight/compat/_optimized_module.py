"""What `torch.compile(module)` gives: a module around the module, which runs it as it is written."""

from __future__ import annotations

from typing import Any

from penlight.nn import Module


class OptimizedModule(Module):
    """A module whose attributes are those of another, `_orig_mod`; in a state dict its names begin with that."""

    __module__ = "penlight._dynamo.eval_frame"  # where PyTorch has it

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__["_modules"].get("_orig_mod")
        return own if name == "_orig_mod" or own is None else getattr(own, name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get("_modules", ())
        if name == "_orig_mod" or name in self.__dict__ or "_orig_mod" not in known:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)
