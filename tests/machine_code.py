"""Penlight as it is where no machine code runs, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penlight.kernels import executable, native, strategy
from penlight.kernels.compiler import loops
from penlight.kernels.index import gather_scatter


@contextmanager
def without_machine_code() -> Iterator[None]:
    """No loop that was compiled before is used, and none that was not found is remembered afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (executable, native):
            patch.setattr(module, "available", lambda: False)
        patch.setattr(executable, "llvm_available", lambda: False)
        patch.setattr(loops, "_kernels", {})
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    for found in (loops.can_compile, executable.compiles, gather_scatter._along):
        found.cache_clear()
    strategy.forget()
