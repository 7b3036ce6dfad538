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


def _switch(key: str, may: str, reads: str = "{}_sdp_enabled", writes: str = "enable_{}_sdp") -> tuple[Any, Any]:
    """The function that reads a switch of attention, and the one that sets it."""

    def read() -> bool:
        return _sdp[key]

    def write(enabled: bool) -> None:
        _sdp[key] = bool(enabled)

    read.__name__, write.__name__ = reads.format(key), writes.format(key)
    read.__doc__, write.__doc__ = f"Whether {may}.", "Accepted; attention is computed in one way here."
    return read, write


flash_sdp_enabled, enable_flash_sdp = _switch("flash", "a GPU may use flash attention")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch(
    "mem_efficient", "a GPU may use memory-efficient attention"
)
math_sdp_enabled, enable_math_sdp = _switch("math", "attention may be composed of products")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn", "a GPU may use cuDNN's attention")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _switch(
    "reduction", "attention may add up in short dtypes",
    "fp16_bf16_reduction_math_sdp_allowed", "allow_fp16_bf16_reduction_math_sdp",
)  # fmt: skip


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
