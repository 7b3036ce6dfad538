"""torch.autograd.Function: an op with a hand-written backward.

# Note [The context is the node]
The `ctx` of `forward` and `backward` is the node of the backward graph itself. Its class `MyFunctionBackward` is the Function's
`_backward_cls`. The results' edges hold the node; the node holds saved results without their tensors
(`packing.Kept`), so that a function that saves its own output makes no reference cycle.

The user's backward always receives tensors: the engine wraps the arrays of its array namespace. `_function_outputs.py` attaches forward's
results to the graph.
"""

from __future__ import annotations

import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from .._common.arguments import explain as _explain
from .._common.user_warnings import warn_user
from ..ops.machinery.dispatch import announce, interpreter
from ..tensor import Tensor, wrap
from . import hooks
from ._function_outputs import check_gradients, tie_outputs, zeros_for
from .accumulate import writable
from .modes import NAMESPACE, grad_mode, log, sequence
from .node import FREED, NO_EDGE, Freed, Node, RemovableHandle
from .saved import freed
from .views import edge_of

if TYPE_CHECKING:
    from .packing import Kept, SavedTensor


__all__ = [
    "BackwardCFunction", "Function", "FunctionCtx", "FunctionMeta", "InplaceFunction", "NestedIOFunction",
    "once_differentiable",
]  # fmt: skip


# ----- What `ctx` offers inside of a custom Function ------------------------------------------------------------------


class FunctionCtx:
    """The interface through which `forward` describes itself, as `ctx`.

    >>> class Scale(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, factor):
    ...         ctx.factor = factor  # ctx is a FunctionCtx
    ...         return x * factor
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * ctx.factor, None
    >>> x = torch.ones(2, requires_grad=True)
    >>> Scale.apply(x, 3.0).sum().backward(); x.grad
    tensor([3., 3.])
    """

    to_save: tuple[Any, ...] | None
    saved_for_forward: tuple[Any, ...] | None
    dirty_tensors: tuple[Any, ...] | None
    non_differentiable: tuple[Any, ...] | None
    materialize_grads: bool

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `backward`, which reads them from `ctx.saved_tensors`.

        Save inputs and outputs this way, not as attributes: in-place changes are then detected and nothing leaks.

        >>> class Exp(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = x.exp()
        ...         ctx.save_for_backward(y)
        ...         return y
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (y,) = ctx.saved_tensors
        ...         return grad * y
        >>> x = torch.zeros(1, requires_grad=True)
        >>> Exp.apply(x).backward(); x.grad
        tensor([1.])
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `jvp`, which reads them from `ctx.saved_tensors`.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_forward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * tangent
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     print(fwAD.unpack_dual(Square.apply(fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0)))).tangent)
        tensor(6.)
        """
        for tensor in tensors:
            if tensor is not None and not hasattr(tensor, "_vc"):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare which inputs `forward` changed in place. Each of them must also be returned.

        >>> class AddOne(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.mark_dirty(x)
        ...         return x.add_(1)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad
        >>> x = torch.zeros(2)
        >>> AddOne.apply(x) is x
        True
        """
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing; PyTorch keeps the name.

        >>> torch.autograd.function.FunctionCtx.mark_shared_storage.__name__
        'mark_shared_storage'
        """
        warn_user(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically tracked. Note that calls to "
            "`set_()` are not tracked",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare which outputs have no gradient. `backward` still receives a gradient for them: zeros.

        >>> class Order(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         values, indices = x.sort()
        ...         ctx.mark_non_differentiable(indices)
        ...         return values, indices
        ...     @staticmethod
        ...     def backward(ctx, grad, no_grad):
        ...         return grad
        >>> values, indices = Order.apply(torch.tensor([2.0, 1.0], requires_grad=True))
        >>> values.requires_grad, indices.requires_grad
        (True, False)
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` receives missing gradients as zeros (a `value` of True, the default) or as None.

        >>> class Pair(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         return x.clone(), x.clone()
        ...     @staticmethod
        ...     def backward(ctx, first, second):
        ...         return first if second is None else first + second
        >>> x = torch.tensor(1.0, requires_grad=True)
        >>> Pair.apply(x)[0].backward()
        >>> x.grad
        tensor(1.)
        """
        self.materialize_grads = value


