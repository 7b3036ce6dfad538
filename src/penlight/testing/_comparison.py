"""`torch.testing.assert_close`: tensors, numbers and containers of them agree up to tolerances.

Inputs are taken apart into pairs (of tensors, numbers, bools, Nones), each with its place in the containers. A pair that
does not agree gives an `AssertionError` with PyTorch's words; all of them are collected, and raised together.
"""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from penlight import dtypes
from penlight.creation import as_tensor, from_numpy, tensor
from penlight.ops import isclose
from penlight.tensor import Tensor

# (rtol, atol) by dtype; those of integers and bools are 0.
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}


class Options(NamedTuple):
    """How to compare."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool
    check_dtype: bool
    check_stride: bool
    check_layout: bool
    numbers: bool  # whether numbers have the tolerances of the default dtype: `assert_allclose`


class Place(tuple[Any, ...]):
    """Where in the containers a pair is."""

    def named(self, words: str) -> str:
        where = "".join(f"[{key!r}]" for key in self)
        return f"{words}\n\nThe failure occurred for item {where}" if self else words


class Mismatch(Exception):
    """A pair does not agree: the class of error to raise, and its words."""

    def __init__(self, words: str, kind: type[Exception] = AssertionError) -> None:
        super().__init__(words)
        self.words, self.kind = words, kind


def tolerances(*types: Any, rtol: float | None, atol: float | None) -> tuple[float, float]:
    """The tolerances that were given, or the widest of those of the dtypes."""
    if rtol is not None and atol is not None:
        return rtol, atol
    own = [_TOLERANCES.get(t, (0.0, 0.0)) for t in types]
    return max(r for r, _ in own), max(a for _, a in own)


# ----- Taking apart ---------------------------------------------------------------------------------------------------


def compare(actual: Any, expected: Any, options: Options, place: Place) -> list[Mismatch]:
    """The disagreements between two inputs, with their places."""
    try:
        if _both(actual, expected, Sequence) and not _both(actual, expected, str):
            return _sequences(actual, expected, options, place)
        if _both(actual, expected, Mapping):
            return _mappings(actual, expected, options, place)
        _pair(actual, expected, options)
    except Mismatch as found:
        return [Mismatch(place.named(found.words), found.kind)]
    return []


def _both(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _sequences(actual: Any, expected: Any, options: Options, place: Place) -> list[Mismatch]:
    if len(actual) != len(expected):
        raise Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
    found: list[Mismatch] = []
    for index, pair in enumerate(zip(actual, expected)):
        found += compare(*pair, options, Place((*place, index)))
    return found


def _mappings(actual: Any, expected: Any, options: Options, place: Place) -> list[Mismatch]:
    missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
    if missing or additional:
        raise Mismatch(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing)}\n"
            f"Additional keys in the actual mapping: {sorted(additional)}"
        )
    try:
        keys = sorted(actual)
    except TypeError:
        keys = list(actual)
    found: list[Mismatch] = []
    for key in keys:
        found += compare(actual[key], expected[key], options, Place((*place, key)))
    return found


_NUMBERS = (int, float, complex, np.number)
_BOOLS = (bool, np.bool_)


def _pair(actual: Any, expected: Any, options: Options) -> None:
    if actual is None or expected is None:
        if actual is not expected:
            raise Mismatch(f"None mismatch: {actual} is not {expected}")
    elif _both(actual, expected, _BOOLS):
        if bool(actual) is not bool(expected):
            raise Mismatch(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")
    elif _both(actual, expected, _NUMBERS):
        _numbers(actual, expected, options)
    elif _both(actual, expected, Tensor) or _both(actual, expected, np.ndarray):
        if not (options.allow_subclasses or type(actual) is type(expected)):
            _refuse(actual, expected)
        _tensors(_tensor(actual), _tensor(expected), options)
    else:
        _refuse(actual, expected)


def _refuse(actual: Any, expected: Any) -> None:
    kinds = f"{type(actual)} and {type(expected)}".replace("penlight.tensor.Tensor", "torch.Tensor")
    raise Mismatch(f"No comparison pair was able to handle inputs of type {kinds}.", TypeError)


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else from_numpy(value)


# ----- Pairs ----------------------------------------------------------------------------------------------------------


def _numbers(actual: Any, expected: Any, options: Options) -> None:
    a, b = (n.item() if isinstance(n, np.number) else n for n in (actual, expected))
    if options.check_dtype and type(a) is not type(b):
        raise Mismatch(f"The (d)types do not match: {type(a)} != {type(b)}.")
    kinds = [
        dtypes.float64 if isinstance(n, float) else dtypes.complex128 if isinstance(n, complex) else dtypes.int64
        for n in (a, b)
    ]
    if options.numbers:
        kinds = [dtypes.float32 if k is dtypes.float64 else k for k in kinds]
    rtol, atol = tolerances(*kinds, rtol=options.rtol, atol=options.atol)
    difference = abs(a - b)
    nans = cmath.isnan(a) and cmath.isnan(b)
    close = (
        a == b
        or (nans and options.equal_nan)
        or (cmath.isfinite(b) and cmath.isfinite(a) and difference <= atol + rtol * abs(b))
    )
    if not close:
        raise Mismatch(_scalar_words(a, b, rtol, atol))


def _scalar_words(a: Any, b: Any, rtol: float, atol: float) -> str:
    difference = abs(a - b)
    relative = float("inf") if b == 0 else difference / abs(b)
    equality = rtol == 0 and atol == 0
    return (
        f"Scalars are not {'equal' if equality else 'close'}!\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {difference}{_up_to(atol, equality)}\n"
        f"Relative difference: {relative}{_up_to(rtol, equality)}"
    )


def _up_to(tolerance: float, equality: bool) -> str:
    return "" if equality else f" (up to {tolerance} allowed)"


def _tensors(a: Tensor, b: Tensor, options: Options) -> None:
    if a.shape != b.shape:
        raise Mismatch(f"The values for attribute 'shape' do not match: {a.shape} != {b.shape}.")
    if options.check_layout and a.layout != b.layout:
        raise Mismatch(f"The values for attribute 'layout' do not match: {a.layout} != {b.layout}.")
    if options.check_stride and a.stride() != b.stride():
        raise Mismatch(f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}.")
    if options.check_dtype and a.dtype is not b.dtype:
        raise Mismatch(f"The values for attribute 'dtype' do not match: {a.dtype} != {b.dtype}.")
    rtol, atol = tolerances(a.dtype, b.dtype, rtol=options.rtol, atol=options.atol)
    if a.dtype is not b.dtype:
        common = dtypes.promote_types(a.dtype, b.dtype)
        a, b = a.to(common), b.to(common)
    matches = isclose(a.detach(), b.detach(), rtol=rtol, atol=atol, equal_nan=options.equal_nan)._array
    if not matches.all():
        raise Mismatch(_tensor_words(a._array, b._array, matches, rtol, atol))


def _tensor_words(a: Any, b: Any, matches: Any, rtol: float, atol: float) -> str:
    if a.ndim == 0:
        return _scalar_words(_item(a), _item(b), rtol, atol)
    equality = rtol == 0 and atol == 0
    if a.dtype.kind in "biu":
        a, b = a.astype(np.int64), b.astype(np.int64)
    bad, total = int(matches.size - np.count_nonzero(matches)), matches.size
    with np.errstate(all="ignore"):
        absolute = np.where(matches, np.zeros((), a.dtype), a - b)
        absolute = np.abs(absolute)
        relative = (
            absolute / np.abs(b)
            if a.dtype.kind not in "i"
            else absolute.astype(np.float32) / np.abs(b).astype(np.float32)
        )
        relative = np.where(matches, np.zeros((), relative.dtype), relative)
    return (
        f"Tensor-likes are not {'equal' if equality else 'close'}!\n\n"
        f"Mismatched elements: {bad} / {total} ({bad / total:.1%})\n"
        f"Greatest absolute difference: {_greatest(absolute)}{_up_to(atol, equality)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_up_to(rtol, equality)}"
    )


def _greatest(values: Any) -> str:
    place = int(np.argmax(values))
    index = tuple(int(i) for i in np.unravel_index(place, values.shape))
    return f"{_item(values.reshape(-1)[place])} at index {index}"


def _item(value: Any) -> Any:
    found = value.item()
    return found if isinstance(found, (int, float, complex)) else float(found)


# ----- Public ---------------------------------------------------------------------------------------------------------


def _assert(actual: Any, expected: Any, options: Options, msg: str | Callable[[str], str] | None) -> None:
    __tracebackhide__ = True  # pytest leaves out this frame
    found = compare(actual, expected, options, Place())
    if not found:
        return
    first = found[0]
    words = first.words
    if msg is not None:
        words = msg(words) if callable(msg) else msg
    raise first.kind(words)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Assert that tensors, numbers, or containers of them agree: |actual - expected| <= atol + rtol * |expected|.

    The tolerances depend on the dtype if they are not given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    __tracebackhide__ = True
    if (rtol is None) != (atol is None):
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {'atol' if atol is None else 'rtol'}."
        )
    options = Options(rtol, atol, equal_nan, allow_subclasses, check_dtype, check_stride, check_layout, False)
    _assert(actual, expected, options, msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close`. Inputs become tensors; their dtypes may differ.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-8]))
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = tolerances(actual.dtype, expected.dtype, rtol=None, atol=None)
    options = Options(
        0.0 if rtol is None else rtol, 0.0 if atol is None else atol, equal_nan, True, False, False, False, False
    )
    _assert(as_tensor(actual), as_tensor(expected), options, msg or None)
