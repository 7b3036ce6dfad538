"""Modes that intercept each op below the public functions, such as the counter of floating-point operations.

# Note [Dispatch modes]
In PyTorch a TorchDispatchMode hooks into the dispatcher below the public functions. Here a mode is one of the watchers that a slow mode puts
around ops, in the forward and in the backward pass. So it sees the ops that Penlight executes. Most are PyTorch's, but
factory functions and the `detach` of saved tensors are not ops here, and gradients may be composed of other ops. The mode's return value
becomes the result of the op; it is already in the graph, while PyTorch records it later.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from penlight.autograd import engine, modes
from penlight.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from penlight.ops.machinery.aten import aten, bound, called, calls, overload_of, presented
from penlight.ops.machinery.dispatch import apply, op_watchers
from penlight.ops.machinery.in_place import rewrite
from penlight.tensor import Tensor


class TorchDispatchMode:
    """A context in which `__torch_dispatch__` of this object is called for each op. See Note [Dispatch modes].

    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     y = torch.ones(2, 2).mm(torch.ones(2, 2)).relu()
    aten.mm.default
    aten.relu.default
    """

    __module__ = "penlight.utils._python_dispatch"

    def __init__(self, _dispatch_key: Any = None) -> None:
        pass

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        modes.open_slow_mode()
        op_watchers.set((*op_watchers.get(), self._on_op))
        return self

    def __exit__(self, *exc: object) -> None:
        op_watchers.set(op_watchers.get()[:-1])
        modes.close_slow_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """Create a mode, to be entered by `with`."""
        return cls(*args, **kwargs)

    def _on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        func = overload_of(op, arguments, inplace)

        def run(*args: Any, **kwargs: Any) -> Any:
            given = bound(op, arguments, args, kwargs)
            if given is not None and all(a is b for a, b in zip(given, arguments)):
                return go()
            return called(op, func._name, rewrite if inplace else apply, arguments, args, kwargs)

        values = [v for a in arguments for v in (a if isinstance(a, (list, tuple)) else (a,))]
        types = tuple(dict.fromkeys(type(v) for v in values if isinstance(v, Tensor) and type(v) is not Tensor))
        outer = calls.get()
        calls.set({**outer, func: run})
        try:
            return self.__torch_dispatch__(func, types, *presented(op, arguments))
        finally:
            calls.set(outer)


def _get_current_dispatch_mode() -> Any:
    """The innermost open mode, or None."""
    owner = getattr(op_watchers.get()[-1], "__self__", None) if op_watchers.get() else None
    return owner if isinstance(owner, TorchDispatchMode) else None


@contextmanager
def _disable_current_modes() -> Any:
    """A context in which no mode sees ops."""
    outer = op_watchers.get()
    op_watchers.set(())
    try:
        yield
    finally:
        op_watchers.set(outer)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether this is a Tensor subclass, or an instance of one, that defines `__tensor_flatten__` and `__tensor_unflatten__`.

    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    kind = t if isinstance(t, type) else type(t)
    names = ("__tensor_flatten__", "__tensor_unflatten__")
    return issubclass(kind, Tensor) and kind is not Tensor and all(hasattr(kind, name) for name in names)


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of a `__torch_dispatch__`: the tensor that an in-place op wrote to, or else `out`.

    >>> x = torch.ones(1)
    >>> return_and_correct_aliasing(torch.ops.aten.mul_.Tensor, (x, 2), {}, torch.zeros(1)) is x
    True
    """
    return args[0] if func._name.endswith("_") and not func._name.endswith("__") else out


# ----- Counting ---------------------------------------------------------------------------------------------------------


def _count(name: str, args: Any, result: Any) -> int:
    """The number of multiplications and additions of one op; 0 for ops that are not counted."""
    if name in ("mm", "bmm", "addmm", "baddbmm"):
        first = args[1] if name in ("addmm", "baddbmm") else args[0]
        return int(2 * result.numel() * first.shape[-1])
    if name == "convolution":
        # A transposed convolution is a convolution from its result to its input.
        smaller = args[0] if args[6] else result
        return int(2 * smaller.numel() * args[1].shape[1:].numel())
    if name == "conv_weight":
        return int(2 * args[0].numel() * result.shape[1:].numel())
    return 0


