"""Modules of `torch.utils` with little behind them: classes that can be made or subclassed, and facts for other libraries' optimisers."""

from __future__ import annotations

from typing import Any, NoReturn

from penlight._common.docstrings import example

NO_FLOPS = (
    "Penlight does not count operations this way.",
    "Use torch.profiler.profile(with_flops=True) and key_averages().",
)


@example("torch.utils.flop_counter.FlopCounterMode(display=False).get_total_flops()", "0")
class FlopCounterMode:
    """A counter that has counted nothing; trainers make one before they know whether they will use it. Entering it is refused."""

    __module__ = "penlight.utils.flop_counter"

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:  # fmt: skip
        self.depth, self.display = depth, display

    def get_total_flops(self) -> int:
        """How many operations were counted: none."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """What was counted in each module: nothing."""
        return {}

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(f"torch.utils.flop_counter.FlopCounterMode is not available: {' '.join(NO_FLOPS)}")

    def __exit__(self, *exc: object) -> None:
        pass


class TorchDispatchMode:
    """Can be subclassed; entering one is refused.

    >>> with TorchDispatchMode():
    ...     pass
    Traceback (most recent call last):
      ...
    NotImplementedError: TorchDispatchMode is not available: Penlight has no dispatcher below its functions. Use ...
    """

    __module__ = "penlight.utils._python_dispatch"

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


# ----- Helpers around the `_foreach_` functions that optimisers of other libraries use -------------------------------


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Rows of tensors in columns of one dtype each: by (device, dtype) of the first row, the rows and the places."""
    groups: dict[Any, Any] = {}
    for place, column in enumerate(zip(*tensorlistlist)):
        first = next(t for t in column if t is not None)
        rows, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for row, t in zip(rows, column):
            row.append(t)
        places.append(place)
    return groups if with_indices else {key: (rows, []) for key, (rows, _) in groups.items()}
