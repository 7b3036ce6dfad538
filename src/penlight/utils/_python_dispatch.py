"""torch.utils._python_dispatch: modes below the functions, which Penlight has not. TorchFunctionMode takes over functions."""

from __future__ import annotations

from typing import Any

from penlight._common.docstrings import example


class TorchDispatchMode:
    """Can be subclassed; entering one is refused.

    >>> with TorchDispatchMode():
    ...     pass
    Traceback (most recent call last):
      ...
    NotImplementedError: TorchDispatchMode is not available: Penlight has no dispatcher below its functions. Use ...
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        raise NotImplementedError(
            "TorchDispatchMode is not available: Penlight has no dispatcher below its functions. Use "
            "torch.overrides.TorchFunctionMode, the profiler, or penlight.inspect"
        )

    def __exit__(self, *exc: object) -> None:
        pass


@example("is_traceable_wrapper_subclass(1)", "False")
def is_traceable_wrapper_subclass(t: Any) -> bool:
    """False: there are no such classes here."""
    return False
