"""PyTorch's names for classes, in a process where `import torch` imports Penlight.

# Note [Modules of classes]
Programs print types, and compare their names: `<class 'torch.Tensor'>`, `<class 'torch.nn.modules.linear.Linear'>`. When Penlight has the
name torch, a class's `__module__` is the module of the class in PyTorch. Pickle looks the class up there, so only classes in modules that
can be imported below `torch` are renamed, when their module has been loaded.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .._common.module_table import TableFinder

# Classes that are not in the module of the same name in PyTorch, and their module there; None for the one in their own `__module__`.
_OTHER_MODULES: dict[str, tuple[str | None, set[str]]] = {
    "penlight.tensor": ("torch", {"Tensor"}),
    "penlight.dtypes": ("torch", {"dtype"}),
    "penlight.device": ("torch", {"device"}),
    "penlight.layout": ("torch", {"layout", "memory_format"}),
    "penlight.random": ("torch._C", {"Generator"}),
    "penlight._device_amp": (None, {"CpuGradScaler", "CudaGradScaler", "cpu_autocast", "cuda_autocast"}),
}

_not_in_torch: set[str] = set()  # modules that PyTorch does not have
_renamed: list[tuple[type, str]] = []


def _rename(module: ModuleType) -> None:
    """Give the classes of a loaded module their names in PyTorch."""
    name = module.__name__
    if name == "penlight.optim":  # libraries search its __dict__ for optimisers
        for own in module.__all__:
            getattr(module, own)
    path = name.removeprefix("penlight").removeprefix(".")
    if name in _OTHER_MODULES:
        home, chosen = _OTHER_MODULES[name]
        for own in chosen:
            cls = getattr(module, own)
            _set_module(cls, home or cls.__module__.replace("penlight", "torch", 1))
    elif not any(part.startswith("_") for part in path.split(".")) and path.partition(".")[0] not in _not_in_torch:
        home = f"torch.{path}".removesuffix(".")
        sys.modules.setdefault(home, module)  # where annotations of the classes are looked up
        for own, value in list(vars(module).items()):
            if isinstance(value, type) and value.__qualname__ == own:
                if value.__module__ == name or value.__module__.startswith(name + "._"):
                    _set_module(value, home)


def _set_module(cls: type, home: str) -> None:
    _renamed.append((cls, cls.__module__))
    cls.__module__ = home


class _Watcher(MetaPathFinder):
    """Calls `_rename` for each module of Penlight that is loaded."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith("penlight."):
            return None
        spec = PathFinder.find_spec(name, path, target) or TableFinder.find_spec(name)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            _rename(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_watcher = _Watcher()


def rename(not_in_torch: set[str]) -> None:
    """Give classes PyTorch's names from now on, except those in modules that PyTorch does not have."""
    _not_in_torch.update(not_in_torch)
    if _watcher in sys.meta_path:
        return
    sys.meta_path.insert(0, _watcher)
    sys.modules["penlight"].__name__ = "torch"
    for name, module in list(sys.modules.items()):
        if name.startswith("penlight.") and module is not None:
            _rename(module)


def restore() -> None:
    """Undo `rename`."""
    if _watcher in sys.meta_path:
        sys.meta_path.remove(_watcher)
        sys.modules["penlight"].__name__ = "penlight"
    for cls, module in reversed(_renamed):
        cls.__module__ = module
    _renamed.clear()
