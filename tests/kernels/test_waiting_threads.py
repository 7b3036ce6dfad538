"""Native kernels shared between threads that wait in machine code: Note [Waiting in machine code]."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable, native, waiting_threads
from penlight.kernels.assembly import thread_pool
from penlight.kernels.softmax import kernels as definitions

pytestmark = pytest.mark.skipif(not executable.available(), reason="native kernels do not run on this machine")


@pytest.fixture
def threads():
    """Sets how many threads there are, for the test's time."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def rows(count: int, columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((count, columns)).astype(np.float32)


def softmax(x: np.ndarray, step: int | None = None) -> np.ndarray:
    """All rows by ranges of `step`, shared; in this thread without it."""
    out = np.full_like(x, np.nan)
    kernel = native.kernel(definitions.softmax)
    if step is None:
        kernel.run(0, len(x), x.shape[1], x, out)
    else:
        waiting_threads.shared(kernel.run)(step, len(x), x.shape[1], x, out)
    return out


@pytest.mark.parametrize("count", [2, 3, 16])
@pytest.mark.parametrize(("total", "step"), [(1, 1), (7, 1), (7, 3), (7, 7), (7, 100), (64, 8), (1000, 1)])
def test_every_range_is_done_once(threads, count, total, step):
    threads(count)
    waiting_threads.step(total, 0)  # starts the helpers
    x = rows(total, 37)
    for _ in range(20):
        assert np.array_equal(softmax(x, step), softmax(x))


def test_a_kernel_gets_all_of_its_arguments(threads):
    """Arrays beyond the sixth argument are passed on the stack, numbers in vector registers."""
    threads(2)

    def define(b):
        arrays = [b.array() for _ in range(8)]
        factors = [b.number() for _ in range(7)]

        def element():
            total = arrays[0].load() * factors[0]()
            for array, factor in zip(arrays[1:7], factors[1:]):
                total = total + array.load() * factor()
            arrays[7].store(total)

        b.each(element)

    kernel = native.kernel(define, flat=True)
    arrays = [np.full(1000, 10.0**k, np.float32) for k in range(7)]
    out = np.zeros(1000, np.float32)
    waiting_threads.shared(kernel.run)(100, 1000, *arrays, out, *[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert (out == 7654321).all()


def test_helpers_help(threads):
    """While the caller does one range, helpers do others: what they did is seen in how long they have run."""
    threads(2)
    x = rows(4096, 256)
    softmax(x, 64)

    def helpers() -> int:
        names = [
            f"/proc/self/task/{thread.native_id}/schedstat"
            for thread in threading.enumerate()
            if thread.name == "penlight-native"
        ]
        return sum(int(open(name).read().split()[0]) for name in names)

    before = helpers()
    end = time.monotonic() + 20
    while helpers() == before and time.monotonic() < end:
        assert np.array_equal(softmax(x, 64), softmax(x))
    assert helpers() > before


def test_work_is_done_alone_while_helpers_are_left_alone(threads):
    """See Note [Preempted helpers]."""
    threads(2)
    x = rows(512, 64)
    memory = waiting_threads._the_pool()._memory
    before = memory[thread_pool.ALONE_UNTIL // 8]
    try:
        memory[thread_pool.ALONE_UNTIL // 8] = 2**62
        assert np.array_equal(softmax(x, 64), softmax(x))
        assert memory[thread_pool.ALONE_UNTIL // 8] == 2**62 and not memory[thread_pool.BUSY // 8]
        memory[thread_pool.ALONE_UNTIL // 8] = 0
        assert np.array_equal(softmax(x, 64), softmax(x))
    finally:
        memory[thread_pool.ALONE_UNTIL // 8] = before


def test_many_python_threads_may_share_at_once(threads):
    """One call has the helpers, the others do their work alone; all are right."""
    threads(2)
    arrays = [rows(300, 200 + k, k) for k in range(8)]
    expected = [softmax(x) for x in arrays]

    def work(k: int) -> bool:
        return all(np.array_equal(softmax(arrays[k], 10), expected[k]) for _ in range(50))

    with ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))


def test_the_number_of_threads_is_kept(threads):
    """Helpers beyond the limit do nothing."""
    threads(4)
    waiting_threads.step(1000, 1)
    threads(2)
    waiting_threads.step(1000, 1)
    assert waiting_threads._the_pool()._memory[thread_pool.LIMIT // 8] == 1
    threads(1)
    assert waiting_threads.step(1000, 1) == 1000
    x = rows(300, 200)
    assert np.array_equal(softmax(x, 10), softmax(x))


def test_idle_helpers_sleep(threads):
    threads(2)
    waiting_threads.step(1000, 1)
    x = rows(100, 100)
    softmax(x, 10)
    memory, end = waiting_threads._the_pool()._memory, time.monotonic() + 20
    while memory[thread_pool.SLEEPING // 8] < waiting_threads._the_pool()._helpers and time.monotonic() < end:
        time.sleep(0.01)
    assert memory[thread_pool.SLEEPING // 8] == waiting_threads._the_pool()._helpers
    assert np.array_equal(softmax(x, 10), softmax(x))  # and they wake up again


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_helpers_of_its_own():
    code = (
        "import os, numpy as np, penlight as torch\n"
        "torch.set_num_threads(2)\n"
        "x = torch.linspace(-2, 2, 1 << 20)\n"
        "expected = x.tanh().sum().item()\n"
        "child = os.fork()\n"
        "assert x.tanh().sum().item() == expected\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
        "print('ok', flush=True)\n"
        "os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ok", "ok"], done.stderr


def test_a_program_ends_while_helpers_wait():
    code = "import penlight as torch; torch.set_num_threads(3); print(torch.ones(1 << 20).exp().tanh().shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""


def test_helpers_outlive_what_python_frees_at_its_end():
    """Helpers may still be looking for work, or doing some, when the interpreter takes the modules apart."""
    code = (
        "import gc, sys, time, penlight as torch\n"
        "torch.set_num_threads(4)\n"
        "x = torch.ones(1 << 19)\n"
        "x.exp().exp()\n"
        "for name in [n for n in sys.modules if n.startswith('penlight')]: vars(sys.modules.pop(name)).clear()\n"
        "gc.collect()\n"
        "time.sleep(0.02)\n"
        "print('ended')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ended\n", (done.returncode, done.stderr)


def test_results_do_not_depend_on_who_does_what(threads):
    x = torch.linspace(-3, 3, 300_000)
    threads(1)
    alone = [x.tanh(), x * x, x.sum(), x.reshape(300, 1000).softmax(1)]
    threads(2)
    for _ in range(5):
        together = [x.tanh(), x * x, x.sum(), x.reshape(300, 1000).softmax(1)]
        assert all(torch.equal(a, b) for a, b in zip(alone, together))
