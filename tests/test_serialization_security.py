"""Loading weights runs nothing of what a file says."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict

import pytest

import penlight as torch


def archive(pickled, **records):
    """A file of torch.save with this pickle in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as target:
        target.writestr("archive/data.pkl", pickled)
        target.writestr("archive/version", "3\n")
        for key, content in records.items():
            target.writestr(f"archive/data/{key.removeprefix('_')}", content)
    buffer.seek(0)
    return buffer


def text(value):
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


TOUCH = "raise SystemExit('executed')"


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (pickle.dumps(Evil(os.system, "exit 1"), 2), "module (posix|nt|os) is blocked"),
        (b"\x80\x02cos\nsystem\n" + text("exit 1") + b"\x85R.", "GLOBAL os.system whose module os is blocked"),
        (b"\x80\x02cposix\nsystem\n" + text("exit 1") + b"\x85R.", "GLOBAL posix.system whose module posix is blocked"),
        (b"\x80\x02csys\nexit\n)R.", "GLOBAL sys.exit whose module sys is blocked"),
        (pickle.dumps(Evil(eval, TOUCH), 2), "GLOBAL eval was not an allowed global by default"),
        (pickle.dumps(Evil(exec, TOUCH), 2), "GLOBAL exec was not an allowed global by default"),
        (pickle.dumps(Evil(__import__, "this"), 2), "GLOBAL __import__ was not an allowed global by default"),
        (pickle.dumps(Evil(getattr, torch.Tensor, "numpy"), 2), "GLOBAL getattr was not an allowed global by default"),
        (b"\x80\x02cbuiltins\ngetattr\n" + text("") + text("format") + b"\x86R.", "GLOBAL getattr was not an allowed"),
        (b"\x80\x02cpenlight\nload\n" + text("x") + b"\x85R.", "GLOBAL penlight.load was not an allowed"),
        (b"\x80\x02ctorch\nload\n" + text("x") + b"\x85R.", "GLOBAL torch.load was not an allowed"),
        (
            b"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81.",
            "GLOBAL torch.nn.modules.linear.Linear was not an allowed",
        ),
        (b"\x80\x02csubprocess\nPopen\n" + text("x") + b"\x85R.", "GLOBAL subprocess.Popen was not an allowed"),
        (b"\x80\x02ccollections\nOrderedDict.__init__.__globals__\n.", "was not an allowed"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", "was not an allowed"),
    ],
)
def test_no_code_is_reached(payload, message):
    with pytest.raises(pickle.UnpicklingError, match=f"(?s)Weights only load failed.*{message}"):
        torch.load(archive(payload))
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        torch.load(io.BytesIO(payload))


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        # A stack global, and the other instructions that name or make things.
        (b"\x80\x04\x8c\x05posix\x8c\x06system\x93.", "Unsupported operand 140"),
        (b"\x80\x02(" + text("x") + b"ios\nsystem\n.", "Unsupported operand 105"),
        (b"\x80\x02(cos\nsystem\no.", "is blocked"),
        (b"\x80\x02)o.", "Unsupported operand 111"),
        (b"\x80\x02\x82\x01.", "Unsupported operand 130"),
        (b"\x80\x02Pid\n.", "Unsupported operand 80"),
        # Calling, making and changing what is not on the list.
        (b"\x80\x02" + text("x") + b")R.", "Trying to call reduce for unrecognized function x"),
        (b"\x80\x02}q\x00)\x81.", "Can only create new object for nn.Parameter or classes allowlisted"),
        (b"\x80\x02ctorch\nfloat32\n)\x81.", "Can only create new object for nn.Parameter or classes allowlisted"),
        (b"\x80\x02]}b.", "Can only build Tensor, Parameter, OrderedDict or types allowlisted"),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}" + text("x") + b"K\x01sb.", "Can only build"),
        (b"\x80\x02ctorch\nTensor\n}" + text("x") + b"K\x01sb.", "Can only build"),
        (b"\x80\x02ctorch\nTensor\n)R}" + text("_array") + b"K\x01sb.", "Can only build"),
        (b"\x80\x02ccollections\nOrderedDict\nK\x01a.", "Can only append to lists"),
        (b"\x80\x02ccollections\nOrderedDict\n(K\x01e.", "Can only extend lists"),
        (b"\x80\x02]K\x00K\x01s.", "Can only SETITEM for dict"),
        (b"\x80\x02](K\x00K\x01u.", "Can only SETITEMS for dict"),
        (b"\x80\x02" + text("x") + b"Q.", "persistent_load id must be tuple or int"),
        (b"\x80\x02" + text("module") + b"\x85Q.", "Only persistent_load of storage is allowed"),
        (b"\x80\x02c_codecs\nencode\n" + text("x") + text("rot13") + b"\x86R.", "the unsupported encoding 'rot13'"),
        (
            b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cbuiltins\nset\nctorch\nTensor\n)NtR.",
            "Trying to rebuild a tensor by",
        ),
        (
            b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor\ncbuiltins\nset\n)NtR.",
            "Trying to rebuild a tensor as",
        ),
        (b"\x80\x02ctorch._utils\n_rebuild_tensor\n(K\x00K\x00))tR.", "a tensor's storage must be a storage"),
        # Damaged.
        (b"\x80\x02.", "the pickle is damaged"),
        (b"\x80\x02R.", "the pickle is damaged"),
        (b"\x80\x02\x86.", "the pickle is damaged"),
        (b"\x80\x02t.", "the pickle is damaged"),
        (b"\x80\x02h\x05.", "Memo value not found at index 5"),
        (b"\x80\x02ctorch", "truncated"),
        (b"\x80\x02X\x01\x00\x00\x00\xff.", "the pickle is damaged"),
    ],
)
@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
def test_the_machine_refuses(payload, message):
    with pytest.raises(pickle.UnpicklingError, match=f"(?s)Weights only load failed.*{message}"):
        torch.load(archive(payload))


