"""Machine code takes arrays that fit its signature, and refuses all others before it runs: Note [Calling machine code]."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

from penlight.kernels import call, executable, native, waiting_threads

here = pytest.mark.skipif(not executable.available(), reason="this machine runs no machine code")


def unpickled(array):
    """The same array with a dtype object of its own."""
    copy = pickle.loads(pickle.dumps(array))
    assert copy.dtype is not array.dtype
    return copy


@pytest.fixture
def seen():
    """What a function of a signature passes on."""
    calls = []

    def function(signature):
        return call.checked(lambda *arguments: calls.append(arguments), call.parse(signature))

    function.calls = calls
    return function


def test_a_signature_is_read():
    signature = call.parse(
        "low, high, x: f32[high * 2], out: written strided b8, w: optional f64, s: float where high > low"
    )
    assert [argument.type for argument in signature.arguments] == ["int", "int", "f32", "b8", "f64", "float"]
    assert signature.arguments[3].words == {"written", "strided"}
    assert signature.where == "high > low"
    with pytest.raises(ValueError, match="not an argument"):
        call.parse("low, x: f32[2")


def test_arrays_are_passed_on(seen):
    x, out = np.zeros(6, np.float32), np.zeros(3)
    seen("rows, x: f32[rows * 2], out: written f64[rows], scale: float")(3, x, out, 0.5)
    assert seen.calls == [(3, id(x), id(out), 0.5)]


def test_dtypes_are_compared_by_equality(seen):
    function = seen("n, x: f32[n], i: i64[n]")
    x, index = unpickled(np.zeros(4, np.float32)), unpickled(np.zeros(4, np.int64))
    function(4, x, index)
    assert seen.calls == [(4, id(x), id(index))]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3, np.float32), "it has 3 elements where 4 are needed"),
        (np.zeros(4), "elements of <f8 where f32 is expected"),
        (np.zeros(4, ">f4"), "elements of >f4"),
        (np.zeros(8, np.float32)[::2], "it is not contiguous"),
        (np.zeros(4, np.float32)[::-1], "it is not contiguous"),
        (np.float32(1), "float32 is not an array"),
        (None, "NoneType is not an array"),
        ([0.0] * 4, "list is not an array"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(seen, array, message):
    with pytest.raises(ValueError, match=message):
        seen("n, x: f32[n]")(4, array)
    assert not seen.calls


def test_what_is_written_must_be_writable(seen):
    x = np.zeros(4, np.float32)
    x.flags.writeable = False
    seen("n, x: f32[n]")(4, x)
    with pytest.raises(ValueError, match="output array is read-only"):
        seen("n, x: written f32[n]")(4, x)


def test_conditions_and_optional_arrays(seen):
    function = seen("n, x: optional f32[n] where n % 8 == 0")
    function(8, None)
    assert len(seen.calls) == 1
    with pytest.raises(ValueError, match="n % 8 == 0"):
        function(9, None)


def test_objects_are_never_bytes(seen):
    with pytest.raises(ValueError, match="elements of"):
        seen("n, x: b8[n]")(1, np.array([None]))


@here
def test_forked_processes_share_the_memory_of_code_and_do_not_overwrite_each_other():
    program = """
import os
import numpy as np
from penlight.kernels import call, native

def run(times):
    def define(b):
        x = b.array()
        b.each(lambda: x.store(x.load() * times))
    x = np.ones(5, np.float32)
    kernel = native.Kernel(define)
    return kernel, lambda: (kernel.run(0, 1, 5, x), float(x[0]))[1]

first = run(2.0)
child = os.fork()
made = [run(float(i + (100 if child else 200))) for i in range(50)]
wanted = [float(i + (100 if child else 200)) for i in range(50)]
assert [function() for _, function in made] == wanted
assert first[1]() == 2.0
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@here
def test_kernels_are_had_after_the_system_refuses_executable_memory():
    """A sandbox that is applied later changes nothing: Note [Executable memory]."""
    program = """
import os
import penlight as torch
from penlight.kernels import executable

torch.randn(70000).exp()
before = len(os.listdir("/proc/self/fd"))
def refuse(*args, **kwargs):
    raise PermissionError(1, "refused")
executable._Memory.__init__ = refuse
x = torch.linspace(-2, 2, 70000)
assert abs(torch.erf(x)[-1].item() - 0.99532) < 1e-4
assert torch.nn.functional.max_pool2d(x[:6400].reshape(1, 1, 80, 80), 2).shape[-1] == 40
torch.softmax(x.reshape(100, 700), 1).sum().item()
assert len(os.listdir("/proc/self/fd")) == before
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_without_memory_for_code_numpy_does_the_work():
    program = """
import ctypes
import penlight as torch
from penlight.kernels import executable

executable._Memory.__init__ = lambda self: (_ for _ in ()).throw(OSError(1, "refused"))
executable.llvm_obstacle = lambda: "refused"
assert not executable.compiles()
x = torch.linspace(-2, 2, 70000, requires_grad=True)
torch.erf(x).sum().backward()
torch.softmax(x.reshape(100, 700), 1).sum().item()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@here
def test_threads_that_are_refused_are_done_without():
    program = """
import threading
import penlight as torch

def refuse(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
torch.set_num_threads(4)
x = torch.randn(300, 500, requires_grad=True)
w = torch.randn(500, 600, requires_grad=True)
(torch.tanh(x @ w).softmax(1) ** 2).sum().backward()
torch.nn.functional.conv2d(torch.randn(4, 8, 40, 40), torch.randn(8, 8, 3, 3)).sum().item()
torch.linalg.svd(torch.randn(20, 30, 30))
torch.special.gammaln(torch.rand(100000)).sum().item()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@here
def test_there_is_an_end_to_the_memory_of_code(monkeypatch):
    memory = executable._memory()
    monkeypatch.setattr(memory, "_take", lambda counter, size: executable._ROOM)
    with pytest.raises(MemoryError, match="PENLIGHT_NATIVE=0"):
        memory.put(b"\xc3")


@here
def test_ranges_are_shared_with_the_same_checks():
    def define(b):
        x = b.array()
        b.each(lambda: x.store(x.load() + 1.0))

    kernel, x = native.Kernel(define), np.zeros((50, 8), np.float32)
    waiting_threads.shared(kernel.run)(10, 50, 8, x)
    assert (x == 1).all()
    with pytest.raises(ValueError, match="400 elements where 408"):
        waiting_threads.shared(kernel.run)(10, 51, 8, x)


@pytest.mark.parametrize("make", [list, np.array])
def test_tables_get_the_addresses_of_arrays(make):
    first, second = np.zeros(3), np.zeros(2, np.int8)
    words = make([8, 1, 0])
    call.add_addresses(words, [0, 2], [second, first], [1, 0])
    assert [int(word) for word in words] == [first.ctypes.data + 8, 1, second.ctypes.data]


@pytest.mark.parametrize("unfit", [np.zeros(2, object), np.zeros(2, np.dtype(float).newbyteorder())])
def test_tables_refuse_arrays_that_no_code_can_read(unfit):
    with pytest.raises(ValueError, match="unfit array"):
        call.add_addresses([0], [0], [unfit], [0])
