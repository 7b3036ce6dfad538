"""Comparisons, bitwise and logical ops, which have no derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...tensor import Tensor
from ..machinery.declare import install_method, plain
from ..machinery.op import traits

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = [
    "bitwise_and", "bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "eq", "ge",
    "greater", "greater_equal", "gt", "le", "less", "less_equal", "logical_and", "logical_not", "logical_or",
    "logical_xor", "lt", "ne", "not_equal"
]  # fmt: skip

# ----- Comparisons --------------------------------------------------------------------------------------------------


@plain(np.equal, "==", broadcast=True)
@traits(compares_bytes=True)
def eq(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements are equal.

    >>> torch.eq(torch.tensor([1, 2]), 2)
    tensor([False,  True])
    """


@plain(np.not_equal, "!=", broadcast=True)
@traits(compares_bytes=True)
def ne(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements differ.

    >>> torch.ne(torch.tensor([1, 2]), 2)
    tensor([ True, False])
    """


@plain(np.less, "<", broadcast=True)
@traits(compares_bytes=True, refuses={"c": "lt_cpu"})
def lt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements of `input` are less than those of `other`.

    >>> torch.lt(torch.tensor([1, 2]), 2)
    tensor([ True, False])
    """


@plain(np.less_equal, "<=", broadcast=True)
@traits(compares_bytes=True, refuses={"c": "le_cpu"})
def le(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements of `input` are less than or equal to those of `other`.

    >>> torch.le(torch.tensor([1, 3]), 2)
    tensor([ True, False])
    """


@plain(np.greater, ">", broadcast=True)
@traits(compares_bytes=True, refuses={"c": "gt_cpu"})
def gt(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements of `input` are greater than those of `other`.

    >>> torch.gt(torch.tensor([1, 3]), 2)
    tensor([False,  True])
    """


@plain(np.greater_equal, ">=", broadcast=True)
@traits(compares_bytes=True, refuses={"c": "ge_cpu"})
def ge(input: Tensor, other: Tensor | Number) -> Tensor:
    """Whether elements of `input` are greater than or equal to those of `other`.

    >>> torch.ge(torch.tensor([1, 2]), 2)
    tensor([False,  True])
    """


# ----- Bits and logic -----------------------------------------------------------------------------------------------


@plain(np.bitwise_and, "&", broadcast=True, inplace=True)
@traits(refuses={"fhc": "bitwise_and_cpu"}, scalar_first=True)
def bitwise_and(input: Tensor, other: Tensor | Number) -> Tensor:
    """Bitwise and; logical and for bools.

    >>> torch.bitwise_and(torch.tensor([6]), 3)
    tensor([2])
    """


@plain(np.bitwise_or, "|", broadcast=True, inplace=True)
@traits(refuses={"fhc": "bitwise_or_cpu"}, scalar_first=True)
def bitwise_or(input: Tensor, other: Tensor | Number) -> Tensor:
    """Bitwise or; logical or for bools.

    >>> torch.bitwise_or(torch.tensor([6]), 3)
    tensor([7])
    """


@plain(np.bitwise_xor, "^", broadcast=True, inplace=True)
@traits(refuses={"fhc": "bitwise_xor_cpu"}, compares_bytes=True, scalar_first=True)
def bitwise_xor(input: Tensor, other: Tensor | Number) -> Tensor:
    """Bitwise exclusive or.

    >>> torch.bitwise_xor(torch.tensor([6]), 3)
    tensor([5])
    """


@plain(np.left_shift, "<<", broadcast=True, inplace=True)
@traits(refuses={"bfhc": "lshift_cpu"}, scalar_first=True)
def bitwise_left_shift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Bits shifted to the left.

    >>> torch.bitwise_left_shift(torch.tensor([1]), 3)
    tensor([8])
    """


@plain(np.right_shift, ">>", broadcast=True, inplace=True)
@traits(refuses={"bfhc": "rshift_cpu"}, scalar_first=True)
def bitwise_right_shift(input: Tensor, other: Tensor | Number) -> Tensor:
    """Bits shifted to the right.

    >>> torch.bitwise_right_shift(torch.tensor([8]), 3)
    tensor([1])
    """


@plain(np.invert, "~", inplace=True)
@traits(refuses={"fhc": "bitwise_not_cpu"})
def bitwise_not(input: Tensor) -> Tensor:
    """Each bit inverted; logical not for bools.

    >>> torch.bitwise_not(torch.tensor([True, False]))
    tensor([False,  True])
    """


def _inverted(self: Tensor) -> Tensor:
    if self._array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return bitwise_not(self)


setattr(Tensor, "__invert__", _inverted)


@plain(np.logical_not, broadcast=True, inplace=True)
def logical_not(input: Tensor) -> Tensor:
    """Whether elements are zero.

    >>> torch.logical_not(torch.tensor([0, 2]))
    tensor([ True, False])
    """


@plain(np.logical_and, broadcast=True, inplace=True)
def logical_and(input: Tensor, other: Tensor) -> Tensor:
    """Whether both elements are non-zero.

    >>> torch.logical_and(torch.tensor([0, 2]), torch.tensor([1, 1]))
    tensor([False,  True])
    """


@plain(np.logical_or, broadcast=True, inplace=True)
def logical_or(input: Tensor, other: Tensor) -> Tensor:
    """Whether at least one of the two elements is non-zero.

    >>> torch.logical_or(torch.tensor([0, 2]), torch.tensor([0, 1]))
    tensor([False,  True])
    """


@plain(np.logical_xor, broadcast=True, inplace=True)
@traits(compares_bytes=True)
def logical_xor(input: Tensor, other: Tensor) -> Tensor:
    """Whether exactly one of the two elements is non-zero.

    >>> torch.logical_xor(torch.tensor([0, 2]), torch.tensor([0, 1]))
    tensor([False, False])
    """


greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne
for _name in ("greater", "greater_equal", "less", "less_equal", "not_equal"):
    install_method(_name, globals()[_name])
