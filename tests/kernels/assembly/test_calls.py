"""Native kernels called in turn, many times."""

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.assembly.calls import Counting, Moving, repeat
from penlight.kernels.compiler.rows import Rows
from penlight.kernels.native import Kernel

pytestmark = pytest.mark.skipif(not executable.available(), reason="this machine cannot run AVX2 code")


def add(b: Rows) -> None:
    x, y = b.array(local=True), b.array()
    b.each(lambda: y.store(x.load() + y.load()))


def many(b: Rows) -> None:
    """More arguments than are passed in registers."""
    arrays = [b.array() for _ in range(5)]
    b.each(lambda: arrays[4].store(arrays[0].load() + arrays[1].load() + arrays[2].load() + arrays[3].load()))


def test_a_running_sum():
    """Each row gets the one before added, which has just been computed."""
    rows = np.ones((6, 11), np.float32)
    repeat(5, [(Kernel(add).run, [Counting(1, 1), Counting(2, 1), 11, Moving(rows[0], rows.strides[0]), rows])])
    assert rows[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    assert (rows == rows[:, :1]).all()


def test_backwards():
    rows = np.ones((6, 11), np.float32)
    repeat(5, [(Kernel(add).run, [Counting(4, -1), Counting(5, -1), 11, Moving(rows[5], -rows.strides[0]), rows])])
    assert rows[:, 10].tolist() == [6, 5, 4, 3, 2, 1]


def test_several_calls_with_arguments_on_the_stack():
    arrays = [np.full((4, 9), value, np.float32) for value in (1, 2, 3, 4, 0)]
    total = np.zeros((1, 9), np.float32)
    into_total = (Kernel(add).run, [0, 1, 9, Moving(arrays[4][0], arrays[4].strides[0]), total])
    repeat(3, [(Kernel(many).run, [Counting(0, 1), Counting(1, 1), 9, *arrays]), into_total])
    assert arrays[4][:, 0].tolist() == [10, 10, 10, 0]
    assert (total == 30).all()


def test_no_times():
    rows = np.ones((2, 3), np.float32)
    repeat(0, [(Kernel(add).run, [0, 1, 3, rows, rows])])
    assert (rows == 1).all()
