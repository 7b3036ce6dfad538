"""Kernels never touch memory outside of their arrays: here those lie against pages that nobody may touch."""

import subprocess
import sys

import pytest

from penlight.kernels import executable

PROGRAM = '''
import ctypes, inspect, itertools, mmap
from math import prod
import numpy as np
import ml_dtypes
from penlight.kernels import call
from penlight.kernels.attention import rows as attention
from penlight.kernels.conv import conv_output_shape, depthwise_compiled, implicit, winograd
from penlight.kernels.conv.im2col import im2col_weight_grad
from penlight.kernels.index.gather_scatter import reduce_rows
from penlight.kernels.compiler.trace import define_flat, define_rows
from penlight.kernels.compiler.ufuncs import COMPARISONS, UFUNCS
from penlight.kernels.elementwise import as_kernel, plans
from penlight.kernels.native import Kernel
from penlight.kernels.random import normal_kernels as normal
import penlight.kernels.recurrent.kernels as recurrent
from penlight.kernels.assembly.packed_product import panels, products
from penlight.kernels.assembly.calls import repeat
from penlight.kernels.softmax import kernels as softmax

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
kept = []


def fenced(count, at_end, dtype=np.float32):
    """An array between two forbidden pages, right before the second one or right after the first."""
    size = np.dtype(dtype).itemsize
    pages = -(-size * count // PAGE) or 1
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    kept.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for fence in (start, start + (pages + 1) * PAGE):
        assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(PAGE), 0) == 0
    offset = (pages + 1) * PAGE - size * count if at_end else PAGE
    return np.ndarray(count, dtype, memory, offset)


def definitions():
    for module in (attention, normal, recurrent, softmax):
        for name, define in vars(module).items():
            if inspect.isfunction(define) and define.__module__ == module.__name__ and not name.startswith("_"):
                options = ["double", *list(inspect.signature(define).parameters)[1:]]
                for values in itertools.product((True, False), repeat=len(options)):
                    if define is not normal.box_muller or not values[0]:
                        yield define, dict(zip(options, values))


for define, options in definitions():
    kernel = Kernel(define, **options)
    for rows, columns in SHAPES:
        if kernel.narrow and columns % 8:
            continue
        for at_end in (True, False):
            print(define.__module__, define.__name__, options, rows, columns, at_end, flush=True)
            given = {"low": 0, "high": rows, "columns": columns}
            for argument in kernel.run.signature.arguments:
                if argument.is_array:
                    given[argument.name] = fenced(eval(argument.least or "0", {}, given), at_end, call.dtype_of(argument.type))
                else:
                    given.setdefault(argument.name, 1.0)
            kernel.run(*given.values())
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
for columns, at_end in itertools.product((1, 8, 63, 65, 130), (True, False)):
    print("scatter", columns, at_end, flush=True)
    rows, target = (fenced(3 * columns, at_end).reshape(3, columns) for _ in range(2))
    index = fenced(3, at_end, np.int64)
    index[...], rows[...], target[...] = (2, 0, 2), 1, 0
    assert reduce_rows(target, index, rows)
    assert (target == np.array([[1], [0], [2]])).all()


class Fenced:
    """NumPy with all new arrays between forbidden pages."""

    def __init__(self, at_end):
        self.at_end = at_end

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype):
        assert dtype is np.float32
        shape = (shape,) if type(shape) is int else shape
        return fenced(int(np.prod(shape)), self.at_end).reshape(shape)


for batch, channels, results, size, low in TILES:
    for at_end in (True, False):
        print("tiles", batch, channels, results, size, low, at_end, flush=True)
        kept.clear()
        winograd.np = Fenced(at_end)
        winograd.scratch = lambda size: fenced(size, at_end)
        out = (batch, results, size[0] + 2 * low[0] - 2, size[1] + 2 * low[1] - 2)
        shapes = (batch, channels, *size), (results, channels, 3, 3), out, (results,)
        x, w, y, bias = (fenced(int(np.prod(shape)), at_end).reshape(shape) for shape in shapes)
        x[...], w[...], bias[...] = 1, 1, 2
        winograd.winograd_correlate(x, w, low, 1, y, bias)
        assert y.max() == 9 * channels + 2
        y[...] = 1
        wanted = im2col_weight_grad(y, x, low, (3, 3), (1, 1), (1, 1), 1)
        assert (winograd.winograd_weight_grad(y, x, low, 1) == wanted).all()
for batch, channels, results, size, kernel, stride, low, dilation in WINDOWS:
    if len(size) == 3 or stride[-1] > 2:
        continue
    for at_end in (True, False):
        print("planes", batch, channels, size, kernel, stride, low, dilation, at_end, flush=True)
        kept.clear()
        shapes = (batch, channels, *size), (channels, 1, *kernel)
        shapes += conv_output_shape(*shapes, stride, low, dilation), (channels,)
        x, w, y, bias = (fenced(int(np.prod(shape)), at_end).reshape(shape) for shape in shapes)
        x[...], w[...], bias[...] = 1, 1, 2
        depthwise_compiled.compiled_depthwise(x, w, low, stride, dilation, y, bias)
        assert y.max() <= w[0].size + 2
        y[...] = 1
        wanted = im2col_weight_grad(y, x, low, kernel, stride, dilation, channels)
        assert (depthwise_compiled.compiled_depthwise_weight_grad(y, x, low, kernel, stride, dilation) == wanted).all()

for batch, channels, results, size, kernel, stride, low, dilation in WINDOWS:
    for at_end in (True, False):
        print("windows", batch, channels, results, size, kernel, stride, low, dilation, at_end, flush=True)
        kept.clear()
        implicit.np = Fenced(at_end)
        implicit.scratch = lambda size: fenced(size, at_end)
        shapes = (batch, channels, *size), (results, channels, *kernel)
        shapes += conv_output_shape(*shapes, stride, low, dilation), (results,)
        if shapes[2][-1] < 4:
            continue
        x, w, y, bias = (fenced(int(np.prod(shape)), at_end).reshape(shape) for shape in shapes)
        x[...], w[...], bias[...] = 1, 1, 2
        implicit.implicit_correlate(x, w, low, stride, dilation, 1, y, bias)
        assert y.max() <= w[0].size + 2
        y[...] = 1
        wanted = im2col_weight_grad(y, x, low, kernel, stride, dilation, 1)
        assert (implicit.implicit_weight_grad(y, x, low, kernel, stride, dilation, 1) == wanted).all()


# Traced kernels, by the functions that call them.
def body_of(ufunc):
    return lambda *arrays: ufunc(*arrays[:-1], out=arrays[-1])


def try_body(body, dtypes, made):
    """On arrays of all sizes, flat, then with a row for all rows and a number for each, as far as there is machine code."""
    kinds = tuple([plans.kind_of(np.dtype(d)) for d in dtypes])
    for size, at_end in itertools.product((0, 1, 7, 8, 9, 33, 64, 1023, 1030), (True, False)):
        arrays = [fenced(size, at_end, d) for d in dtypes]
        for a in arrays:
            a[...] = 1
        made.append(plans.update(body, arrays, []))
        if not made[-1]:
            kernel = plans.compiled(define_flat, body, plans.signature(body), kinds, 0)
            if kernel is None:
                return
            plans.Plan(kernel, arrays[-1].dtype).share(size, arrays[:-1], arrays[-1], [])
    for shapes in itertools.product(("full", "row", "column", "part"), repeat=len(kinds) - 1):
        for (rows, columns), at_end in itertools.product(((1, 33), (3, 40), (5, 64)), (True, False)):
            wholes = {"full": (rows, columns), "row": (columns,), "column": (rows, 1), "part": (rows, columns + 2)}
            arrays = [fenced(prod(wholes[s]), at_end, d).reshape(wholes[s]) for s, d in zip(shapes, dtypes)]
            arrays = [a[:, 2:] if s == "part" else a for s, a in zip(shapes, arrays)]
            out = fenced(rows * columns, at_end, dtypes[-1])
            found = plans.placed(arrays, kinds[:-1], out.itemsize)
            narrow = any(kind not in ("float32", "float64") for kind in kinds)
            if found is None or (columns % 8 and narrow) or all(s in ("row", "column") for s in shapes):
                continue
            layout, wide, named = found
            kernel = plans.compiled(define_rows, body, plans.signature(body), (*named, f"vector {kinds[-1]}"), 0)
            plans._Rows(kernel, out.dtype, layout, wide).over_rows(arrays, [], out)


FLOATS = [np.float32, np.float16]
made = []
with np.errstate(all="ignore"):
    for ufunc in [*UFUNCS, *COMPARISONS]:
        for dtype in [*FLOATS, np.float64]:
            print("traced", ufunc, dtype, flush=True)
            result = np.bool_ if ufunc in COMPARISONS else dtype
            try_body(body_of(ufunc), [dtype] * ufunc.nin + [result], made)
            kept.clear()
    for a, b in itertools.product((np.float32, np.float16), repeat=2):
        try_body(lambda x, out: out.__setitem__(..., x), [a, b], made)
    for size in (1, 4095, 4097, 8200):
        assert plans.total(as_kernel(lambda x, out: np.multiply(x, x, out), 1), [fenced(size, True)], ()) is not None
assert sum(made) > 500
print("all")
'''
WINDOWS = [
    (3, 2, 5, (14, 14), (5, 5), (1, 1), (0, 0), (1, 1)), (1, 3, 4, (32, 33), (4, 4), (2, 2), (1, 1), (1, 1)), (2, 4, 7, (3, 5), (3, 2), (1, 1), (1, 1), (1, 2)),
    (2, 5, 6, (33,), (5,), (1,), (2,), (1,)), (1, 2, 3, (6, 7, 9), (2, 3, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1)), (1, 1, 1, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1)),
    (3, 2, 4, (5, 41), (3, 4), (2, 4), (0, 2), (1, 1)), (2, 3, 4, (6, 6), (3, 3), (1, 1), (0, 0), (1, 1)), (2, 3, 4, (9, 30), (3, 3), (2, 2), (0, 0), (1, 1)),
]  # fmt: skip
TILES = [
    (1, 8, 8, (16, 18), (0, 0)), (3, 9, 10, (5, 9), (1, 1)), (2, 8, 13, (4, 6), (2, 3)), (1, 16, 16, (65, 90), (1, 0)), (5, 11, 8, (9, 33), (-1, -2)),
    (1, 64, 64, (80, 8), (1, 1)),
]  # fmt: skip


@pytest.mark.skipif(not executable.available(), reason="this machine cannot run AVX2 code")
def test_kernels_stay_within_their_arrays():
    program = (
        PROGRAM.replace("SHAPES", "[(0, 5), (1, 1), (2, 7), (3, 8), (65, 9), (2, 33), (3, 67), (64, 64)]")
        .replace("TILES", repr(TILES))
        .replace("WINDOWS", repr(WINDOWS))
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    last = result.stdout.splitlines()[-1:]
    assert last == ["all"], (last, result.returncode, result.stderr[-2000:])
