"""Matrix factorisation with sparse gradients and SparseAdam, factorisation machines, a ranking loss, feature hashing."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class MF(nn.Module):
    def __init__(self, users, items, dim=8, sparse=True):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim, sparse=sparse), nn.Embedding(items, dim, sparse=sparse)
        self.user_bias, self.item_bias = nn.Embedding(users, 1, sparse=sparse), nn.Embedding(items, 1, sparse=sparse)
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.1)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.user_bias(u).squeeze(-1) + self.item_bias(i).squeeze(-1)


class FM(nn.Module):
    def __init__(self, features, dim=6):
        super().__init__()
        self.linear = nn.EmbeddingBag(features, 1, mode="sum")
        self.factors = nn.Embedding(features, dim)
        self.bag = nn.EmbeddingBag(features, dim, mode="max", padding_idx=0)
        self.mlp = nn.Sequential(nn.Linear(dim * 4, 12), nn.Hardsigmoid(), nn.Linear(12, 1))

    def forward(self, x, weights):
        e = self.factors(x)
        pairs = 0.5 * (e.sum(1).square() - e.square().sum(1)).sum(1, keepdim=True)
        return (
            self.linear(x, per_sample_weights=weights)
            + pairs
            + self.mlp(e.flatten(1))
            + self.bag(x).sum(1, keepdim=True)
        ).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    taste = torch.randn(30, 3) @ torch.randn(3, 40)
    model, fm = MF(30, 40), FM(100)
    sparse = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)
    dense = torch.optim.Adagrad(fm.parameters(), lr=0.05)
    for step in range(args.steps):
        u, i, j = torch.randint(30, (32,)), torch.randint(40, (32,)), torch.randint(40, (32,))
        better = taste[u, i] > taste[u, j]
        i, j = torch.where(better, i, j), torch.where(better, j, i)
        bpr = -F.logsigmoid(model(u, i) - model(u, j)).mean()
        rating = F.mse_loss(model(u, i), taste[u, i].clamp(-3, 3))
        x = torch.stack([u, i + 30, (u * 7 + i) % 30 + 70, (u + i) % 5], dim=1)
        click = F.binary_cross_entropy_with_logits(fm(x, torch.rand(32, 4)), (taste[u, i] > 0).to(rating.dtype))
        loss = bpr + 0.3 * rating + click
        sparse.zero_grad()
        dense.zero_grad()
        loss.backward()
        assert model.user.weight.grad.is_sparse
        sparse.step()
        dense.step()
        print(f"step {step} loss {loss.item():.17g}")
    with torch.no_grad():
        scores = model.user.weight @ model.item.weight.t() + model.item_bias.weight.t()
        hits = torch.isin(scores.topk(5, dim=1).indices[0], taste[0].topk(10).indices)
        rank = scores.argsort(dim=1, descending=True).argsort(dim=1).gather(1, taste.argmax(1, keepdim=True))
    print(
        hits.sum().item(), f"{rank.double().median().item():.1f}", model.user.weight.grad.coalesce().indices().shape[0]
    )


if __name__ == "__main__":
    main()
