"""torch.nested: batches of tensors of different lengths, in the jagged layout. The strided layout raises when it is used."""

from __future__ import annotations

from typing import Any

import numpy as np

import penlight

from .._refused import refuse
from ..layout import jagged, strided
from ..tensor import Tensor, wrap
from . import functions as functions  # fills the table
from .tensor import NestedTensor, from_components, from_values

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def _check_layout(layout: Any) -> None:
    if layout in (None, strided):
        raise NotImplementedError("Penlight has no nested tensors in the strided layout. Use layout=torch.jagged.")
    if layout is not jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")


def _check_components(components: list[Tensor]) -> None:
    if not components:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    for what in ("dtype", "dim"):
        if len({component.dtype if what == "dtype" else component.dim() for component in components}) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have the same {what}")
    if not components[0].dim():
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")


def nested_tensor(
    tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:  # fmt: skip
    """Create a nested tensor, a leaf, from copies of the tensors in a list.

    Args:
        tensor_list: tensors, arrays or lists of scalars. They have one dtype, and may differ in the size of one dimension.
        dtype: the dtype of the result; by default that of the list.
        layout: torch.jagged.
        device: the CPU, or the meta device.
        requires_grad: whether the result requires grad.
        pin_memory: accepted.

    Returns:
        A nested tensor with one component for each item.

    >>> x = torch.nested.nested_tensor([torch.ones(2, 3), torch.zeros(4, 3)], layout=torch.jagged)
    >>> x.offsets(), x.mean(1)
    (tensor([0, 2, 6]), tensor([[1., 1., 1.],
            [0., 0., 0.]]))
    """
    _check_layout(layout)
    components = [
        (t.detach() if isinstance(t, Tensor) else penlight.as_tensor(t)).to(device=device) for t in tensor_list
    ]
    _check_components(components)
    made = from_components([t.to(dtype) for t in components] if dtype is not None else components)
    return made.requires_grad_() if requires_grad else made


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """Create a nested tensor from tensors; gradients flow back to them.

    Args:
        ts: tensors that may differ in the size of one dimension; or one tensor, whose rows are the components; or a nested tensor.
        dtype: the dtype of the result; by default that of the tensors.
        device: the CPU, or the meta device.
        layout: torch.jagged.

    Returns:
        A nested tensor; the argument itself, if it already has these properties.

    >>> a, b = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    >>> torch.nested.as_nested_tensor([a, b], layout=torch.jagged).sum().backward()
    >>> b.grad
    tensor([1., 1., 1.])
    """
    if not isinstance(ts, Tensor) and not (isinstance(ts, (list, tuple)) and all(isinstance(t, Tensor) for t in ts)):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    if isinstance(ts, NestedTensor):
        if layout is not jagged:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        return ts.to(dtype=dtype, device=device)
    _check_layout(layout)
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        offsets = wrap(np.arange(ts.shape[0] + 1) * ts.shape[1])
        return from_values(ts.flatten(0, 1).to(dtype=dtype, device=device), offsets)
    _check_components(list(ts))
    return from_components([t.to(dtype=dtype, device=device) for t in ts])


def nested_tensor_from_jagged(
    values: Tensor, offsets: Tensor | None = None, lengths: Tensor | None = None, jagged_dim: int | None = None,
    min_seqlen: int | None = None, max_seqlen: int | None = None,
) -> Any:  # fmt: skip
    """Create a nested tensor from concatenated components: a view of `values`, through which gradients flow.

    Args:
        values: the concatenated components.
        offsets: the start of each component, and the end of the last; by default the cumulative sum of `lengths`.
        lengths: the length of each component. With `offsets`, a component may end before the next one starts.
        jagged_dim: the ragged dimension of the result, 1 if it is not given.
        min_seqlen: the minimum length, if known.
        max_seqlen: the length that components are padded to.

    Returns:
        A nested tensor. Nested tensors created with the same `offsets` have the same ragged size and can be combined.

    >>> torch.nested.nested_tensor_from_jagged(torch.arange(5), torch.tensor([0, 2, 5])).unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
        offsets, lengths = penlight.nn.functional.pad(lengths.cumsum(0), (1, 0)), None
    for name, given in (("values", values), ("offsets", offsets), ("lengths", lengths)):
        if given is not None and (not isinstance(given, Tensor) or isinstance(given, NestedTensor)):
            raise TypeError(f"_nested_view_from_jagged(): argument '{name}' must be Tensor, not {type(given).__name__}")
    ragged_idx = 1 if jagged_dim is None else jagged_dim
    if ragged_idx < 1:
        raise ValueError(f"Expected jagged_dim >=1, but got {jagged_dim}.")
    if offsets.dim() != 1:
        raise AssertionError(f"offsets must be 1D, but got {offsets.dim()}D")
    if lengths is not None and lengths.shape[0] != offsets.shape[0] - 1:
        raise AssertionError(
            f"offsets and lengths batch sizes must match: offsets.shape[0] - 1 = {offsets.shape[0] - 1}, lengths.shape[0] = "
            f"{lengths.shape[0]}"
        )
    if any(t is not None and (t.dtype.is_floating_point or t.dtype.is_complex) for t in (offsets, lengths)):
        raise TypeError("nested_tensor_from_jagged(): offsets and lengths must be integers")
    return from_values(values, offsets, lengths, ragged_idx, min_seqlen, max_seqlen)


def narrow(tensor: Tensor, dim: int, start: Any, length: Any, layout: Any = strided) -> Any:
    """Select a range of each row of a dense tensor as a nested tensor, without a copy.

    Args:
        tensor: the dense tensor.
        dim: 1.
        start: the start in each row: an int, or a tensor with one value per row.
        length: the number of elements from each row: an int or a tensor.
        layout: torch.jagged.

    Returns:
        A nested tensor with `lengths`.

    >>> torch.nested.narrow(torch.arange(8).view(2, 4), 1, torch.tensor([0, 1]), torch.tensor([3, 2]), layout=torch.jagged).unbind()
    (tensor([0, 1, 2]), tensor([5, 6]))
    """
    if layout is strided and (isinstance(start, Tensor) or isinstance(length, Tensor)):
        raise RuntimeError(
            "start and length must be integers for the strided layout NT impl. Penlight has the jagged one: use layout=torch.jagged."
        )
    _check_layout(layout)
    if dim != 1:
        raise RuntimeError("jagged layout only supports dim=1")
    rows, columns = tensor.shape[:2]
    try:
        begin, count = (penlight.as_tensor(x, dtype=penlight.int64).broadcast_to((rows,)) for x in (start, length))
    except RuntimeError:
        raise RuntimeError(
            "When constructing a jagged nested tensor using narrow(), your start and length must be Tensors that broadcast to "
            "input.shape[0]"
        ) from None
    if (begin < 0).any() or (count < 0).any() or (begin + count > columns).any():
        raise RuntimeError(
            f"narrow(): start and length must stay within dimension 1 of size {columns}, but got start {begin.tolist()}, length {count.tolist()}"
        )
    offsets = penlight.arange(rows) * columns + begin
    return from_values(tensor.flatten(0, 1), penlight.cat([offsets, offsets[-1:] + count[-1:]]), count.clone())


def masked_select(tensor: Tensor, mask: Tensor) -> Any:
    """Select the elements of a dense tensor at which a mask is True, as a nested tensor.

    Args:
        tensor: the dense tensor.
        mask: booleans that broadcast with it.

    Returns:
        A nested tensor with one component for each row along the last dimension.

    >>> mask = torch.tensor([[True, False, True], [False, False, True]])
    >>> torch.nested.masked_select(torch.arange(6).view(2, 3), mask).unbind()
    (tensor([0, 2]), tensor([5]))
    """
    if mask.dtype is not penlight.bool:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    wide, kept = penlight.broadcast_tensors(penlight.atleast_2d(tensor), penlight.atleast_2d(mask))
    counts = kept.sum(-1).flatten()
    return from_values(wide.masked_select(kept), penlight.nn.functional.pad(counts.cumsum(0), (1, 0)))


def to_padded_tensor(input: Any, padding: float, output_size: Any = None, out: Tensor | None = None) -> Tensor:
    """Convert a nested tensor to a dense one, with padding behind shorter components.

    Args:
        input: the nested tensor.
        padding: the padding value.
        output_size: the shape of the result; only its ragged size is used. Longer components are truncated.
        out: a tensor to write to.

    Returns:
        A dense tensor.

    >>> x = torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged)
    >>> torch.nested.to_padded_tensor(x, 0)
    tensor([[1, 2],
            [3, 0]])
    """
    result = input.to_padded_tensor(padding, output_size)
    return result if out is None else out.resize_(result.shape).copy_(result)


__getattr__ = refuse(__name__, "Penlight has nested tensors in the jagged layout only.", "Use layout=torch.jagged.")
