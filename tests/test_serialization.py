"""Files that PyTorch wrote (tests/data), and saving and loading among ourselves; no PyTorch needed."""

from __future__ import annotations

import gzip
import io
import math
import os
import pickle
import warnings
from collections import Counter, OrderedDict, namedtuple

import numpy as np
import pytest

import penlight as torch

HERE = os.path.join(os.path.dirname(__file__), "data")


def data(name):
    return os.path.join(HERE, name)


def again(obj, **options):
    """What comes back after saving and loading."""
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


# ----- What PyTorch wrote -----------------------------------------------------------------------------------------------


def test_a_state_dict_of_pytorch():
    state = torch.load(data("state_dict.pt"))
    assert type(state) is OrderedDict
    assert list(state) == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert state["0.weight"].shape == (3, 2) and state["0.weight"].dtype == torch.float32
    assert state["1.num_batches_tracked"].item() == 1 and state["1.num_batches_tracked"].shape == ()
    assert state._metadata[""] == {"version": 1} and state._metadata["1"] == {"version": 2}


def test_a_checkpoint_of_pytorch():
    checkpoint = torch.load(data("checkpoint.pt"))
    assert checkpoint["epoch"] == 3 and checkpoint["losses"] == [0.5, 0.25]
    group = checkpoint["optimizer"]["param_groups"][0]
    assert group["lr"] == 0.25 and group["betas"] == (0.9, 0.999) and group["params"] == [0, 1, 2, 3]
    assert checkpoint["optimizer"]["state"][0]["step"].item() == 1.0
    assert checkpoint["optimizer"]["state"][0]["exp_avg"].shape == (3, 2)


def test_views_of_pytorch_share_their_memory_again():
    base, part, transposed, element, expanded = torch.load(data("views.pt"))
    assert part.tolist() == [[4.0, 6.0], [8.0, 10.0]] and part.stride() == (4, 2) and part.storage_offset() == 4
    assert transposed.stride() == (1, 4) and element.item() == 11.0 and expanded.stride() == (0, 4, 1)
    base[1, 0] = 99.0
    assert part[0, 0].item() == 99.0 and transposed[0, 1].item() == 99.0 and expanded[1, 1, 0].item() == 99.0


def test_all_dtypes_of_pytorch():
    pytest.importorskip("ml_dtypes")
    for name, tensor in torch.load(data("dtypes.pt")).items():
        assert tensor.dtype == getattr(torch, name)
        assert tensor.tolist() == [0, 1]


def test_odds_and_ends_of_pytorch():
    odds = torch.load(data("odds.pt"))
    assert odds["size"] == torch.Size([2, 3]) and isinstance(odds["size"], torch.Size)
    assert odds["dtype"] is torch.float16 and odds["layout"] is torch.strided
    assert odds["device"] == torch.device("cuda", 1)
    assert isinstance(odds["parameter"], torch.nn.Parameter) and odds["parameter"].requires_grad
    assert isinstance(odds["frozen"], torch.nn.Parameter) and not odds["frozen"].requires_grad
    assert odds["bytes"] == b"\x00\xff" and odds["array"] == bytearray(b"ab") and odds["complex"] == 1 + 2j
    assert odds["set"] == {1, 2} and odds["big"] == 10**30 and odds["text"] == "é" and odds["none"] is None
    assert odds["conj"].tolist() == [1 - 2j]
    assert odds["empty"].shape == (0, 3) and odds["scalar"].item() == 2.5


def test_a_whole_module_of_pytorch():
    with pytest.raises(
        pickle.UnpicklingError, match=r"GLOBAL torch\.nn\.modules\.container\.Sequential was not an allowed"
    ):
        torch.load(data("module.pt"))
    module = torch.load(data("module.pt"), weights_only=False)
    assert type(module) is torch.nn.Sequential and type(module[0]) is torch.nn.Linear
    assert not module[0].weight.requires_grad
    expected = torch.relu(torch.ones(1, 2) @ module[0].weight.T + module[0].bias)
    assert module(torch.ones(1, 2)).tolist() == expected.tolist()


def test_the_old_format_of_pytorch():
    loaded = torch.load(data("legacy.pt"))
    assert loaded["v"].tolist() == [4.0, 5.0, 6.0, 7.0]
    loaded["w"][1, 0] = 99.0
    assert loaded["v"][0].item() == 99.0


