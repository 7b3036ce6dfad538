"""Handwritten digits to train on: 1797 images of 8 by 8 pixels. digits.txt names their source."""

from __future__ import annotations

import zlib
from importlib.resources import files

import numpy as np

from penlight import Tensor, from_numpy


def load() -> tuple[Tensor, Tensor]:
    """Images (1797, 1, 8, 8) from 0 to 1, and labels (1797,).

    >>> from penlight._cli.digits import load
    >>> images, labels = load()
    >>> images.shape, labels[:3]
    (torch.Size([1797, 1, 8, 8]), tensor([0, 1, 2]))
    """
    data = np.frombuffer(zlib.decompress(files(__package__).joinpath("digits.bin").read_bytes()), np.uint8)
    count = len(data) // 65
    images = data[count:].reshape(count, 1, 8, 8).astype(np.float32) / 16
    return from_numpy(images), from_numpy(data[:count].astype(np.int64))
