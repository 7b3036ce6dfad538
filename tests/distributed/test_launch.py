"""Every way to start ranks, and how they end: in order, by an error, by a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penlight
from penlight.distributed.run import reserved_port

from .ranks import HANG, needs_mpi, nothing_left_behind

PROGRAM = """
import os, sys, time
import torch, torch.distributed as dist

def say(words):  # in one piece: other ranks write, too
    sys.stdout.write(words + "\\n")
    sys.stdout.flush()

def work(rank=-1, size=-1):
    dist.init_process_group("gloo", init_method=sys.argv[2] if len(sys.argv) > 2 else None, rank=rank, world_size=size)
    x = torch.ones(1)
    dist.all_reduce(x)
    say(f"rank {dist.get_rank()} of {dist.get_world_size()}: {x.item()}")
    if dist.get_rank() == 1:
        if sys.argv[1] == "raise":
            raise ValueError("rank 1 gives up")
        if sys.argv[1] == "killed":
            os.kill(os.getpid(), 9)
    if sys.argv[1] == "stuck":
        time.sleep(100 if dist.get_rank() else 0)
    dist.all_reduce(x)
    say("the end")

if __name__ == "__main__":
    if sys.argv[1] == "spawn":
        import torch.multiprocessing as mp
        mp.spawn(work, (2,), 2)
    else:
        work()
"""
LAUNCH = [sys.executable, "-m", "penlight", "launch", "--standalone", "--nproc-per-node", "2"]
RUN = [sys.executable, "-m", "penlight", "run"]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def environment(**more):
    found = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    source = str(Path(penlight.__file__).resolve().parent.parent)
    return {**found, "PYTHONPATH": os.pathsep.join([source, *filter(None, [found.get("PYTHONPATH")])]), **more}


def finish(command, code, **more):
    with nothing_left_behind():
        done = subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=HANG)
    assert (done.returncode == 0) == (code == 0), done.stdout + done.stderr
    return done.stdout, done.stderr


def check(printed):
    assert "rank 0 of 2: 2.0" in printed and "rank 1 of 2: 2.0" in printed and printed.count("the end") == 2


@needs_mpi
def test_launch(program):
    printed, _ = finish([*LAUNCH, program, "well"], 0)
    check(printed)


@needs_mpi
def test_spawn(program):
    with reserved_port() as port:
        printed, _ = finish([*RUN, program, "spawn"], 0, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    check(printed)


@needs_mpi
@pytest.mark.parametrize("method", ["tcp", "file"])
def test_bare_processes(program, method, tmp_path):
    with reserved_port() as port:
        url = f"tcp://127.0.0.1:{port}" if method == "tcp" else f"file://{tmp_path}/store"
        ranks = [
            subprocess.Popen(
                [*RUN, program, "well", f"{url}?rank={rank}&world_size=2"], env=environment(), stdout=subprocess.PIPE
            )
            for rank in range(2)
        ]
        check(b"".join(rank.communicate()[0] for rank in ranks).decode())
    assert [rank.returncode for rank in ranks] == [0, 0]
    assert not (tmp_path / "store").exists()


@needs_mpi
@pytest.mark.parametrize("how", ["well", "raise"])
def test_mpiexec(program, how):
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip("the MPI library has its mpiexec elsewhere")
    code = 0 if how == "well" else 1
    printed, errors = finish([str(mpiexec), "-n", "2", *RUN, program, how], code)
    if how == "well":
        check(printed)
    else:
        assert "rank 1 gives up" in errors + printed


@needs_mpi
@pytest.mark.parametrize("how", ["raise", "killed"])
def test_a_rank_that_fails_ends_the_others(program, how):
    printed, errors = finish([*LAUNCH, program, how], 1)
    assert "the end" not in printed
    assert "penlight launch: rank" in errors and ("rank 1 gives up" in errors or how == "killed")
    assert "Connection closed by peer: rank 1 has ended" in errors or "rank 1" in errors


@needs_mpi
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_to_the_launcher_end_all_ranks(program, number):
    launcher = subprocess.Popen(
        [*LAUNCH, program, "stuck"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert launcher.stdout is not None
    for _ in range(2):
        assert b"of 2: 2.0" in launcher.stdout.readline()
    launcher.send_signal(number)
    launcher.wait()
    assert launcher.stdout.read() == b""  # until the last rank has closed it
    assert launcher.returncode != 0


@needs_mpi
def test_the_example_draws_the_speed_up():
    example = Path(__file__).resolve().parents[2] / "examples" / "distributed.py"
    printed, _ = finish([sys.executable, str(example), "--compare", "--steps=2", "--batch=4", "--context=8"], 0)
    one, two = printed.splitlines()
    assert one.startswith("1 rank: ") and one.endswith("ms a step  #################### 1.00")
    assert two.startswith("2 ranks: ") and "ms a step  " in two


def test_restarts(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import os, sys\nsys.exit(os.environ['TORCHELASTIC_RESTART_COUNT'] == '0')")
    _, errors = finish([*LAUNCH, "--max-restarts", "1", str(path)], 0)
    assert "ended with exit code 1" in errors
    assert finish([*LAUNCH, str(path)], 1)


def test_environment(tmp_path):
    path = tmp_path / "program.py"
    names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT OMP_NUM_THREADS"
    path.write_text(
        "import os, sys\n"
        f"words = [os.environ.get(name) for name in '{names}'.split()]\n"
        "sys.stdout.write(' '.join([*words, *sys.argv[1:]]) + chr(10))"
    )
    command = [
        sys.executable,
        "-m",
        "penlight.distributed.run",
        "--nproc_per_node=2",
        "--nnodes",
        "2",
        "--node-rank",
        "1",
    ]
    printed, _ = finish([*command, "--rdzv-endpoint", "host:123", str(path), "--flag"], 0)
    assert sorted(printed.splitlines()) == [f"{2 + n} {n} 4 2 host 123 1 --flag" for n in range(2)]


@needs_mpi
def test_mpi_that_was_started_elsewhere():
    """Not as part of the job: an error, where a group would reduce nothing."""
    code = (
        "from mpi4py import MPI; import penlight.distributed as dist\n"
        "try: dist.init_process_group('gloo')\n"
        "except RuntimeError as error: print(error)"
    )
    with reserved_port() as port:
        told = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        ranks = [
            subprocess.Popen(
                [sys.executable, "-c", code], env=environment(RANK=str(rank), **told), stdout=subprocess.PIPE, text=True
            )
            for rank in range(2)
        ]
        for rank in ranks:
            assert "MPI runs in this process already, but not as one of 2 ranks" in rank.communicate(timeout=HANG)[0]


def test_without_mpi4py():
    """Several ranks need the extra, and are told so; one does not."""
    code = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import penlight.distributed as dist, threading\n"
        "dist.init_process_group('gloo', init_method='tcp://127.0.0.1:0', rank=0, world_size=1)\n"
        "dist.barrier(); dist.destroy_process_group()\n"
        "store = dist.HashStore()\n"
        "from penlight.distributed import _mpi\n"
        "try: _mpi.load()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert "pip install 'penlight[mpi]'" in done.stdout, done.stderr