# ----- Where tensors go -------------------------------------------------------------------------------------------------


def test_tensors_of_another_device_need_map_location():
    with pytest.raises(
        RuntimeError, match=r"Attempting to deserialize object on a CUDA device but torch.cuda.is_available"
    ):
        torch.load(data("cuda.pt"))
    for location in ("cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage, b"cpu"):
        assert torch.load(data("cuda.pt"), map_location=location).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(data("cuda.pt"), map_location={"cuda:1": "cpu"})
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(data("cuda.pt"), map_location="cuda:0")
    with pytest.raises(
        RuntimeError, match=r"don't know how to restore data location of torch.storage.UntypedStorage \(tagged"
    ):
        torch.load(data("cuda.pt"), map_location="banana")
    with pytest.raises(TypeError, match="'int' object is not callable"):
        torch.load(data("cuda.pt"), map_location=0)


def test_map_location_as_a_function():
    seen = []

    def place(storage, location):
        seen.append((type(storage).__name__, storage.nbytes(), location))

    with pytest.raises(RuntimeError, match="CUDA"):
        torch.load(data("cuda.pt"), map_location=place)  # None leaves it to the default
    assert seen == [("UntypedStorage", 24, "cuda:0")]
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        torch.load(data("cuda.pt"), map_location=lambda storage, location: storage.cuda())
    with pytest.raises(TypeError, match="must be UntypedStorage"):
        torch.load(data("cuda.pt"), map_location=lambda storage, location: 5)


def test_a_location_of_ones_own(monkeypatch):
    from penlight._serialization import locations

    monkeypatch.setattr(locations, "_packages", list(locations._packages))
    torch.serialization.register_package(
        5, lambda storage: None, lambda storage, tag: storage if tag == "cuda:0" else None
    )
    assert torch.load(data("cuda.pt")).tolist() == [0, 1, 2]


# ----- Ourselves --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("legacy", [False, True])
def test_plain_data_comes_back(legacy):
    plain = {
        "numbers": [1, -1, 300, 70000, -(2**31), 2**31, 10**30, -(10**30), 0.1, math.inf, 1 - 2j, True, False],
        "texts": ["", "é", "x" * 300, b"\x00\xff", bytearray(b"ab")],
        "containers": [
            (),
            (1,),
            (1, 2),
            (1, 2, 3),
            (1, 2, 3, 4),
            [],
            {},
            set(),
            {1, 2},
            OrderedDict(a=1),
            Counter("aab"),
        ],
        None: {1: {2: {3: None}}},
    }
    buffer = io.BytesIO()
    torch.save(plain, buffer, _use_new_zipfile_serialization=not legacy)
    buffer.seek(0)
    loaded = torch.load(buffer)
    assert loaded == plain
    assert [type(item) for item in loaded["containers"]] == [type(item) for item in plain["containers"]]
    assert torch.save({}, io.BytesIO()) is None


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (3, 1), (2, 3, 4)])
def test_shapes_come_back(shape):
    tensor = torch.ones(shape)
    loaded = again(tensor)
    assert loaded.shape == tensor.shape and loaded.stride() == tensor.stride() and torch.equal(loaded, tensor)


def test_views_keep_their_strides_and_share_memory():
    base = torch.arange(12.0).reshape(3, 4)
    loaded = again([base, base.T, base[1], base[:, 1::2], base])
    assert [t.stride() for t in loaded] == [t.stride() for t in (base, base.T, base[1], base[:, 1::2], base)]
    assert loaded[0] is loaded[4]
    loaded[0][1, 1] = -1
    assert loaded[1][1, 1].item() == -1 and loaded[2][1].item() == -1 and loaded[3][1, 0].item() == -1


