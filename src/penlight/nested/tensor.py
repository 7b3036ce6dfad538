"""The class of nested tensors, and the offsets of their components.

# Note [Nested tensors]
A nested tensor in the jagged layout is a batch of tensors that differ in the size of one dimension. They are concatenated in
one dense tensor, the values: dimension `d` of the nested tensor is dimension `d - 1` of the values, and `offsets` contains the start
of each component in the ragged dimension. With `lengths`, a component may end before the next one starts: the elements between do not
belong to the tensor. Gradients flow through the values.

Nested tensors can be combined if they have the same ragged size, a symbol like `j1`. It represents one particular tensor of offsets (or of
lengths, if there are any), so equal offsets in two different tensors give two different sizes.

A nested tensor overrides the library's functions (Note [Overridden functions] in _torch_function.py), so that no code on the hot path
handles it: a function in the table of functions.py runs on the values, any other raises.
"""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

import penlight

from .._checks import SymInt
from .._common.dims import wrap_existing_dim
from .._torch_function import WrappingTensor
from ..layout import jagged
from ..ops.shape.views import _nested_view_from_jagged
from ..size import Size
from ..tensor import Tensor, wrap

# The functions that support nested tensors, by name: called with the public function and its arguments.
TABLE: dict[str, Callable[..., Any]] = {}


class RaggedSize(SymInt):
    """The size of a ragged dimension: a symbol that equals only itself, is at least 2, and can be multiplied by an int.

    >>> x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    >>> x.shape[1] == x.shape[1], x.shape[1] == 3
    (True, False)
    """

    def __init__(self, number: int, factor: int = 1) -> None:
        self._key = number, factor

    def __repr__(self) -> str:
        number, factor = self._key
        return f"j{number}" if factor == 1 else f"{factor}*j{number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedSize) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __bool__(self) -> bool:
        return True

    def __mul__(self, other: Any) -> RaggedSize:
        if isinstance(other, RaggedSize):
            raise ValueError("unsupported: the product of two ragged sizes")
        return RaggedSize(self._key[0], self._key[1] * other)

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        if self == other or (isinstance(other, int) and other <= 2):
            return True
        raise ValueError("ge: relation is indeterminate")

    def __gt__(self, other: Any) -> bool:
        return self != other and (self >= other + 1 if isinstance(other, int) else self >= other)

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __le__(self, other: Any) -> bool:
        return not self > other


_sizes: dict[int, tuple[weakref.ref[Tensor], RaggedSize]] = {}  # by the ids of tensors
_numbers = itertools.count(1)


def _size_of(source: Tensor) -> RaggedSize:
    """The ragged size that represents a tensor of offsets or lengths."""
    known = _sizes.get(id(source))
    if known is None or known[0]() is not source:
        for dead in [key for key, (tensor, _) in list(_sizes.items()) if tensor() is None]:
            _sizes.pop(dead, None)
        known = _sizes[id(source)] = weakref.ref(source), RaggedSize(next(_numbers))
    return known[1]


class Segments:
    """The offsets and lengths of a nested tensor's components in the ragged dimension of its values."""

    def __init__(
        self, offsets: Tensor, lengths: Tensor | None, total: int, least: Any = None, most: Any = None
    ) -> None:
        self.offsets, self.lengths, self.total = offsets, lengths, total
        starts = offsets.numpy().copy()
        self.starts = starts[:-1]
        self.counts = np.diff(starts) if lengths is None else lengths.numpy().copy()
        self._check()
        self.size = _size_of(offsets if lengths is None else lengths)
        # Whether every element of the values belongs to a component.
        self.packed = lengths is None and not starts[0] and starts[-1] == total
        self.longest = int(self.counts.max(initial=0))
        self.least = int(self.counts.min()) if least is None and len(self) else int(least or 0)
        self.most = self.longest if most is None else int(most)

    def _check(self) -> None:
        if (self.counts < 0).any() or (self.starts < 0).any() or (self.starts + self.counts > self.total).any():
            raise RuntimeError(
                f"offsets and lengths of a nested tensor must rise within its values, whose ragged dimension has size {self.total}, "
                f"but got offsets {self.offsets.tolist()}"
                + (f", lengths {self.lengths.tolist()}" if self.lengths is not None else "")
            )

    def __len__(self) -> int:
        return len(self.counts)

    def fits(self, other: Segments) -> bool:
        """Whether the components have the same positions. Compares values, since the tensors of offsets and lengths may have been modified."""
        return self is other or (
            self.size == other.size
            and self.total == other.total
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.counts, other.counts)
        )

    @cached_property
    def where(self) -> tuple[Tensor, Tensor]:
        """For each index into the concatenated components: the component, and the index in it."""
        ends = np.cumsum(self.counts)
        batch = np.repeat(np.arange(len(self)), self.counts)
        return wrap(batch), wrap(np.arange(len(batch)) - np.repeat(ends - self.counts, self.counts))

    @cached_property
    def index(self) -> Tensor:
        """As `where`, as indices into the ragged dimension of the values."""
        return wrap(np.repeat(self.starts, self.counts)) + self.where[1]


