"""Custom functions (`autograd.Function`) inside vmap: by their own `vmap`, or by batching the ops they call.

# Note [Generated rules]
With `generate_vmap_rule=True` a function's forward is called on batched tensors, and so are its backward and jvp later. They are wrapped in
a Function on physical tensors, made here, which is the node in the graph. Backward may run long after the vmap has ended, so it opens a new
level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..kernels.lazy import lazy_import
from ..ops.machinery.dispatch import interpreters
from ..tensor import Tensor
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .batched import broadcast, wrap
from .level import BatchLevel
from .mapping import enter
from .randomness import without

if TYPE_CHECKING:
    from collections.abc import Sequence

_function = lazy_import(globals(), "_function", "..autograd.function")


MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """Information about the enclosing vmap, passed to `MyFunction.vmap`."""

    batch_size: int
    randomness: str


def run_batched(level: BatchLevel, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`cls.apply` with arguments that are batched at a level."""
    if not _function._is_setup_context_defined(cls.setup_context):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context staticmethod. " + MORE
        )
    own = cls.vmap is not _function.Function.vmap
    if cls.generate_vmap_rule:
        if own:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. "
                + MORE
            )
        return _generated(level, cls, args)
    if not own:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True. " + MORE
        )
    return _by_its_own(level, cls, args)


# ----- Its own rule -------------------------------------------------------------------------------------------------


def _by_its_own(level: BatchLevel, cls: Any, args: tuple[Any, ...]) -> Any:
    in_dims = tuple([0 if level.has(a) else None for a in args])
    outer = without(level)
    try:
        result = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *(level.value(a) for a in args))
    finally:
        interpreters.set(outer)
    head = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    if not isinstance(result, tuple):
        raise RuntimeError(f"{head}Got a {type(result)} instead")
    if len(result) != 2:
        raise RuntimeError(f"{head}Got {len(result)} returns instead")
    output, out_dims = result
    flat, spec = tree_flatten(output)
    dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{tree_flatten(out_dims)[1]} but output has structure {spec}. {MORE}"
        )
    return tree_unflatten([o if d is None else enter(level, o, d % o.dim()) for o, d in zip(flat, dims)], spec)


# ----- A generated one ----------------------------------------------------------------------------------------------


class _Context:
    """The `ctx` of a function inside vmap: that of the wrapping function, with saved tensors batched again."""

    def __init__(self, ctx: Any, level: BatchLevel, saved: Any = None) -> None:
        self.__dict__.update(_ctx=ctx, _level=level, _saved=saved)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._ctx, name, value)

    def save_for_backward(self, *tensors: Any) -> None:
        self._ctx._saved_batched = [self._level.has(t) for t in tensors]
        self._ctx.save_for_backward(*(self._level.value(t) for t in tensors))

    def save_for_forward(self, *tensors: Any) -> None:
        self._ctx._saved_batched = [self._level.has(t) for t in tensors]
        self._ctx.save_for_forward(*(self._level.value(t) for t in tensors))

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*(self._level.value(t) for t in tensors))

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*(self._level.value(t) for t in tensors))

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        if self._saved is not None:
            return self._saved
        return _batched(self._level, self._ctx.saved_tensors, self._ctx._saved_batched)


def _batched(level: BatchLevel, values: Sequence[Any], which: Sequence[bool]) -> tuple[Any, ...]:
    return tuple([wrap(level, v) if b and v is not None else v for v, b in zip(values, which)])


def _physical(level: BatchLevel, value: Any) -> Any:
    return broadcast(level, value)._value if isinstance(value, Tensor) else value


def _generated(level: BatchLevel, cls: Any, args: tuple[Any, ...]) -> Any:
    """Run a function on physical tensors that treats the batch as `cls` treats a sample. See Note [Generated rules]."""
    which = [level.has(a) for a in args]
    kept: list[Any] = []  # the batched outputs of forward, for setup_context

    def forward(*values: Any) -> Any:
        output = cls.forward(*_batched(level, values, which))
        outputs = output if isinstance(output, tuple) else (output,)
        found = [broadcast(level, o) if isinstance(o, Tensor) else o for o in outputs]
        kept[:] = [tuple(found) if isinstance(output, tuple) else found[0]]
        physical = tuple([level.value(o) for o in found])
        return physical if isinstance(output, tuple) else physical[0]

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx._saved_batched = []
        cls.setup_context(_Context(ctx, level), _batched(level, inputs, which), kept.pop())

    def backward(ctx: Any, *grads: Any) -> Any:
        with BatchLevel(level.size, level.randomness) as inner:
            given = _batched(inner, grads, [True] * len(grads))
            found = cls.backward(_Context(ctx, inner), *given)
            found = found if isinstance(found, tuple) else (found,)
            return tuple([_reduced(inner, g, b) for g, b in zip(found, which)])

    def jvp(ctx: Any, *tangents: Any) -> Any:
        with BatchLevel(level.size, level.randomness) as inner:
            found = cls.jvp(_Context(ctx, inner), *_batched(inner, tangents, which))
            moved = tuple([_physical(inner, t) for t in (found if isinstance(found, tuple) else (found,))])
            return moved if isinstance(found, tuple) else moved[0]

    methods = {"forward": forward, "setup_context": setup_context, "backward": backward, "jvp": jvp}
    body: dict[str, Any] = {name: staticmethod(method) for name, method in methods.items()}
    made: Any = type(f"Vmapped{cls.__name__}", (_function.Function,), {**body, "generate_vmap_rule": True})
    output = made.apply(*(level.value(a) for a in args))
    outputs = tuple(
        [wrap(level, o) if isinstance(o, Tensor) else o for o in (output if isinstance(output, tuple) else (output,))]
    )
    return outputs if isinstance(output, tuple) else outputs[0]


def _reduced(level: BatchLevel, grad: Any, batched: bool) -> Any:
    """The gradient of an input: one per sample if it was batched, else their sum."""
    if grad is None or batched:
        return _physical(level, grad)
    return grad._value.sum(0) if level.has(grad) else grad
