"""Evenly spaced values: arange, linspace, logspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_user
from ..ops.machinery.guards import lazy, need_countable
from ..tensor import Tensor, wrap
from . import _accept, _check, _into, _leaf, _meta_or_float8, _plain

_float_range, _float_linspace = lazy("ranges", "arange"), lazy("ranges", "linspace")


def arange(
    *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, out: Any = None, **more: Any
) -> Tensor:
    """Values from `start` (0) up to but excluding `end`, in steps.

    >>> torch.arange(1, 4), torch.arange(0.0, 1.0, 0.25)
    (tensor([1, 2, 3]), tensor([0.0000, 0.2500, 0.5000, 0.7500]))
    """
    if dtype is None is device and out is None and not more and (array := _integer_range(args)) is not None:
        return _leaf(wrap(array), requires_grad)
    if device is None is out and not more and (array := _float_values(args, dtype)) is not None:
        return _leaf(wrap(array), requires_grad)
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if _check(dtype, device, "arange"):
        return _meta_or_float8(arange, *args, dtype=dtype, requires_grad=requires_grad, **more)
    start, end, step = _arange_ends(args, more)
    if start is None or end is None or step is None:
        raise TypeError("arange(): argument 'end' (position 1) must be Number, not NoneType")
    _accept("arange", more)
    if not (_isfinite(start) and _isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    wanted = dtype
    if dtype is None:
        floating = any(isinstance(v, float) for v in (start, end, step))
        dtype = out.dtype if out is not None else dtypes.get_default_dtype() if floating else dtypes.int64
    if step == 0:
        raise RuntimeError("step must be nonzero")
    _refuse_kernel("arange_cpu", dtype, "bc")
    if dtype.category == dtypes.INTEGRAL:
        start, end, step = int(start), int(end), int(step)  # as in C
        if step == 0:
            raise ValueError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = math.ceil((end - start) / step)
    need_countable((count,), dtype.itemsize)
    if dtype.category == dtypes.INTEGRAL:
        array = (np.arange(count, dtype=np.int64) * int(step) + int(start)).astype(dtype.np)
    elif dtype.category == dtypes.FLOATING and dtype.itemsize >= 4:
        array = _float_range(float(start), float(step), count, dtype.np)
    else:
        array = (np.arange(count, dtype=np.float64) * step + start).astype(dtype.np)
    result = _leaf(wrap(array), requires_grad)
    return result if out is None else _into(out, result, wanted)


def _isfinite(value: Any) -> bool:
    return math.isfinite(value) if type(value) in (int, float) else bool(np.isfinite(value))


def _integer_range(args: tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """The usual range, of values that fit machine integers; None in other cases."""
    for a in args:
        if type(a) is not int or not -_FAR < a < _FAR:
            return None
    if len(args) == 1:
        return np.arange(args[0], dtype=np.int64) if args[0] >= 0 else None
    if not 2 <= len(args) <= 3 or (len(args) == 3 and args[2] <= 0) or args[1] < args[0]:
        return None
    return np.arange(*args, dtype=np.int64)


def _float_values(args: tuple[Any, ...], dtype: Any) -> np.ndarray[Any, Any] | None:
    """The usual non-empty range of float32 or float64; None in other cases."""
    if dtype is None:
        if float not in [type(a) for a in args]:
            return None
        dtype = dtypes.get_default_dtype()
    if (dtype is not dtypes.float32 and dtype is not dtypes.float64) or not 1 <= len(args) <= 3:
        return None
    for a in args:
        if (type(a) is not float and type(a) is not int) or not -1e15 < a < 1e15:
            return None
    start, end, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    if not step or (end - start) / step <= 0:
        return None
    return _float_range(float(start), float(step), math.ceil((end - start) / step), dtype.np)


_FAR = 2**62


def _arange_ends(args: tuple[Any, ...], more: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Start, end and step, by position or by keyword; keyword ones are removed from `more`."""
    names = {"start": None, "end": None, "step": None}
    names.update({k: more.pop(k) for k in list(more) if k in names})
    values = list(args)
    if len(values) == 1 and names["start"] is None and names["end"] is None:
        names["end"] = values[0]
    else:
        for key in ("start", "end", "step"):
            if values and names[key] is None:
                names[key] = values.pop(0)
    start = _plain(names["start"] if names["start"] is not None else 0)
    end, step = _plain(names["end"]), _plain(names["step"] if names["step"] is not None else 1)
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    return start, end, step