class NestedTensor(WrappingTensor):
    """A batch of tensors of different lengths; `torch.nested.nested_tensor` creates it. See Note [Nested tensors].

    >>> torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)], layout=torch.jagged).sum(1)
    tensor([[2., 2., 2.],
            [4., 4., 4.]])
    """

    __slots__ = ("_ragged_idx", "_segments")

    _segments: Segments
    _ragged_idx: int

    is_nested = True
    _base = None
    layout = jagged

    def __new__(cls, values: Tensor, offsets: Tensor | Segments, lengths: Any = None, _ragged_idx: int = 1) -> Any:
        if isinstance(offsets, Tensor):
            offsets = Segments(offsets, lengths, values.shape[_ragged_idx - 1])
        return super().__new__(cls, values, _segments=offsets, _ragged_idx=_ragged_idx)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.__self__.fget.__name__ if func.__name__ == "__get__" else func.__name__
        if name not in TABLE:
            refuse(name)
        kwargs = dict(kwargs or {})
        if not args and "input" in kwargs:
            args = (kwargs.pop("input"),)
        return TABLE[name](func, *args, **kwargs)

    @property
    def _array(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(
            "This function supports dense tensors only, and was given a nested one. Use Tensor.values() or Tensor.to_padded_tensor(0.0) first."
        )

    @property
    def shape(self) -> Size:
        sizes: list[Any] = [len(self._segments), *self._inner.shape]
        sizes[self._ragged_idx] = self._segments.size
        return Size(sizes)

    _values = property(lambda self: self._inner)
    _offsets = property(lambda self: self._segments.offsets)
    _lengths = property(lambda self: self._segments.lengths)
    _min_seqlen = property(lambda self: self._segments.least)
    _max_seqlen = property(lambda self: self._segments.most)
    nbytes = property(lambda self: self.numel() * self.itemsize)
    T = property(lambda self: self.permute(*reversed(range(self.ndim))))
    data = property(lambda self: like(self, self._inner.data))

    @property
    def grad(self) -> Any:
        grad = self._inner.grad
        return None if grad is None else like(self, grad)

    @grad.setter
    def grad(self, value: Any) -> None:
        self._inner.grad = inner(value)

    def offsets(self) -> Tensor:
        """The start of each component in the ragged dimension of the values, and the end of the last one.

        >>> torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged).offsets()
        tensor([0, 2, 3])
        """
        return self._segments.offsets

    def lengths(self) -> Tensor | None:
        """The sizes of the components, if there may be gaps between them; else None: use `offsets().diff()`.

        >>> torch.nested.narrow(torch.ones(2, 5), 1, 0, torch.tensor([3, 2]), layout=torch.jagged).lengths()
        tensor([3, 2])
        """
        return self._segments.lengths

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """Convert to a dense tensor, with padding behind shorter components.

        >>> torch.nested.nested_tensor([[1, 2], [3]], layout=torch.jagged).to_padded_tensor(-1)
        tensor([[ 1,  2],
                [ 3, -1]])
        """
        return padded(self, padding, self._max_seqlen if output_size is None else output_size[self._ragged_idx])

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind())

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        graph = f", grad_fn={self.grad_fn}" if self.grad_fn else ", requires_grad=True" if self.requires_grad else ""
        return (
            f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets}{graph}, contiguous={self.is_contiguous()})"
        )

    def __copy__(self) -> Any:
        return NestedTensor(self._inner, self._segments, None, self._ragged_idx)

    def __deepcopy__(self, memo: Any) -> Any:
        return like(self, copy.deepcopy(self._inner, memo))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (
            self._inner.detach(), self._offsets, self._lengths, self._ragged_idx, self._min_seqlen, self._max_seqlen, self.requires_grad,
        )  # fmt: skip


