"""Faults of the system, of which a program must survive each: refused threads, memory and files, Ctrl-C, fork, the end of Python.

Each test is a program in a child process. It ends with "ok".
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from .common import can_refuse_written_memory

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits and signals as on Linux")
HEAD = """
import faulthandler, multiprocessing
faulthandler.enable()
faulthandler.dump_traceback_later(240, exit=True)
multiprocessing.set_start_method("fork")  # Python 3.14 has a server that forks, which faults end for all workers to come
from tests.faults.common import *
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    paths = f"{ROOT / 'src'}:{ROOT}"
    return subprocess.run(
        [sys.executable, "-c", HEAD + textwrap.dedent(program)], capture_output=True, text=True, cwd=ROOT, timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([paths, *sys.path]), **environment},
    )  # fmt: skip


def passes(program: str, **environment: str) -> None:
    result = run(program, **environment)
    assert result.returncode == 0 and result.stdout.splitlines()[-1:] == ["ok"], (
        result.returncode,
        result.stdout[-1500:],
        result.stderr[-3000:],
    )
    said = re.sub(_OF_MULTIPROCESSING, "", result.stderr, flags=re.DOTALL)
    assert "Exception ignored" not in said and "Traceback" not in said, said[-3000:]


# Ctrl-C in the constructor of multiprocessing's own Finalize, before it has its fields, or while it deletes a connection.
_OF_MULTIPROCESSING = (
    r"Exception ignored in: <Finalize object.*?AttributeError: 'Finalize' object has no attribute '_\w+'\n"
    r"|Exception ignored in: <function _ConnectionBase\.__del__ at .*?\nStop: \n"
)


@pytest.mark.parametrize("chance", [1.0, 0.5])
def test_threads_are_refused(chance: float) -> None:
    passes(f"""
        import threading
        torch.set_num_threads(1)
        wanted = Watch(train, ops)
        refused, start = sometimes({chance}), threading.Thread.start
        def refuse(self):
            if refused():
                raise RuntimeError("can't start new thread")
            start(self)
        threading.Thread.start = refuse
        for count in (4, 2, 3):
            torch.set_num_threads(count)
            wanted.state = state()
            wanted.check()
        threading.Thread.start = start
        torch.set_num_threads(4)
        wanted.state = state()
        wanted.check()
        print("ok")
    """)


REFUSALS = {
    "from the beginning": """
        from penlight.kernels import executable
        def refuse(self):
            raise OSError(13, "refused")
        executable._Memory.__init__ = refuse
        assert not executable.available()
    """,
    "of memory that was written": """
        refuse_written_memory()
    """,
    "of written memory after the first kernels": """
        assert torch.randn(5000).erf().isfinite().all()
        refuse_written_memory()
    """,
}


@pytest.mark.parametrize("when", REFUSALS)
def test_executable_memory_is_refused(when: str) -> None:
    if "written" in when and not can_refuse_written_memory():
        pytest.skip("this Linux has no MemoryDenyWriteExecute")
    undisturbed = run("print(repr((train(), ops())))").stdout
    passes(
        textwrap.dedent(REFUSALS[when])
        + textwrap.dedent("""
        found, wanted = (train(), ops()), UNDISTURBED
        assert close(found[0], wanted[0]) and close(found[1], wanted[1]), (found, wanted)
        print("ok")
    """).replace("UNDISTURBED", undisturbed.strip())
    )


def test_memory_is_refused() -> None:
    """Under a limit that large work exceeds: an error, after which the same process works as before."""
    passes("""
        import resource
        watch = Watch(train, ops)
        failed = 0
        for megabytes in (30, 60, 90, 120, 150, 200):
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), resource.RLIM_INFINITY))
            x = None
            try:
                x = torch.randn(1500, 1700, requires_grad=True)
                y = (F.softmax(x, -1) * x.sin()).cumsum(0).erf()
                y = F.layer_norm(y, (1700,)).sort(-1)[0] @ x.T
                y.sum().backward()
            except MemoryError:
                failed += 1
            except (RuntimeError, OSError) as error:  # of a thread or a mapping
                assert "thread" in str(error) or "memory" in str(error).lower(), error
                failed += 1
            x = y = None
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            watch.check()
        assert failed, "the limits were too high to refuse anything"
        print("ok")
    """)


