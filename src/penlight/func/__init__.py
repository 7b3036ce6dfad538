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

from .jacobians import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
from .transforms import (
    grad as grad,
    grad_and_value as grad_and_value,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from .vmap import vmap as vmap
