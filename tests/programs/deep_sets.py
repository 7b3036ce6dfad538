"""Functions of sets: sum pooling and attention pooling over ragged sets, mixed losses, NAdam and a chained schedule."""

import argparse

import torch
import torch.nn as nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler


class Sets(Dataset):
    def __init__(self, n):
        self.sizes = torch.randint(2, 8, (n,))
        self.points = [torch.randn(int(s), 3) for s in self.sizes]
        self.target = torch.stack([p.max(0)[0].sum() - p.prod(1).mean() for p in self.points])

    def __len__(self):
        return len(self.points)

    def __getitem__(self, i):
        return self.points[i], self.target[i]


def collate(items):
    points, targets = map(list, zip(*items))
    batch = torch.repeat_interleave(torch.arange(len(points)), torch.tensor([len(p) for p in points]))
    padded = nn.utils.rnn.pad_sequence(points, batch_first=True)
    mask = torch.arange(padded.shape[1]).expand(len(points), -1) >= torch.tensor([[len(p)] for p in points])
    return torch.cat(points), batch, padded, mask, torch.stack(targets)


class DeepSet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(3, dim), nn.CELU(0.5), nn.Linear(dim, dim))
        self.rho = nn.Sequential(nn.Linear(2 * dim, dim), nn.SELU(), nn.Linear(dim, 1))

    def forward(self, points, batch, n):
        h = self.phi(points)
        index = batch[:, None].expand_as(h)
        total = h.new_zeros(n, h.size(1)).scatter_add(0, index, h)
        peak = h.new_zeros(n, h.size(1)).scatter_reduce(0, index, h, "amax", include_self=False)
        return self.rho(torch.hstack([total, peak])).squeeze(1)


class PMA(nn.Module):
    """Pooling by attention with a learnt query."""

    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, 1, dim))
        self.up = nn.Linear(3, dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True, dropout=0.1)
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 1))

    def forward(self, padded, mask):
        h = self.up(padded)
        pooled, weights = self.attention(self.query.expand(len(h), -1, -1), h, h, key_padding_mask=mask)
        return self.out(pooled).flatten(), weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(13)
    if args.double:
        torch.set_default_dtype(torch.float64)
    data = Sets(80)
    sampler = BatchSampler(
        RandomSampler(data, generator=torch.Generator().manual_seed(1)), batch_size=10, drop_last=False
    )
    loader = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
    models = nn.ModuleDict({"sum": DeepSet(), "attention": PMA()})
    optimizer = torch.optim.NAdam(models.parameters(), lr=5e-3, momentum_decay=0.01, decoupled_weight_decay=True)
    lrs = torch.optim.lr_scheduler
    scheduler = lrs.SequentialLR(
        optimizer,
        [lrs.LinearLR(optimizer, 0.1, total_iters=8), lrs.ExponentialLR(optimizer, 0.98)],
        milestones=[8],
    )
    step = 0
    while step < args.steps:
        for points, batch, padded, mask, target in loader:
            if step == args.steps:
                break
            by_sum = models["sum"](points, batch, len(target))
            by_attention, weights = models["attention"](padded, mask)
            assert weights.shape == (len(target), 1, padded.shape[1])
            loss = nn.functional.huber_loss(by_sum, target, delta=0.7) + nn.functional.l1_loss(by_attention, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1


if __name__ == "__main__":
    main()