class _HookMixin:
    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        if backward_hooks is None:
            backward_hooks = OrderedDict()
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle


# ----- A backward that is not differentiable itself -------------------------------------------------------------------


class Error(Node):
    """The node of the gradients of a function that can be differentiated only once: raises when it runs."""

    __slots__ = ("message", "outputs")
    runs_on_none = True

    def __init__(self, message: str, next_functions: tuple[Any, ...]) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.message, self.next_functions = message, next_functions
        self.outputs = len(next_functions)

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    run_graph = run_raw


Error.__module__ = "torch.autograd.graph"


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not itself differentiable: a second derivative raises instead of being wrong.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.detach().numpy()
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return torch.from_numpy(2 * ctx.x * grad.numpy())

    Args:
        fn: the `backward`

    Returns:
        the decorated `backward`
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        enabled = grad_mode.get()
        try:
            grad_mode.set(False)
            outputs = fn(ctx, *args)
        finally:
            grad_mode.set(enabled)
        if not enabled or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        guarded = _delayed_error(several)
        return guarded if isinstance(outputs, tuple) else guarded[0]

    return wrapper


def _delayed_error(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values as the outputs of an `Error` node."""
    leaves = [None if o is None else o.detach()._require_grad_() for o in outputs]
    node = Error(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        tuple(NO_EDGE if leaf is None else leaf._edge for leaf in leaves),
    )
    guarded = [None if o is None else o.detach() for o in outputs]
    for nr, out in enumerate(guarded):
        if out is not None:
            out._edge = (node, nr)
    return tuple(guarded)


# ----- torch.autograd.Function ----------------------------------------------------------------------------------------


AUTOGRAD_FUNCTION_COUNTER = count()


class BackwardCFunction(Node, FunctionCtx, _HookMixin):
    """The node of a custom function, and the `ctx` of its methods. See Note [The context is the node].

    >>> issubclass(torch.autograd.function.BackwardCFunction, torch.autograd.function.FunctionCtx)
    True
    """

    _forward_cls: Any
    _autograd_function_id: int
    runs_on_none = True  # backward is called even if no gradient arrived

    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    materialize_grads = True
    _materialize_non_diff_grads = True
    needs_input_grad: tuple[bool, ...] = ()
    _are_tensors: tuple[bool, ...] = ()  # for each argument of forward
    _input_metadata: tuple[Any, ...] = ()  # (shape, dtype) of each tensor among the arguments
    _output_metadata: tuple[Any, ...] = ()  # the same for each output, None for a non-tensor
    _kept: tuple[Kept | None, ...] | Freed = ()

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def _get_user_fn(self) -> Any:
        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
                "them."
            )
        return vjp if vjp is not Function.vjp else backward

    def apply(self, *args: Any) -> Any:
        """Call the function's own backward with gradients."""
        if self._forward_cls.boxed_grads_call:
            args = (list(args),)
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args: Any) -> Any:
        """Run `backward` on a list of gradients."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: Any) -> Any:
        """Call the function's own forward-mode rule with tangents."""
        return self._forward_cls.jvp(self, *args)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that `save_for_backward` kept, checked for in-place changes."""
        kept = self._kept
        if isinstance(kept, Freed):
            freed(self)
        if not kept:
            return ()
        if not self._forward_cls.clear_saved_tensors_on_access:
            return tuple(None if k is None else k.unpack(self) for k in kept)
        if "_read_once" in self.__dict__:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        tensors = tuple(None if k is None else k.unpack(self) for k in kept)
        self._kept, self._read_once = (None,), True
        return tensors

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """Deprecated: `saved_tensors`."""
        warn_user("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor | None, ...]:
        if isinstance(self._kept, Freed):
            freed(self)
        return self._kept

    def maybe_clear_saved_tensors(self) -> None:
        """Forget the saved tensors if the function requested that by `clear_saved_tensors_on_access`."""
        if self._forward_cls.clear_saved_tensors_on_access:
            self._kept = (None,)

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        grads = list(grad) if self.outputs != 1 else [grad]
        if self.materialize_grads:
            grads = [zeros_for(self, nr) if g is None else g for nr, g in enumerate(grads)]
        results = check_gradients(self, self.apply(*grads))
        if not keep:
            self._kept = FREED
        return results

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        grads = grad if self.outputs != 1 else [grad]
        wrapped = [None if g is None else wrap(writable(g)) for g in grads]
        del grads, grad
        bare = self._hooks is None
        results = self.run_graph(wrapped if self.outputs != 1 else wrapped[0], keep)
        results = tuple(None if r is None else r._array for r in results)
        if bare and self._hooks is not None:  # its own backward registered one during this run
            return hooks.after(self, results, [], False)  # type: ignore[no-any-return]
        return results


BackwardCFunction.__module__ = "torch.autograd.function"


# The errors of a Function that lacks a method.
_MISSING = {
    "forward": "You must implement the forward function for custom autograd.Function.",
    "setup_context": "setup_context is not implemented.",
    "backward": "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
    "backward mode AD.",
    "jvp": "You must implement the jvp function for custom autograd.Function to use it with forward mode AD.",
}


class FunctionMeta(type):
    """Gives each Function its node class.

    Args:
        name: the name of the class
        bases: its base classes
        attrs: what its body defines

    >>> type(torch.autograd.Function).__name__
    'FunctionMeta'
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attrs: dict[str, Any]) -> None:
        body = {"_forward_cls": cls, "__module__": "torch.autograd.function", "__slots__": ()}
        body["_autograd_function_id"] = next(AUTOGRAD_FUNCTION_COUNTER)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), body)
        super().__init__(name, bases, attrs)