STORAGE = b"(" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x03tQ"
REBUILD = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n("


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (b"K\x00K\x04\x85K\x01\x85", "out of bounds for storage of size 12"),
        (b"K\x01K\x03\x85K\x01\x85", "out of bounds for storage of size 12"),
        (b"K\x00K\x02\x85K\xff\x85", "out of bounds for storage of size 12"),
        (b"J\xff\xff\xff\xffK\x02\x85K\x01\x85", "invalid tensor geometry"),
        (b"K\x00J\xfe\xff\xff\xff\x85K\x01\x85", "invalid tensor geometry"),
        (b"K\x02K\x02\x85J\xff\xff\xff\xff\x85", "invalid tensor geometry"),
        (b"K\x00K\x02K\x01\x86K\x01\x85", "invalid tensor geometry"),
        (b"K\x00G?\xf0\x00\x00\x00\x00\x00\x00\x85K\x01\x85", "invalid tensor geometry"),
    ],
)
def test_a_tensor_cannot_reach_outside_of_its_storage(geometry, message):
    payload = REBUILD + STORAGE + geometry + b"\x89ccollections\nOrderedDict\n)RtR."
    with pytest.raises(RuntimeError, match=message):
        torch.load(archive(payload, _0=bytes(12)))


def test_a_tensor_within_its_storage_is_fine():
    payload = REBUILD + STORAGE + b"K\x01K\x02\x85K\x01\x85\x89ccollections\nOrderedDict\n)RtR."
    assert torch.load(archive(payload, _0=bytes(12))).tolist() == [0.0, 0.0]


class Settings:
    def __init__(self):
        self.rate = 0.5


class Guarded:
    """Must not be made or changed while loading, unless the user allows it."""

    made = 0

    def __setstate__(self, state):
        type(self).made += 1


def roundtrip(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


def test_classes_that_the_user_allows():
    serialization = torch.serialization
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[\S*Settings\]\)"):
        roundtrip(Settings())
    with serialization.safe_globals([Settings]):
        assert serialization.get_safe_globals() == [Settings]
        assert roundtrip(Settings()).rate == 0.5
    assert serialization.get_safe_globals() == []
    serialization.add_safe_globals([(Settings, f"{Settings.__module__}.Settings")])
    try:
        assert roundtrip(Settings()).rate == 0.5
    finally:
        serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError, match="Guarded was not an allowed global"):
        roundtrip(Guarded())
    assert Guarded.made == 0


def test_our_classes_are_allowed_by_their_pytorch_names():
    with torch.serialization.safe_globals([torch.nn.Linear, torch.nn.Identity, torch.nn.Sequential, set]):
        module = roundtrip(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Identity()))
    assert type(module[0]) is torch.nn.Linear


def test_blocked_modules_stay_blocked():
    payload = archive(b"\x80\x02cos\nsystem\n" + text("exit 1") + b"\x85R.")
    allowed = torch.serialization.safe_globals([(os.system, "os.system"), (os.system, "posix.system")])
    with allowed, pytest.raises(pickle.UnpicklingError, match="is blocked"):
        torch.load(payload)


def test_mistakes_in_the_list_of_safe_globals():
    for wrong, error in (((Settings, "a", "b"), ValueError), ((Settings, 5), TypeError)):
        with torch.serialization.safe_globals([wrong]), pytest.raises(error, match="Expected"):
            roundtrip({})


def test_unsafe_globals_are_listed_without_running_anything():
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(1), "b": Settings(), "c": slice(1)}, buffer)
    buffer.seek(0)
    expected = sorted(["builtins.slice", f"{Settings.__module__}.Settings"])
    assert torch.serialization.get_unsafe_globals_in_checkpoint(buffer) == expected
    payload = archive(pickle.dumps(Evil(eval, TOUCH), 2))
    assert torch.serialization.get_unsafe_globals_in_checkpoint(payload) == ["builtins.eval"]
    with pytest.raises(ValueError, match=r"Expected input to be a checkpoint returned by torch.save"):
        torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"no"))
    buffer = io.BytesIO()
    torch.save({"a": range(3)}, buffer, pickle_protocol=4)
    buffer.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand 149"):
        torch.serialization.get_unsafe_globals_in_checkpoint(buffer)


def test_ordered_dicts_carry_attributes():
    state = OrderedDict(a=1)
    state._metadata = {"version": 2}
    loaded = roundtrip(state)
    assert loaded == state and loaded._metadata == {"version": 2}


def test_full_loading_maps_names_but_runs_the_file():
    assert roundtrip(Evil(int, "7"), weights_only=False) == 7
    with pytest.raises(AttributeError, match="penlight has no such class or function"):
        torch.load(archive(b"\x80\x02ctorch\nnothing_like_that\n."), weights_only=False)
