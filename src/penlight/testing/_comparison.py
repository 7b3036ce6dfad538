"""`torch.testing.assert_close`: asserts that tensors, numbers, or containers of them are equal up to tolerances.

Inputs are split into pairs (of tensors, numbers, bools, Nones), each with its path in the containers. A pair whose values differ raises an
`ErrorMeta` with PyTorch's message; all of these are collected, and the first is raised to the user. Packages can define other pairs: a
class with `compare` whose `__init__` raises `UnsupportedInputs` for inputs that it does not support.
"""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from penlight import dtypes
from penlight._common.user_warnings import warn_user
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

Keys = tuple[Any, ...]  # the path of a pair in the containers
Identifier = str | Callable[[str], str] | None  # the name of the inputs in errors, or a function of the default name


class ErrorMeta(Exception):
    """The values of a pair differ: the class and the message of the error, and the path of the pair."""

    def __init__(self, type: type[Exception], msg: str, *, id: Keys = ()) -> None:
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: str | Callable[[str], str] | None = None) -> Exception:
        """The error to raise, with the message `msg` or the default one."""
        words = self.msg
        if self.id:
            words += f"\n\nThe failure occurred for item {''.join(f'[{key!r}]' for key in self.id)}"
        if msg is not None:
            words = msg(words) if callable(msg) else msg
        return self.type(words)


class UnsupportedInputs(Exception):
    """Raised by a pair that does not support the types of its inputs."""


# ----- Tolerances -----------------------------------------------------------------------------------------------------


