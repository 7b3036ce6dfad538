"""The functions of `torch.backends` modules; their settings are in the table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from penlight._common.arguments import explain as _explain
from penlight._common.user_warnings import warn_user


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found: AVX512, AVX2 or DEFAULT.

    Returns:
        a string

    >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    True
    """
    from numpy._core._multiarray_umath import __cpu_features__ as features  # type: ignore[import-not-found]

    if features.get("AVX512F"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") else "DEFAULT"


def mkl_is_available() -> bool:
    """Whether NumPy was built on MKL.

    >>> isinstance(torch.backends.mkl.is_available(), bool)
    True
    """
    config: Any = np.show_config(mode="dicts")
    return "mkl" in str(config.get("Build Dependencies", {}).get("blas", {}).get("name", "")).lower()


class verbose(nullcontext[None]):
    """A context for MKL's verbose mode; without effect.

    `enable` is accepted.

    >>> with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON): pass
    """

    __module__ = "penlight.backends.mkl"

    def __init__(self, enable: int) -> None:
        super().__init__()
        self.enable = enable


class SDPAParams(NamedTuple):
    """The arguments of `scaled_dot_product_attention`, for queries about CUDA's kernels.

    `query`, `key`, `value`, `attn_mask`, `dropout`, `is_causal` and `enable_gqa` are those of the function.

    >>> x = torch.ones(1, 1, 2, 4)
    >>> torch.backends.cuda.SDPAParams(x, x, x, None, 0.0, True, False).is_causal
    True
    """

    query: Any
    key: Any
    value: Any
    attn_mask: Any
    dropout: float
    is_causal: bool
    enable_gqa: bool


SDPAParams.__module__ = "penlight.backends.cuda"


def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Any:
    """Deprecated: `torch.nn.attention.sdpa_kernel`. Penlight has one implementation of attention.

    Args:
        enable_flash, enable_math, enable_mem_efficient, enable_cudnn: the answers of `math_sdp_enabled()` and similar queries inside

    Returns:
        a context manager

    >>> with torch.backends.cuda.sdp_kernel(enable_math=False): torch.backends.cuda.math_sdp_enabled()
    False
    """
    warn_user(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
    )
    return _sdp_region(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)


@contextmanager
def _sdp_region(**wanted: bool) -> Iterator[None]:
    cuda = import_module("penlight.backends.cuda")
    before = {kind: getattr(cuda, f"{kind}_sdp_enabled")() for kind in wanted}
    for kind, enabled in wanted.items():
        getattr(cuda, f"enable_{kind}_sdp")(enabled)
    try:
        yield
    finally:
        for kind, enabled in before.items():
            getattr(cuda, f"enable_{kind}_sdp")(enabled)


_explain(globals())
