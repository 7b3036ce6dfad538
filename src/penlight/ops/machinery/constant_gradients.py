"""Gradients that do not depend on an op's inputs, as PyTorch's graph has them.

# Note [Gradients that nothing moves]
PyTorch's backward passes are ops of their own, and some take the forward pass's inputs although the gradient does not depend on them: pools, pads,
the likelihood of classes, and the gradient of a bias, which comes from the same op as those of the input and the weight. With `create_graph=True` such a
gradient requires grad there, and its derivative in those inputs is zero, or nothing. The rules here only name what the gradient depends on: it would be
cut off from the inputs, and `autograd.grad` of it refused. So it gets a node that leads to them as well.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...autograd import views
from ...autograd.modes import is_grad_enabled, sequence
from ...autograd.node import Edge, Node
from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap

_dispatch = lazy_import(globals(), "_dispatch", ".dispatch")
_creation = lazy_import(globals(), "_creation", "...creation")


_ZERO = ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "FractionalMaxPool", "ReflectionPad", "ReplicationPad", "NllLoss")  # fmt: skip
_NOTHING = ("ConvolutionBackward", "NativeLayerNorm", "NativeBatchNorm")


class Unmoved(Node):
    """Behind a gradient: leads on to what it depends on, if to anything, and to inputs that it does not depend on; those get zeros, or nothing."""

    __slots__ = ("zeros",)

    def __init__(self, through: Edge, edges: tuple[Edge, ...], zeros: bool) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.next_functions, self.zeros = (through, *edges), zeros

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return self._given(grad, np.zeros_like(grad) if self.zeros else None)

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return self._given(grad, _creation.zeros_like(grad) if self.zeros else None)

    def _given(self, grad: Any, nothing: Any) -> tuple[Any, ...]:
        return (grad if self.next_functions[0][0] is not None else None, *[nothing] * (len(self.next_functions) - 1))


@functools.cache
def _class(name: str) -> type[Unmoved]:
    return type(name, (Unmoved,), {"__slots__": (), "__module__": "torch.autograd.graph"})


@functools.cache
def unmoved(name: str) -> bool:
    """Whether gradients of nodes of this name are among those of Note [Gradients that nothing moves]."""
    return name.startswith(_ZERO + _NOTHING)


def attach(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """A node's gradients, those that nothing moves with a way to its inputs."""
    if (
        not is_grad_enabled() or _dispatch.interpreters.get()
    ):  # a transform gives zeros for what depends on nothing anyway
        return grads
    edges = tuple(edge for name, edge in zip(node.op.rules, node.next_functions) if name != "bias")
    if all(edge[0] is None for edge in edges):
        return grads
    name = node.op.node_name
    zeros = name.startswith(_ZERO)
    return tuple(_attached(name, g, edges, zeros) if type(g) is Tensor and (zeros or not g.requires_grad) else g for g in grads)  # fmt: skip


def _attached(name: str, grad: Tensor, edges: tuple[Edge, ...], zeros: bool) -> Tensor:
    through = views.edge_of(grad)
    if grad._vc is None:
        grad._vc = [0, None]
    out = wrap(grad._array)
    out._vc = grad._vc  # a rule may have given on what it got
    out._edge = (_class(name[:-1] + "Backward0")(through, edges, zeros), 0)
    return out
