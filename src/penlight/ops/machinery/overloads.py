"""What is said of an argument of a wrong type: PyTorch names the argument, or lists all overloads if the function has several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_OVERLOADED = (
    "addbmm addcdiv addcmul addmm addmv addr all any argsort baddbmm bernoulli bitwise_and bitwise_left_shift bitwise_or "
    "bitwise_right_shift bitwise_xor bucketize clamp clamp_max clamp_min clip copysign count_nonzero cumulative_trapezoid divide dsplit eq "
    "fill float_power floor_divide fmod ge gradient greater greater_equal gt histogram histogramdd hsplit index_fill isin le lerp less "
    "less_equal lt masked_fill max mean min moveaxis movedim multiply nanquantile narrow ne normal not_equal nuclear_norm pow prod quantile "
    "remainder repeat_interleave round rsub scatter searchsorted sort squeeze std std_mean subtract sum tensor_split trapezoid "
    "trapz true_divide var var_mean vsplit where xlogy"
)


def wrong_type(
    name: str, arguments: Sequence[Any], place: int, parameter: str, wanted: str, forms: str = ""
) -> TypeError:
    """The error for the argument at `place`, which is not a `wanted`. `forms`: how the function may be called."""
    if name in _OVERLOADED.split():
        got = ", ".join(type(a).__name__ for a in arguments)
        return TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{forms}"
        )
    return TypeError(
        f"{name}(): argument '{parameter}' (position {place + 1}) must be {wanted}, not {type(arguments[place]).__name__}"
    )


def no_tensor(name: str, *arguments: Any, parameters: tuple[str, str] = ("input", "other")) -> TypeError:
    """The error of a function of two operands, one of which may be a number, that was given no tensor."""
    got = ", ".join(type(a).__name__ for a in arguments)
    first, second = parameters
    number = "self" if first == "input" else first
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
        f" * (Tensor {first}, Tensor {second}, *, Tensor out = None)\n * (Number {number}, Tensor {second}, *, Tensor out = None)\n"
        f" * (Tensor {first}, Number {second}, *, Tensor out = None)\n"
    )
