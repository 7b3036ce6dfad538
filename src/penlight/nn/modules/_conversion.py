"""Converts all tensors of a module at once: dtype, device, memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Self, TypeVar

import penlight
from penlight import Tensor, dtypes
from penlight._common.docstrings import documented, example
from penlight._common.user_warnings import warn_user
from penlight.nn.parameter import Parameter

from ._registry import Tables
from ._state_dict import swaps_tensors

_TO_SIGNATURES = (
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
)


_M = TypeVar("_M", bound="Conversion")


def _cast(dtype: str) -> Callable[[_M], _M]:
    """A method that casts to a floating-point dtype."""

    def cast(self: _M) -> _M:
        wanted = getattr(penlight, dtype)
        return self._apply(lambda t: t.to(wanted) if t.is_floating_point() else t)

    cast.__name__ = cast.__qualname__ = {"float32": "float", "float64": "double", "float16": "half"}.get(dtype, dtype)
    cast.__doc__ = documented(
        f"Casts floating point parameters and buffers to {dtype}.",
        f">>> torch.nn.Linear(2, 2).{cast.__name__}().weight.dtype", f"torch.{dtype}",
    )  # fmt: skip
    return cast


def _move(kind: str, error: str = "RuntimeError") -> Callable[..., Any]:
    """A method that requests a kind of device, none of which exists here."""

    def move(self: _M, device: Any = None) -> _M:
        return self._apply(lambda t: getattr(t, kind)(device))

    move.__name__ = kind
    move.__doc__ = documented(
        f"Asks for {kind.upper()}, which raises as PyTorch built without it does.",
        f">>> torch.nn.Linear(1, 1).{kind}()", "Traceback (most recent call last):", "  ...", f"{error}: ...",
    )  # fmt: skip
    return move


class Conversion(Tables):
    """The part of `Module` that converts parameters and buffers."""

    children: Callable[..., Any]
    _get_name: Callable[..., str]

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replaces every parameter, gradient and buffer by `fn` of it; parameters keep their identity if possible."""
        if recurse:
            for child in self.children():
                child._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._apply_to_parameter(name, param, fn)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _apply_to_parameter(self, name: str, param: Parameter, fn: Callable[[Any], Any]) -> None:
        grad = param.grad
        with penlight.no_grad():
            new = fn(param)
            new_grad = None if grad is None else fn(grad)
        if swaps_tensors():
            self._swap_parameter(name, param, new, grad, new_grad)
            return
        if _can_set_data(param, new):
            param.data = new
        else:
            param = self._parameters[name] = Parameter(new, param.requires_grad)
        if grad is None or new_grad is None:
            return
        if _can_set_data(grad, new_grad) and param.grad is grad:
            grad.data = new_grad
        else:
            param.grad = new_grad.requires_grad_(grad.requires_grad)

    def _swap_parameter(self, name: str, param: Any, new: Any, grad: Any, new_grad: Any) -> None:
        path = f"{self._get_name()}.{name}"
        try:
            param.grad = None
            penlight.utils.swap_tensors(param, Parameter(new, requires_grad=param.requires_grad))
        except Exception as error:
            param.grad = grad
            raise RuntimeError(f"_apply(): Couldn't swap {path}") from error
        if grad is None:
            return
        new_grad.requires_grad_(grad.requires_grad)
        try:
            penlight.utils.swap_tensors(grad, new_grad)
        except Exception as error:
            raise RuntimeError(f"_apply(): Couldn't swap {path}.grad") from error
        param.grad = grad

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Calls `fn` on every submodule and then on the module itself, for example to initialise them.

        >>> m = torch.nn.Sequential(torch.nn.ReLU()).apply(lambda module: print(type(module).__name__))
        ReLU
        Sequential
        """
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    @example("torch.nn.Linear(1, 1).to(torch.float64).weight.dtype", "torch.float64")
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moves and casts parameters and buffers, in place: `to(device)`, `to(dtype)`, `to(tensor)`.

        The dtype must be floating-point or complex, and only tensors of these kinds are cast.
        """
        device, dtype, non_blocking, memory_format = _parse_to(*args, **kwargs)
        if dtype is not None and not dtype.is_floating_point:
            _check_not_real(dtype)

        def convert(t: Tensor) -> Tensor:
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            extra = {"memory_format": memory_format} if memory_format is not None and t.dim() in (4, 5) else {}
            try:
                return t.to(device, wanted, non_blocking, **extra)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                    "module from meta to a different device."
                ) from None

        return self._apply(convert)

    @example('torch.nn.Linear(2, 2).to_empty(device="cpu").weight.shape', "torch.Size([2, 2])")
    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Moves all tensors to a device without copying their values."""
        return self._apply(lambda t: penlight.empty_like(t, device=device), recurse=recurse)

    @example("torch.nn.Linear(1, 1).type(torch.float64).bias.dtype", "torch.float64")
    def type(self, dst_type: Any) -> Self:
        """Casts all parameters and buffers to a type."""
        return self._apply(lambda t: t.type(dst_type))

    float, double = _cast("float32"), _cast("float64")
    half, bfloat16 = _cast("float16"), _cast("bfloat16")

    @example("torch.nn.Linear(2, 2).cpu().weight.device", "device(type='cpu')")
    def cpu(self) -> Self:
        """Moves everything to the CPU; nothing to do."""
        return self._apply(lambda t: t.cpu())

    cuda, xpu, ipu, mtia = _move("cuda", "AssertionError"), _move("xpu"), _move("ipu"), _move("mtia")

    @example("torch.nn.Linear(2, 2).share_memory().weight.is_shared()", "True")
    def share_memory(self) -> Self:
        """Moves parameters and buffers to shared memory; see `Tensor.share_memory_`."""
        return self._apply(lambda t: t.share_memory_())


def _check_not_real(dtype: Any) -> None:
    """Refuses dtypes that parameters cannot have, and warns about complex ones."""
    if not dtype.is_complex:
        raise TypeError(f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}")
    warn_user(
        "Complex modules are a new feature under active development whose design may change, and some "
        "modules might not work as expected when using complex tensors as parameters or buffers. Please "
        "file an issue at https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml if a "
        "complex module does not work as expected.",
    )


def _can_set_data(old: Tensor, new: Tensor) -> bool:
    """Whether the old tensor can take the new data and remain the same object."""
    future = sys.modules.get("penlight.__future__")
    if future is not None and future.get_overwrite_module_params_on_conversion():
        return False
    return old.device.type == new.device.type


def _by_device(device: Any = None, dtype: Any = None, non_blocking: Any = False, copy: Any = False, *,
               memory_format: Any = None) -> tuple[Any, ...]:  # fmt: skip
    return device, dtype, non_blocking, copy, memory_format


def _by_dtype(dtype: Any, non_blocking: Any = False, copy: Any = False, **others: Any) -> tuple[Any, ...]:
    return _by_device(dtype=dtype, non_blocking=non_blocking, copy=copy, **others)


def _by_tensor(tensor: Any, non_blocking: Any = False, copy: Any = False, *,
               memory_format: Any = None) -> tuple[Any, ...]:  # fmt: skip
    return tensor.device, tensor.dtype, non_blocking, copy, memory_format


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of `to` in its three forms, as (device, dtype, non_blocking, memory_format)."""
    given = [_dtype_given(value) for value in args]
    first = given[0] if given else kwargs.get("tensor")
    form = _by_tensor if isinstance(first, Tensor) else _by_dtype if isinstance(first, penlight.dtype) else _by_device
    try:
        parsed = form(*given, **{name: _dtype_given(value) for name, value in kwargs.items()})
    except TypeError:
        raise _bad_to(args, kwargs) from None
    device, dtype, non_blocking, copy, memory_format = parsed
    if isinstance(device, (str, int)) and not isinstance(device, bool):
        device = penlight.device(device)
    kinds = ((device, penlight.device), (dtype, penlight.dtype), (memory_format, penlight.memory_format))
    if not isinstance(non_blocking, bool) or any(v is not None and not isinstance(v, kind) for v, kind in kinds):
        raise _bad_to(args, kwargs)
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    return device, dtype, non_blocking, memory_format


def _dtype_given(value: Any) -> Any:
    return dtypes.given(value) if value.__class__ is type else value


def _bad_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    def name(value: Any) -> str:
        if isinstance(value, penlight.dtype):
            return "torch.dtype"
        return type(value).__name__

    shown = ", ".join([name(value) for value in args])
    named = "".join(f"{key}={name(value)}, " for key, value in kwargs.items())
    shown = f"{shown}, {named}" if shown and named else shown + named
    return TypeError(
        f"to() received an invalid combination of arguments - got ({shown}), but expected one of:\n{_TO_SIGNATURES}"
    )
