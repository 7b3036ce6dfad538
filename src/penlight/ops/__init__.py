"""The ops: every function on tensors, by name. `OPS` holds the records of the declared ones.

Importing this package declares them all and installs them as methods of Tensor.
"""

# ruff: noqa: I001  (the modules depend on each other in this order)
from __future__ import annotations
from ..kernels.lazy import lazy_import as _lazy_import

from .machinery.declare import OPS as OPS
from .pointwise.arithmetic import *  # noqa: F403
from .pointwise.powers import *  # noqa: F403
from .pointwise.comparison import *  # noqa: F403
from .pointwise.elementary import *  # noqa: F403
from .pointwise.rounding import *  # noqa: F403
from .shape.views import *  # noqa: F403
from .shape.transpose import *  # noqa: F403
from .shape.slicing import *  # noqa: F403
from .shape.strided import *  # noqa: F403
from .shape.joining import *  # noqa: F403
from .conversion import *  # noqa: F403
from .reduce.sums import *  # noqa: F403
from .reduce.extremes import *  # noqa: F403
from .reduce.norms import norm as norm
from .linalg.matmul import *  # noqa: F403
from .linalg.addmm import *  # noqa: F403
from .linalg.einsum import *  # noqa: F403
from .index.advanced import *  # noqa: F403
from .index.gather import *  # noqa: F403
from .index.masks import *  # noqa: F403
from .nn.activation import *  # noqa: F403
from .pointwise.numeric import *  # noqa: F403
from .pointwise.lerp_addcmul import *  # noqa: F403
from .pointwise.complex import *  # noqa: F403
from .pointwise.predicates import *  # noqa: F403
from .special.functions import *  # noqa: F403
from .reduce.scans import *  # noqa: F403
from .reduce.differences import *  # noqa: F403
from .reduce.order import *  # noqa: F403
from .reduce.counting import *  # noqa: F403
from .reduce.statistics import *  # noqa: F403
from .nn.distance import *  # noqa: F403
from .shape.rearrange import *  # noqa: F403
from .shape.stacking import *  # noqa: F403
from .linalg.products import *  # noqa: F403
from .index.scatter import *  # noqa: F403
from .index.take_put import *  # noqa: F403
from .shape.copy_variants import *  # noqa: F403
from .sampling import *  # noqa: F403
from .storage_methods import *  # noqa: F403
from .unsupported_methods import *  # noqa: F403
from .aliases import *  # noqa: F403
from . import lazy_methods as _lazy_methods  # noqa: F401

_aten = _lazy_import(globals(), "_aten", ".machinery.aten")
_library = _lazy_import(globals(), "_library", "..library")
_refused = _lazy_import(globals(), "_refused", ".._refused")


# The functions, not the modules that define them.
__all__ = [name for name, value in globals().items() if name[0] != "_" and callable(value)]


def __getattr__(name: str) -> object:
    if name == "aten":
        return _aten.aten
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    why = "Penlight has PyTorch's own operators (torch.ops.aten) and no registry for others. Call the Python function itself"
    if name == "load_library":
        # PyTorch's error for a library that can't be loaded: packages like torchvision then work without it.
        return _refused.refused_function("ops.load_library", _refused.message("ops.load_library", why), OSError)
    return _Namespace(name, why)


class _Namespace:
    """`torch.ops.name`: the operators that were registered under that name. Any name can be looked up, as in PyTorch."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def __getattr__(self, name: str) -> object:
        for op in _library.REGISTERED.values():
            if (op._namespace, op._name) == (self._name, name):
                return op
        raise _refused.NotAvailable(_refused.message(f"ops.{self._name}.{name}", self._why))