def test_a_small_view_brings_its_whole_storage():
    large = torch.arange(1, 1000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert again(large[0:5]).storage().size() == 999
        assert again(large[0:5].clone()).storage().size() == 5


def test_one_storage_cannot_have_two_dtypes():
    tensor = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(
        RuntimeError, match="Cannot save multiple tensors or storages that view the same data as different"
    ):
        torch.save([tensor, torch.view_as_real(tensor)], io.BytesIO())


def test_requires_grad_and_parameters():
    leaf = torch.ones(2, requires_grad=True)
    parameter = torch.nn.Parameter(torch.ones(2))
    loaded_leaf, loaded_result, loaded_parameter = again([leaf, leaf * 2, parameter])
    assert loaded_leaf.requires_grad and loaded_leaf.is_leaf
    assert loaded_result.requires_grad and loaded_result.is_leaf
    assert type(loaded_parameter) is torch.nn.Parameter and loaded_parameter.requires_grad


def test_attributes_of_tensors_and_parameters():
    tensor, parameter = torch.ones(1), torch.nn.Parameter(torch.ones(1))
    tensor.note, parameter.note = "a", "b"
    loaded = again([tensor, parameter])
    assert [item.note for item in loaded] == ["a", "b"]
    assert type(loaded[0]) is torch.Tensor and type(loaded[1]) is torch.nn.Parameter


class Labelled(torch.Tensor):
    pass


def test_subclasses_of_tensor():
    tensor = torch.ones(2).as_subclass(Labelled)
    tensor.label = "x"
    with pytest.raises(pickle.UnpicklingError, match="Labelled was not an allowed global"):
        again(tensor)
    with torch.serialization.safe_globals([Labelled]):
        loaded = again(tensor)
    assert type(loaded) is Labelled and loaded.label == "x" and loaded.tolist() == [1.0, 1.0]


def test_a_module_with_its_optimizer():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 2)).sum().backward()
    optimizer.step()
    loaded_model = again(model, weights_only=False)
    x = torch.randn(5, 2)
    assert torch.equal(loaded_model(x), model(x))
    state = again({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    fresh = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    fresh.load_state_dict(state["model"])
    fresh_optimizer = torch.optim.Adam(fresh.parameters())
    fresh_optimizer.load_state_dict(state["optimizer"])
    for m, o in ((model, optimizer), (fresh, fresh_optimizer)):
        o.zero_grad()
        m(x).sum().backward()
        o.step()
    assert torch.equal(fresh(x), model(x))


def test_functions_of_ours_are_saved_by_name():
    assert again([torch.nn.functional.relu, torch.tanh, torch.nn.Linear], weights_only=False) == [
        torch.nn.functional.relu,
        torch.tanh,
        torch.nn.Linear,
    ]


def test_numpy_needs_to_be_allowed():
    values = {"array": np.arange(3, dtype=np.int64), "number": np.float64(1.5)}
    with pytest.raises(pickle.UnpicklingError, match=r"numpy\._core\.multiarray\.\w+ was not an allowed global"):
        again(values)
    allowed = [np._core.multiarray._reconstruct, np._core.multiarray.scalar, np.ndarray, np.dtype]
    with torch.serialization.safe_globals([*allowed, np.dtypes.Float64DType, np.dtypes.Int64DType]):
        loaded = again(values)
    assert loaded["array"].tolist() == [0, 1, 2] and loaded["number"] == 1.5
    loaded = again(values, weights_only=False)
    assert loaded["array"].tolist() == [0, 1, 2]


def test_storages_themselves():
    tensor = torch.arange(3.0)
    untyped, same = again([tensor.untyped_storage(), tensor.untyped_storage()])
    assert untyped._untyped_storage.nbytes() == 12 and same is not None


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_other_pickle_protocols(protocol):
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2), "b": torch.float32}, buffer, pickle_protocol=protocol)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert loaded["a"].tolist() == [1.0, 1.0] and loaded["b"] is torch.float32


# ----- Files ------------------------------------------------------------------------------------------------------------


def test_paths_and_file_objects(tmp_path):
    tensor = torch.arange(3)
    torch.save(tensor, tmp_path / "a.pt")
    torch.save(tensor, str(tmp_path / "ü.pt"))
    with open(tmp_path / "b.pt", "wb") as file:
        torch.save(tensor, file)
    with gzip.open(tmp_path / "c.gz", "wb") as file:
        torch.save(tensor, file, _use_new_zipfile_serialization=False)
    for name in ("a.pt", "ü.pt", "b.pt"):
        assert torch.load(tmp_path / name).tolist() == [0, 1, 2]
    with gzip.open(tmp_path / "c.gz", "rb") as file:
        assert torch.load(file).tolist() == [0, 1, 2]


def test_a_file_that_begins_in_the_middle():
    buffer = io.BytesIO()
    buffer.write(b"before")
    torch.save(torch.arange(3), buffer)
    buffer.seek(6)
    assert torch.load(buffer).tolist() == [0, 1, 2]


