"""Threads that wait for native kernels in machine code.

Note [Waiting in machine code]
Note [Two kinds of threads] in parallel.py says why there are threads of Python, too. The helpers here are threads that never come back
from one call into machine code: they look at a word in memory, `left`, until it says that there are ranges to be done. After a while
without work (`_PATIENCE`) they let the system put them to sleep on that word (a futex), so an idle program uses no processor.

A caller writes down the kernel and its arguments, then `left`. It and the helpers take ranges by counting `left` down, in one atomic
instruction, and count `done` up. The caller takes them from the first on, helpers from the last: what one kernel wrote to a core's cache,
the next reads there (softmax of 1024 x 512, forward and backward: 0.25 instead of 0.46 ms). Only who has taken a range reads the
arguments; they stay as they are until all ranges are done, which the caller waits for, and late helpers find nothing `left` and touch nothing. While one call shares its work, others (of other Python
threads) do theirs alone: `busy` says so. Which ranges there are does not depend on who does them, so results do not either.

Note [Preempted helpers]
Where other programs use the processors, the system may take a helper's away in the middle of a range, for milliseconds, and the caller can only wait. So
a caller that has waited for much longer than its own share took leaves the helpers alone for `BACKOFF` times as long: calls do all their
ranges themselves until then. Together that costs at most a sixteenth more time than one thread takes, however busy the machine is, and a helper that
was late once is soon asked again.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

from . import call, executable
from .native._x86 import R8, R9, R10, R12, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler
from .parallel import BACKOFF, native_thread_count, parallel_for, start_thread

_PATIENCE = 1 << 21  # ticks of the processor's clock that a helper waits awake: some 0.8 milliseconds
_PAUSES = 32  # looks at `left` before another thread may have the processor
_STACKED = 24  # arguments on the stack, at most
_PYTHON_GRAIN = 4  # times as much work is worth a thread of Python's
_LATE = 1 << 17  # ticks that a caller may wait besides half of its own share: some 50 microseconds
_RANGES = 4  # for each thread, where there is enough to do: whoever is late takes fewer
_FUTEX, _YIELD, _WAIT, _WAKE = 202, 24, 128, 129  # numbers of system calls, and what is asked of the first
_REGISTERS = (RDI, RSI, RDX, RCX, R8, R9)  # what the first six arguments are passed in
_SAVED = (RBX, RBP, R12)

# What stands where in the shared memory, in bytes. What is written often has a cache line of its own.
_LEFT, _DONE, _BUSY, _SLEEPING, _LIMIT, _ALONE_UNTIL, _BEGAN, _WAITED, _JOB = 0, 64, 128, 136, 144, 152, 160, 168, 192
_FRONT, _BACK = 8, 16  # how many ranges the caller took from the front, and helpers from the back
_KERNEL, _COUNT, _STEP, _TOTAL, _ARGUMENTS = _JOB, _JOB + 8, _JOB + 16, _JOB + 24, _JOB + 32
_STACK = _ARGUMENTS + 8 * (len(_REGISTERS) - 2)
_NUMBERS = _STACK + 8 * _STACKED
_SIZE = _NUMBERS + 8 * 8


class _Threading(Assembler):
    """The instructions that threads need to agree with each other, on fields of the shared memory that `rbx` points to."""

    def load_address(self, target: int, address: int) -> None:
        """A number that is known when the code is written."""
        rex = 0x48 | (target > 7)
        self.code += bytes((rex, 0xB8 + (target & 7))) + address.to_bytes(8, "little")  # mov

    def lower(self, offset: int) -> None:
        """If memory still is `rax`, make it `rcx`, in one step; then "not zero" is that it was not, and `rax` what it was."""
        self.code += b"\xf0\x48\x0f\xb1\x8b" + offset.to_bytes(4, "little")  # lock cmpxchg

    def occupy(self, offset: int) -> None:
        """If memory still is `rax`, make it `r10`, in one step."""
        self.code += b"\xf0\x4c\x0f\xb1\x93" + offset.to_bytes(4, "little")  # lock cmpxchg

    def count(self, offset: int, by: int) -> None:
        """Add to memory in one step."""
        self.code += b"\xf0\x48\x83\x83" + offset.to_bytes(4, "little") + bytes((by & 255,))  # lock add

    def take_next(self, offset: int) -> None:
        """Add `rdi` to memory in one step; then `rdi` is what was there before."""
        self.code += b"\xf0\x48\x0f\xc1\xbb" + offset.to_bytes(4, "little")  # lock xadd

    def publish(self, offset: int) -> None:
        """Write `rax` to memory, after all that was written before, and before all that is read later."""
        self.code += b"\x48\x87\x83" + offset.to_bytes(4, "little")  # xchg

    def pause(self) -> None:
        self.code += b"\xf3\x90"  # pause

    def clock(self) -> None:
        """The processor's clock, in `rax`."""
        self.code += b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0"  # rdtsc; shl rdx, 32; or rax, rdx

    def system(self, number: int, *arguments: int) -> None:
        """Ask the system; `rdi` is set already, the next arguments are given."""
        for register, argument in zip((RSI, RDX, R10), arguments):
            self.load_address(register, argument)
        self.load_address(RAX, number)
        self.code += b"\x0f\x05"  # syscall


