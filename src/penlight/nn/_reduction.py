"""The accepted values of a loss's `reduction=`, and the two legacy flags that preceded it."""

from __future__ import annotations

from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user


@example('get_enum("sum")', "2")
def get_enum(reduction: str) -> int:
    """The number of a reduction: none 0, mean 1, sum 2."""
    if reduction == "elementwise_mean":
        warn_user("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return 1
    try:
        return ("none", "mean", "sum").index(reduction)
    except ValueError:
        raise ValueError(f"{reduction} is not a valid value for reduction") from None


@example("legacy_get_string(False, None, emit_warning=False)", "'sum'")
def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction selected by `size_average=` and `reduce=`; an absent flag counts as True."""
    if reduce is not None and not reduce:
        word = "none"
    else:
        word = "mean" if size_average is None or size_average else "sum"
    if emit_warning:
        warn_user(f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.")
    return word


@example("legacy_get_enum(True, False, emit_warning=False)", "0")
def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """`get_enum` of `legacy_get_string`."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
