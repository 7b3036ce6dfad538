"""`watch` makes errors name the responsible line of the program, and finds the first NaN or infinity."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from .._common.user_warnings import is_ours
from ..autograd import modes
from .log import Listener, Listeners, Log

_CHOICES = ("raise", "note", "ignore")
_last: Log | None = None


class watch:
    """A context manager in which autograd errors name the responsible line of the program, in a note below PyTorch's message.

    If a tensor does not require grad, the note shows the line that cut it off (`detach()`, `item()`, `no_grad`, an op without derivative). If a
    saved tensor was modified, it shows the line that saved it and the lines that wrote to it. Every op is slower inside. The `Log` that it
    returns lists the recorded events, and `inspect.explain` reads it.

    Args:
        nan: "raise" stops with a `FloatingPointError` at the op that makes the first NaN from values without NaN, in the forward pass or
            (then with the line of the forward pass that it belongs to) in the backward pass. "note" lists it in `nans`. "ignore" does not look.
        inf: the same for infinities.
        log: a listener of your own. It is notified in addition to the listeners that are already open; a nested `watch()` replaces the outer one.

    >>> x = torch.tensor([1.0, 0.0], requires_grad=True)
    >>> with torch.inspect.watch() as seen:
    ...     y = x.detach() * 2
    >>> print(seen.cuts[0].what)
    detach()
    >>> with torch.inspect.watch(nan="raise"):
    ...     x.log() * 0
    Traceback (most recent call last):
    FloatingPointError: mul() made NaN from values without NaN:
    ...
    """

    def __init__(self, nan: str = "note", inf: str = "ignore", log: Listener | None = None) -> None:
        for name, given in (("nan", nan), ("inf", inf)):
            if given not in _CHOICES:
                raise ValueError(f'{name} must be "raise", "note" or "ignore", not {given!r}')
        self._nan, self._inf, self._log = nan, inf, log
        self._outer: list[Any] = []

    def __enter__(self) -> Any:
        global _last
        seen = Log(self._nan, self._inf) if self._log is None else self._log
        _last = seen.log or _last
        modes.open_slow_mode()
        modes.count_logs(1)
        outer = modes.log.get()
        self._outer.append(outer)
        modes.log.set(_beside(outer, seen))
        return seen

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        modes.log.set(self._outer.pop())
        modes.count_logs(-1)
        modes.close_slow_mode()
        if isinstance(error, FloatingPointError):
            error.__traceback__ = _without_our_frames(trace)


def _beside(outer: Listener | None, new: Listener) -> Listener:
    """Combine a new listener with the open ones. If the new one is a log, it replaces an open log: the innermost `watch()` counts."""
    if outer is None or new.alone:
        return new
    each = outer.each if isinstance(outer, Listeners) else [outer]
    kept = [one for one in each if new.log is None or one.log is None]
    return Listeners([*kept, new]) if kept else new


def _without_our_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback reduced to the user's frames: the message contains the rest."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    for one in reversed(frames):
        if not is_ours(one.tb_frame.f_code.co_filename):
            trace = TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return trace


def current_log() -> Log | None:
    """The log of the `watch()` that is open in this thread, or that was opened last."""
    seen: Listener | None = modes.log.get()
    return _last if seen is None or seen.log is None else seen.log