def _field(offset: int) -> Address:
    return Address(RBX, None, offset)


def _write_take(asm: _Threading, helper: bool) -> None:
    """A function that does ranges until none is left: the caller from the first on, a helper from the last. Keeps `rbx`, `rbp` and `r12`."""
    room = 8 * _STACKED + 8  # the stack is aligned to 16 bytes at a call
    asm.label("take")
    asm.load_register(RAX, _field(_LEFT))
    asm.label("again")
    asm.compare_number(RAX, 1)
    asm.jump("none", "less")
    asm.copy_register(RCX, RAX)
    asm.add_number(RCX, -1)
    asm.lower(_LEFT)
    asm.jump("again", "not zero")
    asm.load_address(RDI, 1)
    asm.take_next(_BACK if helper else _FRONT)
    if helper:
        asm.negate(RDI)
        asm.add_number(RDI, -1)
        asm.add(RDI, _field(_COUNT))
    asm.multiply(RDI, _field(_STEP))
    asm.copy_register(RSI, RDI)
    asm.add(RSI, _field(_STEP))
    asm.compare_numbers(RSI, _field(_TOTAL))
    asm.jump("whole", "less")
    asm.load_register(RSI, _field(_TOTAL))
    asm.label("whole")
    asm.add_number(RSP, -room)
    for i in range(_STACKED):
        asm.load_register(RAX, _field(_STACK + 8 * i))
        asm.store_register(Address(RSP, None, 8 * i), RAX)
    for i, register in enumerate(_REGISTERS[2:]):
        asm.load_register(register, _field(_ARGUMENTS + 8 * i))
    for i in range(8):
        asm.broadcast_long(i, _field(_NUMBERS + 8 * i))
    asm.load_register(RAX, _field(_KERNEL))
    asm.call(RAX)
    asm.add_number(RSP, room)
    asm.count(_DONE, 1)
    asm.jump("take")
    asm.label("none")
    asm.leave()


def _write_helper(asm: _Threading, take: int) -> None:
    """What a helper does for ever, given the shared memory and its number from 0. See Note [Waiting in machine code]."""
    asm.push(RBX)
    asm.copy_register(RBX, RDI)
    asm.copy_register(RBP, RSI)
    asm.label("awake")
    asm.clock()
    asm.copy_register(R12, RAX)
    asm.label("look")
    asm.load_address(RCX, _PAUSES)
    asm.label("wait")
    asm.compare_numbers(RBP, _field(_LIMIT))
    asm.jump("nothing", "not less")
    asm.load_register(RAX, _field(_LEFT))
    asm.compare_number(RAX, 1)
    asm.jump("work", "not less")
    asm.label("nothing")
    asm.pause()
    asm.add_number(RCX, -1)
    asm.jump("wait", "not zero")
    asm.system(_YIELD)
    asm.clock()
    asm.negate(R12)
    asm.add(RAX, R12)
    asm.negate(R12)
    asm.compare_number(RAX, _PATIENCE)
    asm.jump("look", "less")
    asm.count(_SLEEPING, 1)
    asm.copy_register(RDI, RBX)
    asm.system(_FUTEX, _WAIT, 0, 0)
    asm.count(_SLEEPING, -1)
    asm.jump("awake")
    asm.label("work")
    asm.load_address(RAX, take)
    asm.call(RAX)
    asm.jump("awake")


