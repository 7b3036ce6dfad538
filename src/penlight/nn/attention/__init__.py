"""Selecting an attention implementation. There is only one here, so choices are accepted without effect."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from typing import Any

from penlight._common.docstrings import example

__all__ = [
    "WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "activate_flash_attention_impl", "current_flash_attention_impl",
    "list_flash_attention_impls", "register_flash_attention_impl", "restore_flash_attention_impl", "sdpa_kernel",
]  # fmt: skip

WARN_FOR_UNFUSED_KERNELS = False


@example("int(torch.nn.attention.SDPBackend.FLASH_ATTENTION)", "1")
class SDPBackend(Enum):
    """The backends of scaled dot product attention by their PyTorch names."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Accepts a choice of backends for the block, without effect: there is one implementation.

    Args:
        backends: a member of `SDPBackend`, or a list of them.
        set_priority: accepted and ignored.

    Returns:
        a context manager.

    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     pass
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, "
            f"got {type(backends).__name__}"
        )
    yield {}


@example("torch.nn.attention.list_flash_attention_impls()", "[]")
def list_flash_attention_impls() -> list[str]:
    """The implementations of flash attention: none, because it needs a GPU.

    Returns:
        an empty list.
    """
    return []


@example("torch.nn.attention.current_flash_attention_impl()")
def current_flash_attention_impl() -> None:
    """The implementation in use: none.

    Returns:
        None
    """


def activate_flash_attention_impl(impl: str) -> None:
    """Raises: there is none to activate.

    Args:
        impl: its name.

    Returns:
        nothing: it raises.

    >>> torch.nn.attention.activate_flash_attention_impl("FA4")
    Traceback (most recent call last):
    ValueError: Unknown flash attention impl 'FA4'. Available implementations: []
    """
    raise ValueError(f"Unknown flash attention impl '{impl}'. Available implementations: []")


@example("torch.nn.attention.restore_flash_attention_impl()")
def restore_flash_attention_impl() -> None:
    """Does nothing: there is only one implementation.

    Returns:
        None
    """


def register_flash_attention_impl(impl: str, *, register_fn: Any) -> None:
    """Raises: there is only one implementation.

    Args:
        impl: its name.
        register_fn: the function that would register it.

    Returns:
        nothing: it raises.

    >>> torch.nn.attention.register_flash_attention_impl("FA4", register_fn=print)
    Traceback (most recent call last):
    NotImplementedError: flash attention 'FA4' is for GPUs, of which there are none here
    """
    raise NotImplementedError(f"flash attention '{impl}' is for GPUs, of which there are none here")
