"""torch._foreach_add and similar functions: one op on each tensor of a list. Third-party optimisers and clipping code use them.

>>> import penlight as torch
>>> torch._foreach_mul([torch.ones(2), torch.ones(1)], 3)
(tensor([3., 3.]), tensor([3.]))
"""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor

__all__: list[str] = []

# Ops named after a Tensor method (without the prefix), with an in-place form too.
_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid sign sin "
    "sinh sqrt tan tanh trunc"
)
_BINARY = "add sub mul div clamp_min clamp_max maximum minimum pow lerp"
_KNOWN = {name + end for name in (*_UNARY.split(), *_BINARY.split(), "addcmul", "addcdiv") for end in ("", "_")}
_KNOWN |= {"clone", "copy_", "max", "mm", "norm", "powsum", "zero_"}


def _one_each(values: Any, count: int) -> list[Any]:
    """One argument for each tensor: a list's elements, or the same scalar or tensor for all."""
    if isinstance(values, (list, tuple)):
        if len(values) != count:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(values)}")
        return list(values)
    return [values] * count


def _one(op: str, tensor: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The op on one tensor; `maximum` and `minimum` of a scalar become clamps."""
    if op.rstrip("_") in ("maximum", "minimum") and not isinstance(args[0], Tensor):
        op = op.replace("maximum", "clamp_min").replace("minimum", "clamp_max")
    if op.rstrip("_") in ("addcmul", "addcdiv"):
        return getattr(tensor, op)(args[0], args[1], value=args[2] if len(args) > 2 else kwargs.get("value", 1))
    if op == "powsum":
        return (tensor.abs() ** args[0]).sum()
    if op == "norm":
        return tensor.norm(args[0] if args else kwargs.get("ord", 2))
    if op == "pow" and not isinstance(tensor, Tensor):
        return tensor ** args[0]
    return getattr(tensor, op)(*args, **kwargs)


def _function(op: str) -> Any:
    def each(input: Any, *args: Any, **kwargs: Any) -> Any:
        base_is_number = op == "pow" and not isinstance(input, (list, tuple))
        count = len(args[0]) if base_is_number else len(input)
        tensors = _one_each(input, count)
        # The factors of addcmul may be one tensor with an element for each tensor of the list.
        others = [
            _one_each(a.tolist() if position == 2 and isinstance(a, Tensor) else a, count)
            for position, a in enumerate(args)
        ]
        kwargs.pop("non_blocking", None)
        results = [_one(op, t, tuple(s[k] for s in others), kwargs) for k, t in enumerate(tensors)]
        return input if op.endswith("_") else tuple(results)

    each.__name__ = each.__qualname__ = "_foreach_" + op
    each.__doc__ = f"`{op}` on each tensor of a list."
    return each


def __getattr__(name: str) -> Any:
    op = name.removeprefix("_foreach_")
    if not name.startswith("_foreach_") or op not in _KNOWN:
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    return _function(op)