def _write_shared(asm: _Threading, memory: int, take: int, kernel: int, whole: int, numbers: int) -> None:
    """A function like the kernel, but of a step and a total instead of `low` and `high`, that shares the work with the helpers."""
    for register in _SAVED:
        asm.push(register)
    above = 8 * len(_SAVED) + 8
    asm.load_address(RBX, memory)
    asm.zero(RAX)
    asm.load_address(R10, 1)
    asm.occupy(_BUSY)
    asm.jump("alone", "not zero")
    asm.copy_register(R12, RDX)  # which the clock writes to
    asm.clock()
    asm.copy_register(RDX, R12)
    asm.store_register(_field(_BEGAN), RAX)
    asm.compare_numbers(RAX, _field(_ALONE_UNTIL))
    asm.jump("free again", "less")
    asm.store_register(_field(_STEP), RDI)
    asm.store_register(_field(_TOTAL), RSI)
    for i, register in enumerate(_REGISTERS[2:]):
        asm.store_register(_field(_ARGUMENTS + 8 * i), register)
    for i in range(whole - len(_REGISTERS)):
        asm.load_register(RAX, Address(RSP, None, above + 8 * i))
        asm.store_register(_field(_STACK + 8 * i), RAX)
    for i in range(numbers):
        asm.store_one(_field(_NUMBERS + 8 * i), i, double=True)  # floats are in the lower half
    asm.load_address(RAX, kernel)
    asm.store_register(_field(_KERNEL), RAX)
    asm.copy_register(RAX, RSI)
    asm.add(RAX, RDI)
    asm.add_number(RAX, -1)
    asm.divide(RDI)
    asm.store_register(_field(_COUNT), RAX)
    asm.copy_register(RBP, RAX)
    asm.zero(RCX)
    for offset in (_DONE, _FRONT, _BACK):
        asm.store_register(_field(offset), RCX)
    asm.publish(_LEFT)
    asm.load_register(RAX, _field(_SLEEPING))
    asm.compare_number(RAX, 1)
    asm.jump("all awake", "less")
    asm.copy_register(RDI, RBX)
    asm.copy_register(RDX, RBP)
    asm.add_number(RDX, -1)  # the caller takes a range, too
    asm.system(_FUTEX, _WAKE)
    asm.label("all awake")
    asm.load_address(RAX, take)
    asm.call(RAX)
    asm.clock()
    asm.store_register(_field(_WAITED), RAX)
    asm.load_address(R12, _PAUSES)
    asm.label("wait")
    asm.load_register(RAX, _field(_DONE))
    asm.compare_numbers(RAX, RBP)
    asm.jump("finished", "not less")
    asm.pause()
    asm.add_number(R12, -1)
    asm.jump("wait", "not zero")
    asm.system(_YIELD)
    asm.load_address(R12, _PAUSES)
    asm.jump("wait")
    asm.label("finished")
    asm.clock()
    asm.copy_register(RCX, RAX)  # now
    asm.load_register(RDX, _field(_WAITED))
    asm.copy_register(RSI, RDX)
    asm.negate(RDX)
    asm.add(RAX, RDX)  # how long the caller waited
    asm.load_register(RDX, _field(_BEGAN))
    asm.negate(RDX)
    asm.add(RSI, RDX)  # how long it worked
    asm.copy_register(RDX, RAX)
    asm.add(RDX, RAX)
    asm.add_number(RSI, 2 * _LATE)
    asm.compare_numbers(RDX, RSI)
    asm.jump("in time", "less")
    asm.multiply_number(RAX, BACKOFF)
    asm.add(RCX, RAX)
    asm.store_register(_field(_ALONE_UNTIL), RCX)
    asm.label("in time")
    asm.zero(RAX)
    asm.store_register(_field(_BUSY), RAX)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    asm.label("free again")
    asm.zero(RAX)
    asm.store_register(_field(_BUSY), RAX)
    asm.label("alone")
    asm.zero(RDI)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.load_address(RAX, kernel)
    asm.go_to(RAX)