def default_tolerances(
    *inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The largest of the default tolerances of these tensors or dtypes."""
    own = []
    for given in inputs:
        if not isinstance(given, (Tensor, dtypes.dtype)):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(given)} instead.")
        kind = given.dtype if isinstance(given, Tensor) else given
        own.append((dtype_precisions or _TOLERANCES).get(kind, (0.0, 0.0)))
    return max(r for r, _ in own), max(a for _, a in own)


def get_tolerances(*inputs: Any, rtol: float | None, atol: float | None, id: Keys = ()) -> tuple[float, float]:
    """The given tolerances, or the largest of the default tolerances of the tensors or dtypes."""
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ErrorMeta(
            ValueError, f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.", id=id
        )
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


# ----- Messages -------------------------------------------------------------------------------------------------------


def _mismatch(
    words: str, identifier: Identifier, middle: str, absolute: str, relative: str, rtol: float, atol: float
) -> str:
    equality = rtol == 0 and atol == 0
    named = words if identifier is None else identifier(words) if callable(identifier) else identifier
    allowed = ["" if equality else f" (up to {tolerance} allowed)" for tolerance in (atol, rtol)]
    return (
        f"{named} are not {'equal' if equality else 'close'}!\n\n{middle}\n"
        f"{absolute}{allowed[0]}\n{relative}{allowed[1]}"
    )


def make_scalar_mismatch_msg(a: Any, b: Any, *, rtol: float, atol: float, identifier: Identifier = None) -> str:
    """The message for two numbers that are not close."""
    difference = abs(a - b)
    relative = float("inf") if b == 0 else difference / abs(b)
    differences = f"Absolute difference: {difference}", f"Relative difference: {relative}"
    return _mismatch("Scalars", identifier, f"Expected {b} but got {a}.", *differences, rtol, atol)


def make_tensor_mismatch_msg(
    actual: Tensor, expected: Tensor, matches: Tensor, *, rtol: float, atol: float, identifier: Identifier = None
) -> str:
    """The message for two tensors that are close only where `matches` is true."""
    a, b, same = actual._array, expected._array, matches._array
    if a.ndim == 0:
        return make_scalar_mismatch_msg(_item(a), _item(b), rtol=rtol, atol=atol, identifier=identifier)
    if a.dtype.kind in "biu":
        a, b = a.astype(np.int64), b.astype(np.int64)
    bad, total = int(same.size - np.count_nonzero(same)), same.size
    with np.errstate(all="ignore"):
        absolute = np.abs(np.where(same, np.zeros((), a.dtype), a - b))
        size = np.abs(b)
        if a.dtype.kind == "i":  # PyTorch divides integers in float32
            size = size.astype(np.float32)
        relative = absolute.astype(size.dtype, copy=False) / size
        relative = np.where(same, np.zeros((), relative.dtype), relative)
    middle = f"Mismatched elements: {bad} / {total} ({bad / total:.1%})"
    differences = (
        f"Greatest absolute difference: {_greatest(absolute)}",
        f"Greatest relative difference: {_greatest(relative)}",
    )
    return _mismatch("Tensor-likes", identifier, middle, *differences, rtol, atol)


def _greatest(values: Any) -> str:
    position = int(np.argmax(values))
    index = tuple(int(i) for i in np.unravel_index(position, values.shape))
    return f"{_item(values.reshape(-1)[position])} at index {index}"


def _item(value: Any) -> Any:
    found = value.item()
    return found if isinstance(found, (int, float, complex)) else float(found)


# ----- Pairs ----------------------------------------------------------------------------------------------------------


class Pair:
    """Two inputs to compare. Unknown arguments are ignored, since they are meant for other pairs."""

    def __init__(self, actual: Any, expected: Any, *, id: Keys = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id
        self._unknown_parameters = unknown_parameters

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: Any) -> None:
        if not all(isinstance(given, cls) for given in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: Keys = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=self.id if not id and hasattr(self, "id") else id)

    def compare(self) -> None:
        """Raise an ErrorMeta if the inputs differ."""
        raise NotImplementedError

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """Attributes to print, or their names with values."""
        return []

    def __repr__(self) -> str:
        shown = [
            n if isinstance(n, tuple) else (n, getattr(self, n))
            for n in ("id", "actual", "expected", *self.extra_repr())
        ]
        return f"{type(self).__name__}(\n" + "".join(f"    {name}={value!s},\n" for name, value in shown) + ")"


class ObjectPair(Pair):
    """Two objects that are equal."""

    def compare(self) -> None:
        if self.actual != self.expected:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """Two inputs, at least one of which is None."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Two bools, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, *, id: Keys = (), **other_parameters: Any) -> None:
        self._check_inputs_isinstance(actual, expected, cls=(bool, np.bool_))
        super().__init__(bool(actual), bool(expected), **other_parameters)  # PyTorch does not pass the path of bools on

    def compare(self) -> None:
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Two numbers, Python's or NumPy's."""

    def __init__(self, actual: Any, expected: Any, *, id: Keys = (), rtol: float | None = None, atol: float | None = None,
                 equal_nan: bool = False, check_dtype: bool = False, **other_parameters: Any) -> None:  # fmt: skip
        self._check_inputs_isinstance(actual, expected, cls=(int, float, complex, np.number))
        a, b = (n.item() if isinstance(n, np.number) else n for n in (actual, expected))
        super().__init__(a, b, id=id, **other_parameters)
        kinds = [dtypes.float64 if isinstance(n, float) else dtypes.complex128 if isinstance(n, complex) else dtypes.int64
                 for n in (a, b)]  # fmt: skip
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    def compare(self) -> None:
        a, b = self.actual, self.expected
        if self.check_dtype and type(a) is not type(b):
            self._fail(AssertionError, f"The (d)types do not match: {type(a)} != {type(b)}.")
        if a == b or (self.equal_nan and cmath.isnan(a) and cmath.isnan(b)):
            return
        if not (cmath.isfinite(a) and cmath.isfinite(b) and abs(a - b) <= self.atol + self.rtol * abs(b)):
            self._fail(AssertionError, make_scalar_mismatch_msg(a, b, rtol=self.rtol, atol=self.atol))

    def extra_repr(self) -> Sequence[str]:
        return "rtol", "atol", "equal_nan", "check_dtype"


class TensorLikePair(Pair):
    """Two tensors or NumPy arrays."""

    def __init__(
        self, actual: Any, expected: Any, *, id: Keys = (), allow_subclasses: bool = True, rtol: float | None = None,
        atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
        check_layout: bool = True, check_stride: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        pair = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(*pair, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(*pair, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride

    def _process_inputs(self, actual: Any, expected: Any, *, id: Keys, allow_subclasses: bool) -> tuple[Tensor, Tensor]:
        """The two tensors to compare."""
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not (related if allow_subclasses else type(actual) is type(expected)):
            self._inputs_not_supported()
        self._check_inputs_isinstance(actual, expected, cls=(Tensor, np.ndarray))
        return self._to_tensor(actual), self._to_tensor(expected)

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        return tensor_like if isinstance(tensor_like, Tensor) else from_numpy(tensor_like)

    def compare(self) -> None:
        a, b = self.actual, self.expected
        self._compare_attributes(a, b)
        self._compare_values(*self._equalize_attributes(a, b))

    def _compare_attributes(self, actual: Tensor, expected: Tensor) -> None:
        checked = {
            "shape": (True, lambda t: t.shape),
            "layout": (self.check_layout, lambda t: t.layout),
            "stride()": (self.check_stride, lambda t: t.stride()),
            "dtype": (self.check_dtype, lambda t: t.dtype),
        }
        for name, (check, read) in checked.items():
            if check and read(actual) != read(expected):
                words = f"The values for attribute '{name}' do not match: {read(actual)} != {read(expected)}."
                self._fail(AssertionError, words)

    def _equalize_attributes(self, actual: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
        """The two tensors in one dtype; the values of nested ones."""
        if actual.is_nested and expected.is_nested:
            actual, expected = actual.values(), expected.values()
        if actual.dtype is expected.dtype:
            return actual, expected
        common = dtypes.promote_types(actual.dtype, expected.dtype)
        return actual.to(common), expected.to(common)

    def _compare_values(self, actual: Tensor, expected: Tensor) -> None:
        self._compare_regular_values_close(actual, expected, rtol=self.rtol, atol=self.atol, equal_nan=self.equal_nan)

    def _compare_regular_values_close(
        self, actual: Tensor, expected: Tensor, *, rtol: float, atol: float, equal_nan: bool, identifier: Identifier = None
    ) -> None:  # fmt: skip
        """Raise an ErrorMeta if two dense tensors of equal shape are not close; `identifier` names them in the message."""
        matches = isclose(actual.detach(), expected.detach(), rtol=rtol, atol=atol, equal_nan=equal_nan)
        if not matches.all():
            words = make_tensor_mismatch_msg(actual, expected, matches, rtol=rtol, atol=atol, identifier=identifier)
            self._fail(AssertionError, words)

    def extra_repr(self) -> Sequence[str]:
        return "rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride"


# ----- Splitting into pairs -------------------------------------------------------------------------------------------


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]], sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), id: Keys = (), **options: Any,
) -> list[Pair]:  # fmt: skip
    """Split two inputs into pairs: one for each item of the containers, of the first type that supports it."""

    def inside(keys: Any) -> list[Pair]:
        kinds: dict[str, Any] = {
            "pair_types": pair_types,
            "sequence_types": sequence_types,
            "mapping_types": mapping_types,
        }
        found: list[Pair] = []
        for key in keys:
            found += originate_pairs(actual[key], expected[key], **kinds, id=(*id, key), **options)
        return found

    def both(kinds: Any) -> bool:
        return isinstance(actual, kinds) and isinstance(expected, kinds)

    if both(sequence_types) and not both(str):
        if len(actual) != len(expected):
            words = f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            raise ErrorMeta(AssertionError, words, id=id)
        return inside(range(len(actual)))
    if both(mapping_types):
        missing, additional = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or additional:
            words = (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(additional)}"
            )
            raise ErrorMeta(AssertionError, words, id=id)
        try:
            keys = sorted(actual)
        except TypeError:  # keys without an order
            keys = list(actual)
        return inside(keys)
    for kind in pair_types:
        try:
            return [kind(actual, expected, id=id, **options)]
        except UnsupportedInputs:
            continue
    kinds = f"{type(actual)} and {type(expected)}".replace("penlight.tensor.Tensor", "torch.Tensor")
    raise ErrorMeta(TypeError, f"No comparison pair was able to handle inputs of type {kinds}.", id=id)


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Sequence[type[Pair]] = (ObjectPair,), sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), **options: Any,
) -> list[ErrorMeta]:  # fmt: skip
    """The errors of all pairs that are not close; raises an error if inputs cannot be compared."""
    __tracebackhide__ = True  # pytest leaves out this frame
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as failure:
        raise failure.to_error() from None
    found = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as failure:
            found.append(failure)
    return found


# ----- Public ---------------------------------------------------------------------------------------------------------


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Assert that tensors, numbers, or containers of them are close: |actual - expected| <= atol + rtol * |expected|.

    The tolerances depend on the dtype if they are not given.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    """
    __tracebackhide__ = True
    found = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair), allow_subclasses=allow_subclasses,
        rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
        check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    if found:
        raise found[0].to_error(msg)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:  # fmt: skip
    """Deprecated: `assert_close`. Inputs become tensors; their dtypes may differ.

    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-8]))
    """
    warn_user(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    if not isinstance(actual, Tensor):
        actual = tensor(actual)
    if not isinstance(expected, Tensor):
        expected = tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(as_tensor(actual), as_tensor(expected), rtol=rtol or 0.0, atol=atol or 0.0, equal_nan=equal_nan,
                 check_dtype=False, check_layout=False, msg=msg or None)  # fmt: skip
