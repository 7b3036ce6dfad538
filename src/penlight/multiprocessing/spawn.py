"""`torch.multiprocessing.spawn`: runs a function in several processes and raises their errors."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import weakref
from multiprocessing import connection
from typing import Any

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from .._common.user_warnings import warn_user

__all__ = [
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "spawn",
    "start_processes",
]  # fmt: skip


@example('torch.multiprocessing.ProcessRaisedException("no file", error_index=1, error_pid=7).error_index', "1")
class ProcessException(Exception):
    """One of the processes failed.

    Args:
        msg: the message.
        error_index: the index of the process.
        error_pid: its process id.
    """

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid)


@example('torch.multiprocessing.ProcessRaisedException("no file", error_index=1, error_pid=7).msg', "'no file'")
class ProcessRaisedException(ProcessException):
    """The function raised in one of the processes; its traceback is in the message."""


@example(
    'torch.multiprocessing.ProcessExitedException("killed", error_index=1, error_pid=7, exit_code=-9).exit_code', "-9"
)
class ProcessExitedException(ProcessException):
    """One of the processes was killed, or exited with an error code."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self) -> Any:
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(function: Any, index: int, args: tuple[Any, ...], error_file: str) -> None:
    """Run the function in a new process; if it raises, write the traceback to a file."""
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass
    except Exception:
        with open(error_file, "w") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


@example("torch.multiprocessing.ProcessContext([], []).join()", "True")
class ProcessContext:
    """The processes of one `spawn`.

    Args:
        processes: the processes.
        error_files: for each process, the file to which it writes its traceback.
    """

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def _join_procs_with_timeout(self, timeout: float) -> None:
        end = time.monotonic() + timeout
        for process in self.processes:
            process.join(max(0.0, end - time.monotonic()))

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Wait for the processes: returns True if all have succeeded, False after the timeout. If one fails, end the others and raise
        its error."""
        if not self.sentinels:
            return True
        failed = None
        for sentinel in connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        if grace_period is not None:
            self._join_procs_with_timeout(grace_period)
        self._end_all()
        self._raise(failed)
        return False

    def _end_all(self) -> None:
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._join_procs_with_timeout(30)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _raise(self, index: int) -> None:
        process, error_file = self.processes[index], self.error_files[index]
        if not os.path.exists(error_file):
            code = process.exitcode
            if code < 0:
                name = signal.Signals(-code).name
                raise ProcessExitedException(
                    f"process {index:d} terminated with signal {name}", index, process.pid, code, name
                )
            raise ProcessExitedException(
                f"process {index:d} terminated with exit code {code:d}", index, process.pid, code
            )
        with open(error_file) as file:
            trace = file.read()
        words = f"\n\n-- Process {index:d} terminated with the following error:\n{trace}"
        raise ProcessRaisedException(words, index, process.pid)


@example("issubclass(torch.multiprocessing.SpawnContext, torch.multiprocessing.ProcessContext)", "True")
class SpawnContext(ProcessContext):
    """The old name of `ProcessContext`, with its arguments `processes` and `error_files`."""

    def __init__(self, processes: list[Any], error_files: list[str]) -> None:
        warn_user("SpawnContext is renamed to ProcessContext since 1.4 release.")
        super().__init__(processes, error_files)


def start_processes(
    fn: Any, args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run a function in several new processes.

    Args:
        fn: a function that the new processes can import; its first argument is the number of the process, from 0.
        args: its further arguments.
        nprocs: the number of processes.
        join: whether to wait for the processes, and to raise the error of one that fails.
        daemon: whether they end with this process.
        start_method: "spawn", "fork" or "forkserver".

    Returns:
        None, or without `join` a `ProcessContext`.

    >>> import time
    >>> torch.multiprocessing.start_processes(time.sleep, nprocs=1)  # time.sleep(0) in another process
    """
    context = multiprocessing.get_context(start_method)
    folder = tempfile.mkdtemp(prefix="penlight-spawn-")
    processes, error_files = [], []
    for index in range(nprocs):
        error_files.append(os.path.join(folder, str(index)))
        process = context.Process(target=_run, args=(fn, index, args, error_files[-1]), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        processes.append(process)
    made = ProcessContext(processes, error_files)
    clear = weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
    if not join:
        return made
    try:
        while not made.join():
            pass
    finally:
        clear()
    return None


def spawn(
    fn: Any, args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:  # fmt: skip
    """Run a function in several new processes, each with a fresh interpreter.

    Args:
        fn: a function that the new processes can import; its first argument is the number of the process, from 0.
        args: its further arguments.
        nprocs: the number of processes.
        join: whether to wait for the processes, and to raise the error of one that fails.
        daemon: whether they end with this process.
        start_method: must be "spawn"; others give a warning.

    Returns:
        None, or without `join` a `ProcessContext`.

    >>> import time
    >>> torch.multiprocessing.spawn(time.sleep, nprocs=1)  # time.sleep(0) in another process
    """
    if start_method != "spawn":
        warn_user(
            "This method only supports start_method=spawn (got: %s).\nTo use a different start_method use:\n\t\t "
            "torch.multiprocessing.start_processes(...)" % start_method,
            FutureWarning,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")


_explain(globals())
