"""Which functions on tensors and which methods programs use, and why some have no record.

surface.txt has the names: functions of torch, torch.nn.functional, torch.linalg, torch.fft and torch.special, then methods, as used by
106 public repositories, most used first. docs/conformance.md gives the list of those without; tools/conformance.py writes it there.
"""

from __future__ import annotations

from pathlib import Path

FUNCTIONS, METHODS = (part.split() for part in (Path(__file__).parent / "surface.txt").read_text().split("\n\n"))

# Names without a record, by the reason.
REASONS = {
    "no function on tensors: settings and state, tests/test_*.py": "manual_seed, set_printoptions, set_default_dtype, is_grad_enabled, get_default_dtype, use_deterministic_algorithms, set_default_device, set_default_tensor_type, set_float32_matmul_precision, set_num_threads, get_num_threads, get_default_device, get_rng_state, set_rng_state, is_autocast_enabled, typename, compile, _check",
    "sparse tensors: tests of sparse and of refusals": "to_dense, to_sparse, _indices, _values, coalesce, sparse_mask, to_sparse_coo, to_sparse_csr, to_padded_tensor, values",
    "files: tests/test_serialization*.py": "save, load",
    "shared memory: tests/ops/test_memory.py": "from_numpy",
    "a transform: tests/func": "vmap",
    "traced control flow, refused": "cond",
    "deprecated; as arange": "range",
    "up to phases: tests/ops/test_linalg_parity.py": "linalg.eig",
    "random, and up to signs: tests/ops/test_linalg.py": "pca_lowrank",
    "tests/ops/test_foreach.py": "_foreach_copy_",
    "mixed precision: tests/test_amp.py": "_amp_foreach_non_finite_check_and_unscale_",
    "the engine: tests/autograd": "backward",
    "tests/autograd/test_hooks.py": "register_hook, register_post_accumulate_grad_hook",
    "refused: tests/test_refusals.py": "cuda, pin_memory, record_stream",
    "tests/test_storage.py": "storage, untyped_storage, _make_subclass",
    "deprecated; as resize_": "resize",
    "removed from PyTorch": "reinforce",
}  # fmt: skip
WITHOUT = {name: reason for reason, names in REASONS.items() for name in names.split(", ")}
