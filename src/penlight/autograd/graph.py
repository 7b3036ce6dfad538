"""torch.autograd.graph: inspects the backward graph and controls what it saves.

>>> import penlight as torch
>>> x = torch.ones(2, requires_grad=True)
>>> torch.autograd.graph.get_gradient_edge(x * 2).node.name()
'MulBackward0'
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, NamedTuple, NoReturn
from weakref import WeakKeyDictionary, WeakSet

from .._common.arguments import explain as _explain
from ..kernels.lazy import lazy_import
from ..ops.machinery.dispatch import node_watchers, pack_hooks
from ..tensor import Tensor
from . import modes
from ._mutation import allow_mutation_on_saved_tensors
from .node import Node, RemovableHandle
from .packing import Pair
from .views import bump, edge_of

_engine = lazy_import(globals(), "_engine", ".engine")


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "get_gradient_edge",
    "increment_version", "node_creation_hook", "region_activation_memory_budget", "register_multi_grad_hook",
    "save_on_cpu", "saved_tensors_hooks", "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip

# ----- Edges -----------------------------------------------------------------------------------------------------------------------


class _Edge(NamedTuple):
    node: Node
    output_nr: int
    ownership_token: Node | None = None


class GradientEdge(_Edge):
    """An edge of the backward graph: the gradient of output `output_nr` of `node`.

    It represents its tensor in `backward` and `grad`, without keeping the tensor alive.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> edge = torch.autograd.graph.get_gradient_edge(y)
    >>> isinstance(edge, torch.autograd.graph.GradientEdge), edge.output_nr
    (True, 0)
    >>> torch.autograd.grad(edge, x)
    (tensor(6.),)
    """

    _metadata: Any = None  # (shape, dtype) of the tensor

    def __repr__(self) -> str:
        return f"GradientEdge(node={self.node!r}, output_nr={self.output_nr}, ownership_token={self.ownership_token!r})"


GradientEdge.__module__ = "torch.autograd.graph"


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The edge that a tensor's gradient flows to. `backward` and `grad` accept it instead of the tensor.

    >>> x = torch.ones(2, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x.exp())
    >>> torch.autograd.grad(edge, x, torch.ones(2))
    (tensor([2.7183, 2.7183]),)
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    made = GradientEdge(_get_grad_fn_or_grad_acc(tensor), edge_of(tensor)[1])
    made._metadata = (tuple(tensor.shape), tensor.dtype)
    return made


def _get_grad_fn_or_grad_acc(t: Tensor | GradientEdge) -> Node:
    node = t.node if isinstance(t, GradientEdge) else edge_of(t)[0]
    if node is None:
        raise AssertionError("Expected gradient function to be set")
    return node


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Tell autograd that a tensor's data changed without its knowledge: a later use of an older saved value raises.

    >>> x = torch.ones(1)
    >>> torch.autograd.graph.increment_version(x); x._version
    1
    """
    if isinstance(tensor, Tensor):
        tensors: list[Any] = [tensor]
    else:
        try:
            tensors = list(tensor)
        except TypeError:
            raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    for t in tensors:
        if not isinstance(t, Tensor):
            raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
        if not t.is_inference():
            bump(t)


# ----- Saved tensors ---------------------------------------------------------------------------------------------------------------

_disabled: ContextVar[str | None] = ContextVar("penlight_saved_tensors_hooks_disabled", default=None)


class saved_tensors_hooks:
    """Inside, tensors that nodes save pass through `pack_hook`, and through `unpack_hook` whenever backward reads them.

    >>> x = torch.tensor([3.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([6.])
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        _push_saved_tensors_default_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *args: object) -> None:
        _pop_saved_tensors_default_hooks()


class _Opened(Pair):
    """A pair of hooks on the stack of its thread."""

    __slots__ = ("below",)
    below: Any


def _push_saved_tensors_default_hooks(pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
    if not (callable(pack_hook) and callable(unpack_hook)):
        raise TypeError(
            "_push_saved_tensors_default_hooks(): incompatible function arguments. Both hooks must be callable."
        )
    message = _disabled.get()
    if message is not None:
        raise RuntimeError(message)
    pair = _Opened(pack_hook, unpack_hook)
    pair.below = pack_hooks.get()
    modes.open_slow_mode()
    pack_hooks.set(pair)


def _pop_saved_tensors_default_hooks() -> None:
    pair = pack_hooks.get()
    if pair is None:
        raise RuntimeError("there are no saved tensors hooks to pop")
    pack_hooks.set(pair.below)
    modes.close_slow_mode()


class save_on_cpu(saved_tensors_hooks):
    """Inside, saved tensors are moved to the CPU until backward needs them. Here they are on the CPU already.

    With `pin_memory=True` they are copied, as PyTorch does.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.autograd.graph.save_on_cpu():
    ...     y = x.exp()
    >>> y.backward(); x.grad
    tensor([2.7183])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack_to_cpu(tensor: Tensor) -> Any:
            return (tensor.device, tensor.detach().clone() if pin_memory else tensor.detach())

        def unpack_from_cpu(packed: Any) -> Tensor:
            return packed[1]  # type: ignore[no-any-return]

        super().__init__(pack_to_cpu, unpack_from_cpu)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Generator[None, None, None]:
    """Inside, opening `saved_tensors_hooks` raises a RuntimeError with this message.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     pass
    """
    if pack_hooks.get() is not None:
        raise RuntimeError(error_message)
    before = _disabled.get()
    _disabled.set(error_message)
    try:
        yield
    finally:
        _disabled.set(before)


