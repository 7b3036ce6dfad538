"""Translation between PyTorch's names of classes and functions and Penlight's.

Files contain PyTorch's names (`torch.nn.modules.linear.Linear`), whichever of the two libraries wrote them. PyTorch is not imported.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from functools import lru_cache
from importlib import import_module
from pickle import UnpicklingError
from types import FunctionType, MethodType
from typing import Any

import penlight
from penlight import dtypes
from penlight._serialization import rebuild
from penlight.storage import LEGACY_DTYPES, UntypedStorage


class StorageType:
    """Represents one of PyTorch's storage classes while a file is read; only its dtype matters.

    `name` is the name of the class.

    >>> torch.serialization.StorageType("FloatStorage").dtype
    torch.float32
    """

    def __init__(self, name: str) -> None:
        self._name = LEGACY_DTYPES[name]

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return getattr(penlight, self._name)

    def __str__(self) -> str:
        return f"StorageType(dtype={self.dtype})"


# Also allowed, but looked up only when a file names it, since that imports `penlight.nn`.
PARAMETER = "torch.nn.parameter.Parameter"

_DTYPE_NAMES = (
    "bool",
    *(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
    *sorted(d._name for d in dtypes.FLOAT8),
)


def _encode(text: str, encoding: str = "utf-8") -> bytes:
    """`codecs.encode`, by which pickles of protocol 2 represent bytes. Only plain encodings are allowed: a codec could run any code."""
    if not isinstance(text, str) or encoding not in ("latin1", "latin-1", "ascii", "utf-8", "utf8"):
        raise UnpicklingError(f"the file has bytes in the unsupported encoding {encoding!r}")
    return text.encode(encoding)


def _bytearray(data: Any = b"", encoding: str = "latin1") -> bytearray:
    """`bytearray` of given bytes, but not of a given size: a small file could request any amount of memory."""
    if isinstance(data, str):
        data = _encode(data, encoding)
    if not isinstance(data, (bytes, list)):
        raise UnpicklingError(f"expected bytes for a bytearray, but the file has {type(data)}")
    return bytearray(data)


@lru_cache(maxsize=1)
def builtin_globals() -> dict[str, Any]:
    """The names that `weights_only=True` always accepts: plain data, and the functions that build tensors."""
    allowed: dict[str, Any] = {
        "collections.OrderedDict": OrderedDict,
        "collections.Counter": Counter,
        "torch.serialization._get_layout": rebuild._get_layout,
        "torch.Size": penlight.Size,
        "torch.Tensor": penlight.Tensor,
        "torch.device": penlight.device,
        "_codecs.encode": _encode,
        "builtins.bytearray": _bytearray,
        "builtins.set": set,
        "builtins.complex": complex,
        "torch._tensor._rebuild_from_type_v2": rebuild._rebuild_from_type_v2,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch.UntypedStorage": UntypedStorage,
    }
    allowed.update((f"torch.{name}", getattr(penlight, name)) for name in _DTYPE_NAMES if hasattr(penlight, name))
    allowed.update((f"torch.{name}", StorageType(name)) for name in LEGACY_DTYPES)
    allowed.update((f"torch.cuda.{name}", allowed[f"torch.{name}"]) for name in LEGACY_DTYPES)
    allowed.update((f"torch._utils.{name}", function) for name, function in rebuild.FUNCTIONS.items())
    return allowed


def find(module: str, name: str) -> Any:
    """Penlight's object with a name in PyTorch's package; raises AttributeError or ImportError if there is none."""
    known = builtin_globals().get(f"{module}.{name}")
    if known is not None:
        return known
    if module == "torch._C" and name == "_VariableFunctionsClass":
        return penlight
    if module == "torch._C" and name in ("TensorBase", "_TensorBase"):
        return penlight.Tensor
    path = {"torch._C": "torch", "torch._C._nn": "torch.nn.functional", "torch._tensor": "torch"}.get(module, module)
    home = import_module("penlight" + path.removeprefix("torch"))
    try:
        found: Any = home
        for part in name.split("."):
            found = getattr(found, part)
        return found
    except AttributeError:
        raise AttributeError(
            f"Can't get attribute {name!r} of {module!r}: penlight has no such class or function"
        ) from None


@lru_cache(maxsize=1)
def _fixed_names() -> dict[Any, tuple[str, str]]:
    return {
        penlight.Tensor: ("torch", "Tensor"),
        penlight.Size: ("torch", "Size"),
        penlight.device: ("torch", "device"),
        penlight.dtype: ("torch", "dtype"),
        penlight.layout: ("torch", "layout"),
        UntypedStorage: ("torch.storage", "UntypedStorage"),
    }


def torch_name(obj: Any, name: str | None = None) -> tuple[str, str] | None:
    """PyTorch's (module, name) for a class or function of this package; None for other objects."""
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or module.partition(".")[0] not in ("penlight", "torch"):
        return None
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    fixed = _fixed_names().get(obj) if isinstance(obj, type) else None
    if fixed is not None:
        return fixed
    if isinstance(obj, (FunctionType, MethodType)):
        for home in ("nn.functional", "nn.init", ""):
            if _public(home, name) is obj:
                return f"torch.{home}".rstrip("."), name
    return _torch_module(obj, module, name), name


# Modules whose classes are in the parent package in PyTorch.
_IN_PARENT = frozenset({"penlight.optim.adafactor", "penlight.optim.muon"})


def _torch_module(obj: Any, module: str, name: str) -> str:
    """PyTorch's module for one of Penlight's: the one with the same name, or the parent package of a private module."""
    path = module.removeprefix("penlight").removeprefix("torch")
    package, _, last = path.rpartition(".")
    if (last.startswith("_") and _public(package, name) is obj) or module in _IN_PARENT:
        path = package
    return "torch" + path


def _public(home: str, name: str) -> Any:
    found: Any = penlight
    for part in (*home.split("."), *name.split(".")):
        found = getattr(found, part, None) if part else found
    return found
