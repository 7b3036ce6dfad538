"""The examples in PyTorch's own docstrings print the same, warn of the same and fail alike on both libraries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parent.parent

# The docstrings with an example that differs, by the reason.
KNOWN = {
    "uninitialised memory, or a random seed": "Tensor.new_empty Tensor.new_empty_strided empty empty_strided nn.utils.skip_init Generator.seed",
    "the last digits, or the order of equal elements": """cholesky_inverse sort linalg.solve linalg.solve_triangular linalg.lu_solve
        fft.hfft2 fft.hfftn""",
    "refused: quantised tensors": """fake_quantize_per_channel_affine fake_quantize_per_tensor_affine quantize_per_channel
        quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm quantized_max_pool1d quantized_max_pool2d""",
    "refused: sparse tensors in blocks, or of other than two dimensions": """Tensor.to_sparse Tensor.to_sparse_bsc
        Tensor.to_sparse_bsr sparse_bsc_tensor sparse_bsr_tensor sparse.as_sparse_gradcheck""",
    "refused: nested tensors in the strided layout": "nested.as_nested_tensor nested.nested_tensor nested.to_padded_tensor",
    "refused: a gradient of another dtype, complex halves, rounding modes of the processor": """Tensor.grad_dtype
        set_default_dtype set_flush_denormal""",
    "refused: masked tensors": "masked.is_masked_tensor",
    "a name that PyTorch's own examples do not find either": """masked.amax masked.amin masked.argmax masked.argmin
        masked.cumprod masked.cumsum masked.log_softmax masked.logaddexp masked.logsumexp masked.mean masked.median masked.norm
        masked.normalize masked.prod masked.softmax masked.softmin masked.std masked.sum masked.var""",
    "refused: tracing into PyTorch's compiler": "func.functionalize",
    "not here yet": """func.rearrange linalg._powsum utils._pytree.register_constant overrides.get_testing_overrides
        overrides.redispatch_function overrides.get_ignored_functions _is_device_backend_autoload_enabled""",
    "a warning about PyTorch's own implementation": "ldexp func.jacfwd func.linearize Tensor.sparse_mask",
    "how a function prints": "vmap",
    "what PyTorch has registered for itself": "serialization.safe_globals",
}
BY_CHANCE = [*KNOWN][:2]  # these may agree
_NUMBER = re.compile(r"[+-]?\d+\.?\d*(?:e[+-]?\d+)?|nan|inf")


def _run(which: str, *files: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.docstring_examples", which, *map(str, files)]
    return subprocess.Popen(command, cwd=ROOT)


def _alike(ours: str, theirs: str) -> bool:
    """Whether two texts are equal up to addresses, rounding, and the spaces that align numbers."""
    ours, theirs = (re.sub("0x[0-9a-f]+", "", text).replace("penlight", "torch") for text in (ours, theirs))
    if ["".join(t.split()) for t in _NUMBER.split(ours)] != ["".join(t.split()) for t in _NUMBER.split(theirs)]:
        return False
    pairs = zip(map(float, _NUMBER.findall(ours)), map(float, _NUMBER.findall(theirs)), strict=True)
    return all(a == pytest.approx(b, rel=2e-3, abs=1e-4, nan_ok=True) for a, b in pairs)


def _difference(statement: str, ours: list[Any], theirs: list[Any]) -> str | None:
    if ours[0] == theirs[0] and _alike(ours[1], theirs[1]) and ours[2] == theirs[2]:
        return None
    return f">>> {statement}{theirs}\nbut here\n{ours}"


def test_examples_of_pytorchs_docstrings(tmp_path: Path) -> None:
    examples, here, there = (tmp_path / name for name in ("examples.json", "here.json", "there.json"))
    assert _run("collect", examples).wait() == 0
    running = [_run("penlight", examples, here), _run("torch", examples, there)]
    assert [process.wait() for process in running] == [0, 0]
    statements, ours, theirs = (json.loads(file.read_text()) for file in (examples, here, there))
    assert len(statements) > 800
    known = {"torch." + name for names in KNOWN.values() for name in names.split()}
    found = {}
    for name, each in statements.items():
        differences = [
            text for case in zip(each, ours[name], theirs[name], strict=True) if (text := _difference(*case))
        ]
        if differences:
            found[name] = differences[0]
    new = [f"{name}\n{text}" for name, text in found.items() if name not in known]
    assert not new, "\n\n".join(new)
    by_chance = {"torch." + name for reason in BY_CHANCE for name in KNOWN[reason].split()}
    assert not known - found.keys() - by_chance, "these no longer differ"
