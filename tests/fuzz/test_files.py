"""Damaged and crafted files, some hundreds of them: `python -m tests.fuzz.files --files 10000` loads more."""

from __future__ import annotations

import io
import pickle
import struct
import sys

import pytest

import penlight

from . import files

linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are set as on Linux")


@linux
@pytest.mark.parametrize("part", range(2))
def test_files_of_all_kinds(part: int) -> None:
    found = files.run(200 * part, 200)
    assert not found, "\n".join(found)


@linux
def test_a_breach_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is loaded with full unpickling runs what it says, and the watching process notices."""
    evil = files.crafted(pickle.dumps(_Evil(), 2))
    program = (
        "import sys; sys.path[:0] = %r\n"
        "from tests.fuzz import files\n"
        "import penlight\n"
        "files.file_of = lambda seed: ('crafted', %r)\n"
        "files.load = lambda penlight, safetensors, seed, kind, data, path: penlight.load(path, weights_only=False)\n"
        "files.child(0, 1)\n"
    )
    import subprocess

    paths = [str(files.ROOT / "src"), str(files.ROOT)]
    result = subprocess.run(
        [sys.executable, "-c", program % (paths, evil)], capture_output=True, text=True, cwd=files.ROOT
    )
    assert "the file made os.system" in result.stdout, result.stderr


class _Evil:
    def __reduce__(self):
        import os

        return os.system, ("true",)


DEEP = b"\x80\x02})" + b"\x85" * 100_000 + b"K\x01s."
DOUBLED = b"\x80\x02)q\x00" + b"".join([b"h%ch%c\x86q%c" % (i, i, i + 1) for i in range(60)]) + b"}h\x3cK\x01s."


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (DEEP, "tuples nested more than"),
        (DOUBLED, "nested tuples that is too large"),
        (b"\x80\x02c__builtin__\nbytearray\n" + files.number(2**40) + b"\x85R.", "expected bytes for a bytearray"),
        (b"\x80\x02ctorch\nTensor\n" + files.number(2**40) + b"\x85R.", "not how it is saved"),
        (b"\x80\x02ctorch.storage\nUntypedStorage\n" + files.number(2**40) + b"\x85R.", "not how it is saved"),
        (b"\x80\x02}(K\x01u.", "a key without a value"),
        (b"\x80\x02}]K\x01s.", "cannot be a key of a dict"),
        (b"\x80\x02ctorch\nSize\nK\x05R.", "instead of a tuple of arguments"),
        (b"\x80\x02ctorch\nSize\n(K\x05K\x05tR.", "the file calls Size with invalid arguments"),
        (b"\x80\x02ccollections\nOrderedDict\n)RK\x05b.", "must be a dict of names"),
        (b"\x80\x02(.", "ends with a mark"),
        (
            b"\x80\x02ctorch._utils\n_rebuild_device_tensor_from_numpy\n(K\x05ctorch\nfloat32\nN\x89tR.",
            "expected an array and a dtype",
        ),
        (b"\x80\x02ctorch._utils\n_rebuild_parameter\n(K\x05\x89NtR.", "expected a tensor"),
        (
            b"\x80\x02(" + files.text("storage") + b"ctorch\nFloatStorage\n]" + files.text("cpu") + b"K\x03tQ.",
            "the key of a storage must be a text",
        ),
    ],
)
def test_pickles_that_ask_for_too_much_or_nonsense(pickled: bytes, message: str) -> None:
    with pytest.raises(pickle.UnpicklingError, match=message):
        penlight.load(io.BytesIO(files.crafted(pickled)))


@pytest.mark.parametrize("pickled", [b"\x80\x02c\xf5\nname\n.", b"\x80\x02N", b"\x80\x02\xff."])
def test_the_names_in_a_damaged_pickle(pickled: bytes) -> None:
    with pytest.raises(pickle.UnpicklingError, match="the pickle is damaged"):
        penlight.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(files.crafted(pickled)))


def test_archives_that_are_not_as_they_say() -> None:
    import random

    good = {"data.pkl": b"\x80\x02N.", "version": b"3\n"}
    cases = [
        (files.archive([*good.items(), ("version", b"3\n")]), "two records have the same name"),
        (files.overlapped(random.Random(0)), "two records have the same data"),
        (
            files.archive({**good, "data.pkl": b"\x80\x02N." + bytes(8 << 20)}, compressed=True),
            "compressed bytes cannot be a record",
        ),
        (files.archive({**good, "version": b"9" * 5000}), "is not a number"),
        (files.legacy(2**40), "too short for a storage"),
    ]
    for data, message in cases:
        with pytest.raises(RuntimeError, match=message):
            penlight.load(io.BytesIO(data))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b'{"a":{"dtype":"F32","shape":[0,%d],"data_offsets":[0,0]}}' % 2**70, "a shape that no array can have"),
        (
            b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}',
            "duplicate name",
        ),
        (b'{"__metadata__":[]}', "__metadata__ must be a table of texts"),
        (b'{"a":{"dtype":[],"shape":[0],"data_offsets":[0,0]}}', "unknown or unsupported dtype"),
        ("{}".encode("utf-16"), "invalid JSON in header"),
    ],
)
def test_safetensors_headers(header: bytes, message: str) -> None:
    from penlight import safetensors

    with pytest.raises(safetensors.SafetensorError, match=message):
        safetensors.load(struct.pack("<Q", len(header)) + header)
