"""torch.nested, which is refused when it is used. Penlight has no nested tensors."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(
    __name__, "Penlight has no nested tensors.", "Pad the sequences with torch.nn.utils.rnn.pad_sequence."
)