class _SingleLevelFunction(FunctionCtx, _HookMixin, metaclass=FunctionMeta):
    _backward_cls: Any

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the op: `forward(ctx, *args)`, or `forward(*args)` if there is a `setup_context`.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        >>> Square.apply(torch.tensor(3.0))
        tensor(9.)
        """
        raise NotImplementedError(_MISSING["forward"])

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what backward needs, separately from `forward`; torch.func's transforms require this form.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         ctx.save_for_backward(*inputs)
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> torch.func.grad(Square.apply)(torch.tensor(3.0))
        tensor(6.)
        """
        raise NotImplementedError(_MISSING["setup_context"])

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of forward's arguments (None for an argument without one), given those of its outputs.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
        """
        raise NotImplementedError(_MISSING["backward"])

    vjp = backward

    # Whether `ctx.saved_tensors` can be read only once, so that they are freed early.
    clear_saved_tensors_on_access = False
    # Whether backward receives its gradients as one list, from which it can remove them early.
    boxed_grads_call = False

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of forward's outputs, given those of its arguments.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.x = x.detach()
        ...         return x * x
        ...     @staticmethod
        ...     def jvp(ctx, tangent):
        ...         return 2 * ctx.x * tangent
        >>> fwAD = torch.autograd.forward_ad
        >>> with fwAD.dual_level():
        ...     print(fwAD.unpack_dual(Square.apply(fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0)))).tangent)
        tensor(6.)
        """
        raise NotImplementedError(_MISSING["jvp"])


