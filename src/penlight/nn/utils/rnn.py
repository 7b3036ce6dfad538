"""Batches of sequences of different lengths: packing, padding and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import penlight
from penlight import Tensor
from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


def _cast_to(dtype: str) -> Callable[[Any], Any]:
    def cast(self: Any) -> Any:
        return self.to(dtype=getattr(penlight, dtype))

    cast.__doc__ = f"The sequence with data of {dtype}."
    return cast


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """Sequences of different lengths without padding: all first elements, then all second ones, and so on.

    `batch_sizes` is the number of sequences that are still running at each step. Create it with `pack_padded_sequence` or `pack_sequence`.

    >>> from penlight.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """

    def __new__(cls, data: Any, batch_sizes: Tensor | None = None, sorted_indices: Tensor | None = None,
                unsorted_indices: Tensor | None = None) -> Self:  # fmt: skip
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # the old form: data and batch_sizes as a pair
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: Tensor, convert: Callable[[Tensor], Tensor]) -> Self:
        indices = [None if t is None else convert(t) for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self) -> Self:
        """The same in pinned memory."""
        return self._with(self.data.pin_memory(), lambda t: t.pin_memory())

    @example("torch.nn.utils.rnn.pack_sequence([torch.tensor([1.0])]).to(torch.float64).data.dtype", "torch.float64")
    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The sequence with its data moved or cast; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with(data, lambda t: t.to(data.device))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """Requests CUDA, which raises as in PyTorch built without it."""
        return self.to(*args, **{"device": "cuda", **kwargs})

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The sequence itself: it is on the CPU."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    double, float, half = (_cast_to(name) for name in ("float64", "float32", "float16"))
    long, int, short, char, byte = (_cast_to(name) for name in ("int64", "int32", "int16", "int8", "uint8"))

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


@example("torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))", "tensor([1, 2, 0])")
def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    if permutation is None:
        return None
    positions = penlight.arange(permutation.numel(), device=permutation.device)
    return penlight.empty_like(permutation).scatter_(0, permutation, positions)


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch (time, batch, ...), or (batch, time, ...) with `batch_first`.

    The lengths must be descending unless `enforce_sorted` is False; then the batch is sorted here and the result stores the order.

    >>> from penlight.nn.utils.rnn import pack_padded_sequence
    >>> pack_padded_sequence(torch.tensor([[1, 4], [2, 5], [3, 0]]), [3, 2]).batch_sizes
    tensor([2, 2, 1])
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=penlight.int64)
    else:
        lengths = penlight.as_tensor(lengths, dtype=penlight.int64)
    sorted_indices = None
    if not enforce_sorted:
        lengths, sorted_indices = penlight.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, sorted_indices)
    if batch_first:
        input = input.transpose(0, 1)
    _check_lengths(input, lengths)
    runs = penlight.arange(int(lengths[0])).unsqueeze(1) < lengths
    batch_sizes = runs.sum(1)
    data = input[: runs.size(0)][runs]
    return PackedSequence(data, batch_sizes, sorted_indices, None)


def _check_lengths(input: Tensor, lengths: Tensor) -> None:
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D cpu Long tensor"
        )
    time, batch = input.size(0), input.size(1)
    if lengths.size(0) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {lengths.size(0)} (batch_size={batch})"
        )
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (lengths[:-1] < lengths[1:]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if int(lengths[0]) > time:
        raise RuntimeError(
            f"Expected all lengths to be at most the padded length, but got {int(lengths[0])} (padded length={time})"
        )


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The padded batch and the lengths that a packed sequence was made from.

    >>> from penlight.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> pad_packed_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]), batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted_indices = sequence
    longest = batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    batch = int(batch_sizes[0])
    runs = penlight.arange(batch) < batch_sizes.unsqueeze(1)
    lengths = runs.sum(0)
    padded = data.new_full((total_length or longest, batch, *data.shape[1:]), padding_value)
    padded[:longest][runs] = data
    if batch_first:
        padded = padded.transpose(0, 1)
    if unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, unsorted_indices)
        lengths = lengths[unsorted_indices]
    return padded, lengths


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """A batch of sequences of different lengths, padded to the longest.

    >>> from penlight.nn.utils.rnn import pad_sequence
    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    given = tuple(sequences)
    if not given:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(sequence.size(0) for sequence in given)
    rows = [_padded_to(longest, sequence, given[0], padding_value, padding_side) for sequence in given]
    return penlight.stack(rows, 0 if batch_first else 1)


def _padded_to(longest: int, sequence: Tensor, first: Tensor, value: float, side: str) -> Tensor:
    trailing = tuple(first.shape[1:])
    length = sequence.size(0)
    if tuple(sequence.shape[1:]) != trailing:
        sequence = _expanded(sequence, (length, *trailing))
    sequence = sequence.to(first.dtype)
    if length == longest:
        return sequence
    missing = longest - length
    ends = [missing, 0] if side == "left" else [0, missing]
    return penlight.nn.functional.pad(sequence, [0, 0] * len(trailing) + ends, value=value)


def _expanded(sequence: Tensor, shape: Sequence[int]) -> Tensor:
    for back in range(1, min(len(shape), sequence.dim()) + 1):
        wanted, size = shape[-back], sequence.size(-back)
        if size not in (1, wanted):
            raise RuntimeError(
                f"The size of tensor a ({wanted}) must match the size of tensor b ({size}) "
                f"at non-singleton dimension {len(shape) - back}"
            )
    return sequence.expand(*shape)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded batch, each cut to its length.

    >>> from penlight.nn.utils.rnn import unpad_sequence
    >>> unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[: int(length)].clone() for row, length in zip(rows, lengths, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences; see `pack_padded_sequence`.

    >>> from penlight.nn.utils.rnn import pack_sequence
    >>> pack_sequence([torch.tensor([1, 2, 3]), torch.tensor([4, 5])]).data
    tensor([1, 4, 2, 5, 3])
    """
    lengths = penlight.as_tensor([sequence.size(0) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences that `pack_sequence` was given.

    >>> from penlight.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> unpack_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_explain(globals())
