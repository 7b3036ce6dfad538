"""Files between Penlight and PyTorch, both ways, byte by byte where possible."""

from __future__ import annotations

import io
import math
import pickle
import warnings
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import penlight
from penlight.tensor import wrap

torch = pytest.importorskip("torch")
ml_dtypes = pytest.importorskip("ml_dtypes")
pytestmark = pytest.mark.parity

DTYPES = "float32 float64 float16 bfloat16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"


def translate(obj, memo):
    """The same object with PyTorch's tensors, sizes, dtypes and devices as ours, sharing memory where they do."""
    if isinstance(obj, torch.Tensor):
        if id(obj) not in memo:
            memo[id(obj)] = _tensor(obj, memo)
        return memo[id(obj)]
    if isinstance(obj, torch.Size):
        return penlight.Size(obj)
    if isinstance(obj, torch.dtype):
        return getattr(penlight, str(obj).removeprefix("torch."))
    if isinstance(obj, torch.device):
        return penlight.device(str(obj))
    if type(obj) in (dict, OrderedDict):
        made = type(obj)((key, translate(value, memo)) for key, value in obj.items())
        if type(obj) is OrderedDict:
            made.__dict__.update(obj.__dict__)
        return made
    if type(obj) in (list, tuple):
        return type(obj)(translate(item, memo) for item in obj)
    return obj


def _tensor(tensor, memo):
    storage = tensor.untyped_storage()
    key = ("memory", storage.data_ptr() or id(tensor))
    if key not in memo:
        memo[key] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().copy()
    name = str(tensor.dtype).removeprefix("torch.")
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    strides = tuple(step * dtype.itemsize for step in tensor.stride())
    array = np.ndarray(tuple(tensor.shape), dtype, memo[key], tensor.storage_offset() * dtype.itemsize, strides)
    made = wrap(array)
    if isinstance(tensor, torch.nn.Parameter):
        return penlight.nn.Parameter(made, tensor.requires_grad)
    return made.requires_grad_() if tensor.requires_grad else made


def raw(tensor):
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.detach().view(torch.uint16 if isinstance(tensor, torch.Tensor) else penlight.uint16)
    return np.ascontiguousarray(tensor.detach().resolve_conj().numpy()).tobytes()


