"""Executable memory, and whether this machine can run native kernels.

On Linux on x86-64 with AVX2 and fused multiply-add, Python writes the machine code. Elsewhere LLVM compiles the compiler's
kernels, if the package llvmlite is installed (Note [Kernels by LLVM] in compiler/llvm.py). Without it, where the system forbids
executable memory, and with PENLIGHT_NATIVE=0, the NumPy kernels do the same work. PENLIGHT_NATIVE=llvm chooses LLVM where both
are possible.

Note [Executable memory]
All code is in one anonymous file (memfd) that is mapped twice: code is written through one mapping, which is not executable, and
run through the other, which is not writable. Both mappings are created at the first use, large enough for all later code. So a
program that gives up rights afterwards (a sandbox, a seccomp filter) can still compile kernels: writing one needs no system call.
Forked processes share the file, so the offset of its free space is stored in the file itself and advanced by an atomic
instruction.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from .lazy import lazy_import

asm = lazy_import(globals(), "asm", ".compiler.asm")
llvm_engine = lazy_import(globals(), "llvm_engine", ".compiler.llvm_engine")

_NEEDED = ("AVX2", "FMA3", "F16C")
_REFUSED = "the system refuses executable memory (a sandbox, a seccomp filter or SELinux); allow memfd_create, and mmap and mprotect with PROT_EXEC"
_LLVMLITE = (0, 45)  # the oldest version with the functions used here
_ROOM = 1 << 25  # bytes of code that a process can have; unused pages take no memory
_MEMFD_CREATE = 319  # the number of the system call
_READ, _WRITE, _RUN, _SHARED, _FAILED = 1, 2, 4, 1, 2**64 - 1  # mmap's constants
DATA_OFFSET = getattr(
    object, "__basicsize__", 0
)  # offset of the data pointer in an ndarray object, after the object's header
_ALIGNMENT = 64


@lru_cache(1)
def available() -> bool:
    """Whether machine code that Python writes for x86-64 runs here (hand-written kernels need it); determined once."""
    return obstacle() is None


def obstacle() -> str | None:
    """Why native kernels do not run here, and what to do about it; None where they do."""
    setting = os.environ.get("PENLIGHT_NATIVE")
    if setting in ("0", "llvm"):
        return f"PENLIGHT_NATIVE={setting} turns it off; unset it"
    if unfit := _python_obstacle():
        return unfit
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "i686"):
        wsl = ", so install the Windows Subsystem for Linux (wsl --install)" if sys.platform == "win32" else ""
        return f"it needs Linux on x86-64, and this is {platform.system() or sys.platform} on {platform.machine()}{wsl}"
    try:
        from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]
    except ImportError:
        return "this NumPy does not tell what the processor can do; install NumPy from PyPI"
    missing = [name for name in _NEEDED if not __cpu_features__.get(name, False)]
    if missing:
        return f"it needs a processor with {', '.join(_NEEDED)}, and this one lacks {', '.join(missing)}"
    if not _trial():
        return _REFUSED
    return None


def _python_obstacle() -> str | None:
    """Why this Python interpreter cannot run native kernels; None if it can."""
    if sys.platform in ("emscripten", "wasi"):
        return "programs in WebAssembly cannot write any; run Penlight outside of the browser"
    if sys.maxsize < 2**32:
        return "it needs a 64 bit Python, and this one has 32; install another"
    if sys.implementation.name != "cpython" or not 0 < DATA_OFFSET < 128:
        return "it needs CPython, and this is another interpreter; install CPython"
    return None


def llvm_obstacle() -> str | None:
    """Why LLVM cannot compile kernels here, and what to do about it; None if it can."""
    if os.environ.get("PENLIGHT_NATIVE") == "0":
        return "PENLIGHT_NATIVE=0 turns it off; unset it"
    if unfit := _python_obstacle():
        return unfit
    try:
        from llvmlite import __version__ as found
    except ImportError:
        return "it needs the package llvmlite; pip install 'penlight[llvm]'"
    if tuple(map(int, found.split(".")[:2])) < _LLVMLITE:
        return (
            f"it needs llvmlite {'.'.join(map(str, _LLVMLITE))} or newer, and this is {found}; pip install -U llvmlite"
        )
    if not can_become_executable():
        return _REFUSED
    try:
        llvm_engine.engine()
    except (ImportError, OSError, RuntimeError) as error:
        return f"llvmlite cannot start LLVM here ({error}); pip install --force-reinstall llvmlite"
    probe = np.empty(1, np.float32)
    if ctypes.c_void_p.from_address(id(probe) + DATA_OFFSET).value != probe.ctypes.data:
        return "this NumPy keeps the data of arrays at another offset; install NumPy from PyPI"
    return None


def can_become_executable() -> bool:
    """Whether the system lets memory that was written be run. LLVM asks for that, and ends the process where it is refused."""
    import mmap

    if not hasattr(mmap, "PROT_EXEC"):  # Windows
        return True
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        return False
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    failed = protect(ctypes.addressof(ctypes.c_char.from_buffer(page)), mmap.PAGESIZE, _READ | _RUN)
    return not failed


def wrong_products() -> str | None:
    """A known bug in NumPy's results on this processor, and what to do about it; None if there is none.

    On ARM processors with SME, such as Apple's M4, OpenBLAS before 0.3.34 computes the product of a float32 matrix and its own
    transpose wrongly: it adds zero times the uninitialised result, or writes nothing (github.com/numpy/numpy/issues/31776).
    """
    if platform.machine() not in ("arm64", "aarch64"):
        return None
    x, result = np.ones((8, 8), np.float32), np.full((8, 8), np.nan, np.float32)
    with np.errstate(all="ignore"):
        np.matmul(x, x.T, result)
    if (result == 8).all():
        return None
    return (
        "NumPy multiplies a float32 matrix by its own transpose wrongly on this processor: "
        "set OPENBLAS_CORETYPE=NEOVERSEN1 before Python starts, or install a NumPy with OpenBLAS 0.3.34 or newer"
    )


@lru_cache(1)
def llvm_available() -> bool:
    """Whether LLVM compiles kernels here; determined once."""
    return llvm_obstacle() is None


def backend() -> Literal["x86", "llvm"] | None:
    """The backend that compiles the kernels of kernels/compiler; None where NumPy runs instead."""
    return "x86" if available() else "llvm" if llvm_available() else None


@lru_cache(1)
def compiles() -> bool:
    """Whether any backend compiles the kernels of kernels/compiler here; determined once."""
    return backend() is not None


def _trial() -> bool:
    """Whether code can be loaded and run, and finds an array's data."""
    try:
        fetch = load(asm.fetch(DATA_OFFSET), [ctypes.c_void_p], ctypes.c_void_p)
    except OSError:
        return False
    probe = np.empty(1, np.float32)
    return bool(fetch(id(probe)) == probe.ctypes.data)


