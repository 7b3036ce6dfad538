"""Broken files give clear errors, and a file is either the new one or the old one."""

from __future__ import annotations

import io
import os
import pickle
import stat
import zipfile

import pytest

import penlight as torch


def saved(obj, **options):
    buffer = io.BytesIO()
    torch.save(obj, buffer, **options)
    return buffer.getvalue()


def loaded(data):
    return torch.load(io.BytesIO(data))


# ----- Broken files -----------------------------------------------------------------------------------------------------


def test_empty_and_foreign_files(tmp_path):
    with pytest.raises(EOFError, match="Ran out of input"):
        loaded(b"")
    with pytest.raises(RuntimeError, match=r"Invalid magic number; corrupt file\?"):
        loaded(b"hello world, this is no checkpoint")
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(IsADirectoryError):
        torch.load(tmp_path)
    with pytest.raises(AttributeError, match=r"You can only torch.load from a file that is seekable"):
        torch.load(None)


def test_every_truncation_is_an_error():
    data = saved({"w": torch.arange(6.0), "b": [1, "text"]})
    for size in range(0, len(data) - 1, 7):
        with pytest.raises((RuntimeError, EOFError)):
            loaded(data[:size])
    data = saved({"w": torch.arange(6.0), "b": [1, "text"]}, _use_new_zipfile_serialization=False)
    for size in range(0, len(data) - 1, 3):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            loaded(data[:size])


def test_a_flipped_bit_in_a_tensor_is_noticed():
    data = bytearray(saved(torch.arange(1000.0)))
    place = data.index(torch.arange(1000.0).numpy().tobytes())
    data[place + 2000] ^= 1
    with pytest.raises(RuntimeError, match=r"failed reading file data/0: CRC-32 check failed.*corrupted"):
        loaded(bytes(data))
    torch.serialization.set_crc32_options(False)
    try:
        assert not torch.serialization.get_crc32_options()
        assert loaded(bytes(data)).shape == (1000,)
        unchecked = saved(torch.arange(3))
    finally:
        torch.serialization.set_crc32_options(True)
    assert loaded(unchecked).tolist() == [0, 1, 2]


def rezipped(data, change, compression=zipfile.ZIP_STORED):
    """The same archive by another zip writer, its records changed by a function of name and content."""
    source = zipfile.ZipFile(io.BytesIO(data))
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", compression) as archive:
        for name in source.namelist():
            content = change(name, source.read(name))
            if content is not None:
                archive.writestr(name, content)
    return target.getvalue()


def test_archives_of_other_zip_writers():
    data = saved({"w": torch.arange(6.0)})
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert loaded(rezipped(data, lambda name, content: content, compression))["w"].tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(RuntimeError, match="unsupported method"):
        loaded(rezipped(data, lambda name, content: content, zipfile.ZIP_BZIP2))


def test_records_that_are_missing_or_too_short():
    data = saved({"w": torch.arange(6.0)})
    with pytest.raises(RuntimeError, match="failed locating file data/0: file not found"):
        loaded(rezipped(data, lambda name, content: None if name.endswith("data/0") else content))
    with pytest.raises(RuntimeError, match=r"record size \(8 bytes\) does not match expected size \(24 bytes"):
        loaded(rezipped(data, lambda name, content: content[:8] if name.endswith("data/0") else content))
    with pytest.raises(RuntimeError, match='hasRecord\\("version"\\)'):
        loaded(rezipped(data, lambda name, content: None if name.endswith("version") else content))
    with pytest.raises(RuntimeError, match="Attempted to read a PyTorch file with version 99"):
        loaded(rezipped(data, lambda name, content: b"99\n" if name.endswith("/version") else content))
    flat = io.BytesIO()
    with zipfile.ZipFile(flat, "w") as archive:
        archive.writestr("b.txt", "x")
    with pytest.raises(RuntimeError, match=r"file in archive is not in a subdirectory: b.txt"):
        loaded(flat.getvalue())


def test_torchscript_is_named_as_such():
    data = rezipped(saved({}), lambda name, content: content)
    with_constants = io.BytesIO(data)
    with zipfile.ZipFile(with_constants, "a") as archive:
        archive.writestr("archive/constants.pkl", b"")
    with (
        pytest.warns(UserWarning, match="looks like a TorchScript archive"),
        pytest.raises(RuntimeError, match="TorchScript"),
    ):
        loaded(with_constants.getvalue())
    with_constants.seek(0)
    with pytest.warns(UserWarning), pytest.raises(NotImplementedError, match="state_dict"):
        torch.load(with_constants, weights_only=False)