def range_(start: Any = 0, end: Any = None, step: Any = 1, **kwargs: Any) -> Tensor:
    """Like `arange`, but including the end; deprecated in PyTorch too.

    >>> import penlight as torch, warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.range(1, 3)
    tensor([1., 2., 3.])
    """

    warn_user(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with Python's "
        "range builtin. Instead, use torch.arange, which produces values in [start, end)."
    )
    if end is None:
        start, end = 0, start
    count = int((end - start) / step) + 1
    dtype = kwargs.pop("dtype", None) or dtypes.get_default_dtype()
    return _leaf(wrap((np.arange(count) * step + start).astype(dtype.np)), kwargs.pop("requires_grad", False))


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
    out: Any = None, **more: Any,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced values from `start` to `end`, both included.

    >>> torch.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if (dtype is not None or device is not None) and _check(dtype, device, "linspace"):
        return _meta_or_float8(linspace, start, end, steps, dtype=dtype, requires_grad=requires_grad)
    _accept("linspace", more)
    start, end = _ends("linspace", start, end, steps)
    wanted = dtype
    if dtype is None and out is not None:
        dtype = out.dtype
    if dtype is None:
        dtype = (
            dtypes.default_complex()
            if isinstance(start, complex) or isinstance(end, complex)
            else dtypes.get_default_dtype()
        )
    if steps > 1:
        _refuse_kernel("linspace_cpu", dtype, "b")
    result = _leaf(wrap(linspace_array(start, end, steps, dtype)), requires_grad)
    return result if out is None else _into(out, result, wanted)


def _refuse_kernel(name: str, dtype: dtypes.dtype, kinds: str) -> None:
    """Refuse the kinds of dtypes that PyTorch has no kernel for."""
    if dtype.np.kind in kinds:
        raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.LEGACY[dtype]}'")


def _ends(name: str, start: Any, end: Any, steps: Any) -> tuple[Any, Any]:
    """The ends of a range as scalars; refuses other types."""
    numbers = (int, float, complex, np.number, Tensor)
    if not (isinstance(steps, (int, np.integer, Tensor)) and isinstance(start, numbers) and isinstance(end, numbers)):
        kinds = ", ".join(type(v).__name__ for v in (start, end, steps))
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
            " * (Tensor start, Tensor end, int steps, ...)\n * (Number start, Number end, int steps, ...)"
        )
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        _refuse_wide(name, start, end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    need_countable((steps,), dtypes.get_default_dtype().itemsize)
    return _plain(start), _plain(end)


def _refuse_wide(name: str, start: Any, end: Any) -> None:
    wide = [
        f"{n} with {v.dim()} dimension(s)"
        for n, v in (("start", start), ("end", end))
        if isinstance(v, Tensor) and v.dim()
    ]
    if wide:
        raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {' and '.join(wide)}.")


def linspace_array(start: Any, end: Any, steps: int, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """PyTorch computes from both ends toward the middle, in the dtype of the result, by fused multiply-add."""
    kind = dtype.np.type
    if steps == 0:
        return np.empty(0, dtype.np)
    if steps == 1:
        return np.asarray([start]).astype(dtype.np)
    if dtype.category == dtypes.INTEGRAL:
        start, end = int(start), int(end)  # as in C
        step = (end - start) / (steps - 1)
        index = np.arange(steps, dtype=np.float64)
        values = np.where(index < steps // 2, start + step * index, end - step * (steps - 1 - index))
        return np.trunc(values).astype(dtype.np)
    if dtype.itemsize == 2:
        return linspace_array(start, end, steps, dtypes.float32).astype(dtype.np)
    if dtype.category == dtypes.FLOATING:
        return _float_linspace(start, end, steps, dtype.np)
    low, high = kind(start), kind(end)
    step, positions = (high - low) / kind(steps - 1), np.arange(steps)
    values = np.where(positions < steps // 2, low + step * positions, high - step * (steps - 1 - positions))
    return values.astype(dtype.np)


def _exponents(start: float, end: float, steps: int, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """The exponents of `logspace`; their last bit does not show in a result of lower precision."""
    if steps < 2 or dtype.itemsize > 4 or dtype.category != dtypes.FLOATING:
        return linspace_array(start, end, steps, dtypes.float64)
    exponents = np.arange(steps, dtype=np.float64)
    exponents *= (end - start) / (steps - 1)
    exponents += start
    exponents[-1] = end
    return exponents


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False, out: Any = None, **more: Any,
) -> Tensor:  # fmt: skip
    """`steps` values from base**start to base**end, evenly spaced on a logarithmic scale.

    >>> torch.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if _check(dtype, device, "logspace"):
        return _meta_or_float8(logspace, start, end, steps, base, dtype=dtype, requires_grad=requires_grad)
    _accept("logspace", more)
    start, end = _ends("logspace", start, end, steps)
    found = dtype or (dtypes.get_default_dtype() if out is None else out.dtype)
    if steps > 1:
        _refuse_kernel("logspace_cpu", found, "b")
    if found.category == dtypes.INTEGRAL:
        start, end = int(start), int(end)  # as in C
    exponents = _exponents(float(start), float(end), steps, found)
    result = _leaf(wrap((float(base) ** exponents).astype(found.np)), requires_grad)
    return result if out is None else _into(out, result, dtype)
