"""A network of two hidden layers learns two spirals; what it decides is drawn.

python examples/mlp.py
"""

import argparse
import math

import penlight as torch
from penlight import nn
from penlight.utils.data import DataLoader, TensorDataset


def spirals(n):
    label = torch.arange(n) % 2
    t = torch.rand(n).sqrt() * 3 * math.pi
    sign = 1.0 - 2.0 * label
    points = torch.stack([sign * t * t.cos(), sign * t * t.sin()], dim=1) / 10
    return points + 0.015 * torch.randn(n, 2), label


def draw(model, points, labels, width=64, height=30):
    """The class of each place (. or blank), and the points (o and x)."""
    ys, xs = torch.meshgrid(torch.linspace(1, -1, height), torch.linspace(-1, 1, width), indexing="ij")
    with torch.no_grad():
        place = model(torch.stack([xs, ys], dim=-1).view(-1, 2)).argmax(1).view(height, width)
    rows = [["." if c else " " for c in row] for row in place.tolist()]
    for (x, y), label in zip(points[:300].tolist(), labels.tolist()):
        row, column = round((1 - y) / 2 * (height - 1)), round((x + 1) / 2 * (width - 1))
        if 0 <= row < height and 0 <= column < width:
            rows[row][column] = "xo"[label]
    return "\n".join(map("".join, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(0)
    points, labels = spirals(1000)
    test_points, test_labels = spirals(500)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    loader = DataLoader(TensorDataset(points, labels), batch_size=50, shuffle=True)
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        if epoch % 10 == 9 or epoch == args.epochs - 1:
            with torch.no_grad():
                right = (model(test_points).argmax(1) == test_labels).float().mean()
            print(f"epoch {epoch + 1:3}  loss {loss.item():.4f}  right on new points {right:.1%}")
    print(draw(model, test_points, test_labels))


if __name__ == "__main__":
    main()