def _shape(value: Any) -> Any:
    """The arguments of functions in `custom_mapping`: tensors are replaced by their shapes."""
    if isinstance(value, (list, tuple)):
        return type(value)(_shape(v) for v in value)
    return value.shape if isinstance(value, Tensor) else value


class FlopCounterMode(TorchDispatchMode):
    """Counts the multiplications and additions of matrix products and convolutions, by module.

    Args:
        mods: accepted and ignored
        depth: the number of levels of modules in the table
        display: print the table at the end
        custom_mapping: functions that count for other operators

    >>> with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     y = torch.nn.Linear(4, 8)(torch.ones(3, 4))
    >>> counter.get_total_flops()
    192
    """

    __module__ = "penlight.utils.flop_counter"

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:  # fmt: skip
        super().__init__()
        self.depth, self.display = depth, display
        self.custom = custom_mapping or {}
        self.flop_counts: dict[str, dict[Any, int]] = {}

    def __enter__(self) -> Any:
        self.flop_counts = {"Global": {}}
        self._open: list[tuple[str, Any, int]] = []  # running modules, with the sequence number of their first node
        self._past: list[tuple[str, int, int]] = []  # finished modules, with the first and the last sequence number
        self._node: Any = None  # the node whose derivative is being computed
        self._hooks = [
            register_module_forward_pre_hook(self._begin),
            register_module_forward_hook(self._end, always_call=True),
        ]
        self._before = engine.watchers.get()
        engine.watchers.set((*self._before, self._on_node))
        return super().__enter__()

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        engine.watchers.set(self._before)
        for hook in self._hooks:
            hook.remove()
        if self.display:
            print(self.get_table(self.depth))

    def _begin(self, module: Any, args: Any) -> None:
        name = type(module).__name__
        if self._open:
            outer, parent, _ = self._open[-1]
            name = next((f"{outer}.{own}" for own, child in parent.named_children() if child is module), name)
        self._open.append((name, module, next(modes.sequence)))

    def _end(self, module: Any, args: Any, result: Any) -> None:
        name, _, first = self._open.pop()
        self._past.append((name, first, next(modes.sequence)))

    def _on_node(self, node: Any, go: Any) -> Any:
        outer, self._node = self._node, node
        try:
            return go()
        finally:
            self._node = outer

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        packet = func._overloadpacket
        if self._node is not None and func._name in ("convolution", "conv_weight"):
            packet = aten.convolution_backward  # PyTorch's, for both gradients
        own = self.custom.get(packet)
        flops = (
            _count(func._name, args, result)
            if own is None
            else own(*map(_shape, args), out_shape=_shape(result), **(kwargs or {}))
        )
        if flops:
            for name in self._running():
                counts = self.flop_counts.setdefault(name, {})
                counts[packet] = counts.get(packet, 0) + flops
        return result

    def _running(self) -> set[str]:
        """The modules of an op: the running ones, or those that created the node whose derivative it computes."""
        if self._node is None:
            return {"Global", *(name for name, _, _ in self._open)}
        return {"Global", *(name for name, first, last in self._past if first < self._node.seq < last)}

    def get_total_flops(self) -> int:
        """The number of counted operations."""
        return sum(self.flop_counts.get("Global", {}).values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The counts of each module, by op."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text: modules down to a depth, with their ops."""
        depth, total = self.depth if depth is None else depth, max(self.get_total_flops(), 1)
        lines = [f"{'Module':<40} {'FLOP':>15} {'% Total':>8}"]
        for name, counts in sorted(self.flop_counts.items(), key=lambda item: item[0] != "Global"):
            level = 0 if name == "Global" else name.count(".") + 1
            if level <= depth:
                rows = {name: sum(counts.values()), **{f" - {op}": n for op, n in counts.items()}}
                lines += [f"{' ' * level + label:<40} {n:>15} {n / total:>8.2%}" for label, n in rows.items()]
        return "\n".join(lines)
