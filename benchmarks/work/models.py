"""Training steps of whole models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def _training(t: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Step:
    loss_of = t.nn.CrossEntropyLoss()

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def _mlp(t: Any, width: int, batch: int, adam: bool) -> Step:
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = t.optim.Adam(model.parameters()) if adam else t.optim.SGD(model.parameters(), lr=0.01)
    return _training(t, model, optimizer, t.randn(batch, width), t.randint(10, (batch,)))


def mlp_tiny(t: Any) -> Step:
    """An MLP, a step of SGD: 3 layers of width 16, batch 8."""
    return _mlp(t, 16, 8, adam=False)


def mlp_tiny_adam(t: Any) -> Step:
    """An MLP, a step of Adam: 3 layers of width 16, batch 8."""
    return _mlp(t, 16, 8, adam=True)


def mlp_small_sgd(t: Any) -> Step:
    """An MLP, a step of SGD: 3 layers of width 64, batch 32."""
    return _mlp(t, 64, 32, adam=False)


def mlp_small(t: Any) -> Step:
    """An MLP, a step of Adam: 3 layers of width 64, batch 32."""
    return _mlp(t, 64, 32, adam=True)


def mlp_large_sgd(t: Any) -> Step:
    """An MLP, a step of SGD: 3 layers of width 512, batch 256."""
    return _mlp(t, 512, 256, adam=False)


def mlp_large(t: Any) -> Step:
    """An MLP, a step of Adam: 3 layers of width 512, batch 256."""
    return _mlp(t, 512, 256, adam=True)


def cnn(t: Any) -> Step:
    """PyTorch's MNIST example at batch 64, a step of Adadelta."""
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(),
        nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10),
    )  # fmt: skip
    return _training(t, model, t.optim.Adadelta(model.parameters()), t.randn(64, 1, 28, 28), t.randint(10, (64,)))


def lstm(t: Any) -> Step:
    """An LSTM of one layer, width 64, over 50 steps at batch 16, forward and backward."""
    t.manual_seed(0)
    layer = t.nn.LSTM(32, 64)
    x = t.randn(50, 16, 32)

    def step() -> Any:
        layer.zero_grad()
        layer(x)[0].sum().backward()
        return layer.weight_hh_l0.grad

    return step


def gpt(t: Any) -> Step:
    """A character GPT: 4 layers, width 128, context 64, batch 12, a step of AdamW."""
    t.manual_seed(0)
    nn = t.nn
    functional = t.nn.functional

    class Block(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads = heads
            self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            b, n, w = x.shape
            q, k, v = (
                y.view(b, n, self.heads, w // self.heads).transpose(1, 2) for y in self.qkv(self.ln1(x)).split(w, 2)
            )
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).contiguous().view(b, n, w))
            return x + self.down(functional.gelu(self.up(self.ln2(x))))

    class GPT(nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(65, 128), nn.Embedding(64, 128)
            self.blocks = nn.Sequential(*(Block(128, 4) for _ in range(4)))
            self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 65, bias=False)

        def forward(self, ids: Any) -> Any:
            x = self.tokens(ids) + self.places(t.arange(ids.shape[1]))
            return self.head(self.norm(self.blocks(x))).view(-1, 65)

    model = GPT()
    ids = t.randint(65, (12, 64))
    return _training(t, model, t.optim.AdamW(model.parameters()), ids, t.randint(65, (12 * 64,)))
