"""`torch._check` and its variants, which raise PyTorch's errors unless a condition holds, and other small functions of `torch`."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ._common.user_warnings import warn_user
from .device import device as Device
from .overrides import handle_torch_function, has_torch_function
from .tensor import Tensor

_NO_MESSAGE = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement "
    "request to PyTorch.)"
)


def _assert(condition: Any, message: str) -> None:
    """`assert condition, message`; the condition may be a tensor."""
    if type(condition) is not Tensor and has_torch_function((condition,)):
        handle_torch_function(_assert, (condition,), condition, message)
        return
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError if the only element of a tensor is zero.

    >>> torch._assert_async(torch.tensor(True), "it should hold")
    """
    if not input:
        raise RuntimeError(assert_msg)


def _check_with(error_type: type[Exception], cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise `error_type` unless a condition holds; `message` is a function that returns the text."""
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all "
            "elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(_NO_MESSAGE if message is None else str(message()))


def _check(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless a condition holds.

    >>> torch._check(1 < 2, lambda: "one should be less than two")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise IndexError unless a condition holds."""
    _check_with(IndexError, cond, message)


def _check_value(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise ValueError unless a condition holds."""
    _check_with(ValueError, cond, message)


def _check_type(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise TypeError unless a condition holds."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise NotImplementedError unless a condition holds."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Any, message: Callable[[], Any] | None = None) -> None:
    """Raise RuntimeError unless all elements of a tensor are true."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check_with(RuntimeError, bool(cond._array.all()), message)


def _check_is_size(i: int, message: Callable[[], Any] | None = None, *, max: int | None = None) -> None:
    """Raise RuntimeError unless a number can be a size."""
    warn_user(
        "_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use _check(i >= 0) "
        "instead.",
        FutureWarning,
    )
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def get_file_path(*path_components: str) -> str:
    """The path of a file of this package.

    >>> torch.get_file_path("nn", "functional.py").endswith("functional.py")
    True
    """
    return os.path.join(os.path.dirname(__file__), *path_components)


def get_device_module(device: Any = None) -> Any:
    """The module of a device type, such as `torch.cuda`; `torch.cpu` by default.

    >>> torch.get_device_module().is_available()
    True
    """
    kind = "cpu" if device is None else Device(device).type
    if kind not in ("cpu", "cuda", "mps", "xpu", "mtia"):
        raise RuntimeError(f"Invalid device module type '{kind}'. Expected a module attribute named '{kind}' in torch.")
    return import_module(f"penlight.{kind}")


def sym_int(a: Any) -> int:
    """A number as an integer, rounded towards zero.

    >>> torch.sym_int(-2.5)
    -2
    """
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float.

    >>> torch.sym_float(2)
    2.0
    """
    return float(a)


def sym_not(a: Any) -> bool:
    """`not a`.

    >>> torch.sym_not(True)
    False
    """
    return not a


def sym_max(a: Any, b: Any) -> Any:
    """The larger number; a float if one of them is.

    >>> torch.sym_max(3, 2.0)
    3.0
    """
    larger = max(a, b)
    return float(larger) if isinstance(a, float) or isinstance(b, float) else larger


def sym_min(a: Any, b: Any) -> Any:
    """The smaller number; a float if one of them is.

    >>> torch.sym_min(3, 2.0)
    2.0
    """
    smaller = min(a, b)
    return float(smaller) if isinstance(a, float) or isinstance(b, float) else smaller


class SymInt:
    """A symbolic integer of PyTorch's compiler. Penlight has none, so it cannot be made, and `isinstance` returns False.

    >>> isinstance(3, torch.SymInt)
    False
    """

    def __init__(self, *args: Any) -> None:
        raise NotImplementedError(
            f"torch.{type(self).__name__} is not available: Penlight does not compile. Use Python numbers"
        )


class SymFloat(SymInt):
    """See `SymInt`.

    >>> isinstance(3.0, torch.SymFloat)
    False
    """


class SymBool(SymInt):
    """See `SymInt`.

    >>> isinstance(True, torch.SymBool)
    False
    """
