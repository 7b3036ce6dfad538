"""Neural networks: modules, parameters, losses, initialisation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from penlight.nn.parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

from .._common.arguments import explain as _explain
from .._common.module_table import declare_modules, lazy_names
from ..kernels.lazy import lazy_import
from . import modules as modules, parameter as parameter

if TYPE_CHECKING:
    from ..ops.nn import conv_gradients as grad
    from . import attention as attention, functional as functional, init as init, parallel as parallel, utils as utils
    from ._lazy import *  # noqa: F403
    from .parallel import DataParallel as DataParallel

_refused = lazy_import(globals(), "_refused", "penlight._refused")

declare_modules(
    __name__,
    **{
        "penlight.ops.nn.conv_gradients": {
            "grad": "conv1d_input conv1d_weight conv2d_input conv2d_weight conv3d_input conv3d_weight"
        }
    },
)
# Every part is imported at its first use.
_PARTS = ("attention", "common_types", "functional", "grad", "init", "parallel", "utils")

_explain(globals())
__all__ = [*modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
__all__ += ["attention", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]


_homes = {**dict.fromkeys(modules.__all__, "modules"), "DataParallel": "parallel"}
_found, __dir__ = lazy_names(__name__, _homes, _PARTS, lambda *name: _refused.missing(*name))


def __getattr__(name: str) -> Any:
    if name in ("intrinsic", "qat", "quantizable", "quantized"):  # old names of modules refused there
        return getattr(import_module("penlight.ao").nn, name)
    return _found(name)


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments `device`, `dtype` and `memory_format` of the keyword arguments, as arguments of a factory function.

    >>> factory_kwargs({"dtype": "float64"})
    {'dtype': 'float64'}

    Args:
        kwargs: the named arguments of the module

    Returns:
        a dict
    """
    if kwargs is None:
        return {}
    simple = {"device", "dtype", "memory_format"}
    unknown = kwargs.keys() - simple - {"factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    result = dict(kwargs.get("factory_kwargs", {}))
    for key in simple & kwargs.keys():
        if key in result:
            raise TypeError(f"{key} specified twice, in **kwargs and in factory_kwargs")
        result[key] = kwargs[key]
    return result