def test_file_descriptors_are_refused() -> None:
    passes(
        """
        import os, resource, tempfile
        watch = Watch(ops)
        directory = tempfile.mkdtemp()
        path = os.path.join(directory, "a.pt")
        torch.save({"w": torch.arange(3)}, path)
        from torch_name import DataLoader, data
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        kept = [os.open("/dev/null", os.O_RDONLY)]
        used = max(int(n) for n in os.listdir("/proc/self/fd")) + 1
        for free in (0, 1, 2, 3, 5, 8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (used + free, hard))
            for attempt in (lambda: torch.save({"w": torch.arange(5)}, path), lambda: torch.load(path), lambda: list(DataLoader(data, 2, num_workers=2)), lambda: torch.randn(70000).erf().sum()):
                try:
                    attempt()
                except OSError as error:
                    assert error.errno == 24, error
                except RuntimeError as error:
                    assert "thread" in str(error) or "worker" in str(error), error
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert torch.load(path)["w"].tolist() in ([0, 1, 2], [0, 1, 2, 3, 4])
            assert os.listdir(directory) == ["a.pt"], os.listdir(directory)
            assert len(list(DataLoader(data, 2, num_workers=2))) == 10
            watch.check()
        print("ok")
    """.replace(
            "from torch_name import DataLoader, data",
            "DataLoader = torch.utils.data.DataLoader; data = list(torch.arange(20.0))",
        )
    )


INTERRUPT = """
    import os, random, signal, tempfile, time
    class Stop(KeyboardInterrupt):
        pass
    def stop(number, frame):
        raise Stop
    signal.signal(signal.SIGALRM, stop)
    stream = random.Random(SEED)
    def disturbed(work, longest):
        # The work, ended by Ctrl-C after a random time. Whether it was.
        try:
            signal.setitimer(signal.ITIMER_REAL, stream.uniform(1e-5, longest))
            work()
            signal.setitimer(signal.ITIMER_REAL, 0)
            return False
        except Stop:
            return True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    def duration(work):
        work()
        taken = []
        for _ in range(5):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
        return min(taken)  # another process may have taken the processor meanwhile
"""


@pytest.mark.parametrize("seed", range(2))
def test_ctrl_c_in_training(seed: int) -> None:
    passes(
        textwrap.dedent(INTERRUPT).replace("SEED", str(seed))
        + textwrap.dedent("""
        watch = Watch(lambda: train(1), ops)
        # Not blocks of the user's own (`with torch.no_grad():`): Ctrl-C at the first instruction of `__exit__` undoes nothing, in any library.
        count = 0
        works = [(w, duration(w)) for w in (lambda: train(1), ops)]
        for turn in range(60):
            for work, longest in works:
                count += disturbed(work, longest)
            if turn % 10 == 9:
                watch.check()
        assert state() == watch.state
        assert count > 40, count
        print("ok")
    """)
    )


def test_ctrl_c_in_a_step_that_is_done_again() -> None:
    """Gradients, versions and the generator after an interrupted step: zero_grad and another step give the right numbers."""
    passes(
        textwrap.dedent(INTERRUPT).replace("SEED", "5")
        + textwrap.dedent("""
        net = model()
        x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
        def step():
            net.zero_grad()
            torch.manual_seed(3)
            F.cross_entropy(net(x), y).backward()
        step()
        wanted = [p.grad.sum().item() for p in net.parameters()]
        longest = duration(step)
        versions = [p._version for p in net.parameters()]
        for turn in range(60):
            disturbed(step, longest)
            step()
            assert close([p.grad.sum().item() for p in net.parameters()], wanted)
            assert [p._version for p in net.parameters()] == versions
        buffer = torch.zeros(300, 300)
        def write():
            for _ in range(20):
                buffer.add_(1)
                buffer[::2].mul_(1)
        longest = duration(write)
        for turn in range(60):
            disturbed(write, longest)
            assert buffer.min() == buffer.min() and buffer._version > 0
        print("ok")
    """)
    )


