"""torch.backends.cudnn: its switches can be set and change nothing; cuDNN is not here."""

from __future__ import annotations

from typing import Any

from penlight import dtypes

from ._switches import Switches, changed

enabled = True
deterministic = False
benchmark = False
benchmark_limit: int | None = None
allow_tf32 = True
fp32_precision = "none"
conv, rnn = Switches(fp32_precision="tf32"), Switches(fp32_precision="tf32")

CUDNN_TENSOR_DTYPES = {dtypes.float16, dtypes.float32, dtypes.float64}


def is_available() -> bool:
    """False: cuDNN is not here."""
    return False


def version() -> None:
    """None: cuDNN is not here."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: cuDNN takes no tensor of the CPU."""
    return False


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:
    """Set the switches that are given, and return what they were."""
    own = globals()
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")
    before = tuple(own[name] for name in names)
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32, _fp32_precision)
    own.update({name: value for name, value in zip(names, given) if value is not None})
    return before


def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Any:
    """A region in which the switches have other values."""
    return changed(
        globals(), enabled=enabled, benchmark=benchmark, benchmark_limit=benchmark_limit, deterministic=deterministic,
        allow_tf32=allow_tf32, fp32_precision=fp32_precision,
    )  # fmt: skip
