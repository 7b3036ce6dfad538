"""torch._functorch.apis: the transforms by their public names."""

from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import vmap as vmap
