"""Converts data to arrays: scalars, nested sequences, other libraries' arrays, in PyTorch's dtypes."""

from __future__ import annotations

from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from .. import dtypes
from ..kernels.numpy_warnings import hush, unhush
from ..tensor import Tensor


def array_of(data: Any, dtype: dtypes.dtype | None, copy: bool) -> np.ndarray[Any, Any]:
    """Data as an array in PyTorch's dtype for it: floats are the default dtype, ints int64."""
    if type(data) in _NUMBERS:
        return _from_python(data, dtype)
    if isinstance(data, Tensor):
        array = data._array
    elif isinstance(data, np.ndarray):
        own = dtypes.from_np(data.dtype).np
        if any(s < 0 for s in data.strides):
            raise ValueError(NEGATIVE_STRIDES)
        array = dtypes.with_canonical_dtype(data) if data.dtype.isnative else data.astype(own)
    elif isinstance(data, np.generic) or (hasattr(data, "__array__") and not isinstance(data, (list, tuple))):
        array = np.asarray(data)
        if array.dtype.kind in "fiucb":
            array = dtypes.with_canonical_dtype(array)
    else:
        return _from_python(data, dtype)
    if dtype is not None and array.dtype != dtype.np:
        return array.astype(dtype.np)
    return np.array(array, order="C") if copy else array


_NUMBERS = (float, int, bool, complex)
_PYTHON_NUMBERS = set(_NUMBERS)


