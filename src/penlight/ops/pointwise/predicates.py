"""Predicates on values (NaN, infinite, close, equal, contained), which have no derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...autograd.modes import slow
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor
from ..machinery.arguments import broadcast_shape
from ..machinery.declare import method, plain
from ..machinery.guards import need_number
from ..machinery.op import traits
from .arithmetic import scalar_like

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = [
    "allclose", "equal", "is_nonzero", "is_same_size", "isclose", "isfinite", "isin", "isinf", "isnan", "isneginf",
    "isposinf", "isreal", "signbit"
]  # fmt: skip

# ----- One element --------------------------------------------------------------------------------------------------


@plain(np.isnan)
@traits(out=False)
def isnan(input: Tensor) -> Tensor:
    """Whether elements are NaN.

    >>> torch.isnan(torch.tensor([1.0, float("nan")]))
    tensor([False,  True])
    """


@plain(np.isfinite)
@traits(out=False)
def isfinite(input: Tensor) -> Tensor:
    """Whether elements are neither NaN nor infinite.

    >>> torch.isfinite(torch.tensor([1.0, float("inf")]))
    tensor([ True, False])
    """


@plain(np.isinf)
@traits(out=False)
def isinf(input: Tensor) -> Tensor:
    """Whether elements are infinite.

    >>> torch.isinf(torch.tensor([1.0, float("-inf")]))
    tensor([False,  True])
    """


@plain(lambda input: input == np.inf)
@traits(refuses={"c": RuntimeError("isposinf does not support complex inputs.")})
def isposinf(input: Tensor) -> Tensor:
    """Whether elements are positive infinity.

    >>> torch.isposinf(torch.tensor([float("inf"), float("-inf")]))
    tensor([ True, False])
    """


@plain(lambda input: input == -np.inf)
@traits(refuses={"c": RuntimeError("isneginf does not support complex inputs.")})
def isneginf(input: Tensor) -> Tensor:
    """Whether elements are negative infinity.

    >>> torch.isneginf(torch.tensor([float("inf"), float("-inf")]))
    tensor([False,  True])
    """


@plain(np.isreal)
@traits(out=False)
def isreal(input: Tensor) -> Tensor:
    """Whether the imaginary part of elements is 0.

    >>> torch.isreal(torch.tensor([1 + 0j, 1j]))
    tensor([ True, False])
    """


@plain(lambda input: np.signbit(input) if input.dtype.kind in "fV" else input < 0)
@traits(refuses={"c": NotImplementedError("signbit is not implemented for complex tensors.")})
def signbit(input: Tensor) -> Tensor:
    """Whether elements have a minus sign; -0.0 has one.

    >>> torch.signbit(torch.tensor([-0.0, 1.0]))
    tensor([ True, False])
    """


# ----- Two tensors --------------------------------------------------------------------------------------------------


def _isclose_array(input: Any, other: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    broadcast_shape(input.shape, other.shape)
    close = input == other
    if equal_nan and input.dtype.kind in "fcV":
        close = close | (np.isnan(input) & np.isnan(other))
    if rtol == 0 and atol == 0:
        return close
    with silent():
        if input.dtype.kind in "biu":
            input, other = input.astype(np.float64), other.astype(np.float64)
        allowed, actual = atol + np.abs(rtol * other), np.abs(input - other)
        return close | (np.isfinite(actual) & (actual <= allowed))


@plain(_isclose_array)
def _isclose(input: Tensor, other: Tensor, rtol: float, atol: float, equal_nan: bool) -> Tensor: ...


@method
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether elements differ by at most `atol + rtol * |other|`.

    >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{dtypes.LEGACY[input.dtype]} did not match {dtypes.LEGACY[other.dtype]}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    return _isclose(input, other, need_number(rtol), need_number(atol), equal_nan)


@method
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements differ by at most `atol + rtol * |other|`.

    >>> torch.allclose(torch.tensor([1.0]), torch.tensor([1.0 + 1e-9]))
    True
    """
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


@method
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements.

    >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
    True
    """
    if not slow() and input._array.dtype is other._array.dtype and input._array.dtype != np.bool_:
        a, b = input._array, other._array
        return a.shape == b.shape and bool((a == b).all())
    return input.shape == other.shape and bool((input == other).all())


def _isin_array(elements: Any, test_elements: Any, invert: bool) -> Any:
    if elements.dtype is test_elements.dtype and 0 < elements.size * test_elements.size <= 1 << 14:
        found = np.logical_or.reduce(elements[..., None] == test_elements.reshape(-1), -1)
        return np.logical_not(found) if invert else found
    return np.isin(elements, test_elements, invert=invert)


@plain(_isin_array)
@traits(refuses={"bc": RuntimeError("Unsupported input type encountered for isin(): {}")})
def _isin(elements: Tensor, test_elements: Tensor, invert: bool) -> Tensor: ...


def isin(elements: Tensor | Number, test_elements: Tensor | Number, *, assume_unique: bool = False, invert: bool = False,
         out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Whether elements are among those of another tensor.

    >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]))
    tensor([False,  True,  True])
    """
    operands = []
    for value in (elements, test_elements):
        if not isinstance(value, Tensor):
            value = scalar_like(value)
        operands.append(value)
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin() received an invalid combination of arguments: one of the first two must be a Tensor")
    for value in operands:
        if value.dtype is dtypes.bool_ or value.is_complex():
            raise RuntimeError(f"Unsupported input type encountered for isin(): {dtypes.LEGACY[value.dtype]}")
    return _isin(operands[0], operands[1], invert, out=out)


@method
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors are the same window of the same memory.

    >>> x = torch.zeros(2)
    >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
    (True, False)
    """
    return (
        input.data_ptr() == tensor.data_ptr() and input.shape == tensor.shape and input.stride() == tensor.stride()
        and input.dtype is tensor.dtype
    )  # fmt: skip


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    >>> torch.is_same_size(torch.zeros(2), torch.ones(2))
    True
    """
    return input.shape == other.shape


@method
def is_nonzero(input: Tensor) -> bool:
    """Whether the single element is nonzero.

    >>> torch.is_nonzero(torch.tensor([2.0]))
    True
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"is_nonzero(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return bool(input)