def check(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, penlight.Tensor)
        assert isinstance(ours, penlight.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        assert str(ours.dtype) == str(theirs.dtype) and tuple(ours.shape) == tuple(theirs.shape)
        assert ours.requires_grad == theirs.requires_grad and ours.is_leaf
        assert ours.stride() == theirs.stride()
        if theirs.numel():
            assert ours.storage_offset() == theirs.storage_offset()
        assert raw(ours) == raw(theirs)
    elif isinstance(theirs, (torch.Size, torch.dtype, torch.device)):
        assert repr(ours) == repr(theirs) and type(ours) is not type(theirs)
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs) and list(ours) == list(theirs)
        assert getattr(ours, "__dict__", None) == getattr(theirs, "__dict__", None)
        for key in theirs:
            check(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            check(one, other)
    else:
        assert type(ours) is type(theirs) and (ours == theirs or (ours != ours and theirs != theirs))


def samples():
    torch.manual_seed(0)
    base = torch.arange(12.0).reshape(3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    adam = torch.optim.Adam(model.parameters(), amsgrad=True)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.randn(5, 3)).sum().backward()
    adam.step()
    sgd.step()
    shared = torch.ones(3)
    return {
        "dtypes": {name: torch.arange(4).to(getattr(torch, name)) for name in DTYPES.split()},
        "views": [base, base[1:], base.T, base[:, 1], base[::2], base.expand(2, 3, 4), base[2, 3], base.flatten()],
        "scalar": torch.tensor(3.5),
        "empty": [torch.empty(0), torch.empty(0, 3), torch.empty(2, 0, dtype=torch.int64)],
        "parameters": [
            torch.nn.Parameter(torch.ones(2)),
            torch.nn.Parameter(torch.ones(2), False),
            torch.ones(2, requires_grad=True),
        ],
        "state_dict": model.state_dict(),
        "adam": adam.state_dict(),
        "sgd": sgd.state_dict(),
        "numbers": [
            0,
            1,
            -7,
            255,
            256,
            65535,
            65536,
            2**31,
            -(2**31),
            10**30,
            -(10**30),
            0.1,
            math.nan,
            math.inf,
            1 + 2j,
            True,
        ],
        "plain": {
            "é": "x" * 300,
            "none": None,
            "bytes": b"abc\xff",
            "array": bytearray(b"xy"),
            "set": {1},
            "counter": Counter("aab"),
        },
        "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
        "torch": [
            torch.Size([2, 3]),
            torch.Size([]),
            torch.float16,
            torch.bool,
            torch.device("cuda", 1),
            torch.device("cpu"),
        ],
        "same": [shared, shared, {"again": shared}],
        "many": {str(number): number for number in range(300)},
        "long": list(range(3000)),
        "deep": {"a": [{"b": (torch.ones(1), [torch.zeros(2)])}]},
    }


NAMES = list(samples())


@pytest.mark.parametrize("name", NAMES)
def test_we_read_what_pytorch_writes(name):
    theirs = samples()[name]
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        if options and name == "dtypes":
            theirs = {key: value for key, value in theirs.items() if key not in ("uint16", "uint32", "uint64")}
        buffer = io.BytesIO()
        torch.save(theirs, buffer, **options)
        for weights_only in (True, False):
            buffer.seek(0)
            expected = torch.load(buffer, weights_only=weights_only)
            buffer.seek(0)
            check(penlight.load(buffer, weights_only=weights_only), expected)


@pytest.mark.parametrize("name", NAMES)
def test_pytorch_reads_what_we_write(name):
    ours = translate(samples()[name], {})
    for options in ({}, {"_use_new_zipfile_serialization": False}):
        buffer = io.BytesIO()
        penlight.save(ours, buffer, **options)
        for weights_only in (True, False):
            buffer.seek(0)
            theirs = torch.load(buffer, weights_only=weights_only)
            buffer.seek(0)
            check(penlight.load(buffer, weights_only=weights_only), theirs)


@pytest.mark.parametrize("name", NAMES)
def test_the_files_are_the_same_byte_by_byte(name):
    theirs, ours = io.BytesIO(), io.BytesIO()
    torch.save(samples()[name], theirs)
    penlight.save(translate(samples()[name], {}), ours)
    their_archive, our_archive = zipfile.ZipFile(theirs), zipfile.ZipFile(ours)
    assert our_archive.namelist() == their_archive.namelist()
    # All but a hash of the content, whose function is that of a C++ library, and the checksum of that record.
    identity = "archive/.data/serialization_id"
    for record in their_archive.namelist():
        if record != identity:
            assert our_archive.read(record) == their_archive.read(record), record
    ours, theirs = (
        buffer.getvalue()
        .replace(archive.read(identity), b"#" * 40)
        .replace(archive.getinfo(identity).CRC.to_bytes(4, "little"), b"####")
        for buffer, archive in ((ours, our_archive), (theirs, their_archive))
    )
    assert ours == theirs


def test_sharing_survives_in_both_directions():
    base = np.arange(6.0)
    buffer = io.BytesIO()
    penlight.save([penlight.from_numpy(base), penlight.from_numpy(base)[2:]], buffer)
    buffer.seek(0)
    whole, part = torch.load(buffer)
    whole[3] = 99
    assert part[1].item() == 99
    tensor = torch.arange(6.0)
    buffer = io.BytesIO()
    torch.save([tensor, tensor[2:]], buffer)
    buffer.seek(0)
    whole, part = penlight.load(buffer)
    whole[3] = 99
    assert part[1].item() == 99


def test_lazy_conjugates_and_negatives_of_pytorch():
    tensor = torch.tensor([1 + 2j, 3 - 1j])
    for lazy in (tensor.conj(), tensor.conj().imag):
        buffer = io.BytesIO()
        torch.save(lazy, buffer)
        buffer.seek(0)
        assert penlight.load(buffer).tolist() == lazy.tolist()


def modules(library):
    nn = library.nn
    library.manual_seed(0)
    return [
        nn.Linear(3, 2),
        nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten()),
        nn.ModuleList([nn.Embedding(4, 3), nn.LayerNorm(3), nn.Dropout(0.3)]),
        nn.ModuleDict({"a": nn.LSTM(2, 3, batch_first=True), "b": nn.GELU()}),
        nn.utils.spectral_norm(nn.Linear(3, 2)),  # holds hooks
        nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, activation="gelu"), 2),
    ]


@pytest.mark.parametrize("place", range(6))
def test_whole_modules_in_both_directions(place):
    for writer, reader in ((torch, penlight), (penlight, torch)):
        module = modules(writer)[place]
        buffer = io.BytesIO()
        writer.save(module, buffer)
        buffer.seek(0)
        loaded = reader.load(buffer, weights_only=False)
        assert type(loaded).__name__ == type(module).__name__ and type(loaded) is not type(module)
        assert repr(loaded) == repr(module)
        state, other = module.state_dict(), loaded.state_dict()
        assert list(state) == list(other)
        for key in state:
            assert np.array_equal(state[key].detach().numpy(), other[key].detach().numpy())


