"""Machine code of LLVM's, made, kept on disk, and loaded.

Note [Kept machine code]
LLVM takes 10 to 300 milliseconds for a kernel, and reading its result from a file takes one. So object code is kept in
the user's cache directory (`directory`), in a file for each kernel. Its name is a digest of everything that the code
depends on: LLVM's IR of the kernel, the version of llvmlite, the processor and what it can do. It begins with a digest
of its content, and appears under its name when it is complete. A file that is anything else than that is compiled anew
and replaced. The directory belongs to the user and only the user may write to it or read it, since what is in it is
run; where it is not so, and wherever the system refuses anything, nothing is kept. It can be deleted at any time.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import sys
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from .. import executable
from .ir import Kernel
from .llvm import Emitter
from .x86 import address_of

# Functions that LLVM calls on its own: for loops that fill memory, and on processors without the instruction.
_IMPLICIT = (
    "memset", "memcpy", "fma", "fmaf", "rint", "rintf", "floor", "floorf", "ceil", "ceilf", "trunc", "truncf",
)  # fmt: skip
_DIGEST = 32  # bytes
_VECTOR = re.compile(r"<\d+ x ")  # a type of LLVM's


class _Engine:
    """LLVM, for this processor."""

    def __init__(self) -> None:
        import llvmlite
        from llvmlite import binding

        self.binding = binding
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        try:
            features = binding.get_host_cpu_features().flatten()
        except RuntimeError:  # LLVM does not know it for this system
            features = ""
        target = binding.Target.from_triple(binding.get_process_triple())
        processor = binding.get_host_cpu_name()
        self.machine = target.create_target_machine(processor, features, opt=2)
        # Loops over scalars take up to three times as long with AVX-512: each comparison goes through a mask register.
        without = features + ",-avx512f" * ("+avx512f" in features)
        self.scalar_machine = target.create_target_machine(processor, without, opt=2)
        about = llvmlite.__version__, binding.get_process_triple(), processor, features, without
        self.about = "\n".join(about)
        self.compiler = binding.create_mcjit_compiler(binding.parse_assembly(""), self.machine)
        for name in _IMPLICIT:
            binding.add_symbol(name, address_of(name))
        executable.keep(self)
        self.lock = threading.Lock()
        self.addresses: dict[str, int] = {}

    def address(self, kernel: Kernel) -> int:
        """Where the machine code of a kernel is."""
        emitter = Emitter(kernel)
        said = emitter.finish()
        for name in emitter.called:  # LLVM ends the process if it does not find one
            self.binding.add_symbol(f"penlight_{name}", address_of(name))
        digest = hashlib.sha256(f"{self.about}\n{said}".encode()).hexdigest()
        with self.lock:
            if digest not in self.addresses:
                if not executable.can_become_executable():
                    raise RuntimeError(
                        "the system began to refuse executable memory while this program ran; PENLIGHT_NATIVE=0 does without"
                    )
                code = kept(digest)
                if code is None:
                    code = self.compiled(said.replace("@kernel(", f"@kernel_{digest}("))
                    keep(digest, code)
                self.compiler.add_object_file(self.binding.ObjectFileRef.from_data(code))
                self.compiler.finalize_object()
                self.addresses[digest] = self.compiler.get_function_address(f"kernel_{digest}")
            return self.addresses[digest]

    def compiled(self, said: str) -> bytes:
        """The object file of a module."""
        module = self.binding.parse_assembly(said)
        machine = self.machine if _VECTOR.search(said) else self.scalar_machine
        options = self.binding.create_pipeline_tuning_options(speed_level=2)
        # vectorise.py comes before this; unrolling gains 4% and doubles the time that this takes.
        options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
        passes = self.binding.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
        return bytes(machine.emit_object(module))


engine = lru_cache(1)(_Engine)


def load(kernel: Kernel) -> Any:
    """A kernel as a function of integers (bounds, and arrays by their `id`), and then of float64."""
    floats = sum(op.type.is_float for op in kernel.arguments)
    types = [ctypes.c_void_p] * (len(kernel.parameters) - floats) + [ctypes.c_double] * floats
    address = engine().address(kernel)
    function = ctypes.CFUNCTYPE(None, *types)(address)
    function.address = address  # type: ignore[attr-defined]
    return function


# ----- Files ----------------------------------------------------------------------------------------------------------


@lru_cache(1)
def directory() -> Path | None:
    """Where machine code is kept; None where it cannot be. See Note [Kept machine code]."""
    try:
        if sys.platform == "win32":
            base = Path(os.environ["LOCALAPPDATA"])
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME", ""))
            base = base if base.is_absolute() else Path.home() / ".cache"  # as the specification of this variable says
        found = base / "penlight" / "machine_code"
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = found.stat()
    except (OSError, KeyError, RuntimeError):  # the last if there is no home
        return None
    if hasattr(os, "getuid") and (about.st_uid != os.getuid() or about.st_mode & 0o077):
        return None
    return found


def kept(name: str) -> bytes | None:
    """What is kept under a name."""
    folder = directory()
    try:
        content = b"" if folder is None else (folder / name).read_bytes()
    except OSError:
        return None
    code = content[_DIGEST:]
    return code if code and hashlib.sha256(code).digest() == content[:_DIGEST] else None


def keep(name: str, code: bytes) -> None:
    """Keep code under a name."""
    folder = directory()
    if folder is None:
        return
    part = folder / f"{name}.{os.getpid()}"
    try:
        part.write_bytes(hashlib.sha256(code).digest() + code)
        part.replace(folder / name)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
