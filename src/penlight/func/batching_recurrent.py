"""Batching rules of whole recurrent layers: samples that share their weights are more sequences beside the others.

Samples with weights of their own do not come here: `ops.recurrent.fused` leaves them to the loop over time, made of batched ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.machinery.op import Op
from ..ops.nn import recurrent as _recurrent  # noqa: F401  it declares these ops
from .batching import RULES, sample_by_sample

if TYPE_CHECKING:
    from .level import BatchLevel

_SEQUENCES = ("input", "hx", "cx")  # (time, N, features), and states (N, features)


def _layer(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    env = dict(zip(op.parameters, arguments))
    if env["sizes"] is not None or any(level.has(v) for name, v in env.items() if name not in _SEQUENCES):
        return sample_by_sample(level, op, arguments)
    b, (t, n, _) = level.size, env["input"].shape
    env["input"] = level.full(env["input"]).transpose(0, 1).reshape(t, b * n, -1)
    for name in ("hx", "cx"):
        if name in env:
            env[name] = level.full(env[name]).reshape(b * n, -1)
    found = dict(zip(op.results, op.function(*env.values())))
    output = found["output"].reshape(t, b, n, -1).transpose(0, 1).contiguous()
    unread = output.new_empty((b, 0))  # what the op keeps for its backward pass
    return output, *(found[name].reshape(b, n, -1) if name in ("hy", "cy") else unread for name in op.results[1:])


for _name in (
    "_mkldnn_rnn_layer",
    *(
        kind + form
        for kind in ("_lstm_sequence", "_lstm_projected", "_gru_sequence", "_rnn_sequence")
        for form in ("", "_packed")
    ),
):
    RULES[_name] = _layer
