"""torch.quasirandom: quasi-random sequences, which are refused when one is made."""

from __future__ import annotations

from ._refused import refused_class

SobolEngine = refused_class(
    "quasirandom.SobolEngine",
    "Penlight has no Sobol sequences. Use scipy.stats.qmc.Sobol and torch.from_numpy, or torch.rand.",
)
