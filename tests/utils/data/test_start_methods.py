"""Workers that are started in each way that this system has, each in a program of its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import penlight as torch
from penlight.utils.data import DataLoader, Dataset


class Rows(Dataset):
    """Items that are large enough for shared memory, as tensors and arrays."""

    def __len__(self):
        return 12

    def __getitem__(self, i):
        return torch.full((100, 100), float(i)), np.full((3,), i, np.float32)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_batches_come_whatever_the_start_method(method):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, __file__, method], check=True, timeout=100, env=env)


def main(method):
    loader = DataLoader(Rows(), batch_size=4, num_workers=2, multiprocessing_context=method)
    batches = list(loader)
    assert [x[:, 0, 0].tolist() for x, _ in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert [y[:, 2].tolist() for _, y in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


if __name__ == "__main__":
    main(sys.argv[1])