def _rebuild(
    values: Tensor, offsets: Tensor, lengths: Any, ragged_idx: int, least: int, most: int, requires_grad: bool
) -> Any:
    segments = Segments(offsets, lengths, values.shape[ragged_idx - 1], least, most)
    return NestedTensor(values._require_grad_(requires_grad), segments, None, ragged_idx)


def refuse(name: str, overload: str = "default") -> NoReturn:
    raise NotImplementedError(
        f"aten.{plain(name)}.{overload}: nested tensors do not support it. Use Tensor.values(), Tensor.unbind() or "
        "Tensor.to_padded_tensor(0.0)"
    )


def plain(name: str) -> str:
    """The name without double underscores: `and` for `__and__`; `add_` is unchanged."""
    return name.strip("_") if name.startswith("__") else name


def inner(value: Any) -> Any:
    """Replace nested tensors, also in arguments and lists, by their values."""
    if isinstance(value, NestedTensor):
        return value._inner
    if type(value) is dict:
        return {name: inner(item) for name, item in value.items()}
    return type(value)(map(inner, value)) if type(value) in (list, tuple) else value


def like(tensor: Any, result: Any, ragged_idx: int | None = None) -> Any:
    """Wrap a function's results for the values of a nested tensor as nested tensors."""
    if isinstance(result, (list, tuple)):
        return type(result)(like(tensor, r, ragged_idx) for r in result)
    if not isinstance(result, Tensor):
        return result
    if result is tensor._inner:
        return tensor
    return NestedTensor(result, tensor._segments, None, tensor._ragged_idx if ragged_idx is None else ragged_idx)


def dense_dim(name: str, tensor: Any, dim: Any) -> int:
    """Convert a dimension of a nested tensor, not the ragged one, to a dimension of its values."""
    own = wrap_existing_dim(dim, tensor.ndim)
    if own in (0, tensor._ragged_idx):
        raise RuntimeError(f"{name}(): not supported for NestedTensor on {'ragged dim' if own else 'dim=0'}")
    return own - 1


def from_values(
    values: Tensor, offsets: Tensor, lengths: Any = None, ragged_idx: int = 1, least: Any = None, most: Any = None
) -> Any:
    """A nested tensor over these values. It is not a leaf, even if the values are."""
    segments = Segments(offsets, lengths, values.shape[ragged_idx - 1], least, most)
    return NestedTensor(
        _nested_view_from_jagged(values) if values.requires_grad else values, segments, None, ragged_idx
    )


def from_components(components: Any, dim: int | None = None) -> Any:
    """A nested tensor of dense components, ragged along their dimension `dim`. It is not a leaf if one of them requires grad."""
    sizes = {component.shape for component in components}
    ragged = [d for d in range(components[0].dim()) if len({size[d] for size in sizes}) > 1]
    if len(ragged) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only allows for a "
            "single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    dim = (ragged[0] if ragged else 0) if dim is None else dim
    offsets = np.cumsum([0, *(component.shape[dim] for component in components)], dtype=np.int64)
    return from_values(penlight.cat(components, dim), wrap(offsets), None, dim + 1)


def members(tensor: Any) -> Tensor:
    """The values without the gaps between components."""
    segments = tensor._segments
    return tensor._inner if segments.packed else tensor._inner.index_select(tensor._ragged_idx - 1, segments.index)


def padded(tensor: Any, padding: Any, length: int) -> Tensor:
    """The components padded to a dense tensor with `length` along the ragged dimension."""
    values, (batch, index) = members(tensor).movedim(tensor._ragged_idx - 1, 0), tensor._segments.where
    if length < tensor._segments.longest:
        kept = index < length
        values, batch, index = values[kept], batch[kept], index[kept]
    empty = values.new_full((len(tensor._segments), length, *values.shape[1:]), padding)
    return empty.index_put((batch, index), values).movedim(1, tensor._ragged_idx)


def from_padded(tensor: Any, dense: Tensor) -> Tensor:
    """The inverse of `padded`: the values of a nested tensor with the sizes of another one."""
    segments, dim = tensor._segments, tensor._ragged_idx
    values = dense.movedim(dim, 1)[segments.where]
    if not segments.packed:
        values = values.new_zeros((segments.total, *values.shape[1:])).index_copy(0, segments.index, values)
    return values.movedim(0, dim - 1)
