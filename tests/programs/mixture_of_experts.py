"""A vision transformer whose feed-forward layers are experts chosen by top-k routing: unfold, index_add, load-balancing loss, rotary angles."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def rotary(x):
    half = x.shape[-1] // 2
    angles = torch.outer(torch.arange(x.shape[-2]), 1.0 / (100.0 ** (torch.arange(half) / half)))
    turned = torch.view_as_complex(torch.stack([x[..., :half], x[..., half:]], -1).contiguous()) * torch.polar(
        torch.ones_like(angles), angles
    )
    return torch.view_as_real(turned).movedim(-1, -2).flatten(-2)


class Experts(nn.Module):
    def __init__(self, dim, experts=4, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        probs = self.gate(flat).softmax(-1)
        weights, chosen = probs.topk(self.k, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            rows, place = torch.where(chosen == i)
            out.index_add_(0, rows, expert(flat[rows]) * weights[rows, place, None])
        used = F.one_hot(chosen, len(self.experts)).to(probs.dtype).mean((0, 1))
        self.balance = len(self.experts) * (used * probs.mean(0)).sum()
        return out.view_as(x)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)
        self.moe = Experts(dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(rotary(q), rotary(k), v, dropout_p=0.1 if self.training else 0.0)
        x = x + self.proj(y.transpose(1, 2).flatten(2))
        return x + self.moe(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, dim=16, patch=4):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch * patch, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.blocks = nn.ModuleList([Block(dim, 2)])
        self.head = nn.Linear(dim, 4)

    def forward(self, x):
        tokens = self.embed(F.unfold(x, self.patch, stride=self.patch).transpose(1, 2))
        x = torch.cat([self.cls.expand(len(tokens), -1, -1), tokens], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0]), sum(block.moe.balance for block in self.blocks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    prototypes = torch.randn(4, 1, 12, 12)
    model = ViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(args.steps):
        y = torch.randint(4, (8,))
        x = prototypes[y] + torch.randn(8, 1, 12, 12)
        shift = int(torch.randint(-1, 2, (1,)))
        x = torch.roll(x, (shift, -shift), dims=(2, 3))
        logits, balance = model(x)
        lam = torch.distributions.Beta(0.4, 0.4).sample()
        perm = torch.randperm(8)
        mixed, more = model(lam * x + (1 - lam) * x[perm])
        loss = (
            F.cross_entropy(logits, y) + lam * F.cross_entropy(mixed, y) + (1 - lam) * F.cross_entropy(mixed, y[perm])
        )
        loss = loss + 0.01 * (balance + more)
        optimizer.zero_grad()
        loss.backward()
        total = torch.linalg.vector_norm(
            torch.stack(torch._foreach_norm([p.grad for p in model.parameters() if p.grad is not None]))
        )
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, total)
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