# ----- Saving is all or nothing -------------------------------------------------------------------------------------------


def test_places_that_cannot_be_written_to(tmp_path):
    with pytest.raises(RuntimeError, match=r"Parent directory .*nowhere does not exist\."):
        torch.save({}, tmp_path / "nowhere" / "a.pt")
    with pytest.raises(FileNotFoundError, match=r"nowhere/a.pt"):
        torch.save({}, tmp_path / "nowhere" / "a.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="Is a directory"):
        torch.save({}, tmp_path)
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like object"):
        torch.save({}, 5)


@pytest.mark.parametrize("legacy", [False, True])
def test_a_failed_save_leaves_the_old_file(tmp_path, legacy):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    with pytest.raises((AttributeError, TypeError, Exception), match=r"lambda|pickle"):
        torch.save([torch.ones(3), lambda: 0], path, _use_new_zipfile_serialization=not legacy)
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    from penlight._serialization import zipformat

    path = tmp_path / "a.pt"
    torch.save("old", path)

    def fail(self, name, data):
        if name.startswith("data/"):
            raise OSError(28, "No space left on device")
        add(self, name, data)

    add = zipformat.ArchiveWriter.add
    monkeypatch.setattr(zipformat.ArchiveWriter, "add", fail)
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.ones(3), path)
    monkeypatch.undo()
    assert torch.load(path) == "old"
    assert os.listdir(tmp_path) == ["a.pt"]


def test_a_crash_while_moving_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    torch.save("old", path)
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        torch.save("new", path)
    monkeypatch.undo()
    assert torch.load(path) == "old" and os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX's")
def test_permissions_and_links_stay(tmp_path):
    path, link = tmp_path / "a.pt", tmp_path / "link.pt"
    torch.save("old", path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save("new", link)
    assert link.is_symlink() and torch.load(path) == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    mask = os.umask(0o022)
    try:
        torch.save("other", tmp_path / "b.pt")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "b.pt").stat().st_mode) == 0o644


@pytest.mark.skipif(os.name != "posix", reason="there is a /dev/null")
def test_a_device_is_written_to_directly():
    torch.save(torch.ones(3), os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_the_archive_is_named_after_the_file(tmp_path):
    for name, inside in (("model.pt", "model"), ("a.b.ckpt", "a.b"), ("plain", "plain"), ("ü.pt", "archive")):
        torch.save({}, tmp_path / name)
        assert zipfile.ZipFile(tmp_path / name).namelist()[0] == f"{inside}/data.pkl"


def test_records_are_aligned_for_mapping(tmp_path):
    path = tmp_path / "a.pt"
    torch.save([torch.ones(n) for n in (1, 5, 100)], path)
    raw = path.read_bytes()
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    for info in archive.infolist():
        name, extra = (int.from_bytes(raw[info.header_offset + at :][:2], "little") for at in (26, 28))
        assert (info.header_offset + 30 + name + extra) % 64 == 0


def test_an_archive_beyond_four_gigabytes_is_described_in_64_bits(tmp_path):
    from penlight._serialization.zipformat import ArchiveReader, ArchiveWriter

    class Sparse:
        """A file that skips over zeros, so that a large archive takes no space."""

        def __init__(self, file):
            self.file = file

        def write(self, data):
            if memoryview(data).nbytes == 1 << 20 and not any(memoryview(data)[:16]):
                self.file.seek(1 << 20, 1)
            else:
                self.file.write(data)

    path = tmp_path / "big.pt"
    with open(path, "wb") as file:
        writer = ArchiveWriter(Sparse(file).write, "big", 64, True)
        writer.add_blank("data/0", (1 << 32) + 5)
        writer.add("data/1", b"behind it")
        writer.close()
    with open(path, "rb") as file:
        reader = ArchiveReader(file)
        assert reader.read("data/1") == b"behind it"
        assert reader.offset("data/0") % 64 == 0 and reader.offset("data/1") > 1 << 32
    archive = zipfile.ZipFile(path)
    assert archive.read("big/data/1") == b"behind it" and archive.getinfo("big/data/0").file_size == (1 << 32) + 5
