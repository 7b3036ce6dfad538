"""torch._functorch.apis: the transforms by their public names."""

from penlight.func import grad as grad, grad_and_value as grad_and_value, vmap as vmap
