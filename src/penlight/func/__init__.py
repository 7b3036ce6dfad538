"""torch.func: functions of functions. Gradients, Jacobians and batches as transforms that nest in any order.

>>> import penlight as torch
>>> from penlight.func import grad, vmap
>>> grad(lambda x: x**3)(torch.tensor(2.0))
tensor(12.)
>>> vmap(grad(lambda x: (x**2).sum()))(torch.ones(2, 3))
tensor([[2., 2., 2.],
        [2., 2., 2.]])
"""

from __future__ import annotations

from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .transforms import debug_unwrap, functionalize, grad, grad_and_value, jvp, linearize, vjp
from .vmap import vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
