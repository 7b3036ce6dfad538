"""How many threads BLAS has, whatever happens meanwhile; helpers that are late; limits of containers."""

import os
import subprocess
import sys
import threading
import time
import warnings

import pytest

import penlight as torch
from penlight.kernels import parallel


class Blas:
    """Stands for OpenBLAS's switch; once it is interrupted, after it was set."""

    def __init__(self, threads):
        self.threads, self.interrupted = threads, False

    def set(self, threads):
        self.threads = threads
        if self.interrupted:
            self.interrupted = False
            raise KeyboardInterrupt


@pytest.fixture
def blas(monkeypatch):
    switch = Blas(4)
    for name, value in {"_alone": 0, "_before": 4, "_lowered": False}.items():
        monkeypatch.setattr(parallel, name, value)
    monkeypatch.setattr(parallel, "_blas", (lambda: switch.threads, switch.set))
    return switch


def test_contexts_nest(blas):
    with parallel.blas_alone():
        assert blas.threads == 1
        with parallel.blas_alone():
            assert blas.threads == 1
        assert blas.threads == 1
    assert blas.threads == 4


def test_an_interrupt_leaves_no_trace(blas):
    blas.interrupted = True
    with pytest.raises(KeyboardInterrupt), parallel.blas_alone():
        pass
    with parallel.blas_alone():
        assert blas.threads == 1
    assert blas.threads == 4


def test_what_others_set_is_kept(blas):
    blas.threads = 2
    with parallel.blas_alone():
        assert blas.threads == 1
    assert blas.threads == 2


def test_helpers_that_are_late_are_left_alone_for_a_while(monkeypatch):
    monkeypatch.setattr(parallel, "_limit", 2)
    monkeypatch.setattr(parallel, "_alone_until", 0.0)
    caller, started, seen = threading.get_ident(), threading.Event(), []

    def body(low, high):
        seen.append((low, high, threading.get_ident() == caller))
        if threading.get_ident() == caller:
            started.wait(20)  # until the helper is in the middle of a range
        else:
            started.set()
            time.sleep(0.2)

    parallel.parallel_for(body, 2, blas=False)
    assert sorted(s[:2] for s in seen) == [(0, 1), (1, 2)] and not all(s[2] for s in seen)
    seen.clear()
    parallel.parallel_for(body, 2, blas=False)
    assert seen == [(0, 1, True), (1, 2, True)]  # the same ranges, so that sums have the same bits
    monkeypatch.setattr(parallel, "_alone_until", 0.0)
    seen.clear()
    started.clear()
    parallel.parallel_for(body, 2, blas=False)
    assert sorted(s[:2] for s in seen) == [(0, 1), (1, 2)] and not all(s[2] for s in seen)


def test_each_range_is_done_once():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        x = torch.zeros(300_001)
        for _ in range(200):
            x.add_(1)
        assert (x == 200).all()
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system has no affinity")
def test_a_process_on_one_core_has_one_thread():
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); import penlight; print(penlight.get_num_threads())"
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "4"}
    assert (
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
        == "1\n"
    )


GROUPS = {
    "no files": ({}, None),
    "no limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
    "two": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),
    "half": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
    "one and a half": ({"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n"}, 2),
    "of the group above": (
        {"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000", "sys/fs/cgroup/a/cpu.max": "300000 100000"}, 3,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "3:memory:/a\n2:cpu,cpuacct:/a\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n",
            "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
        }, 4,
    ),
    "version 1 without a limit": (
        {
            "proc/self/cgroup": "2:cpu,cpuacct:/\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
        }, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_limits_of_containers(name, tmp_path):
    files, expected = GROUPS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert parallel.cpu_quota(str(tmp_path)) == expected


@pytest.mark.parametrize("refused", [PermissionError, AttributeError])
def test_the_system_does_not_tell_the_processors_of_a_process(refused, monkeypatch):
    def affinity(process):
        raise refused

    monkeypatch.setattr(os, "sched_getaffinity", affinity, raising=False)
    monkeypatch.setattr(parallel, "_limit", None)
    assert 1 <= parallel.thread_limit() <= parallel.processors() == os.cpu_count()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.utils.data.DataLoader([1], num_workers=1000)
    assert f"is {os.cpu_count()} (`cpuset` is not taken into account), which" in str(told[0].message)
