"""Products in half precision round once, as PyTorch's do (values from torch 2.13.0)."""

from __future__ import annotations

import numpy as np

import penlight as torch


def test_addmm_rounds_once() -> None:
    x = torch.tensor(np.arange(12).reshape(3, 4).astype("f") / 7).bfloat16()
    y = torch.addmm(x[:, :3], x, x.t(), beta=0.3, alpha=0.7)
    assert y[0].tolist() == [0.19921875, 0.5859375, 0.96875]
