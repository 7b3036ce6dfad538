"""Modules without a file, which map PyTorch's module layout to ours.

PyTorch has a file for each optimiser and for each distribution. Programs import these modules, and pickles name them. Here one file covers
a subject, and a package declares in a table which PyTorch modules the file represents. Such a module has the attributes of the file.
Modules without an implementation here are rows of `compat/_compat_table.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from ..kernels.lazy import lazy_import
from .arguments import explain

_compat_table = lazy_import(globals(), "_compat_table", "penlight._compat_table")

_files: dict[str, tuple[str, tuple[str, ...]]] = {}  # the file of each module, and the public names of the module


class _Module(ModuleType):
    """A module with the public names of its file; other names are fetched on access."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(sys.modules[_files[self.__name__][0]], name)


_NO_TORCH = (
    "No module named 'torch'. `import penlight as torch` gives Penlight that name in one file only. For `from torch... import ...`, here and in "
    "every module of the program, write `import penlight.as_torch` first, or run the program with `penlight run`."
)


class TableFinder:
    """Finds the declared modules. It is the last entry of `sys.meta_path`, so it also sees imports of PyTorch that no other finder
    resolved: such an import fails with advice, while `importlib.util.find_spec` gets None."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name == "torch" and sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
            raise ModuleNotFoundError(_NO_TORCH, name="torch")
        if name in _files:
            return ModuleSpec(name, cls(), origin=_files[name][0])  # type: ignore[arg-type]
        own = name.removeprefix("penlight.")
        if own == name or own not in _compat_table.TABLE:
            return None
        return ModuleSpec(name, cls(), is_package=_compat_table.has_submodules(own))  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name) if spec.name in _files else _compat_table.new(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ not in _files:
            _compat_table.make(module)
            return
        file, names = _files[module.__name__]
        found = import_module(file)
        module.__doc__, module.__file__ = found.__doc__, found.__file__  # `inspect` looks for the source there
        module.__all__ = names_of(module.__name__)  # type: ignore[attr-defined]
        vars(module).update({name: getattr(found, name) for name in names})


def declare_modules(package: str, **files: str | Mapping[str, str]) -> dict[str, str]:
    """Makes modules of a package importable that have no file of their own.

    They are created immediately if their file is already loaded; otherwise `make_modules` creates them at the end of the file's import.

    Args:
        package: the name of the package.
        files: for each file (possibly of another package), the names in the module of that name, or the modules it represents, with the
            names in each.

    Returns:
        The module of each public name.
    """
    homes: dict[str, str] = {}
    for file, declared in files.items():
        full = file if "." in file else f"{package}.{file}"
        for module, names in ({file: declared} if isinstance(declared, str) else declared).items():
            _files[f"{package}.{module}"] = full, tuple(names.split())
            homes |= dict.fromkeys(names_of(f"{package}.{module}"), module)
        if full in sys.modules:
            make_modules(full)
    return homes


def names_of(module: str) -> list[str]:
    """The public names of a declared module, for its `__all__`."""
    return [name for name in _files[module][1] if name[0] != "_"]


def file_of(package: str, module: str) -> str:
    """The file that defines a module of a package: its own, or the declared one."""
    return _files.get(f"{package}.{module}", (f"{package}.{module}",))[0].removeprefix(f"{package}.")


def make_modules(file: str) -> None:
    """Create the modules declared for a file. Its classes report these as their `__module__`, even while such a module is being imported."""
    found = sys.modules[file]
    for module, names in [(module, names) for module, (source, names) in _files.items() if source == file != module]:
        for name in names:
            value = getattr(found, name)
            if isinstance(value, type) and value.__module__ == file:
                value.__module__ = module
        import_module(module)


def lazy_names(
    package: str, homes: Mapping[str, str], modules: Collection[str], missing: Callable[[str, str], Exception]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package whose modules are imported at their first use.

    Args:
        package: its name.
        homes: the module that defines each name.
        modules: modules that are attributes themselves.
        missing: makes the error for an unknown name.
    """

    def __getattr__(name: str) -> Any:
        if name in homes:
            found = getattr(import_module(f"{package}.{homes[name]}"), name)
            explain({name: found})
            setattr(sys.modules[package], name, found)
            return found
        if name in modules:
            return import_module(f"{package}.{name}")
        raise missing(package, name)

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes, *modules})

    return __getattr__, __dir__
