"""All records, by name: those written here and in the other `records_*.py`, and one by default for every elementwise op."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from recording import RECORDS, binary, record, unary

import penlight
import penlight.special
from penlight.ops import OPS

for _path in sorted(Path(__file__).parent.glob("records_*.py")):
    import_module(_path.stem)


def _by_default(op):
    """The samples that an elementwise op gets without a record of its own."""
    tensors = [i for i in op.inputs if op.kinds[i] == "tensor"]
    numbers = [i for i in op.inputs if op.kinds[i] == "number"]
    if op.plain and any(p not in op.defaults for p in op.plain):
        return None
    if len(tensors) == 1 and not numbers:
        return unary(0.1, 0.9)
    if len(tensors) + len(numbers) == 2:
        return binary(0.2, 2.0, numbers=(2, 0.5) if numbers else ())
    return None


for _op in OPS.values():
    if (
        _op.kind == "pointwise"
        and not _op.name.startswith("_")
        and _op.name not in RECORDS
        and hasattr(penlight, _op.name)
    ):
        _samples = _by_default(_op)
        if _samples:
            record(_op.name, _samples)

# Functions without a record, and why.
WITHOUT = {
    "linalg.eig": "up to phases: test_linalg_parity.py", "linalg.svd": "up to signs: test_linalg_parity.py",
    "binomial": "random",
    "dequantize": "quantized tensors are refused", "detach_copy": "its gradient is refused in PyTorch", "is_distributed": "a question", **dict.fromkeys(("is_conj", "is_neg", "resolve_conj", "resolve_neg"), "tests/ops/test_conjugates.py"), "from_dlpack": "tests/ops/test_memory.py", "to_dlpack": "tests/ops/test_memory.py",
}  # fmt: skip
