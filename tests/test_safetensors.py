"""The safetensors format."""

from __future__ import annotations

import json
import os
import struct

import numpy as np
import pytest

import penlight as torch
from penlight import safetensors

# Written by safetensors 0.8.0: {"b": int8 [0 1 2], "a": float32 [[1 1]], "h": float16 [1], "t": bool [True]}, {"k": "v"}.
HEADER = (
    b'{"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},'
    b'"h":{"dtype":"F16","shape":[1],"data_offsets":[8,10]},"b":{"dtype":"I8","shape":[3],"data_offsets":[10,13]},'
    b'"t":{"dtype":"BOOL","shape":[1],"data_offsets":[13,14]}}'
)
PINNED = (
    struct.pack("<Q", 248) + HEADER.ljust(248) + np.ones(2, "<f4").tobytes() + b"\x00\x3c" + b"\x00\x01\x02" + b"\x01"
)


def tensors():
    return {
        "b": torch.tensor([0, 1, 2], dtype=torch.int8),
        "a": torch.ones(1, 2),
        "h": torch.ones(1, dtype=torch.float16),
        "t": torch.tensor([True]),
    }


def packed(table, body=b""):
    text = json.dumps(table).encode()
    return struct.pack("<Q", len(text)) + text + body


def test_the_bytes_are_those_of_the_format():
    assert safetensors.save(tensors(), {"k": "v"}) == PINNED
    assert safetensors.save({}) == struct.pack("<Q", 8) + b"{}      "


def test_reading_the_bytes():
    loaded = safetensors.load(PINNED)
    assert {name: (str(t.dtype), t.tolist()) for name, t in loaded.items()} == {
        "a": ("torch.float32", [[1.0, 1.0]]),
        "h": ("torch.float16", [1.0]),
        "b": ("torch.int8", [0, 1, 2]),
        "t": ("torch.bool", [True]),
    }
    loaded["a"][0, 0] = 5.0  # writable, and its own memory
    assert safetensors.load(PINNED)["a"][0, 0].item() == 1.0


DTYPES = [
    "uint64",
    "int64",
    "float64",
    "complex64",
    "float32",
    "uint32",
    "int32",
    "float16",
    "uint16",
    "int16",
    "int8",
    "uint8",
    "bool",
]


@pytest.mark.parametrize("name", [*DTYPES, "bfloat16"])
def test_every_dtype(name):
    if name == "bfloat16":
        pytest.importorskip("ml_dtypes")
    tensor = torch.tensor([0, 1, 1], dtype=getattr(torch, name))
    loaded = safetensors.load(safetensors.save({"x": tensor}))["x"]
    assert loaded.dtype == tensor.dtype and loaded.tolist() == tensor.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 1, 2)])
def test_shapes(shape):
    loaded = safetensors.load(safetensors.save({"x": torch.ones(shape)}))["x"]
    assert loaded.shape == shape


def test_files(tmp_path):
    path = tmp_path / "model.safetensors"
    safetensors.save_file(tensors(), path, metadata={"k": "v"})
    assert path.read_bytes() == PINNED
    assert safetensors.load_file(path)["b"].tolist() == [0, 1, 2]
    assert torch.load(path)["b"].tolist() == [0, 1, 2]
    assert torch.load(str(path), map_location="cpu")["b"].tolist() == [0, 1, 2]
    with safetensors.safe_open(path, framework="pt") as file:
        assert file.keys() == ["a", "b", "h", "t"] and file.offset_keys() == ["a", "h", "b", "t"]
        assert file.metadata() == {"k": "v"} and file.get_tensor("h").item() == 1.0
        with pytest.raises(safetensors.SafetensorError, match="File does not contain tensor nothing"):
            file.get_tensor("nothing")
    with pytest.raises(RuntimeError, match="dict map_location is not supported"):
        torch.load(path, map_location={"cuda": "cpu"})
    with pytest.raises(RuntimeError, match="callable map_location is not supported"):
        torch.load(path, map_location=lambda storage, location: storage)
    with pytest.raises(RuntimeError, match="penlight runs on the CPU"):
        safetensors.load_file(path, device="cuda")


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file({"x": torch.ones(1)}, path)
    with pytest.raises(ValueError, match="non contiguous"):
        safetensors.save_file({"x": torch.ones(2, 3).T}, path)
    assert safetensors.load_file(path)["x"].tolist() == [1.0] and os.listdir(tmp_path) == ["a.safetensors"]


