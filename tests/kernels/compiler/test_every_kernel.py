"""Every kernel of the package: what its IR means is what its machine code does, in every bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import check_allocation
import every_kernel
import pytest
from every_kernel import (
    LENGTHS,
    TARGETS,
    arguments,
    copied,
    few_registers,
    interpreted,
    kernels,
    machine_code,
    same_bits,
    walk,
    written,
)
from parse_text import parsed

from penlight.kernels import native
from penlight.kernels.compiler import bounds, ir, text, verify, x86
from penlight.kernels.compiler.ir import Kernel

KERNELS = dict(kernels())
needs_native = pytest.mark.skipif(not native.available(), reason="no machine code on this machine")


@pytest.fixture(params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]


def test_there_are_kernels() -> None:
    assert len(KERNELS) > 300


def test_it_is_well_formed_and_its_text_says_all(kernel: Kernel) -> None:
    verify.verify(kernel)
    said = text.printed(kernel)
    again = parsed(said)
    verify.verify(again)
    assert text.printed(again) == said
    touched = {op.attribute for op in walk(kernel.body) if op.name in (*ir.LOADS, *ir.STORES)}
    touched -= {buffer.name for buffer in kernel.buffers.values() if buffer.strided}
    assert {*bounds.requirements(kernel).sizes} == touched


@pytest.mark.parametrize("target", TARGETS)
def test_machine_code_is_what_the_ir_means(kernel: Kernel, target: str) -> None:
    run = machine_code(kernel, TARGETS[target])
    for length in LENGTHS:
        named = arguments(kernel, length, seed=length)
        made = copied(named)
        run(made)
        for name, wanted in interpreted(kernel, named).items():
            assert same_bits(made[name], wanted), (length, name)


@needs_native
def test_with_few_registers(kernel: Kernel) -> None:
    named = arguments(kernel, 9)
    wanted = copied(named)
    machine_code(kernel)(wanted)
    for count in (1, 2, 4, 7):
        target = few_registers(count)
        emitter = x86.Emitter(kernel, target)
        check_allocation.check(kernel, emitter.inputs, emitter.locations, emitter.selection.sources)
        made = copied(named)
        machine_code(kernel, target)(made)
        for name, array in written(kernel, wanted).items():
            assert same_bits(made[name], array), (count, name)


PROGRAM = """
import ctypes, mmap, sys
sys.path.insert(0, {folder!r})
import numpy as np
from every_kernel import TARGETS, arguments, kernels, machine_code

PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)


def fenced(array, at_end):
    '''A copy between two pages that nobody may touch, right before the second one or right after the first.'''
    pages = -(-array.nbytes // PAGE) or 1
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for fence in (start, start + (pages + 1) * PAGE):
        assert libc.mprotect(ctypes.c_void_p(fence), ctypes.c_size_t(PAGE), 0) == 0
    made = np.ndarray(array.shape, array.dtype, memory, (pages + 1) * PAGE - array.nbytes if at_end else PAGE)
    made[...] = array
    return made


for name, kernel in kernels():
    run = machine_code(kernel, TARGETS[{target!r}])
    for length in (0, 1, 8, 9):
        for at_end in (True, False):
            print(name, length, at_end, flush=True)
            named = arguments(kernel, length)
            run({{key: fenced(v, at_end) if isinstance(v, np.ndarray) else v for key, v in named.items()}})
"""


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_outside_of_the_arrays_is_touched(target: str) -> None:
    program = PROGRAM.format(folder=str(Path(every_kernel.__file__).parent), target=target)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, (ran.stdout.splitlines()[-1:], ran.stderr)


BYTES = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from every_kernel import few_registers, kernels
from penlight.kernels.compiler import x86

x86.address_of = lambda name: 1 << 40  # where the C library lies is another address in each process
for name, kernel in kernels():
    for target in (x86.TARGET, few_registers(6)):
        print(name, hashlib.md5(x86.Emitter(kernel, target).finish()).hexdigest())
"""


def test_two_processes_compile_the_same_bytes() -> None:
    """Values lie at other addresses and strings have other hashes in another process; nothing may depend on the order of a set."""
    program = BYTES.format(folder=str(Path(every_kernel.__file__).parent))
    ran = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in ("1", "2")
    ]
    first, second = [process.communicate()[0].splitlines() for process in ran]
    assert len(first) == 2 * len(KERNELS)
    assert first == second
