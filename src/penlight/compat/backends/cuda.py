"""torch.backends.cuda: its switches can be set and change nothing; CUDA is not here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from penlight._common.user_warnings import warn_user
from penlight._refused import refused_function

from ._switches import Switches

matmul = Switches(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)

# Which ways of attention a GPU may take.
_sdp = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False}


def is_built() -> bool:
    """False: this is no build with CUDA."""
    return False


def is_flash_attention_available() -> bool:
    """False: it needs a GPU."""
    return False


def flash_sdp_enabled() -> bool:
    """Whether a GPU may use flash attention."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Accepted; attention is computed in one way here."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """Whether a GPU may use memory-efficient attention."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Accepted; attention is computed in one way here."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """Whether attention may be composed of products."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Accepted; attention is computed in one way here."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """Whether a GPU may use cuDNN's attention."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Accepted; attention is computed in one way here."""
    _sdp["cudnn"] = bool(enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Whether attention may add up in short dtypes."""
    return _sdp["reduction"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Accepted and without effect."""
    _sdp["reduction"] = bool(enabled)


@contextmanager
def _sdp_region(**wanted: bool) -> Iterator[None]:
    before = dict(_sdp)
    _sdp.update(wanted)
    try:
        yield
    finally:
        _sdp.update(before)


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Any:
    """Deprecated: `torch.nn.attention.sdpa_kernel`. Attention is computed in one way here."""
    warn_user(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    return _sdp_region(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)


class SDPAParams(NamedTuple):
    """What `scaled_dot_product_attention` is called with, for questions about CUDA's kernels."""

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """False: there is no CUDA."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def _refused(name: str) -> Any:
    return refused_function(
        f"backends.cuda.{name}", "Torch not compiled with CUDA enabled. Penlight runs on the CPU", AssertionError
    )


def __getattr__(name: str) -> Any:
    if name in ("preferred_linalg_library", "preferred_blas_library", "cufft_plan_cache"):
        return _refused(name)
    raise AttributeError(f"module 'torch.backends.cuda' has no attribute '{name}'")