class _Pool:
    """The helpers and the memory that they share with those who call them."""

    def __init__(self) -> None:
        room = np.zeros(_SIZE // 8 + 8, np.int64)
        executable.keep(room)
        start = -room.ctypes.data // 8 % 8  # at a cache line's begin
        self._memory = room[start : start + _SIZE // 8]
        self.address = self._memory.ctypes.data
        asm = _Threading()
        _write_take(asm, helper=False)
        self.take: int = executable.load(asm.finish(), []).address
        asm = _Threading()
        _write_take(asm, helper=True)
        take = executable.load(asm.finish(), []).address
        asm = _Threading()
        _write_helper(asm, take)
        self._help = executable.load(asm.finish(), [ctypes.c_void_p, ctypes.c_void_p])
        self._helpers = 0
        self._lock = threading.Lock()

    def start(self, helpers: int) -> bool:
        """Let exactly so many helpers work, starting those that are not there yet; whether there are any.

        A thread that the system refuses (limits, the end of the interpreter) is done without: whoever is there takes all ranges.
        """
        with self._lock:
            while self._helpers < helpers:
                if not start_thread(self._help, (self.address, self._helpers), "penlight-native"):
                    break
                self._helpers += 1
            self._memory[_LIMIT // 8] = helpers
            return self._helpers > 0

    def forget(self) -> None:
        """A forked child has none of the parent's threads."""
        self._memory[:] = 0
        self._helpers, self._lock = 0, threading.Lock()


_pool: _Pool | None = None
_working = 0  # how many helpers were let work last


def _forget() -> None:
    global _working
    _working = 0
    if _pool is not None:
        _pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _the_pool() -> _Pool:
    global _pool
    if _pool is None:
        _pool = _Pool()
    return _pool


def start(helpers: int) -> bool:
    """Let so many helpers work; whether there are any."""
    global _working
    if _working != helpers:
        if not _the_pool().start(helpers):
            return False
        _working = helpers
    return True


def _shared(function: Any) -> Any:
    """A function of call.py, with the same arguments but a step and a total instead of `low` and `high`, that threads share."""
    if not executable.available():
        return call.checked(_in_python_threads(function.run), function.signature)
    arguments = function.signature.arguments
    numbers = sum(argument.type == "float" for argument in arguments)
    code = _shared_code(function.address, len(arguments) - numbers, numbers)
    return call.load(code, function.signature, function.double)


def _in_python_threads(run: Any) -> Any:
    """The same for machine code of LLVM's, which helpers of ours cannot wait for: threads of Python call it."""

    def share(step: int, total: int, *arguments: Any) -> None:
        def part(low: int, high: int) -> None:
            run(step * low, min(step * high, total), *arguments)

        parallel_for(part, -(-total // step), blas=False)

    return share


def _shared_code(kernel: int, whole: int, numbers: int) -> bytes:
    if whole - len(_REGISTERS) > _STACKED:
        raise ValueError("a native kernel takes too many arguments to be shared between threads")
    pool = _the_pool()
    asm = _Threading()
    _write_shared(asm, pool.address, pool.take, kernel, whole, numbers)
    return asm.finish()


def shared(function: Any) -> Any:
    """What `_shared` gives, made once for each function."""
    if function.shared is None:
        function.shared = _shared(function)
    return function.shared


def over(function: Any, total: int, grain: int, *arguments: Any, multiple: int = 1) -> Any:
    """Call a function of call.py whose first arguments are a range, for the range from 0 to `total`; what it returns.

    Threads share it from two times `grain` on, in steps that are a multiple of `multiple`.
    """
    if total >= 2 * grain:
        return in_steps(function, total, -(-step(total, grain) // multiple) * multiple, *arguments)
    return function(0, total, *arguments)


def in_steps(function: Any, total: int, each: int, *arguments: Any) -> Any:
    """The same in ranges of so many, if that is less than all; where threads have scratch memory, the kernel must know how many."""
    if each < total:
        return (function.shared or shared(function))(each, total, *arguments)
    return function(0, total, *arguments)


def step(total: int, grain: int) -> int:
    """How many rows or elements a range has, of at least `grain`, if a kernel over `total` is shared; `total` if it should not be."""
    have_helpers = executable.available()
    if not have_helpers:
        grain *= _PYTHON_GRAIN
    count = native_thread_count() if total >= 2 * grain else 1
    if count < 2 or (have_helpers and _working != count - 1 and not start(count - 1)):
        return total
    return max(grain, -(-total // (_RANGES * count)))
