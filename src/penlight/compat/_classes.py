"""`torch.classes`: classes from C++ libraries, which cannot be loaded here."""

from __future__ import annotations

from typing import Any

from penlight._refused import refused_function

_WHY = "Penlight is pure Python and cannot load C++ libraries. Write the class in Python."


class _Namespace:
    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, attr: str) -> Any:
        if attr.startswith("__"):
            raise AttributeError(attr)
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered via "
            f"torch::class_. {_WHY}"
        )


class Classes:
    """The type of `torch.classes`."""

    __name__ = "torch.classes"
    loaded_libraries: set[str] = set()
    load_library = staticmethod(refused_function("classes.load_library", _WHY))

    def __getattr__(self, name: str) -> _Namespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Namespace(name)


classes = Classes()
