"""The work: each function prepares it for a library `t` and returns the step that is timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def op(t: Any) -> Step:
    """One product of 4 floats with its graph, a thousand times."""
    a, b = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True)

    def step() -> None:
        for _ in range(1000):
            a * b

    return step


def chain(t: Any) -> Step:
    """A chain of 100 products of 4 floats, forward and backward."""
    a, b, g = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True), t.ones(4)

    def step() -> None:
        x = a
        for _ in range(100):
            x = x * b
        x.backward(g)

    return step


def scalar_program(t: Any) -> Step:
    """Rosenbrock's function of two numbers, value and gradient, 20 steps down."""

    def step() -> None:
        x, y = t.tensor(-1.2, requires_grad=True), t.tensor(1.0, requires_grad=True)
        for _ in range(20):
            loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
            gx, gy = t.autograd.grad(loss, [x, y])
            x = (x - 1e-3 * gx).detach().requires_grad_()
            y = (y - 1e-3 * gy).detach().requires_grad_()

    return step


def deep_graph(t: Any) -> Step:
    """20,000 additions, forward and backward."""
    x = t.ones(1, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(20_000):
            y = y + 1
        y.backward()

    return step


def fan_out(t: Any) -> Step:
    """One tensor used 2,000 times."""
    x = t.ones(4, requires_grad=True)

    def step() -> None:
        total = x * 0
        for _ in range(2_000):
            total = total + x
        total.sum().backward()

    return step


def hessian(t: Any) -> Step:
    """The Hessian of a function of 50 variables by double backward."""
    x = t.linspace(-1, 1, 50).requires_grad_()

    def step() -> None:
        y = (x.exp() * x.sin()).sum() + (x[1:] * x[:-1]).pow(2).sum()
        (g,) = t.autograd.grad(y, x, create_graph=True)
        for i in range(50):
            t.autograd.grad(g[i], x, retain_graph=True)

    return step


def elementwise(t: Any) -> Step:
    """tanh, product, exp and mean of a million elements, forward and backward."""
    x = t.linspace(-2, 2, 1_000_000).requires_grad_()

    def step() -> None:
        x.grad = None
        ((x.tanh() * x).exp() + x).mean().backward()

    return step


def softmax(t: Any) -> Step:
    """Softmax of 1024 x 512, forward and backward."""
    x = t.linspace(-2, 2, 1024 * 512).reshape(1024, 512).requires_grad_()
    g = t.ones(1024, 512)

    def step() -> None:
        x.grad = None
        x.softmax(1).backward(g)

    return step


def cross_entropy(t: Any) -> Step:
    """Cross entropy of 1024 x 512 logits, forward and backward."""
    x = t.linspace(-2, 2, 1024 * 512).reshape(1024, 512).requires_grad_()
    y = t.arange(1024) % 512

    def step() -> None:
        x.grad = None
        t.nn.functional.cross_entropy(x, y).backward()

    return step


def layer_norm(t: Any) -> Step:
    """Layer norm of 768 x 128 with weights, forward and backward."""
    layer = t.nn.LayerNorm(128)
    x = t.randn(768, 128, requires_grad=True)
    g = t.ones(768, 128)
    return lambda: layer(x).backward(g)


def batch_norm(t: Any) -> Step:
    """Batch norm of 64 x 32 x 28 x 28, forward and backward."""
    layer = t.nn.BatchNorm2d(32)
    x = t.randn(64, 32, 28, 28, requires_grad=True)
    g = t.ones(64, 32, 28, 28)
    return lambda: layer(x).backward(g)


def max_pool(t: Any) -> Step:
    """2 x 2 maximum pooling of 64 x 32 x 28 x 28, forward and backward."""
    x = t.randn(64, 32, 28, 28, requires_grad=True)
    g = t.ones(64, 32, 14, 14)
    return lambda: t.nn.functional.max_pool2d(x, 2).backward(g)


def _training(t: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Step:
    loss_of = t.nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad()
        loss_of(model(x), y).backward()
        optimizer.step()

    return step


def _mlp(t: Any, width: int, batch: int, adam: bool) -> Step:
    t.manual_seed(0)
    nn = t.nn
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    optimizer = t.optim.Adam(model.parameters()) if adam else t.optim.SGD(model.parameters(), lr=0.01)
    return _training(t, model, optimizer, t.randn(batch, width), t.randint(10, (batch,)))


def mlp_tiny(t: Any) -> Step:
    """A step of SGD: 3 layers of width 16, batch 8."""
    return _mlp(t, 16, 8, adam=False)


def mlp_small(t: Any) -> Step:
    """A step of Adam: 3 layers of width 64, batch 32."""
    return _mlp(t, 64, 32, adam=True)


def mlp_large(t: Any) -> Step:
    """A step of Adam: 3 layers of width 512, batch 256."""
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
    """One layer of width 64 over 50 steps, batch 16, forward and backward."""
    t.manual_seed(0)
    layer = t.nn.LSTM(32, 64)
    x = t.randn(50, 16, 32)
    return lambda: layer(x)[0].sum().backward()


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


ALL: dict[str, Callable[[Any], Step]] = {
    f.__name__: f
    for f in (op, chain, scalar_program, mlp_tiny, deep_graph, fan_out, mlp_small, hessian, lstm, mlp_large, gpt, cnn, elementwise,
              softmax, layer_norm, cross_entropy, batch_norm, max_pool)
}  # fmt: skip
