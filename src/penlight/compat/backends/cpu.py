"""torch.backends.cpu: what the processor can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The widest vector instructions that NumPy found: AVX512, AVX2 or DEFAULT."""
    from numpy._core._multiarray_umath import __cpu_features__ as features  # type: ignore[import-not-found]

    if features.get("AVX512F"):
        return "AVX512"
    return "AVX2" if features.get("AVX2") else "DEFAULT"
