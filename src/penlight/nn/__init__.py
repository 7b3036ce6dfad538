"""Neural networks: modules, parameters, losses, initialisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penlight.nn.parameter import Buffer as Buffer
from penlight.nn.parameter import Parameter as Parameter
from penlight.nn.parameter import UninitializedBuffer as UninitializedBuffer
from penlight.nn.parameter import UninitializedParameter as UninitializedParameter

from . import functional as functional
from . import init as init
from . import modules as modules
from . import parameter as parameter
from . import utils as utils
from .modules import *  # noqa: F403

if TYPE_CHECKING:
    from . import attention as attention
    from . import grad as grad
    from . import parallel as parallel
    from .parallel import DataParallel as DataParallel

# Parts that few programs use come when they are asked for.
_LATER = ("attention", "common_types", "grad", "parallel")


def __getattr__(name: str) -> Any:
    if name == "DataParallel":
        from .parallel import DataParallel

        return DataParallel
    if name in _LATER:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "DataParallel"})


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The arguments `device`, `dtype` and `memory_format` out of keyword arguments, ready for a factory function.

    >>> factory_kwargs({"dtype": "float64"})
    {'dtype': 'float64'}
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
