"""functorch: the package that PyTorch installs in addition, with the older names of `torch.func` and functional modules.

# Note [Old names warn]
PyTorch deprecated the package in 2.0; each function emits PyTorch's warning and calls `torch.func`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from penlight import func
from penlight._common.user_warnings import warn_user
from penlight.kernels.lazy import lazy_import
from penlight.nn import Module
from penlight.ops import stack
from penlight.version import __version__ as __version__

_tree = lazy_import(globals(), "_tree", "penlight.utils._pytree")

__all__ = [
    "combine_state_for_ensemble", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def _warn(name: str, instead: str) -> None:
    warn_user(
        f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{name}` is deprecated as of "
        f"PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use `{instead}` instead; see the PyTorch "
        "2.0 release notes and/or the `torch.func` migration guide for more details "
        "https://pytorch.org/docs/main/func.migrating.html",
        FutureWarning,
    )


def _old(name: str, instead: str) -> Callable[..., Any]:
    """Wrap a function of `torch.func` so that it warns first. See Note [Old names warn]."""
    new = getattr(func, name)

    @wraps(new)
    def function(*args: Any, **kwargs: Any) -> Any:
        _warn(name, instead)
        return new(*args, **kwargs)

    return function


vmap = _old("vmap", "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = (
    _old(name, f"torch.func.{name}")
    for name in ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize")
)


_new_vmap = func.vmap


def _vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, allow_none_pass_through: bool = False) -> Any:
    """As `torch.vmap`; with `allow_none_pass_through` the function may return None, which stays None."""
    if not allow_none_pass_through:
        return _new_vmap(func, in_dims, out_dims)

    def mapped(*args: Any) -> Any:
        structure: list[Any] = []

        def present(*inner: Any) -> Any:
            leaves, spec = _tree.tree_flatten(func(*inner))
            structure[:] = [spec, [leaf is None for leaf in leaves]]
            return tuple(leaf for leaf in leaves if leaf is not None)

        found = iter(_new_vmap(present, in_dims, out_dims)(*args))
        spec, absent = structure
        return _tree.tree_unflatten([None if gone else next(found) for gone in absent], spec)

    return mapped


class FunctionalModuleWithBuffers(Module):
    """A module that takes its parameters and buffers as arguments: `f(params, buffers, *args)`.

    >>> from penlight._functorch_package import FunctionalModuleWithBuffers
    >>> f, params, buffers = FunctionalModuleWithBuffers._create_from(torch.nn.Linear(2, 1))
    >>> f(params, buffers, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    @classmethod
    def _create_from(cls, model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any, Any]:
        own = copy.deepcopy(model)
        params, buffers = dict(own.named_parameters()), dict(own.named_buffers())
        if disable_autograd_tracking:
            for parameter in params.values():
                parameter.requires_grad_(False)
        return cls(own, tuple(params), tuple(buffers)), tuple(params.values()), tuple(buffers.values())

    def forward(self, params: Sequence[Any], buffers: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(self.param_names, params)), **dict(zip(self.buffer_names, buffers))}
        return func.functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers that takes its parameters as an argument: `f(params, *args)`."""

    def forward(self, params: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any]:
    """Turn a module into a function of its parameters, and return it with copies of them.

    >>> from penlight._functorch_package import make_functional
    >>> f, params = make_functional(torch.nn.Linear(2, 1))
    >>> f(params, torch.ones(3, 2)).shape
    torch.Size([3, 1])
    """
    _warn("make_functional", "torch.func.functional_call")
    if len(list(model.buffers())):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    f, params, _ = FunctionalModule._create_from(model, disable_autograd_tracking)
    return f, params


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> tuple[Any, Any, Any]:
    """Turn a module into a function of its parameters and buffers, and return it with copies of both.

    >>> from penlight._functorch_package import make_functional_with_buffers
    >>> f, params, buffers = make_functional_with_buffers(torch.nn.BatchNorm1d(2))
    >>> len(params), len(buffers)
    (2, 3)
    """
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return FunctionalModuleWithBuffers._create_from(model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> tuple[Any, Any, Any]:
    """Turn several modules of one structure into one function, and return it with their stacked parameters and buffers.

    >>> from penlight._functorch_package import combine_state_for_ensemble
    >>> f, params, buffers = combine_state_for_ensemble([torch.nn.Linear(2, 1) for _ in range(3)])
    >>> torch.vmap(f, (0, 0, None))(params, buffers, torch.ones(4, 2)).shape
    torch.Size([3, 4, 1])
    """
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    if len(models) == 0:
        raise RuntimeError("combine_state_for_ensemble: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("combine_state_for_ensemble: Expected all models to be of the same class.")
    made = [FunctionalModuleWithBuffers._create_from(m, True) for m in models]
    params = tuple(stack(same) for same in zip(*(m[1] for m in made)))
    return made[0][0], params, tuple(stack(same) for same in zip(*(m[2] for m in made)))
