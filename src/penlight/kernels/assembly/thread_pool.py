"""The machine code of the thread pool: how threads wait for work, take ranges of it, and sleep. See Note [Waiting in machine code]
in kernels/waiting_threads.py."""

from __future__ import annotations

from ..compiler.asm import ARGUMENTS, R10, R12, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler
from ..parallel import BACKOFF

_PATIENCE = 1 << 21  # clock ticks for which an idle helper polls before it sleeps: some 0.8 milliseconds
_PAUSES = 32  # polls of `left` between calls of sched_yield
_STACKED = 24  # arguments on the stack, at most
_LATE = 1 << 17  # ticks that a caller may wait, beyond half the time of its own share: some 50 microseconds
_FUTEX, _YIELD, _WAIT, _WAKE = 202, 24, 128, 129  # two system calls (futex, sched_yield), and the futex operations
_SAVED = (RBX, RBP, R12)

# Offsets of the fields in the shared memory, in bytes. Fields that are written often have their own cache line.
_LEFT, _DONE, BUSY, SLEEPING, LIMIT, ALONE_UNTIL, _BEGAN, _WAITED, _JOB = 0, 64, 128, 136, 144, 152, 160, 168, 192
_FRONT, _BACK = 8, 16  # ranges taken by the caller from the front, and by helpers from the back
_KERNEL, _COUNT, _STEP, _TOTAL, _ARGUMENTS = _JOB, _JOB + 8, _JOB + 16, _JOB + 24, _JOB + 32
_STACK = _ARGUMENTS + 8 * (len(ARGUMENTS) - 2)
_NUMBERS = _STACK + 8 * _STACKED
SIZE = _NUMBERS + 8 * 8


class _Threading(Assembler):
    """Synchronisation instructions on the fields of the shared memory at `rbx`."""

    def load_address(self, target: int, address: int) -> None:
        """Load a constant address."""
        rex = 0x48 | (target > 7)
        self.code += bytes((rex, 0xB8 + (target & 7))) + address.to_bytes(8, "little")  # mov

    def lower(self, offset: int) -> None:
        """Atomically replace memory by `rcx` if it equals `rax`; "not zero" means that it did not, and then `rax` is its value."""
        self.code += b"\xf0\x48\x0f\xb1\x8b" + offset.to_bytes(4, "little")  # lock cmpxchg

    def occupy(self, offset: int) -> None:
        """Atomically replace memory by `r10` if it equals `rax`."""
        self.code += b"\xf0\x4c\x0f\xb1\x93" + offset.to_bytes(4, "little")  # lock cmpxchg

    def count(self, offset: int, by: int) -> None:
        """Add to memory atomically."""
        self.code += b"\xf0\x48\x83\x83" + offset.to_bytes(4, "little") + bytes((by & 255,))  # lock add

    def take_next(self, offset: int) -> None:
        """Add `rdi` to memory atomically; `rdi` becomes the old value."""
        self.code += b"\xf0\x48\x0f\xc1\xbb" + offset.to_bytes(4, "little")  # lock xadd

    def publish(self, offset: int) -> None:
        """Write `rax` to memory, after all earlier writes and before all later reads."""
        self.code += b"\x48\x87\x83" + offset.to_bytes(4, "little")  # xchg

    def pause(self) -> None:
        self.code += b"\xf3\x90"  # pause

    def clock(self) -> None:
        """The processor's clock, in `rax`."""
        self.code += b"\x0f\x31\x48\xc1\xe2\x20\x48\x09\xd0"  # rdtsc; shl rdx, 32; or rax, rdx

    def system(self, number: int, *arguments: int) -> None:
        """A system call; `rdi` is already set, the next arguments are given."""
        for register, argument in zip((RSI, RDX, R10), arguments):
            self.load_address(register, argument)
        self.load_address(RAX, number)
        self.code += b"\x0f\x05"  # syscall


def _field(offset: int) -> Address:
    return Address(RBX, None, offset)


def take(helper: bool) -> bytes:
    """A function that runs ranges until none is left: the caller from the first, a helper from the last. Preserves `rbx`, `rbp` and `r12`."""
    asm = _Threading()
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
    for i, register in enumerate(ARGUMENTS[2:]):
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
    return asm.finish()


def helper(take: int) -> bytes:
    """A helper's endless loop, given the shared memory and the helper's index. See Note [Waiting in machine code]."""
    asm = _Threading()
    asm.push(RBX)
    asm.copy_register(RBX, RDI)
    asm.copy_register(RBP, RSI)
    asm.label("awake")
    asm.clock()
    asm.copy_register(R12, RAX)
    asm.label("look")
    asm.load_address(RCX, _PAUSES)
    asm.label("wait")
    asm.compare_numbers(RBP, _field(LIMIT))
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
    asm.count(SLEEPING, 1)
    asm.copy_register(RDI, RBX)
    asm.system(_FUTEX, _WAIT, 0, 0)
    asm.count(SLEEPING, -1)
    asm.jump("awake")
    asm.label("work")
    asm.load_address(RAX, take)
    asm.call(RAX)
    asm.jump("awake")
    return asm.finish()


def shared(memory: int, take: int, kernel: int, whole: int, numbers: int) -> bytes:
    """A function like the kernel that shares the work with the helpers; it takes a step and a total instead of `low` and `high`."""
    if whole - len(ARGUMENTS) > _STACKED:
        raise ValueError("a native kernel takes too many arguments to be shared between threads")
    asm = _Threading()
    for register in _SAVED:
        asm.push(register)
    above = 8 * len(_SAVED) + 8
    asm.load_address(RBX, memory)
    asm.zero(RAX)
    asm.load_address(R10, 1)
    asm.occupy(BUSY)
    asm.jump("alone", "not zero")
    asm.copy_register(R12, RDX)  # rdtsc overwrites rdx
    asm.clock()
    asm.copy_register(RDX, R12)
    asm.store_register(_field(_BEGAN), RAX)
    asm.compare_numbers(RAX, _field(ALONE_UNTIL))
    asm.jump("free again", "less")
    asm.store_register(_field(_STEP), RDI)
    asm.store_register(_field(_TOTAL), RSI)
    for i, register in enumerate(ARGUMENTS[2:]):
        asm.store_register(_field(_ARGUMENTS + 8 * i), register)
    for i in range(whole - len(ARGUMENTS)):
        asm.load_register(RAX, Address(RSP, None, above + 8 * i))
        asm.store_register(_field(_STACK + 8 * i), RAX)
    for i in range(numbers):
        asm.store_pair(_field(_NUMBERS + 8 * i), i)
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
    asm.load_register(RAX, _field(SLEEPING))
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
    asm.multiply_number(RAX, RAX, BACKOFF)
    asm.add(RCX, RAX)
    asm.store_register(_field(ALONE_UNTIL), RCX)
    asm.label("in time")
    asm.zero(RAX)
    asm.store_register(_field(BUSY), RAX)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    asm.label("free again")
    asm.zero(RAX)
    asm.store_register(_field(BUSY), RAX)
    asm.label("alone")
    asm.zero(RDI)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.load_address(RAX, kernel)
    asm.go_to(RAX)
    return asm.finish()