def test_functions_by_name_in_both_directions():
    for writer, reader in ((torch, penlight), (penlight, torch)):
        buffer = io.BytesIO()
        writer.save([writer.nn.functional.relu, writer.nn.functional.gelu, writer.tanh, writer.nn.init.zeros_], buffer)
        buffer.seek(0)
        relu, gelu, tanh, zeros = reader.load(buffer, weights_only=False)
        assert relu(reader.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
        assert gelu is reader.nn.functional.gelu and zeros is reader.nn.init.zeros_
        assert tanh(reader.tensor(0.0)).item() == 0.0


@pytest.mark.parametrize(
    "place", ["nn", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions", "nn.utils.rnn"]
)
def test_classes_have_the_names_of_pytorch(place):
    import inspect
    from functools import reduce

    from penlight._serialization import names

    theirs, ours = (reduce(getattr, place.split("."), library) for library in (torch, penlight))
    for name, cls in vars(theirs).items():
        if inspect.isclass(cls) and cls.__module__.startswith("torch") and inspect.isclass(getattr(ours, name, None)):
            assert names.torch_name(getattr(ours, name)) == (cls.__module__, cls.__qualname__)
            assert names.find(cls.__module__, cls.__qualname__) is getattr(ours, name)


ATTACKS = [
    b"\x80\x02cos\nsystem\nX\x01\x00\x00\x00x\x85R.",
    b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
    b"\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.",
    b"\x80\x02csubprocess\nPopen\n)R.",
    b"\x80\x02X\x01\x00\x00\x00x)R.",
    b"\x80\x02]}b.",
    b"\x80\x02ccollections\nOrderedDict\nK\x01a.",
    b"\x80\x02]K\x00K\x01s.",
    b"\x80\x02X\x01\x00\x00\x00xQ.",
    b"\x80\x02}q\x00)\x81.",
    b"\x80\x04\x8c\x01x\x8c\x01y\x93.",
]


@pytest.mark.parametrize("payload", ATTACKS)
def test_refusals_in_the_same_words(payload):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("archive/data.pkl", payload)
        archive.writestr("archive/version", "3\n")
    messages = []
    for library in (torch, penlight):
        buffer.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(pickle.UnpicklingError) as caught:
                library.load(buffer)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def failure(function, *arguments, **options):
    try:
        function(*arguments, **options)
    except Exception as error:
        return type(error), str(error)
    return None


@pytest.mark.parametrize("location", ["cuda:0", "cuda", "xpu:1", "mtia:0", "hpu", "privateuseone:0", "cpu:0", "banana"])
def test_devices_that_are_not_there_in_the_same_words(location, monkeypatch):
    buffer = io.BytesIO()
    with monkeypatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda storage: location)
        torch.save(torch.arange(3), buffer)
    results = []
    for library in (torch, penlight):
        buffer.seek(0)
        results.append(failure(library.load, buffer))
    assert results[0] == results[1] and results[0] is not None
    buffer.seek(0)
    assert penlight.load(buffer, map_location="cpu").tolist() == [0, 1, 2]
    buffer.seek(0)
    assert penlight.load(buffer, map_location={location: "cpu"}).tolist() == [0, 1, 2]


def test_other_mistakes_in_the_same_words(tmp_path):
    (tmp_path / "empty").touch()
    torch.save({}, tmp_path / "legacy", _use_new_zipfile_serialization=False)
    torch.save({}, tmp_path / "zip")
    attempts = [
        ("load", (tmp_path / "missing",), {}),
        ("load", (tmp_path,), {}),
        ("load", (None,), {}),
        ("load", (str(tmp_path / "legacy"),), {"mmap": True}),
        ("load", (tmp_path / "zip",), {"pickle_module": pickle, "weights_only": True}),
        ("save", ({}, tmp_path / "no" / "where"), {}),
        ("save", ({}, None), {}),
        ("save", ({}, str(tmp_path / "no" / "where")), {"_use_new_zipfile_serialization": False}),
    ]
    for name, arguments, options in attempts:
        assert failure(getattr(penlight, name), *arguments, **options) == failure(
            getattr(torch, name), *arguments, **options
        )


def test_pytorch_maps_what_we_write_and_the_other_way_round(tmp_path):
    penlight.save({"x": penlight.arange(1000.0)}, tmp_path / "ours.pt")
    torch.save({"x": torch.arange(1000.0)}, tmp_path / "theirs.pt")
    assert torch.load(tmp_path / "ours.pt", mmap=True)["x"].sum().item() == 499500.0
    assert penlight.load(tmp_path / "theirs.pt", mmap=True)["x"].sum().item() == 499500.0
    theirs = torch.load(tmp_path / "ours.pt", map_location="meta")
    assert theirs["x"].shape == (1000,)


def test_without_checksums():
    torch.serialization.set_crc32_options(False)
    try:
        buffer = io.BytesIO()
        torch.save(torch.arange(3), buffer)
    finally:
        torch.serialization.set_crc32_options(True)
    buffer.seek(0)
    assert penlight.load(buffer).tolist() == [0, 1, 2]


def test_quantized_tensors_are_refused_by_name():
    buffer = io.BytesIO()
    torch.save(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), buffer)
    buffer.seek(0)
    with pytest.raises((pickle.UnpicklingError, AttributeError), match=r"(?s)quantized|QInt8"):
        penlight.load(buffer)
