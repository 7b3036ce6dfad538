"""Dtypes that PyTorch has no kernel for: `@traits(refuses=...)` says which it refuses, and in what words.

The keys are kinds of NumPy dtypes: c complex, b bool, i and u integers, h 16-bit floats. A word alone is what PyTorch calls its kernel, as in `"lt_cpu" not implemented for 'ComplexFloat'`; a sentence is the whole message.
Elementwise ops look at complex numbers on their slow path, where those come by anyhow; other refusals wrap the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.elementwise.strategies import least_size
from .guards import not_implemented
from .op import Op


def refuse(op: Op, np_dtype: Any, inner: bool = False) -> None:
    """Raise PyTorch's error if it has no kernel of this op for the dtype. `inner`: along another dimension than the last."""
    kind = "h" if np_dtype.itemsize == 2 and np_dtype.kind in "fV" else np_dtype.kind
    for kinds, said in op.traits.refuses.items():
        if kind in kinds and isinstance(said, str):
            raise not_implemented(said.replace("lastdim_", "") if inner else said, np_dtype)
        if kind in kinds:
            raise type(said)(said.args[0].replace("{}", dtypes.LEGACY[dtypes.from_np(np_dtype)]))


def refusing_dtypes(op: Op, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel, refusing what PyTorch refuses, unless the slow path does that."""
    refuses = op.traits.refuses
    if not refuses or (op.kind == "pointwise" and set(refuses) == {"c"}):
        return kernel

    kinds = "".join(refuses).replace("h", "fV")
    with_number = op.name.endswith("_number")
    along_dim = any("lastdim_" in str(said) for said in refuses.values())

    def run(*args: Any) -> Any:
        kind = args[0].dtype.kind
        if kind in kinds and not (with_number and kind == "b" and type(args[1]) is int):  # together they are integers
            inner = along_dim and args[0].ndim > 1 and args[1] not in (-1, args[0].ndim - 1)
            refuse(op, args[0].dtype, inner)
        return kernel(*args)

    known = type(kernel) is np.ufunc or getattr(kernel, "one_pass", False)
    run.one_pass = known and least_size(kernel)  # type: ignore[attr-defined]
    run.__wrapped__ = kernel  # type: ignore[attr-defined]
    return run
