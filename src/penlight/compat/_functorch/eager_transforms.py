"""torch._functorch.eager_transforms: the transforms that differentiate."""

from penlight.func import functionalize as functionalize
from penlight.func import grad as grad
from penlight.func import grad_and_value as grad_and_value
from penlight.func import hessian as hessian
from penlight.func import jacfwd as jacfwd
from penlight.func import jacrev as jacrev
from penlight.func import jvp as jvp
from penlight.func import linearize as linearize
from penlight.func import vjp as vjp
