"""torch.utils.deterministic: whether uninitialised memory is filled while deterministic algorithms are asked for.

Penlight computes deterministically and leaves uninitialised memory as it is; the setting is kept.
"""

from __future__ import annotations

fill_uninitialized_memory = True
