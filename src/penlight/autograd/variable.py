"""torch.autograd.Variable: the name that tensors with gradients had before PyTorch 0.4."""

from __future__ import annotations

from typing import Any

from .. import dtypes
from .._common.user_warnings import warn_user
from ..creation import empty
from ..tensor import Tensor
from .engine import queue_callback

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Every tensor is a Variable.

    >>> isinstance(torch.ones(1), torch.autograd.Variable)
    True
    """

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class ImperativeEngine:
    """The engine's interface for programs that call it directly.

    >>> x = torch.ones(1, requires_grad=True)
    >>> engine = torch.autograd.Variable._execution_engine
    >>> handle = x.register_hook(lambda grad: engine.queue_callback(lambda: print("done")))
    >>> x.sum().backward()
    done
    """

    queue_callback = staticmethod(queue_callback)


class Variable(metaclass=VariableMeta):
    """`Variable(tensor)` is the tensor, detached.

    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = ImperativeEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False, *, name: Any = None) -> Any:
        if volatile:
            warn_user("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and data.dtype.category < dtypes.FLOATING:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made = data.detach()
        return made._require_grad_() if requires_grad else made