# ----- Hooks -----------------------------------------------------------------------------------------------------------------------


class _MultiHandle(RemovableHandle):
    """The handles of several tensors as one."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> tuple[RemovableHandle, ...]:
        return self.handles

    def __setstate__(self, state: tuple[RemovableHandle, ...]) -> None:
        self.handles = state


_MultiHandle.__module__ = "penlight.autograd.graph"


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None], *,
    mode: Literal["all", "any"] = "all",
) -> RemovableHandle:  # fmt: skip
    """Call `fn` in each backward pass, once the gradients of all these tensors are available, or once the first is.

    With mode "all" it receives a list with a gradient for each tensor, None for those that the pass does not reach; with "any", the first gradient.

    >>> a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    >>> handle = torch.autograd.graph.register_multi_grad_hook((a, b), print)
    >>> (a * b * 2).backward()
    [tensor([2.]), tensor([2.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    if mode == "any":
        first = _first_only(fn)
        return _MultiHandle(tuple(t.register_hook(first) for t in tensors if t.requires_grad))
    gather = _Gather([_get_grad_fn_or_grad_acc(t) for t in tensors], fn)
    return _MultiHandle(tuple(t.register_hook(functools.partial(gather, i)) for i, t in enumerate(tensors)))


def _running() -> Any:
    found = _engine.task.get()
    if found is None:
        raise AssertionError("expected this hook to be called inside a backward call")
    return found


class _Gather:
    """Collects the gradients of several tensors in one backward pass, and calls a function when they are complete."""

    def __init__(self, nodes: list[Node], fn: Callable[..., Any]) -> None:
        self.nodes, self.fn = nodes, fn
        self.lock = threading.Lock()
        # For each pass: the number of missing gradients, and the gradients so far. A failed pass is forgotten.
        self.passes: WeakKeyDictionary[Any, list[Any]] = WeakKeyDictionary()

    def __call__(self, index: int, grad: Tensor) -> None:
        task = _running()
        with self.lock:
            if task not in self.passes:
                self.passes[task] = [sum(map(task.runs, self.nodes)), [None] * len(self.nodes)]
            entry = self.passes[task]
            entry[0] -= 1
            entry[1][index] = grad
            if entry[0]:
                return
            del self.passes[task]
        self.fn(entry[1])


def _first_only(fn: Callable[..., Any]) -> Callable[[Tensor], None]:
    """Calls `fn` only once in each backward pass."""
    lock, done = threading.Lock(), WeakSet[Any]()

    @functools.wraps(fn)
    def once(grad: Tensor) -> None:
        task = _running()
        with lock:
            if task in done:
                return
            done.add(task)
        fn(grad)

    return once


class node_creation_hook:
    """Inside, `hook(node)` is called with each node that an op adds to the graph.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.autograd.graph.node_creation_hook(lambda node: print(node.name())):
    ...     y = (x * 2).exp()
    MulBackward0
    ExpBackward0
    """

    def __init__(self, hook: Callable[[Node], Any]) -> None:
        self.hook = hook

    def __enter__(self) -> None:
        modes.open_slow_mode()
        node_watchers.set((*node_watchers.get(), self.hook))

    def __exit__(self, *args: object) -> None:
        node_watchers.set(node_watchers.get()[:-1])
        modes.close_slow_mode()


# ----- What concerns compilers and other devices ------------------------------------------------------------------------------------


def region_activation_memory_budget(budget: float) -> NoReturn:
    """Only for torch.compile, which does not exist here: raises, as PyTorch does outside of a compiled region.

    >>> torch.autograd.graph.region_activation_memory_budget(0.5)
    Traceback (most recent call last):
      ...
    RuntimeError: ... can only be used inside a torch.compile region; it has no effect in eager mode.
    """
    name = "torch.autograd.graph.region_activation_memory_budget"
    if isinstance(budget, bool) or not isinstance(budget, (int, float)):
        raise TypeError(f"{name}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{name}: must be in [0, 1], got {budget}")
    raise RuntimeError(f"{name} can only be used inside a torch.compile region; it has no effect in eager mode.")


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Accepted; there are no streams on the CPU.

    >>> torch.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    """


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Accepted; there are no streams on the CPU.

    >>> torch.autograd.graph.set_override_stale_capture_stream(False)
    """


_explain({name: globals()[name] for name in __all__})
