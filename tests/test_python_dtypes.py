"""`dtype=float` and its like: Python's number types as dtypes, as PyTorch 2.13.0 takes them."""

from __future__ import annotations

import pytest

import penlight as torch

KINDS = {float: torch.float64, int: torch.int64, bool: torch.bool, complex: torch.complex128}

x = torch.tensor([1.5, 2.5])
USES = {
    "tensor": lambda t: torch.tensor([1], dtype=t), "zeros": lambda t: torch.zeros(2, dtype=t),
    "full": lambda t: torch.full((2,), 1, dtype=t), "as_tensor": lambda t: torch.as_tensor([1], dtype=t),
    "asarray": lambda t: torch.asarray([1], dtype=t), "eye": lambda t: torch.eye(2, dtype=t),
    "zeros_like": lambda t: torch.zeros_like(x, dtype=t), "full_like": lambda t: torch.full_like(x, 1, dtype=t),
    "new_zeros": lambda t: x.new_zeros(2, dtype=t), "new_tensor": lambda t: x.new_tensor([1], dtype=t),
    "scalar_tensor": lambda t: torch.scalar_tensor(1, dtype=t), "frombuffer": lambda t: torch.frombuffer(bytearray(16), dtype=t),
    "to": lambda t: x.to(t), "to_dtype": lambda t: x.to(dtype=t), "to_both": lambda t: x.to("cpu", t),
    "sum": lambda t: x.sum(dtype=t), "prod": lambda t: x.prod(dtype=t),
}  # fmt: skip
FLOATS = {
    "arange": lambda t: torch.arange(3, dtype=t), "linspace": lambda t: torch.linspace(0, 1, 3, dtype=t),
    "rand": lambda t: torch.rand(2, dtype=t), "randn_like": lambda t: torch.randn_like(x, dtype=t),
    "randint": lambda t: torch.randint(3, (2,), dtype=t), "randperm": lambda t: torch.randperm(2, dtype=t),
    "mean": lambda t: x.mean(dtype=t), "softmax": lambda t: torch.nn.functional.softmax(x, 0, dtype=t),
    "norm": lambda t: torch.norm(x, dtype=t), "window": lambda t: torch.hann_window(3, dtype=t),
    "layer": lambda t: torch.nn.Linear(1, 1, dtype=t).weight, "module": lambda t: torch.nn.Linear(1, 1).to(t).weight,
    "view": lambda t: x.view(t), "cumsum": lambda t: x.cumsum(0, dtype=t), "nansum": lambda t: x.nansum(dtype=t),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
def test_any(use, kind):
    assert USES[use](kind).dtype is KINDS[kind]


@pytest.mark.parametrize("use", FLOATS)
def test_float(use):
    assert FLOATS[use](float).dtype is torch.float64


def test_questions():
    assert torch.promote_types(float, torch.float32) is torch.float64
    assert torch.can_cast(int, torch.float32) and not torch.can_cast(float, torch.int64)
    assert torch.finfo(float).bits == 64
    with pytest.raises(ValueError, match="invalid type: 'float'"):
        x.type(float)
    with pytest.raises(TypeError, match=r"to\(\) received an invalid combination of arguments"):
        x.to(list)
    with pytest.raises(TypeError, match=r"argument 'dtype' must be torch.dtype, not str"):
        torch.zeros(2, dtype="float32")