def test_ctrl_c_while_saving_and_loading_data() -> None:
    passes(
        textwrap.dedent(INTERRUPT).replace("SEED", "7")
        + textwrap.dedent("""
        directory = tempfile.mkdtemp()
        path = os.path.join(directory, "a.pt")
        torch.save({"w": torch.zeros(50000)}, path)
        data = list(torch.arange(40.0))
        numbers = iter(range(10**6))
        def save():
            torch.save({"w": torch.full((50000,), float(next(numbers)))}, path)
        def loaded():
            return sum(b.sum().item() for b in torch.utils.data.DataLoader(data, 4, shuffle=True))
        def with_workers():
            return sum(b.sum().item() for b in torch.utils.data.DataLoader(data, 4, num_workers=2))
        for work, turns in ((save, 60), (loaded, 40), (with_workers, 8)):
            longest = duration(work)
            for turn in range(turns):
                disturbed(work, longest)
                w = torch.load(path)["w"]
                assert w.shape == (50000,) and (w == w[0]).all()
                left = [n for n in os.listdir(directory) if n != "a.pt"]
                assert not left, left
            assert loaded() == 780.0
        assert with_workers() == 780.0
        print("ok")
    """)
    )


def test_fork_with_live_threads() -> None:
    passes("""
        import os, threading
        torch.set_num_threads(3)
        watch = Watch(train, ops)
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                torch.randn(300, 300).softmax(-1).sum()
        threads = [threading.Thread(target=busy) for _ in range(2)]
        for t in threads:
            t.start()
        for turn in range(6):
            child = os.fork()
            if not child:
                try:
                    watch.check()
                    os._exit(0)
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    os._exit(1)
            for _ in range(600):
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    break
                import time
                time.sleep(0.1)
            else:
                os.kill(child, 9)
                raise SystemExit("a forked child hangs")
            assert os.waitstatus_to_exitcode(status) == 0
        stop.set()
        for t in threads:
            t.join()
        watch.check()
        print("ok")
    """)


