"""torch.cuda without a GPU: queries are answered, seeds accepted, and everything else raises PyTorch's errors.

>>> import penlight as torch
>>> torch.cuda.is_available(), torch.cuda.device_count()
(False, 0)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

from penlight._common.docstrings import constant, documented, example
from penlight._refused import RefusedType, missing, refused_class, refused_function
from penlight.device import device as Device

from .cpu import StreamContext as _StreamContext

__path__: list[str] = []  # submodules are rows of the table, or made here
_WORDS = "Torch not compiled with CUDA enabled"
_HINT = "Penlight runs on the CPU: check torch.cuda.is_available() first (it is False here)"


def _refuse() -> Any:
    raise AssertionError(f"{_WORDS}. {_HINT}")


# ----- Queries --------------------------------------------------------------------------------------------------------


def is_available() -> bool:
    """False: there is no GPU here."""
    return False


def device_count() -> int:
    """0: there is no GPU here."""
    return 0


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU here."""
    return False


def is_current_stream_capturing() -> bool:
    """False: there is no stream."""
    return False


def is_tf32_supported() -> bool:
    """False: there is no GPU here."""
    return False


def get_arch_list() -> list[str]:
    """The architectures of the compiled kernels: none."""
    return []


def get_gencode_flags() -> str:
    """The compiler flags of the kernels: none."""
    return ""


has_half = True
has_magma = False
default_generators: tuple[Any, ...] = ()


# ----- Seeds: accepted, so that a program can seed everything ---------------------------------------------------------


def manual_seed(seed: int) -> None:
    """Accepted and without effect: PyTorch keeps the seed for a GPU that may be initialised later."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Accepted and without effect."""
    int(seed)


def seed() -> None:
    """Accepted and without effect."""


def seed_all() -> None:
    """Accepted and without effect."""


def get_rng_state_all() -> list[Any]:
    """The states of all GPUs' generators: none."""
    return []


def set_rng_state(new_state: Any, device: Any = "cuda") -> None:
    """Accepted and without effect."""


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Accepted and without effect."""


for _answer in (is_available, device_count, is_initialized, is_bf16_supported, is_current_stream_capturing,
                is_tf32_supported, get_arch_list, get_gencode_flags, seed, seed_all, get_rng_state_all):  # fmt: skip
    constant("cuda", _answer, _answer())
for _accepted in (manual_seed, manual_seed_all, set_rng_state, set_rng_state_all):
    constant("cuda", _accepted)


# ----- Devices --------------------------------------------------------------------------------------------------------


def _index_of(device: Any, optional: bool = False) -> int:
    """The index of a CUDA device given in any form; raises PyTorch's error for other devices."""
    if isinstance(device, int):
        return device
    found = Device(device) if isinstance(device, str) else device
    if isinstance(found, Device):
        if found.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {found}")
        if found.index is not None:
            return found.index
        if optional:
            return 0
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    if device is None and optional:
        return -1
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


@example("torch.cuda.set_device(-1)")
def set_device(device: Any) -> None:
    """Refused for every GPU; a negative index is ignored, as in PyTorch.

    Args:
        device: an index, or a device of type "cuda" with one.

    Returns:
        None
    """
    if _index_of(device) >= 0:
        _refuse()


@example("with torch.cuda.device(-1): pass")
class device:
    """The context manager that selects a GPU; entering it raises, except for a negative index.

    Args:
        device: an index, or a device of type "cuda" with one.
    """

    def __init__(self, device: Any) -> None:
        self.idx = _index_of(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        if self.idx >= 0:
            raise RuntimeError(f"PyTorch was compiled without CUDA support. {_HINT}")

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        pass


@example("with torch.cuda.device_of(torch.ones(1)): pass")
class device_of(device):
    """The context manager that selects the GPU of a tensor: none, for a tensor on the CPU.

    Args:
        obj: a tensor.
    """

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if obj.is_cuda else -1)


# ----- Streams and events -----------------------------------------------------------------------------------------------

_NO_STREAMS = _HINT.replace(":", ", one operation after the other:", 1)


class Stream:
    """A stream of work on a GPU; constructing one raises.

    >>> torch.cuda.Stream()
    Traceback (most recent call last):
        ...
    RuntimeError: torch.cuda.Stream requires...
    """

    __module__ = "penlight.cuda.streams"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"torch.cuda.{cls.__name__} requires CUDA support. {_NO_STREAMS}")


class ExternalStream(Stream):
    """A stream created by another library; constructing one raises.

    >>> torch.cuda.ExternalStream()
    Traceback (most recent call last):
        ...
    RuntimeError: torch.cuda.ExternalStream requires...
    """

    __module__ = "penlight.cuda.streams"


class Event:
    """An event of a stream; constructing one raises. Use `time.perf_counter()` to measure time.

    >>> torch.cuda.Event()
    Traceback (most recent call last):
        ...
    RuntimeError: Tried to instantiate...
    """

    __module__ = "penlight.cuda.streams"

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Tried to instantiate dummy base class Event. {_NO_STREAMS}, and measure time with time.perf_counter()"
        )


