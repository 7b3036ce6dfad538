"""torch._functorch.eager_transforms: the transforms that differentiate."""

from ..func import functionalize as functionalize
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import hessian as hessian
from ..func import jacfwd as jacfwd
from ..func import jacrev as jacrev
from ..func import jvp as jvp
from ..func import linearize as linearize
from ..func import vjp as vjp
