"""A multilayer perceptron on two spirals: DataLoader, dropout, Adam, an evaluation loop."""

import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Spirals(Dataset):
    def __init__(self, n, noise=0.1):
        t = torch.rand(n) * 3 * math.pi
        label = torch.arange(n) % 2
        sign = 1.0 - 2.0 * label
        x = torch.stack([sign * t.cos() * t, sign * t.sin() * t], dim=1) / 5
        self.x = x + noise * torch.randn_like(x)
        self.y = label

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], self.y[index]


class Net(nn.Module):
    def __init__(self, hidden=32, p=0.1):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(p)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = self.drop(torch.tanh(self.fc2(x)))
        return self.out(x)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    correct, total = 0, 0
    for x, y in loader:
        pred = model(x.to(device)).argmax(dim=1)
        correct += (pred == y.to(device)).sum().item()
        total += y.size(0)
    model.train()
    return correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train, test = random_split(Spirals(400), [0.8, 0.2], generator=torch.Generator().manual_seed(42))
    loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test, batch_size=64)
    model = Net().to(device)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=1e-4)

    step = 0
    while step < args.steps:
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1
            if step == args.steps:
                break
        print(f"accuracy {evaluate(model, test_loader, device):.4f}")


if __name__ == "__main__":
    main()
