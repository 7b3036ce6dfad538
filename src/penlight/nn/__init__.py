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

from . import modules as modules, parameter as parameter

if TYPE_CHECKING:
    from . import (
        attention as attention,
        functional as functional,
        grad as grad,
        init as init,
        parallel as parallel,
        utils as utils,
    )
    from ._lazy import *  # noqa: F403
    from .parallel import DataParallel as DataParallel

# Every part comes when it is first asked for.
_PARTS = ("attention", "common_types", "functional", "grad", "init", "parallel", "utils")

__all__ = [*modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
__all__ += ["attention", "functional", "grad", "init", "modules", "parallel", "parameter", "utils"]


def __getattr__(name: str) -> Any:
    if name in modules._HOME:
        found = getattr(modules, name)
    elif name == "DataParallel":
        found = import_module(f"{__name__}.parallel").DataParallel
    elif name in _PARTS:
        return import_module(f"{__name__}.{name}")
    elif name in ("intrinsic", "qat", "quantizable", "quantized"):  # old names of what is refused there
        found = getattr(import_module("penlight.ao").nn, name)
    else:
        from penlight._refused import missing

        raise missing(__name__, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *__all__})


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
