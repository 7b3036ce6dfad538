"""What `ctx` offers inside of a custom Function, part of `function`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._common.user_warnings import warn_user
from ..tensor import Tensor
from .node import RemovableHandle

_HOME = "penlight.autograd.function"  # where PyTorch has these classes


class FunctionCtx:
    """What `forward` can tell about itself through its `ctx`."""

    __module__ = _HOME

    to_save: tuple[Any, ...] | None
    saved_for_forward: tuple[Any, ...] | None
    dirty_tensors: tuple[Any, ...] | None
    non_differentiable: tuple[Any, ...] | None
    materialize_grads: bool

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save tensors for `backward`, which reads them from `ctx.saved_tensors`.

        Save inputs and outputs this way, not as attributes: then in-place changes are noticed and nothing leaks.

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
        """Say which inputs `forward` changed in place. Each of them must be returned too.

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
        """Say which outputs have no gradient. `backward` still gets a gradient for them: zeros.

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
        """Whether gradients that did not arrive come to `backward` as zeros (a `value` of True, the default) or as None.

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
    __module__ = _HOME

    @staticmethod
    def _register_hook(backward_hooks: Any, hook: Callable[..., Any]) -> tuple[Any, RemovableHandle]:
        if backward_hooks is None:
            backward_hooks = OrderedDict()
        handle = RemovableHandle(backward_hooks)
        backward_hooks[handle.id] = hook
        return backward_hooks, handle
