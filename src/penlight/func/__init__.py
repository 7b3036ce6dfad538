"""torch.func: function transforms. Gradients, Jacobians and batching, nested in any order.

>>> import penlight as torch
>>> from penlight.func import grad, vmap
>>> grad(lambda x: x**3)(torch.tensor(2.0))
tensor(12.)
>>> vmap(grad(lambda x: (x**2).sum()))(torch.ones(2, 3))
tensor([[2., 2., 2.],
        [2., 2., 2.]])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._common.arguments import explain as _explain

if TYPE_CHECKING:
    from .jacobians import hessian, jacfwd, jacrev
    from .mapping import vmap
    from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
    from .transforms import debug_unwrap, functionalize, grad, grad_and_value, jvp, linearize, vjp

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
    "linearize", "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

# Lazy imports: the module that defines each name. (The core uses parts of this package.)
_LAZY = {
    **dict.fromkeys(("hessian", "jacfwd", "jacrev"), "jacobians"),
    **dict.fromkeys(("functional_call", "replace_all_batch_norm_modules_", "stack_module_state"), "modules"),
    **dict.fromkeys(
        ("debug_unwrap", "functionalize", "grad", "grad_and_value", "jvp", "linearize", "vjp"), "transforms"
    ),
    "vmap": "mapping",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
    globals()[name] = getattr(import_module("." + _LAZY[name], __name__), name)
    _explain({name: globals()[name]})
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
