"""torch.futures and torch.hub."""

from __future__ import annotations

import hashlib
import threading

import pytest

import penlight as torch
from penlight.futures import Future, collect_all, wait_all


def test_future():
    future = Future()
    following = future.then(lambda f: f.wait() + 1)
    seen = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    threading.Timer(0.01, future.set_result, [1]).start()
    assert future.wait() == 1 and following.wait() == 2 and future.done() and seen == [1]
    with pytest.raises(RuntimeError, match="completed"):
        future.set_result(2)
    failing = Future()
    after = failing.then(lambda f: f.wait())
    failing.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        after.wait()
    with pytest.raises(RuntimeError, match="value"):
        Future().value()


def test_several_futures():
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for number, future in enumerate(futures):
        assert not together.done()
        future.set_result(number)
    assert together.wait() == futures and wait_all(futures) == [0, 1, 2] and wait_all([]) == []


def test_state_dict_from_a_file_address(tmp_path):
    torch.save({"w": torch.arange(3.0)}, tmp_path / "source.pt")
    digest = hashlib.sha256((tmp_path / "source.pt").read_bytes()).hexdigest()
    address = (tmp_path / "source.pt").as_uri()
    folder = tmp_path / "kept"
    for _ in range(2):  # the second time from the folder
        state = torch.hub.load_state_dict_from_url(
            address, str(folder), progress=False, check_hash=True, file_name=f"net-{digest[:8]}.pt", weights_only=True
        )
        assert state["w"].tolist() == [0, 1, 2]
        (tmp_path / "source.pt").unlink(missing_ok=True)
    assert [p.name for p in folder.iterdir()] == [f"net-{digest[:8]}.pt"]


def test_a_wrong_hash_leaves_nothing(tmp_path):
    (tmp_path / "source").write_bytes(b"abc")
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file((tmp_path / "source").as_uri(), str(tmp_path / "target"), "00", progress=False)
    assert [p.name for p in tmp_path.iterdir()] == ["source"]


def test_local_models(tmp_path):
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['torch', 'numpy']\ndef model(size=1):\n    'A model.'\n    import penlight\n    return penlight.nn.Linear(size, 1)\n"
    )
    assert torch.hub.load(str(tmp_path), "model", source="local", size=3).in_features == 3
    assert torch.hub.list(str(tmp_path)) == ["model"] and torch.hub.help(str(tmp_path), "model") == "A model."
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        torch.hub.load(str(tmp_path), "nothing", source="local")
    with pytest.raises(NotImplementedError, match='source="local"'):
        torch.hub.load("pytorch/vision", "resnet18")