class Function(_SingleLevelFunction):
    """Base class of custom ops: subclass it, write `forward` and `backward`, and call `apply`.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x)
    tensor([2., 2.], grad_fn=<DoubleBackward>)
    """

    generate_vmap_rule = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them "
            "on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """How the op acts on batches: returns `(outputs, out_dims)`.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def vmap(info, in_dims, x):
        ...         return Double.apply(x), in_dims[0]
        >>> torch.vmap(Double.apply)(torch.tensor([1.0, 2.0]))
        tensor([2., 4.])
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` on these arguments and add one node to the graph.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return 2 * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return 2 * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Double.apply(x).backward()
        >>> x.grad
        tensor(2.)
        """
        if cls.setup_context is not _SingleLevelFunction.setup_context:
            args, kwargs = _bind_defaults(cls.forward, args, kwargs), {}
        if NAMESPACE["SLOW"]:
            level = interpreter(args)
            if level is not None:
                return level.run_function(cls, args, kwargs)
        return run_forward(cls, args, kwargs)


def _is_setup_context_defined(fn: Any) -> bool:
    return fn is not _SingleLevelFunction.setup_context


def _bind_defaults(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of forward by position, with defaults: setup_context receives them as one tuple."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) == code.co_argcount and not code.co_flags & 0x0C:
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def run_forward(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], contexts: list[Any] | None = None) -> Any:
    """`apply` outside of any transform: run forward without recording, then attach its outputs to the node.

    The context is appended to `contexts`, if given.
    """
    ctx = object.__new__(cls._backward_cls)
    if contexts is not None:
        contexts.append(ctx)
    ctx.seq = next(sequence)
    ctx._hooks = ctx._fit = None
    ctx._are_tensors = tuple([isinstance(a, Tensor) for a in args])
    inputs: list[Any] = [a for a, is_tensor in zip(args, ctx._are_tensors) if is_tensor]
    ctx.needs_input_grad = tuple([is_tensor and a.requires_grad for a, is_tensor in zip(args, ctx._are_tensors)])
    recorded = grad_mode.get() and True in ctx.needs_input_grad
    before = grad_mode.get()
    try:
        grad_mode.set(False)
        ctx.next_functions = tuple([edge_of(t) for t in inputs]) if recorded else ()
        seen = None
        if recorded and NAMESPACE["SLOW"]:
            announce(ctx)
            seen = log.get()
        outputs = (
            _forward(cls, ctx, args, kwargs, inputs, recorded)
            if seen is None
            else seen.on_forward(cls, inputs, partial(_forward, cls, ctx, args, kwargs, inputs, recorded))
        )
    finally:
        grad_mode.set(before)
    if contexts is None:
        ctx.saved_for_forward = None  # no forward mode is open to use it
    return outputs


def _forward(
    cls: Any, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[Any], recorded: bool
) -> Any:
    """Run forward and `setup_context`, and attach the outputs to the node."""
    separate = cls.setup_context is not _SingleLevelFunction.setup_context
    output = cls.forward(*args, **kwargs) if separate else cls.forward(ctx, *args, **kwargs)
    if separate:
        cls.setup_context(ctx, args, output)
    outputs = tie_outputs(ctx, inputs, output, recorded, separate)
    return outputs if isinstance(output, tuple) else outputs[0]


# ----- Names of old -----------------------------------------------------------------------------------------------------------------

_ContextMethodMixin = FunctionCtx  # old pickles name it so


class InplaceFunction(Function):
    """A Function with a flag `inplace`; PyTorch keeps the name.

    >>> torch.autograd.function.InplaceFunction(inplace=True).inplace
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """Functions with nested inputs from before PyTorch 0.4, which can no longer be called. Write a plain Function.

    >>> issubclass(torch.autograd.function.NestedIOFunction, torch.autograd.Function)
    True
    """

    @staticmethod
    def forward(*args: Any) -> Any:
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    def forward_extended(self, *input: Any) -> Any:
        """For subclasses, and no longer called."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """For subclasses, and no longer called."""
        raise NotImplementedError


_explain(globals())
