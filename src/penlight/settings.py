"""Global settings: determinism, precision, threads and warnings. Those that choose between kernels of PyTorch have no effect."""

from __future__ import annotations

from typing import Any

from ._common import user_warnings
from ._common.user_warnings import warn_user
from .kernels.parallel import set_threads, thread_limit

_state: dict[str, Any] = {"deterministic": 0, "precision": "highest", "interop": None}

# ----- Determinism --------------------------------------------------------------------------------------------------

_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Request deterministic algorithms. All of Penlight's are deterministic, so this only sets the flag.

    >>> torch.use_deterministic_algorithms(True); torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    _state["deterministic"] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were requested.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _state["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether nondeterministic algorithms were to warn instead of raising an error.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _state["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Set the determinism mode by number or name: 0 "default", 1 "warn", 2 "error".

    >>> torch.set_deterministic_debug_mode("warn"); torch.get_deterministic_debug_mode()
    1
    >>> torch.set_deterministic_debug_mode(0)
    """
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    _state["deterministic"] = debug_mode


def get_deterministic_debug_mode() -> int:
    """The determinism mode, 0, 1 or 2: see `set_deterministic_debug_mode`.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return _state["deterministic"]


# ----- Precision ----------------------------------------------------------------------------------------------------


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision of float32 matrix products. Here they always have full precision.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect."
        )
        return
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """The precision given to `set_float32_matmul_precision`.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _state["precision"]


def set_flush_denormal(mode: bool) -> bool:
    """Always False: NumPy cannot flush denormal numbers to zero.

    >>> torch.set_flush_denormal(True)
    False
    """
    return False


# ----- Threads ------------------------------------------------------------------------------------------------------


def _positive(name: str, n: int) -> None:
    if not isinstance(n, int) or isinstance(n, bool):
        raise TypeError(f"{name} expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")


def set_num_threads(n: int) -> None:
    """Set how many threads may work on one op, in Penlight's kernels and in NumPy's BLAS.

    >>> before = torch.get_num_threads()
    >>> torch.set_num_threads(1); torch.get_num_threads()
    1
    >>> torch.set_num_threads(before)
    """
    _positive("set_num_threads", n)
    if not set_threads(n):
        try:
            from threadpoolctl import threadpool_limits  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            return
        threadpool_limits(n, "blas")


def get_num_threads() -> int:
    """The number of threads that may work on one op.

    >>> torch.get_num_threads() >= 1
    True
    """
    return thread_limit()


def set_num_interop_threads(n: int) -> None:
    """Accepted without effect: ops run sequentially.

    >>> torch.set_num_interop_threads(torch.get_num_interop_threads())
    """
    _positive("set_num_interop_threads", n)
    _state["interop"] = n


def get_num_interop_threads() -> int:
    """The number given to `set_num_interop_threads`, or else the number of threads.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return _state["interop"] or get_num_threads()


def init_num_threads() -> None:
    """Without effect: threads start when they are first needed.

    >>> torch.init_num_threads()
    """


# ----- Warnings and the build ---------------------------------------------------------------------------------------


def set_warn_always(b: bool) -> None:
    """Set whether to repeat warnings that are otherwise issued once per process. Python's filters still apply.

    >>> torch.set_warn_always(True); torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    user_warnings.always = bool(b)


def is_warn_always_enabled() -> bool:
    """The value given to `set_warn_always`.

    >>> torch.is_warn_always_enabled()
    False
    """
    return user_warnings.always


# PyTorch's facts about its build. NumPy has linear algebra and Fourier transforms too.
has_lapack = has_spectral = True
has_mkl = has_openmp = False


def compiled_with_cxx11_abi() -> bool:
    """False: nothing here is compiled.

    >>> torch.compiled_with_cxx11_abi()
    False
    """
    return False


def is_vulkan_available() -> bool:
    """False: only the CPU is supported.

    >>> torch.is_vulkan_available()
    False
    """
    return False