# What runs after `sys.modules` has been emptied, on tensors that were made before. Nothing of it has been used before.
LATE = """
    class Late:
        def __init__(self):
            self.net = nn.Sequential(nn.Linear(70, 50), nn.Tanh(), nn.Linear(50, 3))
            self.optimizer = torch.optim.Adam(self.net.parameters())
            self.x = torch.full((5000,), 0.5, requires_grad=True)
            self.view = torch.zeros(4)[1:]
        def work(self):
            x, weight = self.x, self.net[0].weight
            y = (x.erf() * x).softmax(0).sum() + x[x > 0].sum() + x.cumsum(0).mean() + x.reshape(50, 100).sort(-1)[0].sum()
            y.backward()
            assert x.grad.isfinite().all() and x.grad.abs().sum().item() > 5000
            before = weight.detach().clone()
            loss = self.net(torch.ones(2, 70)).square().sum()
            leaf = loss.grad_fn.next_functions[0][0].next_functions[0][0].next_functions[0][0].variable
            assert leaf is self.net[2].bias
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
            assert (weight - before).abs().max().item() > 1e-4 and weight.grad is None
            assert "requires_grad=True" in repr(weight) and "Linear" in repr(self.net), repr(weight)
            self.view._base.add_(1)
            assert self.view._version > 0 and self.view.tolist() == [self.view._version] * 3
            assert F.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 3, 3)).sum().item() == 81
            assert (torch.ones(200, 200) @ torch.ones(200, 200)).var().item() == 0
            assert torch.linalg.svd(torch.eye(3))[1].tolist() == [1, 1, 1]
            assert torch.fft.fft(torch.ones(3)).real.tolist() == [3, 0, 0]
            assert torch.distributions.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(2)).shape == (2,)
            assert torch.vmap(torch.sin)(torch.zeros(2, 2)).tolist() == [[0, 0], [0, 0]]
            try:
                torch.ones(3) + torch.ones(4)
            except RuntimeError as error:
                assert "must match" in str(error)
        def __del__(self):
            self.work()
            print("ok")
"""
SHUTDOWN = {
    "a global's __del__": f"{LATE}\n    late = Late()",
    "a global's __del__, of ops that were used before": f"{LATE}\n    late = Late()\n    Late().work()",
    "a global of a module without functions": f"""{LATE}
    import sys, types
    module = types.ModuleType("late")
    sys.modules["late"], module.late = module, Late()
    del module
    """,
    "a global in a cycle": f"""{LATE}
    import gc
    gc.disable()
    late = Late()
    late.self = late
    late.w = torch.ones(3)
    late.w.late = late
    del late
    """,
    "atexit": """
        import atexit
        def late():
            train(1)
            print("ok")
        atexit.register(late)
    """,
    "a daemon thread": """
        import threading
        def work():
            while True:
                torch.randn(300, 300).erf().softmax(-1).sum()
        threading.Thread(target=work, daemon=True).start()
        train(1)
        print("ok", flush=True)
    """,
}


@pytest.mark.parametrize("name", SHUTDOWN)
def test_the_end_of_the_interpreter(name: str) -> None:
    passes(SHUTDOWN[name])


def test_twelve_threads_train_at_once() -> None:
    passes("""
        import threading
        def work():
            # torch.manual_seed is of the whole process: a thread here has a generator of its own.
            stream = torch.Generator().manual_seed(5)
            w = torch.randn(64, 200, generator=stream, requires_grad=True)
            found = []
            for step in range(8):
                x = torch.randn(40, 200, generator=stream)
                loss = F.layer_norm(F.gelu(x @ w.T), (64,)).softmax(-1).square().sum() + w[w > 0].erf().mean()
                (grad,) = torch.autograd.grad(loss, w)
                with torch.no_grad():
                    w -= 0.1 * grad
                found.append(loss.item())
            return found
        for count in (1, 3):
            torch.set_num_threads(count)
            wanted, results, errors = work(), [], []
            def thread():
                try:
                    for _ in range(3):
                        results.append(work())
                        assert torch.is_grad_enabled()
                except BaseException as error:
                    errors.append(error)
            threads = [threading.Thread(target=thread) for _ in range(12)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            assert not errors, errors[0]
            assert len(results) == 36 and all(close(r, wanted) for r in results), [r for r in results if not close(r, wanted)][:1] + [wanted]
        print("ok")
    """)


def test_garbage_collected_while_a_mode_is_set() -> None:
    """Note [Garbage collection in ContextVar.set] in autograd/modes.py: finalisers that switch modes and compute."""
    passes("""
        import gc
        import penlight as torch

        @torch.no_grad()
        def batches():
            yield 1
            yield 2

        class Loop:
            def __init__(self):
                self.itself, self.batches = self, batches()
                next(self.batches)

            def __del__(self):
                assert (torch.ones(2) / 0).tolist() == [float("inf")] * 2

        gc.set_threshold(3)
        x = torch.tensor([1.0, 2.0])
        for step in range(1500):
            Loop()
            value, slope = torch.func.jvp(torch.sin, (x,), (x,))
            assert torch.is_grad_enabled()
            assert torch.equal(slope, x.cos() * x), step
            assert torch.func.vmap(lambda a: a * 2)(x).tolist() == [2.0, 4.0], step
        print("ok")
    """)