def _from_python(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    if type(data) in _NUMBERS:
        found = dtype or dtypes.of_number(data)
        if type(data) is int and found.category == dtypes.INTEGRAL:
            _check_range(data, found)
        number = _number(data, found)
        if type(number) is float and not -6e4 < number < 6e4:
            return _cast(number, found)
        return np.asarray(number, found.np)
    if isinstance(data, (str, bytes)) or data is None:
        raise (
            TypeError(f"new(): invalid data type '{type(data).__name__}'")
            if data is not None
            else RuntimeError("Could not infer dtype of NoneType")
        )
    if not isinstance(data, (list, tuple, range)) and not hasattr(data, "__len__"):
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")
    return _from_sequence(data, dtype)


def _cast(data: Any, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Data cast to this dtype. Values too large for it become infinite without a warning."""
    token = hush()
    try:
        return np.asarray(data, dtype.np)
    finally:
        unhush(token)


def _from_sequence(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    leaf = data
    while isinstance(leaf, (list, tuple)) and leaf:
        leaf = leaf[0]
    if isinstance(leaf, (Tensor, np.ndarray)):
        parts = _items(data)
        array = np.array(parts)
    else:
        try:
            array = np.array(data)
        except ValueError:
            raise _ragged(data) from None
        except OverflowError:
            array = np.array(data, dtype=object)
    if array.dtype.kind in "OUSu" or (dtype is dtypes.uint64 and array.dtype.kind in "if"):
        array = _with_large_integers(data, array, dtype)
    if dtype is None:
        dtype = _inferred(array, leaf, data)
    elif array.dtype != dtype.np and array.size and (dtype.category == dtypes.INTEGRAL or array.dtype.kind == "c"):
        for extreme in (array.min(), array.max()):
            _number(extreme.item(), dtype)
    if array.dtype == dtype.np:
        return dtypes.with_canonical_dtype(array)
    return _cast(array, dtype)


def _inferred(array: Any, leaf: Any, data: Any) -> dtypes.dtype:
    """The dtype of scalars: Python's have the default dtype, and ints are int64 even where NumPy's are 32 bits wide; NumPy scalars and
    tensors keep theirs."""
    if array.dtype.kind == "i" and type(leaf) is int:
        return dtypes.int64
    if array.dtype.kind not in "fc" or isinstance(leaf, np.ndarray):
        return dtypes.from_np(array.dtype)
    data = _flat(data)
    kinds = set(map(type, data))
    if kinds <= {int, bool} and kinds:  # too large for NumPy's integers
        raise ValueError(_OVERFLOW)
    if kinds <= _PYTHON_NUMBERS:
        return dtypes.get_default_dtype() if array.dtype.kind == "f" else dtypes.default_complex()
    found = {d.dtype for d in data if isinstance(d, Tensor)}
    for kind in kinds:
        if issubclass(kind, np.generic):
            found.add(dtypes.from_np(np.dtype(kind)))
        elif kind in (float, complex):
            found.add(dtypes.get_default_dtype() if kind is float else dtypes.default_complex())
        elif not issubclass(kind, (bool, int, Tensor)):
            return dtypes.from_np(array.dtype)
    return reduce(dtypes.promote_types, found)


def _flat(data: Any) -> Any:
    """The items of nested lists, in which tensors may stand for lists."""
    while not {list, tuple}.isdisjoint(map(type, data)):
        data = list(chain.from_iterable([d if type(d) in (list, tuple) else (d,) for d in data]))
    return data


_OVERFLOW = "Overflow when unpacking long long"


def _check_range(value: int, to: dtypes.dtype) -> None:
    """Refuse an integer that does not fit PyTorch's C integer."""
    if to is dtypes.uint64:
        if value < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if value >= 1 << 64:
            raise OverflowError("int too big to convert")
    elif not -(1 << 63) <= value < 1 << 63:
        raise ValueError(_OVERFLOW)


def _with_large_integers(data: Any, array: Any, dtype: dtypes.dtype | None) -> Any:
    """Data with integers beyond int64, or data that NumPy mistakes for that, as an array of the requested kind."""
    flat = _flat(data)
    if not all([isinstance(item, _NUMBERS) for item in flat]):
        if array.dtype.kind in "OUS":
            raise _unusable(array, dtype)
        return array  # NumPy scalars, or tensors
    if dtype is None and set(map(type, flat)) <= {int, bool}:
        dtype = dtypes.int64
    if dtype is not None and dtype.category == dtypes.INTEGRAL:
        for item in flat:
            if type(item) is int:
                _check_range(item, dtype)
            elif dtype is dtypes.uint64 and type(item) is float:
                raise TypeError("an integer is required")
        return np.array(data, dtype.np) if dtype is dtypes.uint64 else array
    if dtype is dtypes.bool_:
        return np.array(data, object) != 0
    return np.array(data, np.complex128 if any([type(item) is complex for item in flat]) else np.float64)


def _items(data: Any) -> Any:
    """Nested lists with their tensors, which must have one element, replaced by scalars."""
    if isinstance(data, (list, tuple)):
        return [_items(d) for d in data]
    if not isinstance(data, Tensor):
        return data
    if data.numel() != 1:
        if data._array.dtype.kind in "iu":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        raise ValueError("only one element tensors can be converted to Python scalars")
    return data._array.reshape(())


def tensors_in(data: Any) -> list[Tensor]:
    """The tensors in data: itself, or in its nested lists."""
    if isinstance(data, (list, tuple)):
        return [t for item in data for t in tensors_in(item)]
    return [data] if isinstance(data, Tensor) else []


def _ragged(data: Any) -> Exception:
    """PyTorch's error for nested lists of unequal lengths."""
    lengths = [len(d) if isinstance(d, (list, tuple)) else -1 for d in data]
    if -1 in lengths and max(lengths) >= 0:
        if lengths[0] >= 0:
            odd = next(d for d in data if not isinstance(d, (list, tuple)))
            return TypeError(f"expected sequence of length {lengths[0]} at dim 1 (got {type(odd).__name__})")
        bad = next(d for d in data if isinstance(d, (list, tuple)))
        return TypeError(f"'{type(bad).__name__}' object cannot be interpreted as an integer" if isinstance(data[0], int)
                         else f"must be real number, not {type(bad).__name__}")  # fmt: skip
    for dim in range(1, 10):
        first = len(data[0])
        for d in data:
            if len(d) != first:
                return ValueError(f"expected sequence of length {first} at dim {dim} (got {len(d)})")
        data = [e for d in data for e in d]
    return ValueError("expected nested sequences of equal length")


def _unusable(array: Any, dtype: dtypes.dtype | None) -> Exception:
    """PyTorch's error for data that is not numeric, or too large."""
    bad = next((d for d in array.ravel().tolist() if not isinstance(d, (int, float, complex))), None)
    if isinstance(bad, (str, bytes)):
        return (
            ValueError(f"too many dimensions '{type(bad).__name__}'")
            if array.ndim
            else TypeError("new(): invalid data type 'str'")
        )
    kind = type(bad).__name__
    if dtype is None:
        return RuntimeError(f"Could not infer dtype of {kind}")
    integral = dtype.category == dtypes.INTEGRAL
    return TypeError(
        f"'{kind}' object cannot be interpreted as an integer" if integral else f"must be real number, not {kind}"
    )


def _number(value: Any, to: dtypes.dtype) -> Any:
    """A scalar as data of a dtype: floats may become infinite, integers must fit."""
    if isinstance(value, complex) and to.category in (dtypes.INTEGRAL, dtypes.FLOATING):
        integral = to.category == dtypes.INTEGRAL
        raise TypeError(
            "'complex' object cannot be interpreted as an integer" if integral else "must be real number, not complex"
        )
    if to.category != dtypes.INTEGRAL:
        return value
    try:
        return dtypes.number_for(value, to)
    except RuntimeError:
        name = str(to).removeprefix("torch.")
        raise RuntimeError(f"value cannot be converted to type {name} without overflow") from None


NEGATIVE_STRIDES = (
    "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently supported. "
    "(You can probably work around this by making a copy of your array  with array.copy().) "
)
