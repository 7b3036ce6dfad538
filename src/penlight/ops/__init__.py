"""The ops: every function on tensors, by name. `OPS` holds the declared ones' records.

Importing this package declares them all and installs them as methods of Tensor.
"""

# ruff: noqa: I001  (the tables build on each other in this order)
from __future__ import annotations
from ..kernels.lazy import lazy_import as _lazy_import

from ._declare import OPS as OPS
from .arithmetic import *  # noqa: F403
from .powers import *  # noqa: F403
from .comparison import *  # noqa: F403
from .pointwise import *  # noqa: F403
from .rounding import *  # noqa: F403
from .shape import *  # noqa: F403
from .transposing import *  # noqa: F403
from .slicing import *  # noqa: F403
from .strided import *  # noqa: F403
from .joining import *  # noqa: F403
from .conversion import *  # noqa: F403
from .reduction import *  # noqa: F403
from .variance import *  # noqa: F403
from .extremes import *  # noqa: F403
from .norms import norm as norm
from .matmul import *  # noqa: F403
from .affine import *  # noqa: F403
from .einsum import *  # noqa: F403
from .advanced_indexing import *  # noqa: F403
from .selection import *  # noqa: F403
from .masks import *  # noqa: F403
from .activation import *  # noqa: F403
from .numeric import *  # noqa: F403
from .mixtures import *  # noqa: F403
from .angles import *  # noqa: F403
from .inquiry import *  # noqa: F403
from .special_functions import *  # noqa: F403
from .scans import *  # noqa: F403
from .differences import *  # noqa: F403
from .order import *  # noqa: F403
from .counting import *  # noqa: F403
from .stats import *  # noqa: F403
from .distance import *  # noqa: F403
from .arrange import *  # noqa: F403
from .stacking import *  # noqa: F403
from .products import *  # noqa: F403
from .added_products import *  # noqa: F403
from .scattering import *  # noqa: F403
from .positions import *  # noqa: F403
from .replaced import *  # noqa: F403
from .sampling import *  # noqa: F403
from .memory import *  # noqa: F403
from .absent import *  # noqa: F403
from .names import *  # noqa: F403
from . import lazy_methods as _lazy_methods  # noqa: F401
from types import SimpleNamespace as _SimpleNamespace

_aten = _lazy_import(globals(), "_aten", "._aten")
_custom_ops = _lazy_import(globals(), "_custom_ops", ".._custom_ops")
_refused = _lazy_import(globals(), "_refused", ".._refused")


# The functions, not the tables that they are in.
__all__ = [name for name, value in globals().items() if name[0] != "_" and callable(value)]


def __getattr__(name: str) -> object:
    if name == "aten":
        return _aten.aten
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    own = {op._name: op for op in _custom_ops.REGISTERED.values() if op._namespace == name}
    if own:
        return _SimpleNamespace(**own)
    why = "Penlight has PyTorch's own operators (torch.ops.aten) and no registry for others. Call the Python function itself"
    if name == "load_library":
        # PyTorch's error for a library that can't be loaded: packages like torchvision then do without it.
        return _refused.refused_function("ops.load_library", _refused.message("ops.load_library", why), OSError)
    raise _refused.NotAvailable(_refused.message(f"ops.{name}", why))
