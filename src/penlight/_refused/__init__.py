"""Parts of PyTorch that Penlight does not have: they can be imported, and are refused when they are used.

# Note [Refused, not missing]
Programs import names that they use only on a cluster or a GPU, subclass them, and write them into annotations. So every name that
PyTorch has exists: a function raises an error when it is called, a class when an instance is made. Names that PyTorch does not have are
missing, so that `hasattr` and `try: import` behave as with PyTorch. `names.txt` lists PyTorch's names; `tools/refused_names.py` writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.resources import files
from types import ModuleType
from typing import Any

from penlight._common.docstrings import constant, documented
from penlight._common.torch_names import NAMES


class NotAvailable(AttributeError, NotImplementedError):
    """Raised for a name that PyTorch has and Penlight does not. `hasattr` returns False; the message says what to do."""


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have; if PyTorch has it, with advice."""
    module = module.replace("penlight", "torch")
    words = f"module '{module}' has no attribute '{name}'"
    if name in submodules(module):
        return NotAvailable(f"{words}: PyTorch has a module of that name, Penlight does not. {_nearest(module, name)}")
    if name not in NAMES.get(module, "").split() and name not in NAMES.get(f"{module} (machinery)", "").split():
        return AttributeError(words)
    hints = {
        "sparse_": "Its sparse tensors are those of torch.sparse_coo_tensor and torch.sparse_csr_tensor",
        "quantize": "It has no quantised arithmetic",
        "nested_": "Its nested tensors are those of torch.nested.nested_tensor(..., layout=torch.jagged)",
    }
    hint = next(
        (text for start, text in hints.items() if name.startswith(start)), "Compose it of functions that Penlight has"
    )
    return NotAvailable(f"{words}: PyTorch has it, Penlight does not. {hint}")


def submodules(module: str) -> list[str]:
    """The public submodules of one of PyTorch's modules."""
    if not _modules:
        lines = [line.partition(":") for line in files(__name__).joinpath("modules.txt").read_text().splitlines()]
        _modules.update({above: names.split() for above, _, names in lines})  # at once, for other threads
    return _modules.get(module, [])


def _nearest(module: str, name: str) -> str:
    """Advice for a missing module."""
    full = f"{module}.{name}"
    return next((hint for part, hint in _HINTS.items() if part in full), "Compose it of functions that Penlight has")


_modules: dict[str, list[str]] = {}
# Advice by part of the module's name.
_HINTS = {
    "quant": "It has no quantised arithmetic",
    "torch.nn.qat": "It has no quantised arithmetic",
    "intrinsic": "It has no quantised arithmetic",
    "torch.distributed": "It has collectives and DistributedDataParallel",
    "torch.nn.parallel": "It has DistributedDataParallel",
    "torch.fx": "It has torch.fx.symbolic_trace and its graphs, without passes over them",
    "torch.jit": "It does not trace programs: they run as they are written",
    "torch.export": "It does not trace programs: they run as they are written",
    "torch.onnx": "Use PyTorch itself to export a model",
    "torch.package": "Use torch.save and torch.load",
    "maskedtensor": "Use the functions of torch.masked with a mask",
    "torch.cuda": "It runs on the CPU",
    "torch.mps": "It runs on the CPU",
    "torch.mtia": "It runs on the CPU",
    "torch.xpu": "It runs on the CPU",
    "torch.accelerator": "It runs on the CPU",
}


def message(name: str, why: str) -> str:
    """The error message for a refused name; `why` includes advice."""
    return f"torch.{name} is not available: {why}"


def _described(name: str, why: str, error: type[Exception] = NotImplementedError) -> str:
    """The docstring of a refused name; its example shows the first words of the error."""
    words = f"torch.{name} is not available" if error is NotImplementedError else why.partition(". ")[0]
    lines = (f">>> torch.{name}()", "Traceback (most recent call last):", "    ...", f"{error.__name__}: {words}...")
    return documented(f"Refused: {why}", *lines)


def refused_function(name: str, why: str, error: type[Exception] = NotImplementedError) -> Callable[..., Any]:
    """A function that raises an error when it is called. For an error class of PyTorch's, `why` begins with PyTorch's words."""
    words = message(name, why) if error is NotImplementedError else why

    def function(*args: Any, **kwargs: Any) -> Any:
        raise error(words)

    where, _, own = name.rpartition(".")
    function.__name__ = function.__qualname__ = own
    function.__module__ = f"penlight.{where}".removesuffix(".")
    function.__doc__ = _described(name, why, error)
    return function


class RefusedType(type):
    """The metaclass of refused classes: making an instance of them or of a subclass raises an error."""

    _refusal: str

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(cls._refusal)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        raise NotAvailable(f"{cls.__name__}.{name}: {cls._refusal}")


