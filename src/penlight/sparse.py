"""torch.sparse, which is refused when it is used. Penlight's tensors are dense."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__, "Penlight's tensors are dense.", "Use a dense tensor, or scipy.sparse outside of the graph."
)
