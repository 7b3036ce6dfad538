"""torch._C: a few names of PyTorch's C++ library that programs touch; the library itself is not here."""

from __future__ import annotations

from typing import Any

from .device import device as device
from .dtypes import dtype as dtype
from .layout import layout as layout
from .layout import memory_format as memory_format
from .random import Generator as Generator
from .size import Size as Size
from .tensor import DISABLED
from .tensor import Tensor as TensorBase

_TensorBase = TensorBase
_has_cuda = _has_mps = _has_mkldnn = False


def _log_api_usage_once(event: str) -> None:
    """Without effect."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""
    return None


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Accepted and without effect."""
    return True


_jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _jit_override_can_fuse_on_cpu = _jit_set_profiling_executor


class DisableTorchFunctionSubclass:
    """A region in which subclasses of Tensor do not take over functions."""

    _flag = "subclasses_off"

    def __enter__(self) -> None:
        from . import _takeover

        self._var = getattr(_takeover, self._flag)
        self._token = self._var.set(True)

    def __exit__(self, *exc: object) -> None:
        self._var.reset(self._token)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A region in which neither subclasses of Tensor nor modes take over functions."""

    _flag = "all_off"


_DisableTorchDispatch = DisableTorchFunctionSubclass
_disabled_torch_function_impl = _disabled_torch_dispatch_impl = DISABLED


def _is_torch_function_enabled() -> bool:
    from . import _takeover

    return not (_takeover.subclasses_off.get() or _takeover.all_off.get())


def _is_torch_function_all_disabled() -> bool:
    from . import _takeover

    return _takeover.all_off.get()


def __getattr__(name: str) -> Any:
    if name == "_LinAlgError":
        from .linalg import LinAlgError

        return LinAlgError
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C' has no attribute '{name}'")
    from ._refused import NotAvailable, message

    raise NotAvailable(message(f"_C.{name}", "it is part of PyTorch's C++ library, and Penlight is pure Python."))