class Member:
    """A member of a refused enumeration. It can be named, compared and passed as an argument."""

    def __init__(self, owner: str, name: str) -> None:
        self._owner, self.name, self.value = owner, name, name

    def __repr__(self) -> str:
        return f"<{self._owner}.{self.name}>"


def refused_class(name: str, why: str, members: Iterable[str] = ()) -> type:
    """A class that can be named and subclassed; making an instance raises an error."""
    where, _, own = name.rpartition(".")
    body: dict[str, Any] = {
        "__module__": f"penlight.{where}".removesuffix("."),
        "__doc__": _described(name, why),
        "_refusal": message(name, why),
        "__class_getitem__": classmethod(lambda cls, _: cls),
    }
    body.update({member: Member(own, member) for member in members})
    return RefusedType(own, (), body)


# ----- Whole namespaces -----------------------------------------------------------------------------------------------

_names: dict[str, dict[str, str]] = {}


def names_of(module: str) -> dict[str, str]:
    """The names in one of PyTorch's modules, and their kinds: `f`, or `c` followed by the members of an enumeration."""
    if not _names:
        lines = [line.partition(":") for line in files(__name__).joinpath("names.txt").read_text().splitlines()]
        words = {name: [word.partition("!") for word in rest.split()] for name, _, rest in lines}
        _names.update(
            {
                name: {own: "c" + members if is_class else "f" for own, is_class, members in kinds}
                for name, kinds in words.items()
            }
        )
    return _names.get(module, {})


def modules_under(root: str) -> list[str]:
    """The modules below one of PyTorch's modules, each after its parent."""
    names_of(root)
    found: dict[str, None] = {}
    for name in _names:
        if name.startswith(root + "."):
            parts = name.removeprefix(root + ".").split(".")
            found.update((f"{root}.{'.'.join(parts[:n])}", None) for n in range(1, len(parts) + 1))
    return list(found)


# Functions in refused modules that can be called, and their results.
_CONSTANT = {
    "_subclasses.fake_tensor.is_fake": False,
    "distributed.autograd.is_available": False,
    "distributed.rpc.is_available": False,
    "fx.experimental.proxy_tensor.get_proxy_mode": None,
    "fx._symbolic_trace.is_fx_tracing": False,
    "fx._symbolic_trace.is_fx_symbolic_tracing": False,
}


def stand_in(module: str, name: str, why: str) -> Any:
    """The refused function or class for a name of PyTorch's module; AttributeError if PyTorch has no such name."""
    if f"{module}.{name}" in _CONSTANT:
        value = _CONSTANT[f"{module}.{name}"]

        def answer(*args: Any, **kwargs: Any) -> Any:
            """Always the same: Penlight does not have this part of PyTorch."""
            return value

        answer.__name__ = answer.__qualname__ = name
        return constant(module, answer, value)
    kind = names_of(module).get(name)
    if kind is None:
        raise missing(f"torch.{module}", name)
    if kind == "f":
        return refused_function(f"{module}.{name}", why)
    return refused_class(f"{module}.{name}", why, filter(None, kind[1:].split(",")))


def refuse(
    module: str, why: str, instead: str, provided: Mapping[str, Sequence[str]] | None = None, files: Sequence[str] = ()
) -> Any:
    """The `__getattr__` of a refused module of the package, which makes stand-ins. Its submodules are registered too.

    Args:
        module: the name of the module.
        why: why its names are refused.
        instead: what to use instead.
        provided: by submodule, the modules of the package that have some of its names.
        files: submodules that are files of the package.
    """
    own = module.removeprefix("penlight.")
    reason = f"{why} {instead}"
    sys.modules[module].__dict__.setdefault("__path__", [])  # makes `import torch.fx.proxy` search for submodules
    for name in modules_under(own):
        full, below = f"penlight.{name}", name.removeprefix(f"{own}.")
        if full not in sys.modules and below not in files:
            sys.modules[full] = _Submodule(full, reason, (provided or {}).get(below, ()))

    def __getattr__(name: str) -> Any:
        below = sys.modules.get(f"{module}.{name}")
        if below is not None:
            return below
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.{own}' has no attribute '{name}'")
        found = stand_in(own, name, reason)
        setattr(sys.modules[module], name, found)
        return found

    return __getattr__


class _Submodule(ModuleType):
    """One of PyTorch's modules, without a file in the package."""

    def __init__(self, name: str, why: str, provided: Sequence[str] = ()) -> None:
        super().__init__(name, f"Refused: {why}")
        self.__dict__["_why"] = why
        self.__dict__["_provided"] = provided
        self.__path__: list[str] = []
        self.__package__ = name
        self.__spec__ = ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> Any:
        below = sys.modules.get(f"{self.__name__}.{name}")
        if below is not None:
            return below
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        for source in self.__dict__["_provided"]:
            names = vars(import_module(source))
            if name in names:
                return names[name]
        found = stand_in(self.__name__.removeprefix("penlight."), name, self.__dict__["_why"])
        setattr(self, name, found)
        return found
