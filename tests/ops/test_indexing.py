"""Indexing at its edges: masks of bytes, nothing to index, values with leading ones, empty and overlapping targets. The words are PyTorch's."""

from __future__ import annotations

import importlib
import warnings

import pytest

import penlight


def integers(lib, *values):
    return lib.tensor(values, dtype=lib.int64)


def put(tensor, index, value):
    tensor[index] = value
    return tensor.tolist()


def byte_mask(lib):
    return lib.tensor([1, 0, 1], dtype=lib.uint8)


BYTES = "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead."
NOT_BOOL = RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")
NOTHING = IndexError("index is out of bounds for dimension with size 0")

CASES = {
    "bytes select": (lambda lib: lib.arange(3.0)[byte_mask(lib)].tolist(), [0.0, 2.0], BYTES),
    "bytes assign": (lambda lib: put(lib.zeros(3), byte_mask(lib), lib.ones(2)), [1.0, 0.0, 1.0], BYTES),
    "bytes assign a number": (lambda lib: put(lib.zeros(3), byte_mask(lib), 1.0), NOT_BOOL, None),
    "bytes assign one element": (lambda lib: lib.zeros(3).index_put_((byte_mask(lib),), lib.ones(1)), NOT_BOOL, None),
    "a scalar of 8 bits": (lambda lib: lib.arange(3)[lib.tensor(1, dtype=lib.int8)].item(), 1, None),
    "a scalar of 16 bits": (lambda lib: lib.arange(6).reshape(2, 3)[0, lib.tensor(2, dtype=lib.int16)].item(), 2, None),
    "a byte": (lambda lib: list(lib.zeros(3)[lib.tensor(1, dtype=lib.uint8)].shape), [1, 3], None),
    "float index": (
        lambda lib: lib.zeros(3)[lib.tensor(1.0)],
        IndexError("tensors used as indices must be long, int, byte or bool tensors"), None),
    "select from nothing": (lambda lib: lib.zeros(0, 3)[integers(lib, 0)], NOTHING, None),
    "assign to nothing": (lambda lib: put(lib.zeros(3, 0), (slice(None), integers(lib, 0)), 1.0), NOTHING, None),
    "index_select from nothing": (
        lambda lib: lib.zeros(0, 3).index_select(0, integers(lib, 0)),
        RuntimeError("index_select(): self indexing axis dim should be positive"), None),
    "put into nothing": (
        lambda lib: lib.zeros(0).put_(integers(lib, 0), lib.ones(1)),
        IndexError("put_(): Tried to put elements into an empty tensor"), None),
    "no step": (lambda lib: lib.zeros(3)[::0], ValueError("slice step cannot be zero"), None),
    "step backwards": (lambda lib: lib.zeros(3)[::-1], ValueError("step must be greater than zero"), None),
    "leading ones": (
        lambda lib: put(lib.zeros(2, 2), integers(lib, 0), lib.ones(1, 1, 1, 2)), [[1.0, 1.0], [0.0, 0.0]], None),
    "leading ones, mask": (
        lambda lib: put(lib.zeros(2), lib.tensor([True, False]), lib.ones(1, 1, 1)), [1.0, 0.0], None),
    "leading ones, index_put": (
        lambda lib: lib.zeros(3, 2).index_put((integers(lib, 0, 1),), lib.ones(1, 1, 2)),
        RuntimeError("shape mismatch: value tensor of shape [1, 1, 2] cannot be broadcast to indexing result of shape [2, 2]"), None),
    "scatter nothing": (lambda lib: list(lib.zeros(4, 6).scatter_(0, integers(lib), lib.ones(1)).shape), [4, 6], None),
    "scatter_add nothing": (lambda lib: list(lib.zeros(4, 6).scatter_add(0, integers(lib), lib.ones(1)).shape), [4, 6], None),
    "scatter over itself": (
        lambda lib: lib.zeros(1).expand(3).scatter_(0, integers(lib, 0), lib.ones(1)),
        RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                     "Please clone() the tensor before performing the operation."), None),
    "too large": (
        lambda lib: lib.empty(2**62, 4),
        RuntimeError("Storage size calculation overflowed with sizes=[4611686018427387904, 4]"), None),
    "a class of tensors": (lambda lib: str(lib.ones(1).type(lib.Tensor).dtype), "torch.float32", None),
    "no class of tensors": (lambda lib: lib.ones(1).type(int), ValueError("invalid type: 'int'"), None),
    "no type": (lambda lib: lib.ones(1).type(3), TypeError("dtype must be a type, str, or dtype object"), None),
}  # fmt: skip


@pytest.mark.parametrize("library", ["penlight", pytest.param("torch", marks=pytest.mark.parity)])
@pytest.mark.parametrize("name", CASES)
def test_as_said(name, library):
    lib = penlight if library == "penlight" else importlib.import_module("torch")
    function, expected, warned = CASES[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)) as raised:
                function(lib)
            assert str(raised.value) == str(expected)
        else:
            assert function(lib) == expected
    assert [str(w.message).partition(" (Triggered")[0].strip() for w in caught] == ([] if warned is None else [warned])


def test_conditions_of_bytes_are_warned_of_once():
    mask, values = byte_mask(penlight), penlight.ones(3)
    penlight.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
            assert penlight.where(mask, values, 0.0).tolist() == [1.0, 0.0, 1.0]
    finally:
        penlight.set_warn_always(False)


def test_reductions_by_other_names_are_refused():
    x, index = penlight.zeros(3, 2), penlight.tensor([0])
    with pytest.raises(RuntimeError, match="reduce argument must be either sum, prod, mean, amax or amin, got max"):
        x.scatter_reduce(0, index[None], x, "max")
    with pytest.raises(RuntimeError, match="Expected reduce to be one of prod, mean, amax or amin but got sum"):
        x.index_reduce(0, index, x[:1], "sum")
