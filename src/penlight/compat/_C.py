"""torch._C: a few names of PyTorch's C++ library that programs use; Penlight does not have the library itself."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from importlib import import_module
from typing import Any

from penlight import _torch_function
from penlight._refused import NotAvailable, message, refused_class
from penlight.autograd import modes
from penlight.device import device as device
from penlight.dtypes import dtype as dtype
from penlight.kernels.lazy import lazy_import
from penlight.layout import layout as layout, memory_format as memory_format
from penlight.overrides import (
    DisableTorchFunction as DisableTorchFunction,
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
)
from penlight.random import Generator as Generator
from penlight.size import Size as Size
from penlight.tensor import DISABLED, Tensor as TensorBase
from penlight.tensor.memory import root_of

from . import _c_nn

_conversion = lazy_import(globals(), "_conversion", "penlight.nn.modules._conversion")

_typeinfo = lazy_import(globals(), "_typeinfo", "penlight.typeinfo")


_TensorBase = TensorBase
_TensorMeta = type(TensorBase)
_has_cuda = _has_mps = _has_mkldnn = _has_xpu = False


def _log_api_usage_once(event: str) -> None:
    """Without effect."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""
    return None


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Accepted and without effect."""
    return True


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_set_profiling_executor
_jit_override_can_fuse_on_gpu = _jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = _jit_set_profiling_executor
_set_math_sdp_allow_fp16_bf16_reduction = _jit_set_profiling_executor


def _jit_can_fuse_on_cpu() -> bool:
    """False: nothing is compiled."""
    return False


_jit_can_fuse_on_gpu = _jit_can_fuse_on_cpu


def _mps_is_available() -> bool:
    """False, as for the other devices."""
    return False


_mps_is_on_macos_13_or_newer = _mps_is_available


def _get_cudnn_enabled() -> bool:
    """The value of `torch.backends.cudnn.enabled`."""
    return bool(import_module("penlight.backends.cudnn").enabled)


def _get_privateuse1_backend_name() -> str:
    """PyTorch's default name for an out-of-tree device; none can be registered here."""
    return "privateuseone"


def _get_default_device() -> str:
    """The default device of new tensors."""
    return str(_typeinfo.get_default_device())


def _get_accelerator(check: bool | None = None) -> device:
    """The CPU: there is no accelerator."""
    return device("cpu")


def _len_torch_function_stack() -> int:
    """The number of open modes."""
    return len(_torch_function.modes.get())


def _get_function_stack_at(level: int) -> Any:
    """One of the open modes, outermost first."""
    return _torch_function.modes.get()[level]


def _add_docstr(obj: Any, doc: str) -> Any:
    """Set the docstring of an object that has none, if it accepts one."""
    if getattr(obj, "__doc__", None) is None:
        with suppress(AttributeError, TypeError):
            obj.__doc__ = doc
    return obj


def _is_torch_function_mode_enabled() -> bool:
    return bool(_torch_function.modes.get()) and not _torch_function.all_off.get()


def _are_functorch_transforms_active() -> bool:
    """Whether this runs inside a function transformed by `vmap`, `grad` or similar."""
    return bool(modes.transforms.get())


def _is_alias_of(first: TensorBase, second: TensorBase) -> bool:
    """Whether two tensors share a storage."""
    return root_of(first._array) is root_of(second._array)


_DisableTorchDispatch = DisableTorchFunctionSubclass
_disabled_torch_function_impl = _disabled_torch_dispatch_impl = DISABLED


def _is_torch_function_enabled() -> bool:
    return not (_torch_function.subclasses_off.get() or _torch_function.all_off.get())


