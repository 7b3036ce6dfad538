"""Storages: the memory under tensors."""

from __future__ import annotations

import importlib
import sys
import warnings

import pytest

import penlight as torch
from penlight._common import user_warnings
from penlight.storage import TypedStorage, UntypedStorage


def test_an_untyped_storage():
    storage = UntypedStorage(4).fill_(7)
    assert len(storage) == storage.nbytes() == storage.size() == 4 and storage.tolist() == [7] * 4 == list(storage)
    storage[1] = 9
    assert storage[1] == 9 and storage.clone().tolist() == [7, 9, 7, 7]
    part = storage[1:3]
    part[0] = 1
    assert storage.tolist() == [7, 1, 7, 7]
    assert storage.device == torch.device("cpu") and storage.cpu() is storage and not storage.is_cuda
    assert UntypedStorage(0).data_ptr() == 0 and storage.data_ptr() != 0
    assert repr(UntypedStorage([1, 2])) == " 1\n 2\n[torch.storage.UntypedStorage(device=cpu) of size 2]"
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        storage.cuda()
    with pytest.raises(RuntimeError, match="only a step of 1 is supported"):
        storage[::2]


def test_the_storage_of_a_tensor():
    tensor = torch.arange(6.0)
    storage = tensor[2:].untyped_storage()
    assert storage.nbytes() == 24 and storage.data_ptr() == tensor.data_ptr()
    user_warnings._warned.clear()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
        typed = tensor.view(2, 3).T.storage()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tensor.storage()  # the second time it is silent, as in PyTorch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert typed.tolist() == [0, 1, 2, 3, 4, 5] and len(typed) == typed.size() == 6 and typed[1] == 1.0
        assert typed.dtype == torch.float32 and typed.element_size() == 4 and typed.nbytes() == 24
        typed[0] = 5.0
        assert tensor[0].item() == 5.0
        assert list(typed) == tensor.tolist()
        assert typed.untyped().data_ptr() == typed.data_ptr() == tensor.data_ptr()


def test_storages_by_their_old_names():
    from penlight import storage as module

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = module.FloatStorage([1.0, 2.0])
        assert isinstance(made, TypedStorage) and made.tolist() == [1.0, 2.0] and made.dtype == torch.float32
        assert module.LongStorage(3).size() == 3 and module.LongStorage is module.LongStorage
    with pytest.raises(AttributeError, match="QuiteStorage"):
        module.QuiteStorage  # noqa: B018


def test_bytes_are_turned_around_within_elements():
    storage = UntypedStorage([1, 2, 3, 4, 5, 6, 7, 8])
    storage.byteswap(torch.int32)
    assert storage.tolist() == [4, 3, 2, 1, 8, 7, 6, 5]
    storage.byteswap(torch.complex64)
    assert storage.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    storage.byteswap(torch.uint8)
    assert storage.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("library", ["penlight", pytest.param("torch", marks=pytest.mark.parity)])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_of_buffers_and_files(library, tmp_path):
    torch = importlib.import_module(library)
    buffer = bytes([1, 2, 3, 4])
    assert torch.ShortStorage.from_buffer(buffer, "big").tolist() == [258, 772]
    assert torch.ShortStorage.from_buffer(buffer, "little", 1, 2).tolist() == [1027]
    assert torch.ByteStorage.from_buffer(buffer, count=2, offset=1).tolist() == [2, 3]
    assert torch.BoolStorage.from_buffer(buffer[:0] + bytes([0, 3]), "native").tolist() == [False, True]
    assert torch.UntypedStorage.from_buffer(buffer, "native", dtype=torch.float32).nbytes() == 4
    for make, words in (
        (lambda: torch.ShortStorage.from_buffer(buffer), "function missing required argument 'byte_order' (pos 2)"),
        (lambda: torch.ShortStorage.from_buffer(buffer, "odd"), "invalid byte_order 'odd' (expected 'big', 'little', or 'native')"),
        (lambda: torch.ShortStorage.from_buffer(buffer[:3], "big"), "buffer size (3) must be a multiple of element size (2)"),
        (lambda: torch.ByteStorage.from_buffer(buffer, offset=9), "offset must be non-negative and no greater than buffer length (9) , but got 4"),
        (lambda: torch.UntypedStorage.from_buffer(buffer), "argument 'dtype' cannot be None"),
        (lambda: torch.TypedStorage.from_file("x", False, 1), "from_file can only be called on derived classes"),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, ValueError)) as raised:
            make()
        assert str(raised.value) == words
    path = str(tmp_path / "numbers")
    (tmp_path / "numbers").write_bytes(bytes(8))
    shared = torch.FloatStorage.from_file(path, True, 2)
    shared[0] = 1.0
    assert torch.FloatStorage.from_file(path, False, 2).tolist() == [1.0, 0.0] and shared.filename == path
    with pytest.raises(RuntimeError, match="size <8> is smaller than the required mapping size <80>"):
        torch.FloatStorage.from_file(path, False, 20)
    with pytest.raises(RuntimeError, match="unable to open file"):
        torch.FloatStorage.from_file(path + "x", False, 2)
    sizes = [sys.getsizeof(torch.zeros(n).untyped_storage()) for n in (2, 100)]
    assert sizes[1] - sizes[0] == 4 * 98


@pytest.mark.parametrize("library", ["penlight", pytest.param("torch", marks=pytest.mark.parity)])
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_conversions_and_copies_of_storages(library):
    torch = importlib.import_module(library)
    floats, memory = torch.FloatStorage([1.5, 0.0]), torch.tensor([1.5]).untyped_storage()
    assert (
        floats.int().tolist() == [1, 0]
        and floats.bool().tolist() == [True, False]
        and floats.half().dtype == torch.float16
    )
    assert memory.float().tolist() == [0.0, 0.0, 192.0, 63.0] and memory.type() == "torch.storage.UntypedStorage"
    assert floats.type() == "torch.FloatStorage" and floats.pickle_storage_type() == "FloatStorage"
    copied = floats.clone()
    assert copied.copy_(torch.FloatStorage([3.0, 4.0])).tolist() == [3.0, 4.0] and floats.tolist() == [1.5, 0.0]
    assert not copied.is_shared() and memory.resize_(4) is memory
    for target, source in ((floats, torch.FloatStorage(1)), (memory, torch.UntypedStorage([1]))):
        with pytest.raises(RuntimeError, match=r"size does not match, self was \d bytes but src was \d bytes"):
            target.copy_(source)


def test_a_storage_keeps_its_size():
    x = torch.arange(3.0)
    with pytest.raises(NotImplementedError, match="a storage of size 12 cannot change its size"):
        x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match="requiring a storage size of 60 are out of bounds for storage of size 12"):
        torch.empty(0).set_(x.untyped_storage(), 5, (10,), (1,))
    assert x.tolist() == [0.0, 1.0, 2.0]
