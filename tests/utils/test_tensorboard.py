"""torch.utils.tensorboard, with and without the package it needs."""

from __future__ import annotations

import importlib.util
import struct
import zlib

import numpy as np
import pytest

import penlight as torch

HERE = importlib.util.find_spec("tensorboard") is not None


@pytest.mark.skipif(HERE, reason="tensorboard is installed")
def test_without_the_package():
    with pytest.raises(ModuleNotFoundError, match="pip install tensorboard"):
        from penlight.utils.tensorboard import SummaryWriter  # noqa: F401


def events(folder):
    from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
    from tensorboard.compat.proto.event_pb2 import Event

    for path in sorted(folder.rglob("events*")):
        for raw in RawEventFileLoader(str(path)).Load():
            for value in Event.FromString(raw).summary.value:
                yield path.parent.relative_to(folder).as_posix(), Event.FromString(raw).step, value


@pytest.mark.skipif(not HERE, reason="tensorboard is not installed")
def test_records(tmp_path):
    from penlight.utils.tensorboard import SummaryWriter
    from penlight.utils.tensorboard.summary import hparams

    with SummaryWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_scalar("loss", torch.tensor(1.5 / (step + 1), requires_grad=True), step)
        writer.add_scalars("both", {"a": 1, "b": 2}, 5)
        writer.add_histogram("h", torch.tensor([0.0, 1.0, 1.0]), 0, bins=[0.0, 0.5, 2.0, 3.0])
        writer.add_image("i", torch.ones(3, 2, 4), 0)
        writer.add_text("t", "hello")
        writer.add_hparams({"lr": 0.1, "name": "x"}, {"acc": 0.5}, run_name="run")
        with pytest.raises(NotImplementedError, match="scalars, histograms"):
            writer.add_embedding(torch.ones(2, 2))
    found = {(where, step, value.tag): value for where, step, value in events(tmp_path)}
    assert found[".", 1, "loss"].simple_value == 0.75 and found["both_b", 5, "both"].simple_value == 2
    histogram = found[".", 0, "h"].histo
    assert (
        list(histogram.bucket) == [0, 1, 2] and list(histogram.bucket_limit) == [0.0, 0.5, 2.0] and histogram.sum == 2
    )
    image = found[".", 0, "i"].image
    assert (image.height, image.width, image.colorspace) == (2, 4, 3)
    assert image.encoded_image_string.startswith(b"\x89PNG")
    assert found[".", 0, "t/text_summary"].tensor.string_val[0] == b"hello"
    assert found["run", 0, "acc"].simple_value == 0.5
    tags = [record.value[0].tag for record in hparams({"lr": 0.1}, {"acc": 0.5})]
    assert tags == ["_hparams_/experiment", "_hparams_/session_start_info", "_hparams_/session_end_info"]
    assert len(hparams(hparam_dict={"lr": 0.1}, metric_dict={}, hparam_domain_discrete={"lr": [0.1, 0.2]})) == 3
    for refused in (lambda: hparams(), lambda: hparams({"lr": 0.1}, ["acc"]), lambda: hparams({}, {}, [1])):
        with pytest.raises(TypeError, match="should be a dictionary, nothing logged"):
            refused()


@pytest.mark.skipif(not HERE, reason="tensorboard is not installed")
def test_png():
    from penlight.utils.tensorboard.summary import png, to_hwc

    pixels = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    data = png(pixels)
    assert struct.unpack(">II", data[16:24]) == (4, 2)
    start = data.index(b"IDAT") + 4
    rows = np.frombuffer(zlib.decompress(data[start:]), np.uint8).reshape(2, 13)
    assert (rows[:, 0] == 0).all() and (rows[:, 1:] == pixels.reshape(2, 12)).all()
    assert to_hwc(np.zeros((10, 3, 4, 5)), "NCHW").shape == (8, 40, 3)
