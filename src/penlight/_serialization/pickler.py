"""Writing pickles that PyTorch can read, with its names of classes and functions, and with separate storages."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

import penlight
from penlight import dtypes
from penlight._serialization.names import torch_name
from penlight._serialization.rebuild import reduce_wrapper
from penlight._serialization.tensors import array_of, memory_of
from penlight.ops.machinery import subclasses
from penlight.ops.machinery.public_functions import Functions
from penlight.storage import TypedStorage, UntypedStorage, legacy_name
from penlight.tensor.conjugates import Marked
from penlight.tensor.memory import root_of


class Global:
    """A name to be written to the pickle as a global, even if it cannot be imported."""

    __slots__ = ("module", "qualname")

    def __init__(self, module: str, qualname: str) -> None:
        self.module = module
        self.qualname = qualname

    def __call__(self) -> None:
        """Only defined because pickle requires the function of a reduction to be callable."""
        raise TypeError("a Global is only a name in a pickle")


# Exact types without names to translate: those that pickle does not memoize, and those that it does.
_ATOMS = frozenset({int, float, bool, type(None)})
_CONTAINERS = frozenset({str, tuple, list, dict})


class StorageReference:
    """A storage to be written: its memory, the array that owns it (the same for shared memory), and the dtype of its elements.

    Without a dtype, or with one that has no storage class in PyTorch (such as uint16), it is saved as bytes.
    """

    __slots__ = ("dtype", "kind", "memory", "owner")

    def __init__(self, owner: np.ndarray, memory: np.ndarray, dtype: Any) -> None:
        self.owner, self.memory = owner, memory
        self.kind = None if dtype is None else legacy_name(dtype)
        self.dtype = dtype if self.kind else penlight.uint8


class StorageTable:
    """The storages of a file by key; tensors that share memory share a key."""

    def __init__(self) -> None:
        self.memory: dict[str, np.ndarray] = {}
        self.widths: dict[str, int] = {}
        self._keys: dict[int, str] = {}
        self._kept: list[Any] = []  # keeps the owners alive, so that their ids stay unique
        self._dtypes: dict[int, Any] = {}

    def key_for(self, reference: StorageReference) -> str:
        """The key of a storage: its number, in the order of first appearance."""
        if reference.memory.size:
            address = reference.memory.__array_interface__["data"][0]
            if self._dtypes.setdefault(address, reference.dtype) != reference.dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
        key = self._keys.setdefault(id(reference.owner), str(len(self._keys)))
        if key not in self.memory:
            self.memory[key] = reference.memory
            self.widths[key] = reference.dtype.itemsize
            self._kept.append(reference.owner)
        return key


class _TorchNames:
    """A mixin for Python's pickler (or dill's) that writes PyTorch's names.

    The C pickler imports every class that it names, and would not find `torch`. The pickler written in Python can write any name.
    """

    def __init__(self, file: Any, protocol: int, storages: StorageTable) -> None:
        super().__init__(file, protocol)  # type: ignore[call-arg]
        self.storages = storages
        self._globals: dict[tuple[str, str], Global] = {}

    if TYPE_CHECKING:
        proto: int
        memo: dict[int, tuple[int, Any]]
        framer: Any
        dispatch: dict[Any, Any]

        def get(self, index: int) -> bytes: ...
        def write(self, data: bytes) -> None: ...
        def memoize(self, obj: Any) -> None: ...
        def save_reduce(self, func: Any, args: Any, *, obj: Any) -> None: ...

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        """Write an object, with a short path for plain data."""
        kind = type(obj)
        if kind in _ATOMS:
            self.dispatch[kind](self, obj)
        elif kind in _CONTAINERS:
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
            else:
                self.framer.commit_frame()
                self.dispatch[kind](self, obj)
        else:
            super().save(obj, save_persistent_id)  # type: ignore[misc]

    def global_named(self, module: str, name: str) -> Global:
        """The single `Global` for a name in this pickle, which is therefore written only once."""
        return self._globals.setdefault((module, name), Global(module, name))

    # ----- Storages -------------------------------------------------------------------------------------------------

    def persistent_id(self, obj: Any) -> Any:
        """The persistent id of a storage; None for other objects."""
        if isinstance(obj, StorageReference):
            return self.persistent_form(obj)
        if isinstance(obj, TypedStorage):
            memory = obj._untyped_storage._bytes
            return self.persistent_form(StorageReference(root_of(memory), memory, obj._dtype))
        if isinstance(obj, UntypedStorage):
            return self.persistent_form(StorageReference(root_of(obj._bytes), obj._bytes, None))
        return None

    def persistent_form(self, reference: StorageReference) -> tuple[Any, ...]:
        """('storage', class, key, location, number of elements)."""
        name = ("torch", reference.kind) if reference.kind else ("torch.storage", "UntypedStorage")
        kind = self.global_named(*name)
        key = self.storages.key_for(reference)
        return ("storage", kind, key, "cpu", reference.memory.size // reference.dtype.itemsize)

    # ----- Tensors --------------------------------------------------------------------------------------------------

    def reducer_override(self, obj: Any) -> Any:
        """The reduction of tensors and layouts; other objects are reduced as usual."""
        if isinstance(obj, penlight.Tensor):
            if type(obj) is Marked:
                obj = obj.resolve_conj().resolve_neg()
            if obj.is_meta:
                return self._reduce_without_data(obj)
            if obj.dtype in dtypes.FLOAT8:
                return self._reduce_data(obj)
            if type(obj).__reduce_ex__ is not penlight.Tensor.__reduce_ex__:
                return NotImplemented  # the class has its own reduction
            if isinstance(obj._array, subclasses.WrapperOutline):
                _, (function, *rest) = reduce_wrapper(obj)
                name = self.global_named("torch._utils", function.__name__)
                return self.global_named("torch._tensor", "_rebuild_from_type_v2"), (name, *rest)
            return self._reduce_subclass(obj) if _needs_type(obj) else self._reduce_plain(obj)
        if isinstance(obj, penlight.layout):
            return self.global_named("torch.serialization", "_get_layout"), (str(obj),)
        return NotImplemented

    def _reduce_plain(self, tensor: Any) -> tuple[Any, ...]:
        if _is_parameter(tensor):
            arguments: tuple[Any, ...] = (tensor.data, tensor.requires_grad, OrderedDict())
            state = _attributes(tensor)
            if not state:
                return self.global_named("torch._utils", "_rebuild_parameter"), arguments
            return self.global_named("torch._utils", "_rebuild_parameter_with_state"), (*arguments, state)
        return self._reduce_data(tensor)

    def _reduce_without_data(self, tensor: Any) -> tuple[Any, ...]:
        """The reduction of a tensor on the meta device."""
        if isinstance(tensor, penlight.nn.Parameter):
            rebuild_arguments: tuple[Any, ...] = (tensor.data, tensor.requires_grad, OrderedDict())
            return self.global_named("torch._utils", "_rebuild_parameter"), rebuild_arguments
        described = (tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)
        return self.global_named("torch._utils", "_rebuild_meta_tensor_no_storage"), described

    def _reduce_data(self, tensor: Any) -> tuple[Any, ...]:
        array = array_of(tensor)
        found = memory_of(array)
        if found is None:
            array = np.ascontiguousarray(array)
            found = array, array.reshape(-1).view(np.uint8), 0
            size, stride = array.shape, tuple(step // array.itemsize for step in array.strides)
        else:
            size, stride = tuple(tensor.size()), tuple(tensor.stride())
        owner, memory, offset = found
        dtype = tensor.dtype
        reference = StorageReference(owner, memory, dtype)
        arguments: tuple[Any, ...] = (reference, offset, tuple(size), stride, tensor.requires_grad, OrderedDict())
        if legacy_name(dtype):
            return self.global_named("torch._utils", "_rebuild_tensor_v2"), arguments
        return self.global_named("torch._utils", "_rebuild_tensor_v3"), (*arguments, dtype)

    def _reduce_subclass(self, tensor: Any) -> tuple[Any, ...]:
        function, arguments = self._reduce_data(tensor)
        rebuild_arguments = (function, type(tensor), arguments, _attributes(tensor) or None)
        return self.global_named("torch._tensor", "_rebuild_from_type_v2"), rebuild_arguments

    # ----- Names ----------------------------------------------------------------------------------------------------

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write a class or function under PyTorch's name if it belongs to this package, otherwise under its own."""
        found = torch_name(obj, name)
        if found is None:
            super().save_global(obj, name)  # type: ignore[misc]
        else:
            self.save(self.global_named(*found))

    def save_function(self, obj: Any) -> None:
        """Write a function under PyTorch's name if it belongs to this package, otherwise as the base class does."""
        found = torch_name(obj)
        if found is None:
            self.plain_dispatch[FunctionType](self, obj)
        else:
            self.save(self.global_named(*found))

    def save_method(self, obj: Any) -> None:
        """Write a bound method. Public functions are bound methods too, and are written under PyTorch's names."""
        if isinstance(obj.__self__, Functions):
            self.save(self.global_named(*torch_name(obj)))  # type: ignore[misc]
        else:
            self.save_reduce(*obj.__reduce__(), obj=obj)

    def save_name(self, obj: Global) -> None:
        """Write a name as a global."""
        if self.proto >= 4:
            self.save(obj.module)
            self.save(obj.qualname)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.qualname}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj: Any) -> None:
        """Write a dtype or a memory format as a global."""
        self.save(self.global_named("torch", str(obj).removeprefix("torch.")))

    def save_size(self, obj: Any) -> None:
        """Write a torch.Size."""
        self.save_reduce(self.global_named("torch", "Size"), (tuple(obj),), obj=obj)

    def save_device(self, obj: Any) -> None:
        """Write a torch.device."""
        arguments = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(self.global_named("torch", "device"), arguments, obj=obj)

    plain_dispatch: ClassVar[dict[Any, Any]] = {}


