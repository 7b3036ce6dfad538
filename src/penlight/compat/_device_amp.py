"""torch.cuda.amp and torch.cpu.amp: the old names of `torch.amp` for one device. They warn."""

from __future__ import annotations

from functools import partial
from typing import Any

from penlight import dtypes
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import documented
from penlight._common.user_warnings import warn_user
from penlight.amp import autocast_mode as _amp, grad_scaler as _scaler


def _deprecated(old: str, new: str) -> None:
    warn_user(f"`torch.{old}` is deprecated. Please use `torch.amp.{new}` instead.", FutureWarning)


def _classes(device: str, default: Any, homes: tuple[str, str]) -> tuple[Any, Any]:
    """Create `autocast` and `GradScaler` for a device; `homes` are their `__module__`s."""

    class autocast(_amp.autocast):
        __doc__ = documented(
            f'Deprecated: `torch.amp.autocast("{device}", ...)`.', f">>> with torch.{device}.amp.autocast(): pass"
        )

        def __init__(self, enabled: bool = True, dtype: Any = default, cache_enabled: bool = True) -> None:
            _deprecated(f"{device}.amp.autocast(args...)", f"autocast('{device}', args...)")
            super().__init__(device, dtype, enabled, cache_enabled)

    class GradScaler(_scaler.GradScaler):
        __doc__ = documented(
            f'Deprecated: `torch.amp.GradScaler("{device}", ...)`.', f">>> scaler = torch.{device}.amp.GradScaler()"
        )

        def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                     growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
            _deprecated(f"{device}.amp.GradScaler(args...)", f"GradScaler('{device}', args...)")
            super().__init__(device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)

    _explain({"autocast": autocast, "GradScaler": GradScaler})
    for made, home in zip((autocast, GradScaler), homes):
        made.__module__, made.__qualname__ = home, made.__name__
    return autocast, GradScaler


cuda_autocast, CudaGradScaler = _classes(
    "cuda", None, ("penlight.cuda.amp.autocast_mode", "penlight.cuda.amp.grad_scaler")
)
cpu_autocast, CpuGradScaler = _classes("cpu", dtypes.bfloat16, ("penlight.cpu.amp", "penlight.cpu.amp"))


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type="cuda")`.

    Args:
        fwd: the `forward`, or None for a decorator
        cast_inputs: the dtype that arguments are cast to, None to leave them

    Returns:
        the decorated `forward`, or a decorator

    >>> class Twice(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.cuda.amp.custom_fwd
    ...     def forward(ctx, x):
    ...         return 2 * x
    >>> Twice.apply(torch.ones(1))
    tensor([2.])
    """
    _deprecated("cuda.amp.custom_fwd(args...)", "custom_fwd(args..., device_type='cuda')")
    return partial(_amp.custom_fwd, device_type="cuda", cast_inputs=cast_inputs)(fwd)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type="cuda")`.

    Args:
        bwd: the `backward`

    Returns:
        the decorated `backward`

    >>> backward = torch.cuda.amp.custom_bwd(lambda ctx, grad: 2 * grad)
    """
    _deprecated("cuda.amp.custom_bwd(args...)", "custom_bwd(args..., device_type='cuda')")
    return _amp.custom_bwd(bwd, device_type="cuda")


custom_fwd.__module__ = custom_bwd.__module__ = cuda_autocast.__module__


_explain(globals())
