"""Classes that say they are PyTorch's, in a process where `import torch` gives Penlight.

# Note [Homes of classes]
Programs print types, and compare their names: `<class 'torch.Tensor'>`, `<class 'torch.nn.modules.linear.Linear'>`. Where the
name torch is Penlight's, a class's `__module__` is the module that PyTorch has it in. It must also be found there, since pickle
looks it up: so only classes in modules that can be imported below `torch`, each renamed when its module has been loaded.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from .._common.module_table import TableFinder

# Classes that PyTorch has elsewhere than in the module of the same name, and that can be found there; None for where they say themselves.
_ELSEWHERE: dict[str, tuple[str | None, set[str]]] = {
    "penlight.tensor": ("torch", {"Tensor"}),
    "penlight.dtypes": ("torch", {"dtype"}),
    "penlight.device": ("torch", {"device"}),
    "penlight.layout": ("torch", {"layout", "memory_format"}),
    "penlight.random": ("torch._C", {"Generator"}),
    "penlight._device_amp": (None, {"CpuGradScaler", "CudaGradScaler", "cpu_autocast", "cuda_autocast"}),
}

_ours: set[str] = set()  # modules of Penlight that PyTorch has not
_renamed: list[tuple[type, str]] = []


def _rename(module: ModuleType) -> None:
    """Give the classes of a loaded module the names of PyTorch's."""
    name = module.__name__
    if name == "penlight.optim":  # libraries go through its __dict__ to find the optimisers
        for own in module.__all__:
            getattr(module, own)
    path = name.removeprefix("penlight").removeprefix(".")
    if name in _ELSEWHERE:
        home, chosen = _ELSEWHERE[name]
        for own in chosen:
            cls = getattr(module, own)
            _move(cls, home or cls.__module__.replace("penlight", "torch", 1))
    elif not any(part.startswith("_") for part in path.split(".")) and path.partition(".")[0] not in _ours:
        home = f"torch.{path}".removesuffix(".")
        sys.modules.setdefault(home, module)  # where annotations of the classes are looked up
        for own, value in list(vars(module).items()):
            if isinstance(value, type) and value.__qualname__ == own:
                if value.__module__ == name or value.__module__.startswith(name + "._"):
                    _move(value, home)


def _move(cls: type, home: str) -> None:
    _renamed.append((cls, cls.__module__))
    cls.__module__ = home


class _Watcher(MetaPathFinder):
    """Sees modules of Penlight being loaded."""

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


def rename(ours: set[str]) -> None:
    """From now on classes have PyTorch's names; `ours` are modules that it has not."""
    _ours.update(ours)
    if _watcher in sys.meta_path:
        return
    sys.meta_path.insert(0, _watcher)
    sys.modules["penlight"].__name__ = "torch"
    for name, module in list(sys.modules.items()):
        if name.startswith("penlight.") and module is not None:
            _rename(module)


def restore() -> None:
    """Classes have their own names again."""
    if _watcher in sys.meta_path:
        sys.meta_path.remove(_watcher)
        sys.modules["penlight"].__name__ = "penlight"
    for cls, module in reversed(_renamed):
        cls.__module__ = module
    _renamed.clear()