def test_several_objects_one_after_the_other_in_the_old_format():
    buffer = io.BytesIO()
    for number in range(3):
        torch.save(torch.full((2,), number), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert [torch.load(buffer).tolist() for _ in range(3)] == [[0, 0], [1, 1], [2, 2]]


def test_mmap_reads_lazily_and_leaves_the_file_alone(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"x": torch.arange(1000.0), "empty": torch.empty(0)}, path)
    before = path.read_bytes()
    loaded = torch.load(path, mmap=True)
    assert loaded["x"].sum().item() == 499500.0 and loaded["x"].storage_offset() == 0
    loaded["x"][0] = 7.0
    del loaded
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(before), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(data("legacy.pt"), mmap=True)


def test_mmap_shared_writes_to_the_file(tmp_path):
    import mmap

    path = tmp_path / "a.pt"
    torch.save(torch.arange(3.0), path)
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        loaded = torch.load(path, mmap=True)
        loaded[0] = 7.0
        del loaded
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    with torch.utils.serialization.config.patch({"save.compute_crc32": False}):
        assert torch.load(path).tolist() == [7.0, 1.0, 2.0]
    with pytest.raises(ValueError, match=r"expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        torch.serialization.set_default_mmap_options(77)


def test_the_other_byte_order():
    buffer = io.BytesIO()
    torch.save({"f": torch.arange(3.0), "c": torch.tensor([1 + 2j]), "b": torch.tensor([1], dtype=torch.uint8)}, buffer)
    raw = buffer.getvalue()
    for little, big in (
        (np.arange(3, dtype="<f4").tobytes(), np.arange(3, dtype=">f4").tobytes()),
        (np.array([1 + 2j], "<c8").tobytes(), np.array([1 + 2j], ">c8").tobytes()),
    ):
        raw = raw.replace(little, big)
    foreign = raw.replace(b"littlePK", b"big   PK")
    with pytest.raises(RuntimeError, match="CRC-32 check failed"):
        torch.load(io.BytesIO(foreign))
    with torch.utils.serialization.config.patch("save.compute_crc32", False):
        with pytest.raises(ValueError, match="Unknown endianness type: big   "):
            torch.load(io.BytesIO(foreign))
        marked = io.BytesIO()
        torch.save(torch.arange(3.0), marked, _disable_byteorder_record=True)
        torch.serialization.set_default_load_endianness(torch.serialization.LoadEndianness.BIG)
        try:
            swapped = marked.getvalue().replace(
                np.arange(3, dtype="<f4").tobytes(), np.arange(3, dtype=">f4").tobytes()
            )
            assert torch.load(io.BytesIO(swapped)).tolist() == [0.0, 1.0, 2.0]
        finally:
            torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function set_default_load_endianness"):
        torch.serialization.set_default_load_endianness("big")


def test_skip_data():
    buffer = io.BytesIO()
    with torch.serialization.skip_data():
        torch.save({"x": torch.ones(5)}, buffer)
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True with _use_new_zipfile_serialization=False"):
            torch.save({}, io.BytesIO(), _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert torch.load(buffer)["x"].tolist() == [0.0] * 5
    full = io.BytesIO()
    torch.save({"x": torch.ones(5)}, full)
    full.seek(0)
    with torch.serialization.skip_data():
        assert torch.load(full)["x"].shape == (5,)


def test_a_pickle_module_of_ones_own():
    buffer = io.BytesIO()
    torch.save(slice(1, 2), buffer, pickle_module=pickle)
    buffer.seek(0)
    assert torch.load(buffer, pickle_module=pickle) == slice(1, 2)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit pickle_module is specified"):
        torch.load(buffer, pickle_module=pickle, weights_only=True)


def test_environment_variables_of_pytorch(monkeypatch):
    buffer = io.BytesIO()
    torch.save(slice(1, 2), buffer)

    def load(**options):
        buffer.seek(0)
        return torch.load(buffer, **options)

    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert load() == slice(1, 2)
    with pytest.raises(pickle.UnpicklingError):
        load(weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        load()
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(pickle.UnpicklingError):
        load(weights_only=False)


Point = namedtuple("Point", "x y")


def test_named_tuples_of_tensors():
    loaded = again(Point(torch.ones(1), 2), weights_only=False)
    assert type(loaded) is Point and loaded.x.item() == 1.0
