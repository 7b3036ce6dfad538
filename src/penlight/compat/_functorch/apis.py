"""torch._functorch.apis: the transforms by their public names."""

from penlight.func import grad as grad
from penlight.func import grad_and_value as grad_and_value
from penlight.func import vmap as vmap
