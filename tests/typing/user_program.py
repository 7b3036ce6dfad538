"""An ordinary typed program, as a user writes it: `mypy --strict` must accept it, and it must run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import penlight as torch
import penlight.nn.functional as F
from penlight import Tensor, nn, optim
from penlight.func import functional_call, grad, vmap
from penlight.utils.data import DataLoader, Dataset, TensorDataset


class Line(Dataset[tuple[Tensor, Tensor]]):
    """Points near a line."""

    def __init__(self, count: int) -> None:
        self.x = torch.linspace(-1, 1, count).unsqueeze(1)
        self.y = 3 * self.x + 0.5

    def __len__(self) -> int:
        return self.x.shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Net(nn.Module):
    """Two layers with a buffer and a parameter of its own."""

    offset: Tensor

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Linear(1, width)
        self.rest = nn.Sequential(nn.Tanh(), nn.Dropout(0.0), nn.Linear(width, 1))
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("offset", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.first(x)
        out: Tensor = self.rest(hidden)
        return out * self.scale + self.offset


class Square(torch.autograd.Function):
    """x squared, with its derivative by hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = 2 * x * grad_output
        return result


def train(net: Net, data: DataLoader[tuple[Tensor, Tensor]], epochs: int) -> Iterator[float]:
    optimizer = optim.AdamW(net.parameters(), lr=1e-2, weight_decay=0.0)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=50, gamma=0.5)
    criterion = nn.MSELoss()
    for _ in range(epochs):
        total = 0.0
        for x, y in data:
            optimizer.zero_grad(set_to_none=True)
            loss: Tensor = criterion(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), max_norm=10.0)
            optimizer.step()
            total += loss.item()
        scheduler.step()
        yield total / len(data)


def tensors() -> Tensor:
    """Operators, methods, indexing, reductions."""
    torch.manual_seed(0)
    a = torch.randn(3, 4, requires_grad=True)
    b = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    c = (a + 2) * b / 3 - b**2 @ torch.eye(4)
    c = -c + 1.5 * a.exp().clamp(min=0.1, max=10.0)
    mask = c > 0
    d = torch.where(mask, c, torch.zeros_like(c))
    d = d[1:, ::2] + d[:-1, [0, 2]] + d[..., 0].unsqueeze(-1)[:2]
    values, places = d.max(dim=1)
    top = torch.topk(values, 1)
    shape: torch.Size = d.size()
    assert len(shape) == d.dim() and d.numel() == shape.numel()
    e = torch.cat([values, top.values, places.float()]).view(-1, 1).expand(-1, 2).transpose(0, 1).contiguous()
    e[0, 0] = 1.0
    e.mul_(0.5).add_(1, alpha=2)
    f = torch.einsum("ij,kj->ik", e, e).softmax(dim=-1).sum(dim=0, keepdim=True).mean()
    assert bool(mask.any()) and isinstance(f.item(), (int, float)) and f.dtype == torch.float32
    return f


def transforms() -> list[float]:
    def cube(x: Tensor) -> Tensor:
        return x**3

    slope = grad(cube)(torch.tensor(2.0))
    slopes = vmap(grad(cube))(torch.tensor([1.0, 2.0]))
    net = nn.Linear(1, 1)
    params = {name: p.detach() for name, p in net.named_parameters()}

    def loss_of(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        out: Tensor = functional_call(net, weights, (x,))
        return out.pow(2).mean()

    per_sample = vmap(grad(loss_of), in_dims=(None, 0))(params, torch.ones(5, 1))
    assert per_sample["weight"].shape == (5, 1, 1)
    numbers: list[float] = slopes.tolist()
    return [slope.item(), *numbers]


def main() -> float:
    net = Net()
    hooks: list[Tensor] = []
    handle = net.scale.register_hook(lambda g: hooks.append(g))
    loader = DataLoader(Line(32), batch_size=8, shuffle=True)
    losses = list(train(net, loader, epochs=5))
    handle.remove()
    assert hooks and losses[-1] < losses[0]

    pairs = DataLoader(TensorDataset(torch.ones(4, 1), torch.zeros(4, 1)), batch_size=2)
    for batch in pairs:
        print(len(batch))
    with torch.no_grad():
        prediction: Tensor = net(torch.tensor([[0.5]]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.pt"
        torch.save(net.state_dict(), path)
        other = Net()
        other.load_state_dict(torch.load(path))
    other.eval()
    assert torch.allclose(other(torch.tensor([[0.5]])), prediction)

    x = torch.tensor(3.0, requires_grad=True)
    y: Tensor = Square.apply(x)
    (dx,) = torch.autograd.grad(y, x, create_graph=True)
    dx.backward()
    assert x.grad is not None
    node = y.grad_fn
    assert node is not None and node.next_functions[0][0] is not None
    print(F.relu(tensors()), x.grad, transforms(), node.name())
    out = torch.empty(2)
    torch.add(torch.ones(2), torch.ones(2), out=out)
    device: torch.device = out.device
    kinds: dict[str, torch.dtype] = {"half": torch.float16}
    print(device, out.to(kinds["half"]), torch.stack([out, out]).T.shape)
    return losses[-1]


if __name__ == "__main__":
    print(main())