def pickler_class(pickle_module: Any = pickle) -> Any:
    """The pickler of a pickle module, extended by `_TorchNames`."""
    base = pickle._Pickler if pickle_module is pickle else pickle_module.Pickler
    if not issubclass(base, pickle._Pickler):
        raise NotImplementedError(
            f"the Pickler of {pickle_module.__name__} cannot be made to write PyTorch's names: "
            "use pickle_module=pickle, or dill"
        )
    ours = {
        FunctionType: _TorchNames.save_function,
        MethodType: _TorchNames.save_method,
        Global: _TorchNames.save_name,
        penlight.dtype: _TorchNames.save_dtype,
        penlight.memory_format: _TorchNames.save_dtype,
        penlight.Size: _TorchNames.save_size,
        penlight.device: _TorchNames.save_device,
    }
    members = {"dispatch": {**base.dispatch, **ours}, "plain_dispatch": base.dispatch}
    return type("TorchPickler", (_TorchNames, base), members)


def _attributes(tensor: Any) -> dict[str, Any]:
    """The attributes that were set on a tensor."""
    return dict(tensor.__dict__)


def _needs_type(tensor: Any) -> bool:
    """Whether a tensor is more than a plain Tensor or Parameter."""
    if _is_parameter(tensor):
        return False
    return type(tensor) is not penlight.Tensor or bool(_attributes(tensor))


def _is_parameter(tensor: Any) -> bool:
    """Whether a tensor is exactly a Parameter. `penlight.nn` is not imported for plain tensors."""
    kind = type(tensor)
    return kind is not penlight.Tensor and kind is penlight.nn.Parameter