def _is_torch_function_all_disabled() -> bool:
    return _torch_function.all_off.get()


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of `to`, as (device, dtype, non_blocking, memory_format)."""
    return _conversion._parse_to(*args, **kwargs)


sys.modules[f"{__name__}._nn"] = _c_nn
_c_nn._parse_to = _parse_to
__path__: list[str] = []


# Classes that packages use in annotations and in isinstance. TorchScript's types are names of `torch` too.
_CLASSES = {
    "AnyType", "BoolType", "ClassType", "ComplexType", "DeviceObjType", "DictType", "EnumType", "FloatType", "FutureType", "IntType",
    "InterfaceType", "ListType", "NoneType", "NumberType", "OptionalType", "PyObjectType", "RRefType", "StreamObjType", "StringType",
    "SymBoolType", "SymIntType", "TensorType", "TupleType", "Type", "UnionType",
    "Argument", "Block", "CompilationUnit", "FunctionSchema", "Graph", "Node", "ScriptFunction",
    "ScriptMethod", "ScriptModule", "ScriptObject", "StorageBase", "Value",
    "PyTorchFileReader", "PyTorchFileWriter",
}  # fmt: skip


# Names defined elsewhere in Penlight: a module, or a module and the name in it.
_ELSEWHERE = {
    "_LinAlgError": ("linalg", "LinAlgError"),
    "_functions": ("_c_functions", None),
    "_functorch": ("_c_functorch", None),
    "_nn": ("_c_nn", None),
    "_VariableFunctions": ("", None),
    "_set_grad_enabled": ("autograd.grad_mode", "set_grad_enabled"),
    "_to_dlpack": ("utils.dlpack", "to_dlpack"),
    "_from_dlpack": ("utils.dlpack", "from_dlpack"),
    "Future": ("futures", "Future"),
    "default_generator": ("random", "default_generator"),
    **{name: ("typeinfo", name) for name in ("finfo", "iinfo")},
    **{name: ("cpu", name) for name in ("Event", "Stream")},
    **{name: ("settings", name) for name in ("has_lapack", "has_mkl", "has_openmp")},
    **{
        f"_{n}": ("overrides", n)
        for n in ("has_torch_function", "has_torch_function_unary", "has_torch_function_variadic")
    },
}


# ----- The names of PyTorch's dispatcher ------------------------------------------------------------------------------

_OTHERS = (
    "Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor "
    "CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect "
    "ADInplaceOrView PythonTLSSnapshot Python PythonDispatcher PreDispatch Functionalize Dense Quantized Sparse SparseCsr "
    "NestedTensor AutogradFunctionality AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA AutocastPrivateUse1"
)
_EACH = " {0}CPU {0}CUDA {0}HIP {0}XLA {0}MPS {0}IPU {0}XPU {0}HPU {0}VE {0}Lazy {0}MTIA {0}MAIA {0}PrivateUse1 {0}PrivateUse2 {0}PrivateUse3 {0}Meta"
_KINDS = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

DispatchKey: Any = Enum("DispatchKey", _OTHERS + "".join(map(_EACH.format, _KINDS)))  # type: ignore[misc]


class DispatchKeySet:
    """A set of dispatch keys.

    >>> from penlight._C import DispatchKey, DispatchKeySet
    >>> DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutocastCPU)
    DispatchKeySet(CPU, AutocastCPU)
    """

    def __init__(self, *keys: Any) -> None:
        self._keys = dict.fromkeys(keys)

    def _with(self, keys: Iterable[Any]) -> DispatchKeySet:
        return type(self)(*keys)

    def has(self, key: Any) -> bool:
        """Whether a key is in the set."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """The set with another key."""
        return self._with([*self._keys, key])

    def remove(self, key: Any) -> DispatchKeySet:
        """The set without a key."""
        return self._with(k for k in self._keys if k is not key)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with([*self._keys, *other._keys])

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(k for k in self._keys if other.has(k))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(k for k in self._keys if not other.has(k))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in self._keys)})"


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        module, own = _ELSEWHERE[name]
        found = import_module(f"penlight.{module}".removesuffix("."))
        return found if own is None else getattr(found, own)
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
    why = "it is part of PyTorch's C++ library, and Penlight is pure Python."
    if name in _CLASSES:
        globals()[name] = refused_class(f"_C.{name}", why)
        return globals()[name]
    raise NotAvailable(message(f"_C.{name}", why))
