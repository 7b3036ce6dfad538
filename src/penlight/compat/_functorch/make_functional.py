"""torch._functorch.make_functional: modules that take their parameters as arguments."""

from .._functorch_package import FunctionalModule as FunctionalModule
from .._functorch_package import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from .._functorch_package import combine_state_for_ensemble as combine_state_for_ensemble
from .._functorch_package import make_functional as make_functional
from .._functorch_package import make_functional_with_buffers as make_functional_with_buffers
