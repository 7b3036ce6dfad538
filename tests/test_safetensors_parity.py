"""Our safetensors against the reference implementation."""

from __future__ import annotations

import pytest

import penlight
from penlight import safetensors as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("safetensors.torch")
pytestmark = pytest.mark.parity

DTYPES = [
    "uint64",
    "int64",
    "float64",
    "complex64",
    "float32",
    "uint32",
    "int32",
    "bfloat16",
    "float16",
    "uint16",
    "int16",
    "int8",
    "uint8",
    "bool",
]


def sample(library):
    made = {
        f"{name}.{n}": library.tensor([0, 1, 1][:n], dtype=getattr(library, name)) for name in DTYPES for n in (3, 1)
    }
    made["scalar"] = library.tensor(1.5)
    made["empty"] = library.empty(0, 2)
    made["ü"] = library.ones(2, 3)
    return made


def test_the_same_bytes():
    pytest.importorskip("ml_dtypes")
    assert ours.save(sample(penlight), {"k": "é"}) == theirs.save(sample(torch), {"k": "é"})


def test_each_reads_the_other(tmp_path):
    pytest.importorskip("ml_dtypes")
    ours.save_file(sample(penlight), tmp_path / "ours")
    theirs.save_file(sample(torch), tmp_path / "theirs")
    one, other = ours.load_file(tmp_path / "theirs"), theirs.load_file(tmp_path / "ours")
    assert one.keys() == other.keys()
    for name in one:
        assert one[name].tolist() == other[name].tolist() and str(one[name].dtype) == str(other[name].dtype)
