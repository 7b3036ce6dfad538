"""Kernels never touch memory outside of their arrays: here those lie against pages that nobody may touch."""

import subprocess
import sys

import pytest

from penlight.kernels import native

PROGRAM = '''
import ctypes, inspect, itertools, mmap
import numpy as np
from penlight.kernels import conv_tiles
from penlight.kernels.conv_gather import gather_weight
from penlight.kernels.native import Kernel, attention, depthwise, norm, recurrent, reduce, softmax
from penlight.kernels.native.product import panels, products
from penlight.kernels.native.sequence import repeat

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
kept = []


def fenced(count, at_end):
    """Floats between two forbidden pages, right before the second one or right after the first."""
    pages = -(-4 * count // PAGE) or 1
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    kept.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for fence in (start, start + (pages + 1) * PAGE):
        assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(PAGE), 0) == 0
    offset = (pages + 1) * PAGE - 4 * count if at_end else PAGE
    return np.ndarray(count, np.float32, memory, offset)


def definitions():
    for module in (attention, norm, recurrent, reduce, softmax):
        for name, define in vars(module).items():
            if inspect.isfunction(define) and define.__module__ == module.__name__ and not name.startswith("_"):
                options = list(inspect.signature(define).parameters)[1:]
                for values in itertools.product((True, False), repeat=len(options)):
                    yield define, dict(zip(options, values))


TAPS = ((0, 0), (0, 1), (1, 0), (1, 5))
both = [(define, {"taps": TAPS * n, "apart": 38}) for define in (depthwise.depthwise, depthwise.depthwise_weight) for n in (1, 4)]
for define, options in [*definitions(), *both]:
    kernel = Kernel(define, **options)
    for rows, columns in [(1, 33), (3, 33)] if "apart" in options else SHAPES:
        for at_end in (True, False):
            print(define.__module__, define.__name__, options, rows, columns, at_end, flush=True)
            arrays = [fenced(size, at_end) for size in kernel._sizes(rows, columns)]
            kernel.check(tuple(arrays), rows, columns)
            whole = 3 + len(arrays)
            numbers = [1.0] * (len(kernel.run.argtypes) - whole)
            kernel.run(0, rows, columns, *[id(a) for a in arrays], *numbers)
    kept.clear()
for rows, inner, columns in ((1, 1, 16), (5, 3, 17), (6, 7, 31), (13, 9, 48)):
    for at_end in (True, False):
        print("product", rows, inner, columns, at_end, flush=True)
        first, result = fenced(rows * inner, at_end), fenced(rows * columns, at_end).reshape(rows, columns)
        wanted = panels(np.ones((inner, columns), np.float32))
        arranged = fenced(wanted.size, at_end).reshape(wanted.shape)
        arranged[...] = wanted
        first[...] = 1
        repeat(1, products(first, arranged, result))
        assert (result == inner).all()


class Fenced:
    """NumPy with all new arrays between forbidden pages."""

    def __init__(self, at_end):
        self.at_end = at_end

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        assert dtype is np.float32
        return fenced(int(np.prod(shape)), self.at_end).reshape(shape)


for batch, channels, results, size, low in TILES:
    for at_end in (True, False):
        print("tiles", batch, channels, results, size, low, at_end, flush=True)
        kept.clear()
        conv_tiles.np = Fenced(at_end)
        out = (batch, results, size[0] + 2 * low[0] - 2, size[1] + 2 * low[1] - 2)
        shapes = (batch, channels, *size), (results, channels, 3, 3), out, (results,)
        x, w, y, bias = (fenced(int(np.prod(shape)), at_end).reshape(shape) for shape in shapes)
        x[...], w[...], bias[...] = 1, 1, 2
        conv_tiles.tiles(x, w, low, y, bias)
        assert y.max() == 9 * channels + 2
        y[...] = 1
        wanted = gather_weight(y, x, low, (3, 3), (1, 1), (1, 1), 1)
        assert (conv_tiles.tiles_weight(y, x, low) == wanted).all()
print("all")
'''
TILES = [
    (1, 8, 8, (16, 18), (0, 0)), (3, 9, 10, (5, 9), (1, 1)), (2, 8, 13, (4, 6), (2, 3)), (1, 16, 16, (65, 90), (1, 0)), (5, 11, 8, (9, 33), (-1, -2)),
    (1, 64, 64, (80, 8), (1, 1)),
]  # fmt: skip


@pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
def test_kernels_stay_within_their_arrays():
    program = PROGRAM.replace(
        "SHAPES", "[(0, 5), (1, 1), (2, 7), (3, 8), (65, 9), (2, 33), (3, 67), (64, 64)]"
    ).replace("TILES", repr(TILES))
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    last = result.stdout.splitlines()[-1:]
    assert last == ["all"], (last, result.returncode, result.stderr[-2000:])
