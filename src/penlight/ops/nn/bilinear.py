"""Bilinear forms, and grouped matrix products."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from ... import dtypes
from ...kernels.rows import quiet, widen
from ...tensor import Tensor
from ..linalg.einsum import einsum
from ..linalg.matmul import bmm
from ..machinery.array_namespace import both
from ..machinery.declare import differentiable
from ..machinery.guards import c_name
from ..shape.joining import cat, stack

__all__ = ["bilinear", "grouped_mm", "scaled_grouped_mm", "scaled_mm"]


@quiet
def _form_array(input1: Any, weight: Any, input2: Any) -> Any:
    """out[n, o] = sum over i, j of input1[n, i] weight[o, i, j] input2[n, j]."""
    half = np.tensordot(widen(input1), widen(weight), (1, 1))
    return np.matmul(half, widen(input2)[:, :, None])[:, :, 0].astype(input1.dtype, copy=False)


def _vector_array(grad: Any, half: Any) -> Any:
    """out[n, k] = sum over o of grad[n, o] half[n, o, k]."""
    return np.matmul(widen(grad)[:, None], half)[:, 0].astype(grad.dtype, copy=False)


def _form_first_array(grad: Any, weight: Any, input2: Any) -> Any:
    return _vector_array(grad, np.tensordot(widen(input2), widen(weight), (1, 2)))


def _form_second_array(grad: Any, weight: Any, input1: Any) -> Any:
    return _vector_array(grad, np.tensordot(widen(input1), widen(weight), (1, 1)))


def _form_weight_array(grad: Any, input1: Any, input2: Any) -> Any:
    rows = (widen(grad)[:, :, None] * widen(input1)[:, None]).reshape(len(grad), grad.shape[1] * input1.shape[1])
    product = np.matmul(rows.T, widen(input2)).reshape(grad.shape[1], input1.shape[1], input2.shape[1])
    return product.astype(grad.dtype, copy=False)


both("form_first", _form_first_array, lambda grad, weight, input2: einsum("no,oij,nj->ni", grad, weight, input2))
both("form_second", _form_second_array, lambda grad, weight, input1: einsum("no,oij,ni->nj", grad, weight, input1))
both("form_weight", _form_weight_array, lambda grad, input1, input2: einsum("no,ni,nj->oij", grad, input1, input2))


@differentiable(_form_array, node="TrilinearBackward0",
                input1=lambda grad, weight, input2, xp: xp.form_first(grad, xp.conj(weight), xp.conj(input2)),
                weight=lambda grad, input1, input2, xp: xp.form_weight(grad, xp.conj(input1), xp.conj(input2)),
                input2=lambda grad, input1, weight, xp: xp.form_second(grad, xp.conj(weight), xp.conj(input1)))  # fmt: skip
def _bilinear_form(input1: Tensor, weight: Tensor, input2: Tensor) -> Tensor: ...


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[o] @ input2 for each output o, plus a bias.

    >>> torch.nn.functional.bilinear(torch.ones(1, 2), torch.ones(1, 3), torch.ones(1, 2, 3))
    tensor([[6.]])
    """
    kinds = [c_name(t.dtype) for t in (input1, input2, weight, bias) if t is not None]
    if len(set(kinds)) > 1:
        names = [f"{name}: {kind}" for name, kind in zip(("input1", "input2", "weight", "bias"), kinds)]
        raise RuntimeError(f"All tensors must have the same dtype, got {', '.join(names)}")
    if input1.dim() != input2.dim():
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}")
    for d, (n, m) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if n != m:
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {d}: got {n} and {m}")
    for name, tensor, d in (("input1", input1, 1), ("input2", input2, 2)):
        wanted, size = weight.size(d), tensor.size(-1)
        if size != wanted:
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {size} but expected {wanted}")
    if weight.dim() != 3:
        raise RuntimeError("number of dimensions must match")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    lead = tuple(input1.shape[:-1])
    count = prod(lead)
    form = _bilinear_form(input1.reshape(count, input1.shape[-1]), weight, input2.reshape(count, input2.shape[-1]))
    result = form.view(*lead, weight.shape[0])
    return result if bias is None else result + bias


def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Matrix products of groups: of batches, or of the parts of a matrix that end at `offs`.

    >>> ends = torch.tensor([1, 3], dtype=torch.int32)
    >>> torch.nn.functional.grouped_mm(torch.ones(3, 2), torch.stack([torch.ones(2, 1), torch.zeros(2, 1)]), offs=ends)
    tensor([[2.],
            [0.],
            [0.]])
    """
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    dims = (mat_a.dim(), mat_b.dim())
    if (offs is None) != (dims == (3, 3)):
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if offs is None:
        result = bmm(mat_a, mat_b)
    else:
        if offs.dtype is not dtypes.int32:
            raise RuntimeError("Offsets have to be int32")
        ends = [int(n) for n in offs._array]
        ranges = list(zip([0, *ends[:-1]], ends))
        if dims == (2, 3):
            result = cat([mat_a[low:high] @ mat_b[g] for g, (low, high) in enumerate(ranges)], 0)
        elif dims == (3, 2):
            result = cat([mat_a[g] @ mat_b[:, low:high] for g, (low, high) in enumerate(ranges)], 1)
        else:
            result = stack([mat_a[:, low:high] @ mat_b[low:high] for low, high in ranges])
    return result if out_dtype is None else result.to(out_dtype)


def _no_float8(name: str) -> NoReturn:
    raise NotImplementedError(
        f"{name}: there are no 8-bit floats; scale the tensors and use torch.mm or grouped_mm instead"
    )


def scaled_mm(*args: Any, **kwargs: Any) -> Tensor:
    """Not supported: products of 8-bit floats, which do not exist here.

    >>> torch.nn.functional.scaled_mm(torch.ones(1, 1), torch.ones(1, 1))
    Traceback (most recent call last):
      ...
    NotImplementedError: scaled_mm: there are no 8-bit floats...
    """
    _no_float8("scaled_mm")


def scaled_grouped_mm(*args: Any, **kwargs: Any) -> Tensor:
    """Not supported: grouped products of 8-bit floats, which do not exist here.

    >>> torch.nn.functional.scaled_grouped_mm(torch.ones(1, 1), torch.ones(1, 1))
    Traceback (most recent call last):
      ...
    NotImplementedError: scaled_grouped_mm: there are no 8-bit floats...
    """
    _no_float8("scaled_grouped_mm")
