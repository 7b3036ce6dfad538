"""What the factors of a matrix product and the tensor added to it must have in common: dtypes and shapes."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery.guards import c_name, need_number, need_real_value

_typeinfo = lazy_import(globals(), "_typeinfo", "...typeinfo")


def check_factors(a: Tensor, b: Tensor, what: str = "m1 and m2") -> None:
    """Refuse factors of two dtypes."""
    if a._array.dtype is not b._array.dtype and a.dtype is not b.dtype:
        if what == "vectors":
            left, right = dtypes.LEGACY[a.dtype], dtypes.LEGACY[b.dtype]
            raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {left} and {right}")
        raise RuntimeError(f"expected {what} to have the same dtype, but got: {c_name(a.dtype)} != {c_name(b.dtype)}")


def _real_factors(dtype: dtypes.dtype, beta: Any, alpha: Any) -> None:
    """Refuse factors that are no numbers, or complex ones of real matrices."""
    need_number(beta)
    need_number(alpha)
    if isinstance(beta, complex) or isinstance(alpha, complex):
        need_real_value(beta, dtype)
        need_real_value(alpha, dtype)


def check_sum(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> None:
    """Refuse dtypes that differ in `input + mat1 @ mat2`, in the words of addmm."""
    dtype = input._array.dtype
    if not (dtype is mat1._array.dtype is mat2._array.dtype or input.dtype is mat1.dtype is mat2.dtype):
        which, other = ("self", input) if input.dtype is not mat2.dtype else ("mat1", mat1)
        kinds = dtypes.LEGACY[other.dtype], dtypes.LEGACY[mat2.dtype]
        raise RuntimeError(f"{which} and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}")
    _real_factors(input.dtype, beta, alpha)


def check_batched_sum(
    input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any, inplace: bool = False
) -> None:
    """The same in the words of baddbmm."""
    if input.dtype is batch1.dtype is batch2.dtype:
        _real_factors(input.dtype, beta, alpha)
        return
    if input.dtype is not batch1.dtype:
        names = [c_name(t.dtype) for t in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    if inplace:
        names = [c_name(t.dtype) for t in (input, batch2)]
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {names[0]} and output tensor dtype {names[1]} should match"
        )
    kinds = dtypes.LEGACY[batch1.dtype], dtypes.LEGACY[batch2.dtype]
    raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")


def check_vector_sum(input: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any) -> None:
    """The same in the words of addmv."""
    if not input.dtype is mat.dtype is vec.dtype:
        kinds = [dtypes.LEGACY[t.dtype] for t in (input, mat, vec)]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[2]}"
        )
    _real_factors(input.dtype, beta, alpha)


def check_expand(input: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse an added term that does not expand to the product's shape."""
    own = tuple(input.shape)
    if len(own) > len(shape) or any([n != m and n != 1 for n, m in zip(reversed(own), reversed(shape))]):
        input.expand(shape)


def common_dtype(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any, inplace: bool) -> dtypes.dtype:
    """The dtype of addr, which promotes as arithmetic does; in place it must fit into the tensor's."""
    pair = _typeinfo.result_type(vec1, vec2)
    common = pair if input.dtype is pair else dtypes.promote_types(input.dtype, pair)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and common is not dtypes.bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, (float, complex)) and not (common.is_floating_point or common.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    _real_factors(common, beta, alpha)
    if inplace and not dtypes.can_cast(common, input.dtype):
        kinds = dtypes.LEGACY[common], dtypes.LEGACY[input.dtype]
        raise RuntimeError(f"result type {kinds[0]} can't be cast to the desired output type {kinds[1]}")
    return common


def geometry(*names: str) -> dict[str, Any]:
    """What nodes show of the saved factors of a product: their sizes and strides; None where a factor was not saved."""

    def reader(name: str, what: str) -> Any:
        def read(node: Any) -> Any:
            value = getattr(node, "_saved_" + name)
            return None if value is None else tuple(getattr(value, what)())

        return property(read)

    return {
        f"{n}_sym_{end}": reader(n, what) for n in names for end, what in (("sizes", "size"), ("strides", "stride"))
    }
