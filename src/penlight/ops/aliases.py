"""Aliases of ops, such as `arccos` for `acos`; and the in-place forms that PyTorch also has as functions."""

from __future__ import annotations

from typing import Any

from .._common.docstrings import documented
from ..tensor import Tensor
from .machinery.declare import OPS, install_method, pointwise as declare
from .machinery.dispatch import run_in_place
from .machinery.op import Op, traits
from .machinery.rules import zero_gradient
from .pointwise import elementary, rounding

_SAME = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "fix": "trunc",
}  # fmt: skip
_IN_PLACE = """
    abs_ absolute_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_
    atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_ exp2_ exp_ expm1_
    fill_ fix_ floor_ frac_ gcd_ i0_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_ logit_ nan_to_num_ neg_
    negative_ rad2deg_ reciprocal_ relu_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ tan_ tanh_
    trunc_ xlogy_ zero_
"""

__all__ = [*_SAME]


for _name, _target in _SAME.items():
    globals()[_name] = getattr(rounding if hasattr(rounding, _target) else elementary, _target)
    install_method(_name, globals()[_name])
    if hasattr(Tensor, _target + "_"):
        install_method(_name + "_", getattr(Tensor, _target + "_"))


# ----- Comparisons in place -----------------------------------------------------------------------------------------

# Each comparison with its other name, and its answer for 1 and 2 compared to 2.
_COMPARISONS = {
    "eq": (None, "[0., 1.]"), "ne": ("not_equal", "[1., 0.]"), "lt": ("less", "[1., 0.]"), "le": ("less_equal", "[1., 1.]"),
    "gt": ("greater", "[0., 0.]"), "ge": ("greater_equal", "[0., 1.]"),
}  # fmt: skip


def _comparing(name: str, answer: str) -> object:
    """`eq_` and similar methods: the result overwrites the tensor, as ones and zeros of its dtype."""

    def compare(input: Tensor, other: object) -> Tensor:
        return run_in_place(_comparison(name, isinstance(other, Tensor)), (input, other))

    compare.__name__ = compare.__qualname__ = name + "_"
    compare.__doc__ = documented(
        f"In-place version of `{name}`: the answers, as ones and zeros, overwrite the tensor.",
        f">>> torch.tensor([1.0, 2.0]).{name}_(2)", f"tensor({answer})",
    )  # fmt: skip
    return compare


def _comparison(name: str, with_tensor: bool) -> Op:
    """The in-place comparison op, declared at its first use because few programs need it."""
    key = f"_{name}_{'tensor' if with_tensor else 'number'}_into"
    if key not in OPS:

        def face_tensor(input: Tensor, other: Tensor) -> Tensor: ...

        def face_number(input: Tensor, other: Number) -> Tensor: ...  # type: ignore[name-defined]  # noqa: F821

        rules: dict[str, Any] = dict.fromkeys(("input", "other") if with_tensor else ("input",), zero_gradient)
        face: Any = traits(compares_bytes=True)(face_tensor if with_tensor else face_number)
        face.__name__ = key
        declare(OPS[name].kernel, node=f"{name.capitalize()}Backward{int(with_tensor)}", **rules)(face)
    return OPS[key]


for _name, (_also, _answer) in _COMPARISONS.items():
    _function = _comparing(_name, _answer)
    install_method(_name + "_", _function)
    if _also:
        install_method(_also + "_", _function)

# ----- In-place forms as functions ----------------------------------------------------------------------------------

for _name in _IN_PLACE.split():
    globals()[_name] = getattr(Tensor, _name)
    __all__.append(_name)


def _adjoint(self: Tensor) -> Tensor:
    """The last two dimensions transposed and conjugated.

    >>> torch.zeros(2, 3, 4).adjoint().shape
    torch.Size([2, 4, 3])
    """
    return self.mH


_adjoint.__name__ = _adjoint.__qualname__ = "adjoint"
install_method("adjoint", _adjoint)
