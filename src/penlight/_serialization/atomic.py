"""Replacing a file atomically: after a crash or an error the old file is still there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any


@contextmanager
def replacing(path: str) -> Iterator[IO[bytes]]:
    """A file to write to, which replaces `path` when the block ends, or is removed if the block raises.

    It is written in the directory of `path` and moved when its data is on the disk: a crash, a full disk or an exception leaves the old
    file unchanged. Permissions are kept, and a symbolic link still points to the file. The file is written directly if it is not a
    regular one (a device, a pipe), or if its directory is not writable.
    """
    target = os.path.realpath(path)
    old = _status(target)
    if old is not None and not stat.S_ISREG(old.st_mode):
        with open(target, "wb") as file:
            yield file
        return
    temporary = f"{target}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        try:
            file = open(temporary, "xb")  # noqa: SIM115 (closed below, before the move)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, error.strerror, path) from None
        except PermissionError as error:
            if old is None:
                raise PermissionError(error.errno, error.strerror, path) from None
            with open(target, "wb") as file:
                yield file
            return
        with file:
            yield file
            file.flush()
            if old is not None:
                _keep_permissions(file.fileno(), old)
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # even before `file` is assigned: Ctrl-C
        _remove(temporary)
        raise
    _sync_directory(os.path.dirname(target))


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _keep_permissions(file: int, old: os.stat_result) -> None:
    """Copy the mode and, if permitted, the owner of the file that is replaced."""
    if not hasattr(os, "fchmod"):
        return
    if (os.geteuid(), os.getegid()) != (old.st_uid, old.st_gid):
        with suppress(OSError):
            os.fchown(file, old.st_uid, old.st_gid)
    os.fchmod(file, stat.S_IMODE(old.st_mode))


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _sync_directory(directory: str) -> None:
    """Make the move durable, where directories can be synced."""
    try:
        handle = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def is_path(f: Any) -> bool:
    """Whether a file argument is a path."""
    return isinstance(f, (str, os.PathLike))
