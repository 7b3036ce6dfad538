"""torch._C._functions: the node classes of the backward graph, and functions that create some of them."""

from __future__ import annotations

from typing import Any

from penlight._refused import NotAvailable, message
from penlight.autograd.function import Error
from penlight.autograd.node import AccumulateGrad as AccumulateGrad
from penlight.autograd.views import edge_of
from penlight.kernels.lazy import lazy_import
from penlight.ops import OPS
from penlight.tensor import Tensor, wrap

_gradcheck = lazy_import(globals(), "_gradcheck", "penlight.autograd._gradcheck_checks")


class UndefinedGrad:
    """A function that returns its argument and passes no gradient back."""

    def __call__(self, tensor: Tensor) -> Tensor:
        return _gradcheck.without_grad(tensor)


class DelayedError:
    """A function that returns its arguments; the backward pass through them raises an error with this message."""

    def __init__(self, msg: str, num_inputs: int) -> None:
        self.msg, self.num_inputs = msg, num_inputs

    def __call__(self, *tensors: Tensor) -> Any:
        node = Error(self.msg, tuple(edge_of(t) for t in tensors))
        outputs = [wrap(t._array) for t in tensors]
        for number, (out, tensor) in enumerate(zip(outputs, tensors)):
            if tensor.requires_grad:
                out._edge = (node, number)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._C._functions' has no attribute '{name}'")
    for op in OPS.values():
        if op.node_name == name and op.rules:
            return op.Backward
    raise NotAvailable(message(f"_C._functions.{name}", "no operator of Penlight's has nodes of that name."))
