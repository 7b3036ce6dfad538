"""Two hosts: network namespaces with names of their own, between which there is a cable and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from .ranks import HANG, needs_mpi
from .test_launch import environment

ADDRESSES = ("10.77.0.1", "10.77.0.2")
PROGRAM = """
import os, socket, subprocess, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
hosts = [None] * size
dist.all_gather_object(hosts, socket.gethostname())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
model(torch.full((1, 2), float(rank))).sum().backward()
large = torch.full((3_000_000,), float(rank))
dist.all_reduce(large)
listening = subprocess.run(["ss", "-ltnH"], capture_output=True, text=True).stdout.split("\\n")
addresses = sorted({line.split()[3].rpartition(":")[0] for line in listening if line})
dist.barrier()
if sys.argv[1] == "killed" and rank == size - 1:
    os.kill(os.getpid(), 9)
words = ""
try:
    dist.all_reduce(large)
except RuntimeError as error:
    words = f" {error}"
sys.stdout.write(f"{rank} {hosts} {model.module.weight.grad.tolist()} {large.unique().tolist()} {addresses}{words}\\n")
"""


@pytest.fixture(scope="module")
def hosts():
    """Commands that run a program on each host."""
    names = [f"penlight-{os.getpid()}-{number}" for number in range(2)]
    tools = [shutil.which(tool) for tool in ("ip", "ss", "unshare", "hostname")]
    if not all(tools):
        pytest.skip("two hosts need the programs ip, ss, unshare and hostname")
    made = []

    def ip(*words):
        done = subprocess.run(["ip", *words], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"network namespaces can't be made here: {done.stderr.strip()}")

    try:
        for name in names:
            ip("netns", "add", name)
            made.append(name)
        ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        for name, address in zip(names, ADDRESSES):
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "add", "another", "type", "veth", "peer", "name", "nowhere")
            ip("-n", name, "addr", "add", "10.88.0.1/24", "dev", "another")
            for end in ("another", "nowhere"):
                ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")
        yield [
            ["ip", "netns", "exec", name, "unshare", "--uts", "sh", "-c", f'hostname host{number}; exec "$@"', "sh"]
            for number, name in enumerate(names)
        ]
    finally:
        for name in made:
            subprocess.run(["ip", "netns", "del", name], check=True)


def run(hosts, path, how):
    path.write_text(PROGRAM)
    launch = [sys.executable, "-m", "penlight", "launch", "--nnodes", "2", "--nproc-per-node", "2"]
    launched = [
        subprocess.Popen(
            [*host, *launch, "--master-addr", ADDRESSES[0], "--node-rank", str(number), str(path), how],
            env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number, host in enumerate(hosts)
    ]  # fmt: skip
    printed = [launcher.communicate(timeout=HANG) for launcher in launched]
    return [launcher.returncode for launcher in launched], printed


@needs_mpi
def test_training_on_two_hosts(hosts, tmp_path):
    codes, printed = run(hosts, tmp_path / "program.py", "well")
    assert codes == [0, 0], printed
    names = ["host0", "host0", "host1", "host1"]
    for number, (out, _) in enumerate(printed):
        address = ADDRESSES[number]
        want = [f"{rank} {names} [[1.5, 1.5]] [24.0] {[address]}" for rank in (2 * number, 2 * number + 1)]
        assert sorted(out.splitlines()) == want


@needs_mpi
def test_a_rank_that_dies_on_the_other_host(hosts, tmp_path):
    codes, printed = run(hosts, tmp_path / "program.py", "killed")
    assert codes[1] != 0
    # Its launcher ends the rank beside it, which a rank that looks late sees too.
    assert re.search("Connection closed by peer: (rank 3 has|ranks 2, 3 have) ended", printed[0][0])
