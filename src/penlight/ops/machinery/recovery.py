"""Recovery when a generated function meets an unexpected operand.

The generated functions check nothing in advance. An operand that is not a tensor, or a stale edge, raises an exception, which is handled
here: either the operands are put right and the op runs again, or the argument error is raised in PyTorch's words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.modes import NAMESPACE, is_grad_enabled
from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap
from .dispatch import dispatch, enter, settle_all
from .in_place import rewrite
from .op import OPTIONAL, PLAIN, Op

_torch_function = lazy_import(globals(), "_torch_function", "..._torch_function")


def recover(op: Op, arguments: tuple[Any, ...], error: AttributeError) -> Any:
    """Called when an operand of a generated function lacks `_array` or `_edge`: settle or coerce it and run again, or explain the error."""
    if settle_all(arguments):
        if is_grad_enabled():
            return op.function(*arguments)
    elif all(op.kinds[p] == PLAIN or hasattr(a, "_array") or (a is None and op.kinds[p] == OPTIONAL) for a, p in zip(arguments, op.parameters)):  # fmt: skip
        raise error
    taken = _overridden(op, arguments)
    if taken and not _checks_overrides(op):
        raise error  # the public function repeats the call: see `after_failure` in public_functions.py
    try:
        return op.function(*arguments) if taken else dispatch(op, arguments)
    except Exception as raised:
        if raised.__context__ is error:  # the failed attempts do not help the caller
            raised.__suppress_context__ = True
        raise


def _overridden(op: Op, arguments: tuple[Any, ...]) -> bool:
    """Whether an operand's class has `__torch_function__`. See Note [Overridden functions] in _torch_function.py."""
    return _torch_function.activate_for(a for a, p in zip(arguments, op.parameters) if op.kinds[p] != PLAIN)  # type: ignore[no-any-return]


def _checks_overrides(op: Op) -> bool:
    """Whether an op's function checks for `__torch_function__`, as public ones do."""
    return op.function in _torch_function._originals


# Note [Beside ndarrays]
# In PyTorch, `tensor * ndarray` is NumPy's: the operator returns NotImplemented; the array's reflected operator converts the tensor,
# computes outside of any graph, in NumPy's dtypes, and passes the result to `__array_wrap__`. `ndarray * tensor` is refused: the array
# returns NotImplemented first, because of the tensor's `__array_priority__`, and then the tensor does. `==` and `!=` never do: Python would
# compare identities.


def recover_operator(op: Op, arguments: tuple[Any, ...], error: AttributeError) -> Any:
    """`recover` for an operator: foreign operands give NotImplemented. See Note [Beside ndarrays]."""
    first, other = arguments[0], arguments[1]
    if hasattr(other, "_array") or isinstance(other, _NUMBERS):
        return recover(op, arguments, error)
    return _stepping_back(op, first, other)


_NUMBERS = (bool, int, float, complex, np.generic)


def _stepping_back(op: Op, first: Any, other: Any) -> Any:
    if op.name in ("eq", "ne") and isinstance(other, np.ndarray):
        return dispatch(op, (first.detach(), wrap(other)))
    return getattr(Tensor, op.operator)(first, other) if _overridden(op, (first, other)) else NotImplemented


def dispatch_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    first, other = arguments
    if not hasattr(other, "_array") and not isinstance(other, _NUMBERS):
        return _stepping_back(op, first, other)
    if op.traits.with_tensor and (hasattr(other, "_array") or isinstance(other, np.generic)):
        return NAMESPACE[op.traits.with_tensor](*arguments)
    return enter(op, arguments)


def leave_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    """`dispatch` for an operator."""
    other = arguments[1]
    if hasattr(other, "_array") or isinstance(other, _NUMBERS):
        return dispatch(op, arguments)
    return _stepping_back(op, arguments[0], other)


def inplace_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    """`x += y`, which is `x = x + y` for foreign operands."""
    other = arguments[1]
    return rewrite(op, arguments) if hasattr(other, "_array") or isinstance(other, _NUMBERS) else NotImplemented
