"""Helpers for tensors and modules; each part is imported at its first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from .._common.arguments import explain as _explain
from ..autograd.node import NO_EDGE, AccumulateGrad
from ..kernels.lazy import lazy_import
from ..tensor import Tensor

if TYPE_CHECKING:
    from . import benchmark as benchmark, checkpoint as checkpoint, data as data, hooks as hooks

_refused = lazy_import(globals(), "_refused", "penlight._refused")


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange two tensors: each object then has the content of the other.

    >>> a, b = torch.ones(2), torch.zeros(1)
    >>> torch.utils.swap_tensors(a, b); a
    tensor([0.])
    """
    if not (isinstance(t1, Tensor) and isinstance(t2, Tensor)):
        raise TypeError("swap_tensors expects two tensors")
    kept = [(t.__class__, dict(t.__dict__), *(field.__get__(t) for field in _FIELDS)) for t in (t1, t2)]
    for target, (kind, more, *fields) in zip((t1, t2), reversed(kept)):
        target.__class__ = kind
        target.__dict__.clear()
        target.__dict__.update(more)
        for field, value in zip(_FIELDS, fields):
            field.__set__(target, value)
        if target._edge is not NO_EDGE and isinstance(target._edge[0], AccumulateGrad):
            target._edge = NO_EDGE
            target.requires_grad_()


# The slots themselves, because a tensor on the meta device does not expose its array.
_FIELDS = [vars(Tensor)[name] for name in ("_array", "_edge", "_vc", "_grad", "_view", "_rare_state")]


def set_module(obj: Any, mod: Any) -> None:
    """Set the `__module__` of an object.

    >>> def f(): pass
    >>> torch.utils.set_module(f, "here"); f.__module__
    'here'
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def __getattr__(name: str) -> Any:
    if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:  # a package that it needs is not installed: hasattr says False
            raise AttributeError(str(error)) from error
    raise _refused.missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *(module.name for module in iter_modules(__path__))})


_explain(globals())
