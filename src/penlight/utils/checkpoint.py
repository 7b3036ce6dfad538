"""torch.utils.checkpoint: saves memory by recomputing parts of the forward pass during backward.

`autograd/_recompute.py` implements the recomputation; `autograd/_recompute_ops.py` keeps the results of some ops.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from penlight._common.user_warnings import warn_user

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from ..autograd import _recompute as frames
from ..autograd._recompute import CheckpointError, GraphExecGroup
from ..autograd._recompute_ops import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    Recorder,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from ..autograd.engine import task
from ..autograd.function import Function
from ..autograd.grad_mode import enable_grad
from ..kernels.lazy import lazy_import
from ..tensor import Tensor

_autograd = lazy_import(globals(), "_autograd", "..autograd")


__all__ = [
    "SAC_IGNORED_OPS", "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "create_selective_checkpoint_contexts", "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip


@example("len(torch.utils.checkpoint.noop_context_fn())", "2")
def noop_context_fn() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
    """The default `context_fn` of `checkpoint`: two contexts that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[AbstractContextManager[Any], AbstractContextManager[Any]]] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call a function without keeping its intermediate results; backward recomputes them when needed.

    >>> from penlight.utils.checkpoint import checkpoint
    >>> x = torch.ones(2, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum().backward()
    >>> x.grad
    tensor([-2.4784, -2.4784])
    """
    if use_reentrant is None:
        use_reentrant = _assumed_reentrant(
            "torch.utils.checkpoint",
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an exception",
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if frames.debug_enabled() if frames.debug_enabled() is not None else debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        recorder = Recorder()
        return frames.run(function, args, kwargs, preserve, recorder.contexts, determinism_check, early_stop, recorder)
    return frames.run(function, args, kwargs, preserve, context_fn, determinism_check, early_stop, None)


def _assumed_reentrant(who: str, soon: str) -> bool:
    """True, the default, with a warning that it was not given."""
    warn_user(
        f"{who}: the use_reentrant parameter should be passed explicitly. {soon}. use_reentrant=False is recommended, but if "
        "you need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on "
        "the differences between the two variants.",
    )
    return True


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a chain of modules in segments, each but the last through `checkpoint`.

    >>> from penlight.utils.checkpoint import checkpoint_sequential
    >>> x = torch.ones(1, requires_grad=True)
    >>> checkpoint_sequential([torch.exp, torch.sin, torch.exp], 2, x, use_reentrant=False).backward()
    >>> x.grad
    tensor([-3.7373])
    """
    if use_reentrant is None:
        use_reentrant = _assumed_reentrant(
            "torch.utils.checkpoint.checkpoint_sequential",
            "In version 2.9 we will raise an exception if use_reentrant is not passed",
        )
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    chain = list(functions.children()) if hasattr(functions, "children") else functions
    size = len(chain) // segments
    done = 0
    for start in range(0, size * (segments - 1), size):
        done = start + size
        part = _chained(chain[start:done])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chained(chain[done:])(input)


def _chained(functions: Any) -> Callable[[Any], Any]:
    def forward(input: Any) -> Any:
        for function in functions:
            input = function(input)
        return input

    return forward


# ----- The re-entrant way -----------------------------------------------------------------------------------------------------------


class CheckpointFunction(Function):
    """`checkpoint(use_reentrant=True)`: its backward runs the function again with grad, and a backward pass through it.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = torch.utils.checkpoint.CheckpointFunction.apply(lambda x: x * x, True, x)
    >>> y.backward(); y.grad_fn.name(), x.grad
    ('CheckpointFunctionBackward', tensor(6.))
    """

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = frames.Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.indices))
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        running = task.get()
        if running is not None and running.captures is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for index, tensor in zip(ctx.indices, ctx.saved_tensors):
            inputs[index] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings, enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        _autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        return (None, None, *(i.grad if isinstance(i, Tensor) else None for i in detached))


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Tensors as leaves that require grad if they did; other values unchanged.

    >>> torch.utils.checkpoint.detach_variable((torch.ones(1, requires_grad=True) * 2, 5))
    (tensor([2.], requires_grad=True), 5)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(i.detach()._require_grad_(i.requires_grad) if isinstance(i, Tensor) else i for i in inputs)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires grad.

    >>> torch.utils.checkpoint.check_backward_validity([torch.ones(1, requires_grad=True)])
    """
    if not any(i.requires_grad for i in inputs if isinstance(i, Tensor)):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


# ----- Settings ---------------------------------------------------------------------------------------------------------------------


@contextmanager
def _setting(name: str, value: bool | None) -> Generator[None, None, None]:
    before = frames.settings[name]
    frames.settings[name] = value
    try:
        yield
    finally:
        frames.settings[name] = before


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Whether recomputation stops as soon as backward has everything it needs; for checkpoints made inside.

    >>> from penlight.utils.checkpoint import set_checkpoint_early_stop
    >>> with set_checkpoint_early_stop(False):
    ...     pass
    """
    return _setting("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Overrides the `debug` argument of checkpoints made inside; None keeps it.

    >>> with torch.utils.checkpoint.set_checkpoint_debug_enabled(False):
    ...     pass
    """
    return _setting("debug", enabled)


@example("torch.utils.checkpoint.DefaultDeviceType.get_device_type()", "'cpu'")
class DefaultDeviceType:
    """The kind of device with random states to preserve besides the CPU's; there is no other here."""

    _default_device_type: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Kept, and without effect."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """What was set."""
        return DefaultDeviceType._default_device_type or "cpu"


@example("torch.utils.checkpoint.get_device_states(torch.ones(1))", "([], [])")
def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The random states of the arguments' devices other than the CPU: none."""
    return [], []


def set_device_states(devices: Any, states: Any, *, device_type: str | None = None) -> None:
    """Restore random states of other devices: there are none.

    >>> torch.utils.checkpoint.set_device_states([], [])
    """


_explain({name: globals()[name] for name in __all__})
