"""Anomaly mode: each node records where in the forward pass it was made, and a backward error or a NaN gradient reports it.

>>> import penlight as torch
>>> torch.is_anomaly_enabled()
False
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

from .._common.user_warnings import is_ours, warn_user
from ..ops.machinery import dispatch
from . import engine, modes
from .modes import ANOMALY
from .node import Node

__all__ = ["detect_anomaly", "set_detect_anomaly"]

# The node that the engine is running: the parent of nodes made meanwhile (create_graph).
_running: ContextVar[Node | None] = ContextVar("penlight_anomaly_running", default=None)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> with torch.autograd.set_detect_anomaly(True):
    ...     print(torch.is_anomaly_enabled())
    True
    """
    return ANOMALY["enabled"]


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode checks gradients for NaN.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     print(torch.is_anomaly_check_nan_enabled())
    False
    """
    return ANOMALY["check_nan"]


def _set(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly mode, for all threads."""
    if enabled and not ANOMALY["enabled"]:
        modes.open_slow_mode()
        dispatch.watchers_of_all_threads.append(_remember)
        engine.watchers_of_all_threads.append(_watch)
    elif ANOMALY["enabled"] and not enabled:
        engine.watchers_of_all_threads.remove(_watch)
        dispatch.watchers_of_all_threads.remove(_remember)
        modes.close_slow_mode()
    ANOMALY["enabled"], ANOMALY["check_nan"] = bool(enabled), bool(check_nan)


class detect_anomaly:
    """Inside, an error in backward shows the forward line that caused it, and NaN gradients are errors.

    >>> import penlight as torch, warnings
    >>> x = torch.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with torch.autograd.detect_anomaly():
    ...         (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan, self.check_nan = ANOMALY["enabled"], ANOMALY["check_nan"], check_nan
        warn_user(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
        )

    def __enter__(self) -> None:
        self.prev, self.prev_check_nan = ANOMALY["enabled"], ANOMALY["check_nan"]
        _set(True, self.check_nan)

    def __exit__(self, *args: object) -> None:
        _set(self.prev, self.prev_check_nan)


class set_detect_anomaly:
    """Switch anomaly mode on or off: at once as a function, or for a `with` block.

    >>> with torch.autograd.set_detect_anomaly(True, check_nan=False):
    ...     pass
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.prev, self.prev_check_nan = ANOMALY["enabled"], ANOMALY["check_nan"]
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *args: object) -> None:
        _set(self.prev, self.prev_check_nan)


# ----- While it is on ---------------------------------------------------------------------------------------------------------------


def _remember(node: Node) -> None:
    """Record in a new node where it was made and, during a backward pass, by which node."""
    node.metadata["traceback_"] = _stack()
    parent = _running.get()
    if parent is not None:
        node.metadata["parent_"] = parent


def _stack(all_frames: bool = True) -> list[str]:
    """The running lines of Python, outermost first, down to the last line of the user's code; or only the user's lines."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    lines: list[str] = []
    while frame is not None:
        code, number = frame.f_code, frame.f_lineno
        if not all_frames and is_ours(code.co_filename):
            frame = frame.f_back
            continue
        entry = f'  File "{code.co_filename}", line {number}, in {code.co_name}\n'
        text = linecache.getline(code.co_filename, number, frame.f_globals).strip()
        lines.append(f"{entry}    {text}\n" if text else entry)
        frame = frame.f_back
    return lines[::-1]


def _watch(node: Node, go: Callable[[], Any]) -> Any:
    """Run a node; explain its error if it raises, and refuse NaN gradients."""
    outer = _running.get()
    _running.set(node)
    try:
        results = go()
        if ANOMALY["check_nan"]:
            _check_nan(node, results)
        return results
    except Exception as error:
        for message in _story(node):
            error.add_note(message)
            warn_user(message)
        raise
    finally:
        _running.set(outer)


def _check_nan(node: Node, results: Any) -> None:
    for index, grad in enumerate(results):
        if grad is not None and grad._array.dtype.kind in "fcV" and bool(np.isnan(grad._array).any()):
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {index}th output.")


def _story(node: Node) -> list[str]:
    """Where a node was made, then where the node was made whose backward made it, and so on."""
    lines = node.metadata.get("traceback_")
    if lines is None:
        return [
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during forward pass "
            "for more information."
        ]
    story = [f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}"]
    parent = node.metadata.get("parent_")
    while parent is not None:
        lines = parent.metadata.get("traceback_")
        if lines is None:
            story.append(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass information available. Enable detect "
                "anomaly during forward pass for more information."
            )
            break
        story.append(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the previous "
            f"calculation:\n{''.join(lines)}"
        )
        parent = parent.metadata.get("parent_")
    return story
