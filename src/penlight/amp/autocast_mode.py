"""`torch.amp.autocast`: a region in which products and convolutions run in a short dtype."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

from penlight import dtypes
from penlight._common.user_warnings import warn_user
from penlight.tensor import Tensor

from . import _state

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

_AVAILABLE = {"cpu", "cuda", "xpu", "ipu", "hpu", "xla", "privateuseone", "mps", "mtia", "maia"}


def is_autocast_available(device_type: str) -> bool:
    """Whether a device type supports autocast. In Penlight it has an effect only on the CPU.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return _state._kind(device_type) in _AVAILABLE


class autocast:
    """A region (or function) in which matrix products and convolutions run in `dtype`, and losses in float32.

    >>> layer = torch.nn.Linear(2, 2)
    >>> with torch.autocast("cpu", dtype=torch.float16):
    ...     print(layer(torch.ones(1, 2)).dtype)
    torch.float16
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device_type
        self.fast_dtype = _state.get_autocast_dtype(device_type) if dtype is None else dtype
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self._cache_enabled = _state.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._possible()

    def _possible(self) -> bool:
        """Whether the region can have an effect; warns as PyTorch does if not."""
        if self.device == "cuda":
            words = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype in (dtypes.bfloat16, dtypes.float16):
            return True
        else:
            name = self.device.upper()
            words = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        warn_user(words)
        return False

    def __enter__(self) -> autocast:
        if self._enabled and self.device == "cpu":
            self.fast_dtype.np  # noqa: B018  (raises now if ml_dtypes is missing, not in the middle of a network)
        self.prev_cache_enabled = _state.is_autocast_cache_enabled()
        self.prev = _state.is_autocast_enabled(self.device)
        self.prev_fastdtype = _state.get_autocast_dtype(self.device)
        nesting = _state.depth.get()
        try:
            _state._change(self.device, self._enabled, self.fast_dtype)
            _state.autocast_increment_nesting()
            _state.set_autocast_cache_enabled(self._cache_enabled)
        except BaseException:  # Ctrl-C: there will be no __exit__
            _state.depth.set(nesting + 1)
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        try:
            _state._change(self.device, self.prev, self.prev_fastdtype)
        finally:
            _state.set_autocast_cache_enabled(self.prev_cache_enabled)
            if _state.autocast_decrement_nesting() == 0:
                _state.clear_autocast_cache()

    def __call__(self, func: Any) -> Any:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                "Did you mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n"
                "        output = model(input)"
            )

        @wraps(func)
        def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)

        return decorate_autocast


def _enter_autocast(*vals: Any) -> autocast:
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """Cast the floating-point tensors of a device to a dtype, also in containers."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if fits else value
    if isinstance(value, dict):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, device_type, dtype) for item in value)
    return value


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """A decorator for the `forward` of an `autograd.Function`: saves the autocast state for `custom_bwd`, or with `cast_inputs` casts the
    inputs and disables autocast.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * x
    >>> Square.apply(torch.tensor(3.0))
    tensor(9.)
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = _state.get_autocast_dtype(device_type)
        enabled = _state.is_autocast_enabled(device_type)
        if cast_inputs is None:
            args[0]._fwd_used_autocast = enabled
            return fwd(*args, **kwargs)
        args[0]._fwd_used_autocast = False
        if not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """A decorator for the `backward` of an `autograd.Function`: runs it under autocast if the forward pass did.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor(2.)
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return partial(custom_bwd, device_type=device_type)

    @wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
