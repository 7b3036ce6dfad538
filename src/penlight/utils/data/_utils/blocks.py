"""Shared memory for batches between a worker and the main process.

Note [Batches between processes]
A batch is pickled with its arrays out of band (protocol 5). Small arrays are sent in the message itself. A large one is in a block: an
anonymous memory file that both processes map. The worker writes it there, mostly by collating directly into it, the message names the
block, and the main process creates its array over the same memory: nothing is copied. A block's descriptor is sent once, with its first
use. When the last array over a block is gone from both processes, the worker reuses it for another batch: its pages are already mapped, a
cost that a new file for each batch would have. Blocks have no names, so nothing remains if a process dies, and the size of /dev/shm does
not matter. A program that keeps all batches would use a descriptor for each: beyond `_MOST` blocks a batch is copied through its own file.
If the system has no memory files, a thread sends the bytes through the pipe.
"""

from __future__ import annotations

import math
import mmap
import os
import socket
import weakref
from collections import deque
from typing import Any

import numpy as np

LARGE = 1 << 16
HAVE_MEMORY_FILES = hasattr(os, "memfd_create") and hasattr(os, "posix_fallocate")
_MOST = 16


def memory_file(size: int) -> int | None:
    """An anonymous file in memory, with its pages; None if the system has none."""
    if not HAVE_MEMORY_FILES:
        return None
    try:
        file = os.memfd_create("penlight-batch", os.MFD_CLOEXEC)
    except OSError:
        return None
    try:
        os.posix_fallocate(file, 0, size)
    except OSError:
        os.close(file)
        return None
    return file


def send_descriptor(connection: Any, file: int) -> None:
    """Send a file descriptor. The function in `multiprocessing` waits for an answer (from Python 3.14 on everywhere); here another thread
    reads from the connection, so it would wait forever."""
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        socket.send_fds(wire, [b"F"], [file])


def receive_descriptor(connection: Any) -> int:
    """The file descriptor sent by the other side."""
    with socket.fromfd(connection.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as wire:
        _, files, _, _ = socket.recv_fds(wire, 1, 1)
    if not files:
        raise EOFError("a DataLoader worker is gone")
    return files[0]


class _Block:
    """One block, on the worker's side."""

    def __init__(self, number: int, file: int, size: int) -> None:
        self.number, self.size = number, size
        self.file: int | None = file  # until the main process has it
        self.memory = mmap.mmap(file, size)
        self.address = _address(np.frombuffer(self.memory, np.uint8))
        self.holders = 0  # arrays over it here, and messages whose arrays the main process still uses

    def hand_over(self, connection: Any) -> None:
        """Send the descriptor to the main process, once."""
        assert self.file is not None
        send_descriptor(connection, self.file)
        self.forget_file()

    def forget_file(self) -> None:
        if self.file is not None:
            os.close(self.file)
            self.file = None


class SharedBlocks:
    """A worker's blocks."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._by_address: dict[int, _Block] = {}
        # Indices of blocks that lost a holder. Arrays may die in any thread at any time, so they do nothing but append here.
        self._dropped: deque[int] = deque()

    def released(self, numbers: tuple[int, ...]) -> None:
        """The main process no longer has arrays over these blocks; called by the thread that reads its messages."""
        self._dropped.extend(numbers)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array to collate into: in a block if it is large and a block is available."""
        size = math.prod(shape) * dtype.itemsize
        memory = self._lease(size) if size >= LARGE else None
        return np.empty(shape, dtype) if memory is None else np.ndarray(shape, dtype, memory)

    def placed(self, part: memoryview) -> _Block | None:
        """The block that holds this memory, copied into one if it is elsewhere; None if no block is available."""
        memory = np.frombuffer(part, np.uint8)
        block = self._by_address.get(_address(memory))
        if block is None:
            lease = self._lease(memory.size)
            if lease is None:
                return None
            lease[:] = memory
            block = self._by_address[_address(lease)]
        block.holders += 1
        return block

    def _lease(self, size: int) -> np.ndarray | None:
        """The memory of a free block, which is held as long as the array or a view of it lives."""
        block = self._free_block(size)
        if block is None:
            return None
        lease = np.ndarray((size,), np.uint8, block.memory)
        block.holders += 1
        weakref.finalize(lease, self._dropped.append, block.number).atexit = False
        return lease

    def _free_block(self, size: int) -> _Block | None:
        while self._dropped:
            self._blocks[self._dropped.popleft()].holders -= 1
        free = [block for block in self._blocks if not block.holders]
        fitting = [block for block in free if block.size >= size]
        if fitting:
            return min(fitting, key=lambda block: block.size)
        number = len(self._blocks) if len(self._blocks) < _MOST else free[0].number if free else None
        file = None if number is None else memory_file(size)
        if number is None or file is None:
            return None
        block = _Block(number, file, size)
        if number < len(self._blocks):  # a larger one replaces one that is too small
            self._blocks[number].forget_file()
            del self._by_address[self._blocks[number].address]
            self._blocks[number] = block
        else:
            self._blocks.append(block)
        self._by_address[block.address] = block
        return block


class MappedBlocks:
    """The blocks of one worker, on the side of the main process."""

    def __init__(self) -> None:
        self._memory: dict[int, mmap.mmap] = {}
        self._released: deque[int] = deque()

    def map(self, number: int, file: int) -> None:
        """Map a block whose descriptor has arrived, and close the descriptor."""
        try:
            self._memory[number] = mmap.mmap(file, 0)
        finally:
            os.close(file)

    def lease(self, number: int, size: int) -> np.ndarray:
        """The start of a block, which is held as long as this array or a view of it lives."""
        lease = np.ndarray((size,), np.uint8, self._memory[number])
        weakref.finalize(lease, self._released.append, number).atexit = False
        return lease

    def take_released(self) -> tuple[int, ...]:
        """The blocks that lost an array since the last call, to report to the worker."""
        return tuple(self._released.popleft() for _ in range(len(self._released)))


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


worker_blocks: SharedBlocks | None = None


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array to collate into: in a worker process, shared with the main process if it is large."""
    return np.empty(shape, dtype) if worker_blocks is None else worker_blocks.empty(shape, dtype)
