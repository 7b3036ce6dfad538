"""What is said of an argument of a wrong type: PyTorch names the argument, or lists all overloads if the function has several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...kernels.lazy import lazy_import

_torch_signatures = lazy_import(globals(), "_torch_signatures", "..._common.torch_signatures")


def _is_overloaded(name: str) -> bool:
    """Whether PyTorch has several forms of a function."""
    _, _, forms = _torch_signatures.FORMS.partition(f"\n{name}: ")
    return " | " in forms.partition("\n")[0]


def wrong_type(
    name: str, arguments: Sequence[Any], position: int, parameter: str, wanted: str, forms: str = ""
) -> TypeError:
    """The error for the argument at `position`, which is not a `wanted`. `forms`: how the function may be called."""
    if _is_overloaded(name):
        got = ", ".join(type(a).__name__ for a in arguments)
        return TypeError(
            f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n{forms}"
        )
    return TypeError(
        f"{name}(): argument '{parameter}' (position {position + 1}) must be {wanted}, not {type(arguments[position]).__name__}"
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
