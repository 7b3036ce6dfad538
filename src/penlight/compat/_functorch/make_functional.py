"""torch._functorch.make_functional: modules that take their parameters as arguments."""

from .._functorch_package import (
    FunctionalModule as FunctionalModule,
    FunctionalModuleWithBuffers as FunctionalModuleWithBuffers,
    combine_state_for_ensemble as combine_state_for_ensemble,
    make_functional as make_functional,
    make_functional_with_buffers as make_functional_with_buffers,
)