def test_what_cannot_be_saved():
    x = torch.ones(2, 3)
    with pytest.raises(ValueError, match="You are trying to save a non contiguous tensor: `x` which is not allowed"):
        safetensors.save({"x": x.T})
    for shared in ({"x": x, "y": x}, {"x": x[:1], "y": x}, {"x": x, "y": x.view(6)[5:]}):
        with pytest.raises(RuntimeError, match="Some tensors share memory, this will lead to duplicate memory on disk"):
            safetensors.save(shared)
    assert list(safetensors.load(safetensors.save({"x": x[:1], "y": x[1:]}))) == ["x", "y"]
    with pytest.raises(ValueError, match=r"Expected a dict of \[str, torch.Tensor\] but received <class 'list'>"):
        safetensors.save([x])
    with pytest.raises(ValueError, match=r"Key `a` is invalid, expected torch.Tensor but received <class 'int'>"):
        safetensors.save({"a": 1})
    with pytest.raises(TypeError, match="'int' object is not an instance of 'str'"):
        safetensors.save({1: x})
    with pytest.raises(TypeError, match="argument 'metadata'"):
        safetensors.save({"x": x}, {"a": 1})
    with pytest.raises(KeyError, match=r"torch.complex128"):
        safetensors.save({"x": torch.ones(1, dtype=torch.complex128)})


def entry(dtype="F32", shape=(1,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "header too small"),
        (PINNED[:4], "header too small"),
        (struct.pack("<Q", 10**9) + PINNED[8:], "header too large"),
        (struct.pack("<Q", 5000) + PINNED[8:], "invalid header length"),
        (struct.pack("<Q", 8) + b"x" * 8, "invalid JSON in header"),
        (struct.pack("<Q", 4) + b"[1] ", "expected a table"),
        (struct.pack("<Q", 200000) + b"[" * 200000, "invalid JSON in header"),
        (PINNED[:-1], "incomplete metadata, file not fully covered"),
        (PINNED + b"x", "incomplete metadata, file not fully covered"),
        (packed({"a": entry(), "b": entry(offsets=(2, 6))}, bytes(6)), "invalid offset for tensor `b`"),
        (packed({"a": entry(offsets=(4, 8))}, bytes(8)), "invalid offset for tensor `a`"),
        (packed({"a": entry(shape=(2,))}, bytes(4)), "invalid shape, data type, or offset for tensor"),
        (packed({"a": entry(dtype="F99")}, bytes(4)), "dtype `F99`"),
        (packed({"a": entry(dtype="F8_E3M4", offsets=(0, 1))}, bytes(1)), "dtype `F8_E3M4`"),
        (packed({"a": entry(shape=(-1,))}, bytes(4)), "integers of at least 0"),
        (packed({"a": entry(shape=(1.0,))}, bytes(4)), "integers of at least 0"),
        (packed({"a": {"dtype": "F32"}}, bytes(4)), "is not complete"),
        (packed({"a": 5}, bytes(4)), "is not complete"),
    ],
)
def test_broken_files(data, message, tmp_path):
    with pytest.raises(safetensors.SafetensorError, match=message):
        safetensors.load(data)
    (tmp_path / "broken").write_bytes(data)
    with pytest.raises(safetensors.SafetensorError, match=message):
        safetensors.load_file(tmp_path / "broken")


def test_foreign_alignment():
    data = packed(
        {"a": entry("U8", (1,), (0, 1)), "b": entry("F64", (1,), (1, 9))}, b"\x07" + np.array([2.5]).tobytes()
    )
    assert safetensors.load(data)["b"].tolist() == [2.5]
