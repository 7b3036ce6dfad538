"""Looking into a file without loading it."""

from __future__ import annotations

from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from pickle import UnpicklingError
from pickletools import genops
from typing import Any

from penlight._serialization.archive import ArchiveReader


def globals_named(file: Any) -> set[str]:
    """The full names of the classes and functions in a zip file's pickle, read as data."""
    archive = ArchiveReader(file)
    if "constants.pkl" in archive:
        raise ValueError("Expected input to be a checkpoint returned by torch.save but got a torchscript checkpoint")
    found = set()
    recent: list[Any] = []
    try:
        for opcode, argument, _ in genops(archive.read("data.pkl")):
            if opcode.name == "GLOBAL" and argument:
                found.add(_modern(*argument.split(" ", 1)))
            elif opcode.name == "STACK_GLOBAL" and len(recent) >= 2:
                found.add(f"{recent[-2]}.{recent[-1]}")
            if isinstance(argument, str):
                recent.append(argument)
    except ValueError as error:
        raise UnpicklingError(f"the pickle is damaged: {error}") from error
    return found


def _modern(module: str, name: str) -> str:
    """A name of Python 2 by that of Python 3."""
    module, name = NAME_MAPPING.get((module, name), (IMPORT_MAPPING.get(module, module), name))
    return f"{module}.{name}"
