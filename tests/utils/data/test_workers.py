"""DataLoader with worker processes: order, seeds, errors, and that nothing is left behind."""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import penlight as torch
from penlight._common.interrupts import interrupts_deferred
from penlight.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info
from penlight.utils.data._utils import blocks

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the datasets here are made by fork"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]


def children():
    """The processes that have this one as their parent, zombies included."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.append(int(name))
    return found


@pytest.fixture(autouse=True)
def nothing_left_behind():
    if not os.path.isdir("/proc/self/fd"):
        yield
        return
    warm_up()
    before, open_before = set(children()), len(os.listdir("/proc/self/fd"))
    gc.freeze()  # what was there before is not searched for garbage: after thousands of tests that takes seconds
    yield
    gc.collect()
    gc.unfreeze()
    assert set(children()) == before
    assert len(os.listdir("/proc/self/fd")) <= open_before


def warm_up():
    """What multiprocessing itself keeps open is open after this."""
    import multiprocessing.connection  # noqa: F401


def lists(loader):
    return [batch.tolist() for batch in loader]


def flat(loader):
    return [number for batch in loader for number in batch.tolist()]


class Stream(IterableDataset):
    """Each worker has its part of the numbers, given by where it begins."""

    def __init__(self, *bounds):
        self.bounds = bounds

    def __iter__(self):
        info = get_worker_info()
        if info is None:
            return iter(range(self.bounds[-1]))
        return iter(range(self.bounds[info.id], self.bounds[info.id + 1]))


class Trap(Dataset):
    """Numbers, until something happens at 5."""

    def __init__(self, action):
        self.action = action

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return self.action() if index == 5 else index


def fail():
    raise ValueError("five")


class Awkward(Exception):
    def __init__(self, one, two):
        super().__init__(one, two)


def fail_awkwardly():
    raise Awkward(1, 2)


# ----- Order ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"prefetch_factor": 1}, {"prefetch_factor": 5}, {"persistent_workers": True}])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_order_does_not_depend_on_workers(workers, options):
    torch.manual_seed(3)
    expected = [lists(DataLoader(range(11), batch_size=2, shuffle=True)) for _ in range(1)]
    torch.manual_seed(3)
    loader = DataLoader(range(11), batch_size=2, shuffle=True, num_workers=workers, **options)
    assert [lists(loader)] == expected
    assert sorted(flat(loader)) == list(range(11))


def test_tensors_arrive_as_they_were():
    dataset = TensorDataset(torch.arange(6.0).view(3, 2), torch.tensor([True, False, True]))
    (x, flags), _ = list(DataLoader(dataset, batch_size=2, num_workers=2))
    assert x.tolist() == [[0.0, 1.0], [2.0, 3.0]] and flags.tolist() == [True, False]
    x[0, 0] = 5.0  # writable


def test_streams_are_shared_out():
    loader = DataLoader(Stream(0, 2, 3, 9), batch_size=2, num_workers=3)
    assert lists(loader) == [[0, 1], [2], [3, 4], [5, 6], [7, 8]]
    assert lists(loader) == [[0, 1], [2], [3, 4], [5, 6], [7, 8]]
    loader = DataLoader(Stream(0, 2, 3, 9), batch_size=2, num_workers=3, drop_last=True, persistent_workers=True)
    assert lists(loader) == [[0, 1], [3, 4], [5, 6], [7, 8]]
    assert lists(loader) == [[0, 1], [3, 4], [5, 6], [7, 8]]
    assert list(DataLoader(Stream(0, 3, 5), batch_size=None, num_workers=2)) == [0, 3, 1, 4, 2]


class Slow(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        if index == 0:
            time.sleep(0.5)
        return index


def test_out_of_order_only_when_asked_for():
    assert lists(DataLoader(Slow(), num_workers=2)) == [[0], [1], [2], [3]]
    loose = flat(DataLoader(Slow(), num_workers=2, in_order=False))
    assert loose[0] == 1 and sorted(loose) == [0, 1, 2, 3]


def test_persistent_workers_stay_and_survive_an_early_end():
    loader = DataLoader(range(20), num_workers=2, persistent_workers=True)
    first = iter(loader)
    pids = [worker.pid for worker in loader._iterator._workers]
    for batch in first:
        if batch.item() == 3:
            break
    assert flat(loader) == list(range(20))
    assert [worker.pid for worker in loader._iterator._workers] == pids


# ----- Workers ------------------------------------------------------------------------------------------------------------


class Draws(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        info = get_worker_info()
        assert info.dataset is self
        return info.id, info.num_workers, info.seed, random.random(), torch.rand(1).item(), np.random.rand()


def test_every_worker_has_a_seed_of_its_own():
    def run():
        return list(DataLoader(Draws(), batch_size=None, num_workers=2, generator=torch.Generator().manual_seed(3)))

    one = run()
    assert one == run()
    assert [draw[:2] for draw in one] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert one[1][2] == one[0][2] + 1
    assert len({draw[3] for draw in one}) == len({draw[4] for draw in one}) == len({draw[5] for draw in one}) == 4
    assert get_worker_info() is None


class Remember(Dataset):
    note = None

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return self.note


def test_worker_init_fn():
    def initialise(worker):
        get_worker_info().dataset.note = worker * 10

    assert list(DataLoader(Remember(), batch_size=None, num_workers=2, worker_init_fn=initialise)) == [0, 10]

    def refuse(worker):
        raise ValueError("not today")

    with pytest.raises(ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0.*not today"):
        list(DataLoader(Remember(), num_workers=1, worker_init_fn=refuse))


def test_other_ways_to_start_a_process():
    """In a program of its own, since multiprocessing keeps a server for these methods."""
    process = run(
        """
        import penlight as torch
        from penlight.utils.data import DataLoader, TensorDataset

        dataset = TensorDataset(torch.arange(4), torch.ones(4))
        for method in ("spawn", "forkserver"):
            loader = DataLoader(dataset, batch_size=2, num_workers=1)
            print(method, [x.tolist() for x, _ in loader])
            assert all(t._array.dtype is t.dtype.np for batch in loader for t in batch)
        try:
            list(DataLoader([1], num_workers=1, collate_fn=lambda batch: batch, multiprocessing_context="spawn"))
        except Exception as error:
            print("pickle" in str(error))
        """,
        warn="always",
    )
    out, err = process.communicate(timeout=300)
    assert out.splitlines() == ["spawn [[0, 1], [2, 3]]", "forkserver [[0, 1], [2, 3]]", "True"], err
    assert "Got pickle error when attempting to start a worker Process" in err


# ----- What goes between processes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory_files", [True, False])
def test_large_and_many(memory_files, monkeypatch):
    monkeypatch.setattr(blocks, "HAVE_MEMORY_FILES", memory_files and blocks.HAVE_MEMORY_FILES)
    pictures = [torch.full((200, 300), float(number)) for number in range(6)]
    loaded = list(DataLoader(pictures, batch_size=2, num_workers=2, prefetch_factor=3))
    assert [batch[0, 0, 0].item() for batch in loaded] == [0.0, 2.0, 4.0] and loaded[1].shape == (2, 200, 300)
    texts = [["x" * 1000] * 300] * 6
    assert [len(text) for text in DataLoader(texts, batch_size=None, num_workers=2, prefetch_factor=3)] == [300] * 6
    # Lists of indices that are larger than a pipe holds, to a worker that is busy.
    loader = DataLoader(range(200_000), batch_size=50_000, num_workers=1, prefetch_factor=4)
    assert sum(len(batch) for batch in loader) == 200_000


def test_many_batches_can_be_kept():
    batches = list(DataLoader([torch.ones(20_000)] * 60, num_workers=2))
    assert len(batches) == 60 and len(os.listdir("/proc/self/fd")) < 60


def numbered(count, size=40_000):
    """Pictures that say which they are, large enough for shared memory."""
    return [torch.full((size,), float(number)) for number in range(count)]


def test_shared_memory_is_used_again_but_never_under_an_array():
    """Kept batches, views of them and arrays over them stay as they are while later batches come."""
    loader = DataLoader(numbered(80), batch_size=2, num_workers=2, persistent_workers=True)
    for _ in range(2):
        kept = {}
        for position, batch in enumerate(loader):
            assert batch[:, ::7919].tolist() == [[2.0 * position] * 6, [2.0 * position + 1] * 6]
            if position % 5 == 0:
                kept[position] = batch if position % 2 else batch[1].numpy()[::2]
            elif position % 7 == 0:
                kept[position] = memoryview(batch.detach().untyped_storage()._bytes)
            del batch
        gc.collect()
        for position, array in kept.items():
            first = (
                np.frombuffer(array, np.float32)[0] if isinstance(array, memoryview) else float(array.reshape(-1)[0])
            )
            assert first == 2 * position + (position % 5 == 0 and position % 2 == 0)
    mapped = loader._iterator._pool.mapped
    assert 0 < sum(len(blocks_of._memory) for blocks_of in mapped) <= 2 * blocks._MOST


def test_growing_batches_and_whoever_keeps_them_all():
    batches = [[number] * size for number, size in enumerate([1, 2, 4, 8, 16, 3, 32] * 6)]
    loader = DataLoader(numbered(len(batches), 20_000), batch_sampler=batches, num_workers=2, prefetch_factor=4)
    loaded = list(loader)
    assert [len(batch) for batch in loaded] == [len(batch) for batch in batches]
    assert all(bool((batch == number).all()) for number, batch in enumerate(loaded))
    assert len(os.listdir("/proc/self/fd")) < 60


def test_custom_batches_and_arrays_go_the_same_way():
    def collate(samples):
        stacked = np.stack([sample.numpy() for sample in samples])
        return {
            "plain": stacked,
            "turned": torch.from_numpy(stacked).T,
            "twice": (stacked, stacked),
            "text": "x" * 99_999,
        }

    for position, batch in enumerate(DataLoader(numbered(20), batch_size=2, num_workers=2, collate_fn=collate)):
        assert batch["plain"][1, 5] == 2 * position + 1 and batch["turned"].shape == (40_000, 2)
        assert batch["turned"].stride() == (1, 40_000) and len(batch["text"]) == 99_999
        assert batch["twice"][0] is batch["twice"][1]


@pytest.mark.parametrize("size", [3, 40_000])
def test_arrays_have_the_dtypes_of_numpy(size):
    """Not equal ones that a pickle has made: machine code is chosen by dtype."""
    pytest.importorskip("ml_dtypes")  # which 32 bit systems lack
    kinds = [torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.complex64, torch.uint8]
    samples = [tuple(torch.ones(size).to(kind) for kind in kinds)] * 2
    for data in (samples, TensorDataset(*(torch.stack([one, one]) for one in samples[0]))):
        (batch,) = DataLoader(data, batch_size=2, num_workers=1)
        for tensor, kind in zip(batch, kinds, strict=True):
            assert tensor.dtype is kind and tensor._array.dtype is kind.np and tensor.shape == (2, size)
    arrays = [(np.ones(size, np.float32), np.asfortranarray(np.ones((size, 2), np.int32)), np.float64(3))]
    (batch,) = DataLoader(arrays, batch_size=None, num_workers=1, collate_fn=tuple)
    assert (
        batch[0].dtype is np.dtype(np.float32) and batch[1].dtype is np.dtype(np.int32) and batch[1].flags.f_contiguous
    )


def test_nothing_has_a_name():
    """Neither in /dev/shm nor elsewhere, even while batches are under way and when a worker is killed."""
    if not os.path.isdir("/dev/shm"):
        pytest.skip("this system has no /dev/shm to look into")
    before = set(os.listdir("/dev/shm"))
    iterator = iter(DataLoader(numbered(50), num_workers=2))
    batch = next(iterator)
    os.kill(iterator._workers[1].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)
    assert set(os.listdir("/dev/shm")) <= before
    assert float(batch[0, -1]) == 0.0


def test_tensors_with_history_are_refused():
    def collate(batch):
        return torch.ones(1, requires_grad=True) * 2

    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        list(DataLoader([1], num_workers=1, collate_fn=collate))
    leaf = next(iter(DataLoader([1], num_workers=1, collate_fn=lambda batch: torch.ones(1, requires_grad=True))))
    assert leaf.requires_grad and leaf.is_leaf


# ----- Errors -------------------------------------------------------------------------------------------------------------


def test_exceptions_come_back_with_their_traceback():
    got = []
    with pytest.raises(
        ValueError, match=r"(?s)Caught ValueError in DataLoader worker process 0\.\nOriginal Traceback.*five"
    ):
        for batch in DataLoader(Trap(fail), batch_size=2, num_workers=2):
            got.append(batch.tolist())
    assert got == [[0, 1], [2, 3]]
    with pytest.raises(RuntimeError, match=r"(?s)Caught Awkward in DataLoader worker process .*Awkward: \(1, 2\)"):
        list(DataLoader(Trap(fail_awkwardly), num_workers=2))
    with pytest.raises(KeyError) as caught:
        list(DataLoader(Trap(lambda: {}["missing"]), num_workers=2))
    assert str(caught.value).startswith("Caught KeyError in DataLoader worker process 1.\nOriginal Traceback")


def test_loading_goes_on_after_an_exception():
    iterator = iter(DataLoader(Trap(fail), num_workers=2))
    got = []
    while True:
        try:
            got.append(next(iterator).item())
        except ValueError:
            got.append("failed")
        except StopIteration:
            break
    assert got == [0, 1, 2, 3, 4, "failed", 6, 7]


def test_what_cannot_be_pickled_is_an_error_and_not_a_silence():
    with pytest.raises(Exception, match=r"(?s)Caught \w+ in DataLoader worker process 1.*pickle"):
        list(DataLoader(Trap(lambda: lambda: 0), batch_size=None, num_workers=2))

    class Local(Exception):
        pass

    def fail_locally():
        raise Local("here")

    with pytest.raises(RuntimeError, match=r"(?s)here|pickle"):
        list(DataLoader(Trap(fail_locally), batch_size=None, num_workers=2))


@pytest.mark.parametrize(
    ("action", "cause"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"DataLoader worker \(pid \d+\) is killed by signal: Killed"),
        (lambda: os._exit(3), r"exited unexpectedly with exit code 3\. Details are lost due to multiprocessing"),
    ],
)
def test_a_worker_that_dies(action, cause):
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly") as caught:
        list(DataLoader(Trap(action), num_workers=2))
    assert caught.match(r"exited unexpectedly")
    import re

    assert re.search(cause, str(caught.value.__cause__))


def test_a_worker_that_takes_too_long(monkeypatch):
    from penlight.utils.data._utils import parallel

    monkeypatch.setattr(parallel, "STATUS_CHECK_INTERVAL", 0.2)  # how long it is given to end by itself
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
        list(DataLoader(Trap(lambda: time.sleep(60)), num_workers=2, timeout=0.5))
    gc.collect()


def test_prefetching_nothing_is_refused():
    with pytest.raises(AssertionError, match="prefetch_factor must be greater than 0"):
        iter(DataLoader(range(3), num_workers=1, prefetch_factor=0))


# ----- The end ------------------------------------------------------------------------------------------------------------


def test_an_early_end_ends_the_workers():
    for _ in DataLoader(range(1000), num_workers=2):
        break
    gc.collect()
    iterator = iter(DataLoader(range(1000), num_workers=2))
    next(iterator)
    del iterator
    gc.collect()


def run(program, warn="ignore", **options):
    # Only forked workers have the classes of a program that is no file.
    program = "import multiprocessing; multiprocessing.set_start_method('fork')\n" + textwrap.dedent(program)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-W", warn, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        # A program that is started in the background ignores Ctrl-C, and hands that on to those that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


ENDLESS = """
    import os, sys, time
    import penlight as torch
    from penlight.utils.data import DataLoader

    class Endless(torch.utils.data.Dataset):
        def __len__(self):
            return 10**6
        def __getitem__(self, index):
            time.sleep(0.01)
            return index

    iterator = iter(DataLoader(Endless(), num_workers=2))
    next(iterator)
    print(*(worker.pid for worker in iterator._workers), flush=True)
"""


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pids, seconds=60.0):
    end = time.monotonic() + seconds
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc")
@pytest.mark.parametrize("ending", ["", "    sys.exit(3)", "    raise KeyError('x')", "    os._exit(0)"])
def test_workers_end_with_the_program(ending):
    process = run(ENDLESS + ending)
    out, err = process.communicate(timeout=300)
    assert gone([int(pid) for pid in out.split()])
    assert ("KeyError" in err) == ("KeyError" in ending)
    assert "Traceback" not in err or "KeyError" in ending


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_workers_end_when_the_program_is_killed(how):
    process = run(ENDLESS + "    while True: next(iterator)", start_new_session=True)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # as Ctrl-C does, to all processes
    else:
        process.send_signal(how)
    _, err = process.communicate(timeout=300)
    assert gone(pids)
    assert err.count("Traceback") == err.count("KeyboardInterrupt") == (how == signal.SIGINT)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals can't be held back")
def test_an_interrupt_waits_until_a_worker_has_started():
    """Of a process that is only starting, Python would print a traceback."""
    started = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    try:
        with pytest.raises(KeyboardInterrupt), interrupts_deferred():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # other threads would not hold it back
            started.append(True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert started
