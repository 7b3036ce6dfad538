"""Private PyTorch functions that third-party packages call: indices of sparse rows, backward of softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.index_width import native_counts
from ..tensor import Tensor, wrap
from .reduce.segments import segment_reduce as _segment_reduce  # noqa: F401


def _convert_indices_from_coo_to_csr(input: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """The start of each of `size` rows among sorted row indices, and the end of the last (COO to CSR).

    >>> torch._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 2, 3]), 5)
    tensor([0, 2, 2, 3, 4, 4])
    """
    starts = np.searchsorted(input._array, np.arange(size + 1, dtype=input._array.dtype))
    return wrap(starts.astype(np.int32 if out_int32 else np.int64, copy=False))


def _convert_indices_from_csr_to_coo(
    crow_indices: Tensor, col_indices: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The row and column of each element, given the starts of the rows and the columns (CSR to COO).

    >>> torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([1, 0, 2]))
    tensor([[0, 0, 2],
            [1, 0, 2]])
    """
    if crow_indices.dim() != 1:
        raise NotImplementedError("_convert_indices_from_csr_to_coo: Penlight has it for one matrix, not for batches.")
    starts, columns = crow_indices._array, col_indices._array
    rows = np.repeat(np.arange(starts.size - 1), native_counts(np.diff(starts)))
    pair = (columns, rows) if transpose else (rows, columns)
    return wrap(np.stack(pair).astype(np.int32 if out_int32 else np.int64, copy=False))


def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of softmax's input, given the output and its gradient.

    >>> torch._softmax_backward_data(torch.tensor([1.0, 2.0]), torch.tensor([0.25, 0.75]), 0, torch.float32)
    tensor([-0.1875,  0.1875])
    """
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of log_softmax's input, given the output and its gradient.

    >>> torch._log_softmax_backward_data(torch.tensor([1.0, 1.0]), torch.tensor([0.5, 0.5]).log(), 0, torch.float32)
    tensor([0., 0.])
    """
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _shape_as_tensor(input: Tensor) -> Tensor:
    """The sizes of a tensor, as a tensor.

    >>> torch._shape_as_tensor(torch.ones(2, 3))
    tensor([2, 3])
    """
    return wrap(np.array(input.shape, np.int64))
