"""Everything works until the very end of Python: ops in a late `__del__` import what they need, and find their leaves.

Note [Shutdown]
Many modules of ours are imported inside functions, when something is first called. When Python ends, it first takes the finders out of
`sys.meta_path`, then replaces the modules in `sys.modules` by None, then empties `sys.modules`, and only then destroys what the user's
modules held. A `__del__` that runs there could import nothing, not even what is loaded. So an object in `sys.meta_path` restores the finders
in its own `__del__`, when Python drops them. For loaded modules (ours, NumPy's, the standard library's) it leaves objects in `sys.modules`
that are no modules, which Python does not replace, and one whose `__del__` brings the modules back after `sys.modules` has been emptied.
Other modules are left to Python, so that their objects are destroyed in time. What has not been loaded yet is loaded from its file as usual.

The garbage collector, which destroys the user's objects then, breaks weak references before it calls `__del__`: leaves would lose their
gradients, and bases their views. So tensors that are weakly referenced are kept, too, unless they hold objects of the user's.
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
_ATTRIBUTES = ("meta_path", "path", "path_hooks", "path_importer_cache")  # of sys: without them nothing can be imported


class _StandIn:
    """Has the names of a module, and is no module."""

    def __init__(self, module: ModuleType) -> None:
        self.__dict__ = module.__dict__

    def __getattr__(self, name: str) -> Any:
        if "__getattr__" not in self.__dict__:
            raise AttributeError(f"module {self.__dict__.get('__name__')!r} has no attribute {name!r}")
        return self.__dict__["__getattr__"](name)


class _Modules:
    """Brings modules back when it is taken out of `sys.modules`."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self.modules = modules

    def __del__(self) -> None:
        sys.modules.update(self.modules)


class _Finders:
    """Finds nothing. When it is taken out of `sys.meta_path`, imports are made to work on."""

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
    """The tensors that are weakly referenced, and have no attributes of the user's."""
    if (module := modules.get(f"{_PACKAGE}.tensor")) is None:
        return []  # Ctrl-C came while Penlight was imported
    tensor = module.Tensor
    kinds = [kind for kind in (tensor, *tensor.__subclasses__()) if not hasattr(kind, "__del__")]
    found = [each for each in gc.get_referrers(*kinds) if type(each) in kinds]
    return [each for each in found if getweakrefcount(each) and not vars(each)]


@atexit.register
def _work_on() -> None:
    sys.meta_path = [*sys.meta_path, _Finders()]  # a new list, which nothing else holds