@example("with torch.cuda.StreamContext(None): pass")
class StreamContext(_StreamContext):
    """`with torch.cuda.stream(None)`: without effect. `stream` is accepted."""


@example("with torch.cuda.stream(None): pass")
def stream(stream: Any) -> StreamContext:
    """Without effect: there is no stream to select.

    Args:
        stream: accepted and ignored.

    Returns:
        a context manager.
    """
    return StreamContext(stream)


# ----- Errors -----------------------------------------------------------------------------------------------------------


@example("torch.cuda.CudaError(2)", "CudaError('CUDA error 2')")
class CudaError(RuntimeError):
    """An error that a CUDA function returned. `code` is its number."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")


@example("issubclass(torch.cuda.DeferredCudaCallError, Exception)", "True")
class DeferredCudaCallError(Exception):
    """An error in a call that was deferred until CUDA's initialisation."""


class AcceleratorError(RuntimeError):
    """An error that an accelerator reported.

    >>> issubclass(torch.AcceleratorError, RuntimeError)
    True
    """


class OutOfMemoryError(RuntimeError):
    """Raised when an accelerator runs out of memory; exists for `except` clauses.

    >>> issubclass(torch.OutOfMemoryError, RuntimeError)
    True
    """


# Queries without an answer on a machine without a GPU. PyTorch raises for all of them, for some only because of its build.
_REFUSED = """
    cudart current_blas_handle current_device current_solver_handle current_stream default_stream
    get_device_capability get_device_name get_device_properties get_rng_state get_stream_from_external
    get_sync_debug_mode init initial_seed ipc_collect set_stream set_sync_debug_mode synchronize
    can_device_access_peer make_graphed_callables graph_pool_handle clock_rate device_memory_used memory_usage
    power_draw temperature utilization check_error _lazy_init _sleep"""
_REFUSED_CLASSES = ("CUDAGraph", "GreenContext", "graph", "MemPool", "CUDAPluggableAllocator")
_TYPES = ["BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]
_MODULES = {"amp", "comm", "gds", "graphs", "jiterator", "memory", "nccl", "nvtx", "profiler", "random", "sparse", "streams",
            "tunable"}  # fmt: skip


class _LegacyType(RefusedType):
    """`torch.cuda.FloatTensor` and similar, for `isinstance`, which is False; constructing one raises PyTorch's TypeError."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        name = f"{cls.__module__}.{cls.__name__}".replace("penlight", "torch")
        raise TypeError(f"type {name} not available. Torch not compiled with CUDA enabled. {_HINT}")

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>".replace("penlight", "torch")

    def __instancecheck__(cls, instance: Any) -> bool:
        return False


def _legacy_type(module: str, name: str) -> type:
    """A GPU tensor type, by its legacy name."""
    call = f">>> isinstance(torch.ones(1), {module.replace('penlight', 'torch')}.{name})"
    doc = documented("A tensor type of the GPU, which is not available.", call, "False")
    return _LegacyType(name, (), {"__module__": module, "__doc__": doc, "_refusal": f"{_WORDS}. {_HINT}"})


def _submodule(name: str) -> Any:
    """A submodule: one with a file of its own, or one whose functions only raise."""
    full = f"{__name__}.{name}"
    if name in ("amp", "memory", "nccl", "nvtx", "random", "streams"):
        return import_module(full)
    if full not in sys.modules:
        sys.modules[full] = _Refused(full)
    return sys.modules[full]


class _Refused(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name.endswith("Tensor"):
            made: Any = _legacy_type(self.__name__, name)
        else:
            made = refused_function(
                f"{self.__name__.removeprefix('penlight.')}.{name}", f"{_WORDS}. {_HINT}", AssertionError
            )
        setattr(self, name, made)
        return made


for _name in _MODULES - {"amp", "memory", "nccl", "nvtx", "random", "streams"}:
    _submodule(_name)
_memory = _submodule("memory")
globals().update({_name: getattr(_memory, _name) for _name in _memory.__all__})


def __dir__() -> list[str]:
    types = (f"{name}{kind}" for name in _TYPES for kind in ("Tensor", "Storage"))
    public = (name for name in _REFUSED.split() if name[0] != "_")
    return sorted({*globals(), *_MODULES, *_REFUSED_CLASSES, *public, *types})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return _submodule(name)
    made: Any
    if name in _REFUSED.split():
        made = refused_function(f"cuda.{name}", f"{_WORDS}. {_HINT}", AssertionError)
    elif name in _REFUSED_CLASSES:
        made = refused_class(f"cuda.{name}", f"{_WORDS}. {_HINT}")
    elif name.removesuffix("Tensor") in _TYPES or name.removesuffix("Storage") in _TYPES:
        made = _legacy_type(__name__, name)
    else:
        raise missing(__name__, name)
    globals()[name] = made
    return made