def keep(thing: Any) -> None:
    """Never free an object. At exit Python frees module globals, while threads may still read or run them."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class _Memory:
    """The file that holds all code, mapped twice. See Note [Executable memory]."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        # Python's own mmap would keep the file open. These mappings last until the process ends.
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        file = libc.syscall(_MEMFD_CREATE, b"penlight", 1)  # closed on exec
        if file < 0:
            raise OSError(ctypes.get_errno(), "this system gives no memory for machine code")
        try:
            os.ftruncate(file, _ROOM)
            mapped = [libc.mmap(None, _ROOM, rights, _SHARED, file, 0) for rights in (_READ | _WRITE, _READ | _RUN)]
        finally:
            os.close(file)
        if _FAILED in mapped:
            raise OSError(ctypes.get_errno(), "this system does not let memory be executable")
        self._written, self._start = mapped
        self._copy = ctypes.memmove
        self._copy(self._written + _ALIGNMENT, asm.TAKE, len(asm.TAKE))
        self._copy(self._written, (2 * _ALIGNMENT).to_bytes(8, "little"), 8)
        take = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
        self._take = take(self._start + _ALIGNMENT)

    def put(self, code: bytes) -> int:
        """Store code; return the address at which it can be run."""
        size = -(-len(code) // _ALIGNMENT) * _ALIGNMENT
        offset = self._take(self._written, size)
        if offset + size > _ROOM:
            raise MemoryError("there is no memory left for machine code; PENLIGHT_NATIVE=0 does without")
        self._copy(self._written + offset, code, len(code))
        return int(self._start + offset)


@lru_cache(1)
def _memory() -> _Memory:
    return _Memory()


def load(code: bytes, argument_types: list[Any], result_type: Any = None) -> Any:
    """A function that runs `code`. It and its memory are never freed."""
    address = _memory().put(code)
    function = ctypes.CFUNCTYPE(result_type, *argument_types)(address)
    function.address = address  # type: ignore[attr-defined]  # for machine code that calls it
    return function


def load_kernel(code: bytes, whole: int, numbers: int) -> Any:
    """A kernel as a function of `whole` integers (bounds, and arrays by their `id`) and `numbers` float64.

    Only call.py and the machine code of this folder may call the result: see Note [Calling machine code].
    """
    # Integers are passed as pointers, which takes ctypes half the time; bounds are never negative.
    return load(code, [ctypes.c_void_p] * whole + [ctypes.c_double] * numbers)
