"""Keeps the package working until the very end of Python: ops in a late `__del__` can still import modules and find their leaves.

Note [Shutdown]
Many modules of the package are imported inside functions, at a first call. When Python exits, it first removes the finders from
`sys.meta_path`, then replaces the modules in `sys.modules` by None, then empties `sys.modules`, and only then destroys the objects of the
user's modules. A `__del__` that runs then could import nothing, not even loaded modules. So an object in `sys.meta_path` restores the finders
in its own `__del__`, when Python drops them. For loaded modules (ours, NumPy's, the standard library's) it puts objects into `sys.modules`
that are not modules, which Python does not replace, and one whose `__del__` restores the modules after `sys.modules` has been emptied.
Other modules are left to Python, so that their objects are destroyed in time. Modules not yet loaded are loaded from their files as usual.

The garbage collector, which then destroys the user's objects, clears weak references before it calls `__del__`: leaves would lose their
gradients, and bases their views. So weakly referenced tensors are kept alive too, unless they hold user objects.
"""

from __future__ import annotations

import atexit
import gc
import sys
from types import ModuleType
from typing import Any
from weakref import getweakrefcount

_PACKAGE = __name__.partition(".")[0]
_PACKAGES = {_PACKAGE, "numpy", *sys.stdlib_module_names} - {"__main__"}
_ATTRIBUTES = ("meta_path", "path", "path_hooks", "path_importer_cache")  # of sys: imports need them


class _StandIn:
    """Has the names of a module, but is not a module."""

    def __init__(self, module: ModuleType) -> None:
        self.__dict__ = module.__dict__

    def __getattr__(self, name: str) -> Any:
        if "__getattr__" not in self.__dict__:
            raise AttributeError(f"module {self.__dict__.get('__name__')!r} has no attribute {name!r}")
        return self.__dict__["__getattr__"](name)


class _Modules:
    """Restores modules when it is removed from `sys.modules`."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self.modules = modules

    def __del__(self) -> None:
        sys.modules.update(self.modules)


class _Finders:
    """A finder that finds nothing. When it is removed from `sys.meta_path`, it keeps imports working."""

    def __init__(self) -> None:
        self.attributes = {name: getattr(sys, name).copy() for name in _ATTRIBUTES}

    def find_spec(self, *_: Any) -> None:
        return None

    def __del__(self) -> None:
        if sys.meta_path is None:
            vars(sys).update(self.attributes)
            modules = {
                n: m for n, m in sys.modules.items() if n.partition(".")[0] in _PACKAGES and isinstance(m, ModuleType)
            }
            sys.modules.update({name: _StandIn(module) for name, module in modules.items()})
            sys.modules[f"{_PACKAGE} at shutdown"] = _Modules(modules)
            _kept_tensors.extend(_referenced_tensors(modules))


_kept_tensors: list[Any] = []


def _referenced_tensors(modules: dict[str, ModuleType]) -> list[Any]:
    """The weakly referenced tensors without user attributes."""
    if (module := modules.get(f"{_PACKAGE}.tensor")) is None:
        return []  # Ctrl-C arrived while Penlight was imported
    tensor = module.Tensor
    kinds = [kind for kind in (tensor, *tensor.__subclasses__()) if not hasattr(kind, "__del__")]
    found = [each for each in gc.get_referrers(*kinds) if type(each) in kinds]
    return [each for each in found if getweakrefcount(each) and not vars(each)]


@atexit.register
def _prepare() -> None:
    sys.meta_path = [*sys.meta_path, _Finders()]  # a new list, to which nothing else refers
