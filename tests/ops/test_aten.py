"""`torch.ops.aten`: ops by PyTorch's inner names, wherever their function lives."""

from __future__ import annotations

import pytest

import penlight as torch

CALLS = {
    "slice.Tensor": (lambda op: op(torch.arange(10).view(2, 5), 1, 1, 4, 2), [[1, 3], [6, 8]]),
    "mm.default": (lambda op: op(torch.eye(2), torch.ones(2, 2)), [[1.0, 1.0], [1.0, 1.0]]),
    "gelu.default": (lambda op: op(torch.zeros(2)), [0.0, 0.0]),
    "linalg_inv.default": (lambda op: op(torch.eye(2) * 2), [[0.5, 0.0], [0.0, 0.5]]),
    "special_entr.default": (lambda op: op(torch.ones(1)), [-0.0]),
    "add_.Tensor": (lambda op: op(torch.ones(2), 1), [2.0, 2.0]),
    "_safe_softmax.default": (
        lambda op: op(torch.tensor([[float("-inf")] * 2, [0.0, 0.0]]), dim=1),
        [[0.0, 0.0], [0.5, 0.5]],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_runs(name):
    packet, overload = name.split(".")
    run, expected = CALLS[name]
    assert run(getattr(getattr(torch.ops.aten, packet), overload)).tolist() == expected


def test_unknown():
    with pytest.raises(AttributeError):
        torch.ops.aten.no_such_op(torch.ones(1))
