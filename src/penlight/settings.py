"""Switches that programs turn: threads, determinism, precision. Most have one answer on a CPU without kernels to choose from."""

from __future__ import annotations

from typing import Any

from ._common import user_warnings
from ._common.user_warnings import warn_user
from .kernels.parallel import set_threads, thread_limit

_state: dict[str, Any] = {"deterministic": 0, "precision": "highest", "interop": None}

# ----- Determinism --------------------------------------------------------------------------------------------------

_MODES = {"default": 0, "warn": 1, "error": 2}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for deterministic algorithms. All of Penlight's are, so this only remembers the wish.

    >>> torch.use_deterministic_algorithms(True); torch.are_deterministic_algorithms_enabled()
    True
    >>> torch.use_deterministic_algorithms(False)
    """
    _state["deterministic"] = 0 if not mode else 1 if warn_only else 2


def are_deterministic_algorithms_enabled() -> bool:
    """Whether deterministic algorithms were asked for.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _state["deterministic"] > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether a warning was preferred to an error where an algorithm is not deterministic.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _state["deterministic"] == 1


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """The same by a number or name: 0 "default", 1 "warn", 2 "error".

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
    """0, 1 or 2: see `set_deterministic_debug_mode`.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return _state["deterministic"]


# ----- Precision ----------------------------------------------------------------------------------------------------


def set_float32_matmul_precision(precision: str) -> None:
    """Ask for the precision of float32 matrix products; here they always have all of it.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        warn_user(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect."
        )
        return
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return _state["precision"]


def set_flush_denormal(mode: bool) -> bool:
    """Whether denormal numbers could be flushed to zero: NumPy has no such switch.

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
    """How many threads may work on one op, be it here or in the matrix library behind NumPy.

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
    """How many threads may work on one op.

    >>> torch.get_num_threads() >= 1
    True
    """
    return thread_limit()


def set_num_interop_threads(n: int) -> None:
    """Accepted: ops run one after the other here.

    >>> torch.set_num_interop_threads(torch.get_num_interop_threads())
    """
    _positive("set_num_interop_threads", n)
    _state["interop"] = n


def get_num_interop_threads() -> int:
    """What `set_num_interop_threads` was told, or the number of cores.

    >>> torch.get_num_interop_threads() >= 1
    True
    """
    return _state["interop"] or get_num_threads()


def init_num_threads() -> None:
    """Nothing to do: threads start when they are first needed.

    >>> torch.init_num_threads()
    """


# ----- Warnings and the build ---------------------------------------------------------------------------------------


def set_warn_always(b: bool) -> None:
    """Whether warnings that are given once in a process are given each time; Python's filters still decide which are shown.

    >>> torch.set_warn_always(True); torch.is_warn_always_enabled()
    True
    >>> torch.set_warn_always(False)
    """
    user_warnings.always = bool(b)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told.

    >>> torch.is_warn_always_enabled()
    False
    """
    return user_warnings.always


# What PyTorch was built with: a linear algebra library and Fourier transforms NumPy has too.
has_lapack = has_spectral = True
has_mkl = has_openmp = False


def compiled_with_cxx11_abi() -> bool:
    """False: nothing here is compiled.

    >>> torch.compiled_with_cxx11_abi()
    False
    """
    return False


def is_vulkan_available() -> bool:
    """False: the CPU is all there is.

    >>> torch.is_vulkan_available()
    False
    """
    return False
