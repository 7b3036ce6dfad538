"""`penlight launch` starts the ranks of a program on this machine; also `python -m penlight.distributed.run`.

It takes the options of PyTorch's `torchrun`, and sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
MASTER_ADDR and MASTER_PORT for each rank, which `init_process_group` reads.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from penlight._common.arguments import explain as _explain

__all__ = ["get_args_parser", "main"]

GRACE = 10.0  # seconds that a rank has to end after SIGTERM


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command-line options.

    Returns:
        an `argparse.ArgumentParser`

    >>> torch.distributed.run.get_args_parser().parse_args(["--standalone", "train.py"]).standalone
    True
    """
    parser = argparse.ArgumentParser(
        prog="penlight launch", description="Run a program, written for PyTorch or Penlight, in several processes.",
        allow_abbrev=False,
    )  # fmt: skip

    def option(*names: str, **settings: Any) -> None:
        both = [
            name
            for given in names
            for name in dict.fromkeys((given, "--" + given[2:].replace("-", "_") if given.startswith("--") else given))
        ]
        parser.add_argument(*both, **settings)

    option("--nproc-per-node", default="1", help='how many ranks to start here; "auto": one for each CPU')
    option("--nnodes", default="1", help="how many machines take part; the command runs on each of them")
    option("--node-rank", type=int, default=0, help="the number of this machine")
    option("--master-addr", default="127.0.0.1", help="the address of the machine with number 0")
    option("--master-port", type=int, default=29500, help="a free port there")
    option("--standalone", action="store_true", help="one machine only: take any free port")
    option(
        "--rdzv-endpoint",
        default="",
        help="address:port of the machine with number 0, instead of --master-addr and --master-port",
    )
    option("--rdzv-backend", default="static", help="accepted")
    option("--rdzv-id", default="none", help="a name for the job")
    option("--rdzv-conf", default="", help="accepted")
    option("--role", default="default", help="accepted")
    option("--local-addr", default=None, help="accepted")
    option("--start-method", default="spawn", help="accepted")
    option("--monitor-interval", type=float, default=0.1, help="seconds between two looks at the ranks")
    option("--max-restarts", type=int, default=0, help="how often to start all ranks again after one has failed")
    option("--no-python", action="store_true", help="the program is no Python script, but an executable")
    option("-m", "--module", action="store_true", help="the program is a module, as for `python -m`")
    parser.add_argument("training_script", help="the program")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _count(given: str) -> int:
    if given in ("auto", "cpu"):
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if given == "gpu":
        raise SystemExit("penlight launch: there is no GPU here: use --nproc-per-node auto, or a number")
    return int(given)


class Launcher:
    """The ranks of one job on this machine."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.count = _count(arguments.nproc_per_node)
        self.machines = int(arguments.nnodes.rpartition(":")[2])
        host, _, port = arguments.rdzv_endpoint.rpartition(":")
        self.host = host or (arguments.rdzv_endpoint and port) or arguments.master_addr
        self.port = int(port) if host else arguments.master_port
        if arguments.standalone:
            self.host = "127.0.0.1"
        self.ranks: list[subprocess.Popen[bytes]] = []

    def run(self) -> int:
        """Start the ranks, restart them after a failure as often as allowed, and return the exit code."""
        for attempt in range(self.arguments.max_restarts + 1):
            failed = self._once(attempt)
            if failed is None:
                return 0
            rank, code = failed
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            print(f"penlight launch: rank {rank} ended with {how}; the others are ended", file=sys.stderr)
        return 1

    def _first(self) -> int:
        return self.arguments.node_rank * self.count

    def _once(self, attempt: int) -> tuple[int, int] | None:
        """Run all ranks once. Returns the first rank that failed and its exit code, or None."""
        with reserved_port() if self.arguments.standalone else nullcontext(self.port) as port:
            try:
                self.ranks = [self._start(local, port, attempt) for local in range(self.count)]
                while True:
                    codes = [rank.poll() for rank in self.ranks]
                    for local, code in enumerate(codes):
                        if code:
                            return self._first() + local, code
                    if all(code == 0 for code in codes):
                        return None
                    time.sleep(self.arguments.monitor_interval)
            finally:
                self._end_all()

    def _start(self, local: int, port: int, attempt: int) -> subprocess.Popen[bytes]:
        given, rank = self.arguments, self._first() + local
        everyone = self.machines * self.count
        variables = {
            "RANK": rank,
            "LOCAL_RANK": local,
            "GROUP_RANK": given.node_rank,
            "ROLE_RANK": rank,
            "ROLE_NAME": given.role,
            "WORLD_SIZE": everyone,
            "LOCAL_WORLD_SIZE": self.count,
            "GROUP_WORLD_SIZE": self.machines,
            "ROLE_WORLD_SIZE": everyone,
            "MASTER_ADDR": self.host,
            "MASTER_PORT": port,
            "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": given.max_restarts,
            "TORCHELASTIC_RUN_ID": given.rdzv_id,
        }
        environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
        if self.count > 1:  # one thread per rank, unless the user has set it
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
                environment.setdefault(name, os.environ.get("OMP_NUM_THREADS", "1"))
        program = [given.training_script, *given.training_script_args]
        if not given.no_python:
            program = [sys.executable, "-u", "-m", "penlight", "run", *(["-m"] if given.module else []), *program]
        return subprocess.Popen(program, env=environment, preexec_fn=_end_with_parent)

    def _end_all(self) -> None:
        """End the running ranks: by SIGTERM, and after a grace period by force."""
        running = [rank for rank in self.ranks if rank.poll() is None]
        for rank in running:
            rank.terminate()
        end = time.monotonic() + GRACE
        for rank in running:
            try:
                rank.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                rank.kill()
                rank.wait()


def _end_with_parent() -> None:
    """Runs in each rank: make it end when the launcher is killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


@contextmanager
def reserved_port() -> Iterator[int]:
    """Reserve a free port on this machine. On Linux no other program gets it, but our server can listen there."""
    with socket.socket() as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
        if sys.platform != "linux":
            found.close()
        yield port


def main(args: Sequence[str] | None = None) -> int:
    """Start the ranks that the arguments request, wait for them, and return the exit code.

    Args:
        args: the command line, `sys.argv` if it is None

    >>> torch.distributed.run.main(["--standalone", "--nproc-per-node=2", "-m", "platform"])  # doctest: +SKIP
    0
    """
    arguments = get_args_parser().parse_args(args)

    def ended(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        return Launcher(arguments).run()
    except KeyboardInterrupt:
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())


_explain(globals())
