"""Attention where no graph is recorded takes a shorter way: the same numbers as with a graph."""

from __future__ import annotations

from typing import Any

import pytest

import penlight as torch
from penlight import nn

MASKS: dict[str, Any] = {
    "none": {},
    "causal": {"attn_mask": nn.Transformer.generate_square_subsequent_mask(5), "is_causal": True},
    "of numbers": {"attn_mask": torch.linspace(-1.0, 1.0, 25).reshape(5, 5)},
    "of bools": {"attn_mask": torch.eye(5).bool()},
    "for each head": {"attn_mask": torch.linspace(-2.0, 2.0, 6 * 25).reshape(6, 5, 5)},
    "padding": {"key_padding_mask": torch.tensor([[False] * 4 + [True], [False] * 5, [False] * 5])},
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_without_a_graph(mask: str, bias: bool, batch_first: bool) -> None:
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(8, 2, dropout=0.5, bias=bias, batch_first=batch_first)
    x = torch.randn(3, 5, 8) if batch_first else torch.randn(5, 3, 8)
    for train in (True, False):
        attention.train(train)
        torch.manual_seed(1)
        recorded, _ = attention(x, x, x, need_weights=False, **MASKS[mask])
        with torch.no_grad():
            torch.manual_seed(1)
            plain, weights = attention(x, x, x, need_weights=False, **MASKS[mask])
        assert recorded.requires_grad and not plain.requires_grad and weights is None
        assert plain.stride() == recorded.stride() and plain.is_contiguous() == recorded.is_contiguous()
        torch.testing.assert_close(plain, recorded.detach())


def test_one_sequence_without_a_graph() -> None:
    attention, x = nn.MultiheadAttention(8, 2), torch.randn(5, 8)
    with torch.no_grad():
        plain, _ = attention(x, x, x, need_weights=False)
    torch.testing.assert_close(plain, attention(x, x, x, need_weights=False)[0].detach())
    assert plain.shape == (5, 8)


def test_a_mask_of_another_shape_is_refused() -> None:
    attention, x = nn.MultiheadAttention(8, 2), torch.randn(5, 1, 8)
    with torch.no_grad(), pytest.raises(RuntimeError, match="The shape of the 2D attn_mask is"):
        attention(x, x, x, need_weights=False, attn_mask=torch.zeros(4, 5))
