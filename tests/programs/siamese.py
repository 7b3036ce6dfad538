"""Metric learning: a shared tower trained by triplet, contrastive (cosine) and margin losses in turn; SGD with cyclic rates."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    def __init__(self, n_classes=4, per_class=20, dim=10):
        self.centres = torch.randn(n_classes, dim)
        self.labels = torch.arange(n_classes).repeat_interleave(per_class)
        self.data = self.centres[self.labels] + 0.7 * torch.randn(len(self.labels), dim)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        label = self.labels[index]
        same = torch.where(self.labels == label)[0]
        other = (self.labels != label).nonzero().squeeze(1)
        positive = same[torch.randint(len(same), (1,))].item()
        negative = other[torch.randint(len(other), (1,))].item()
        return {
            "anchor": self.data[index],
            "positive": self.data[positive],
            "negative": self.data[negative],
            "label": label,
        }


class Tower(nn.Module):
    def __init__(self, dim=10, out=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 24), nn.PReLU(), nn.BatchNorm1d(24), nn.Linear(24, out, bias=False))

    def forward_once(self, x):
        return self.body(x)

    def forward(self, *inputs):
        return [self.forward_once(x) for x in inputs]


def contrastive(a, b, same, margin=1.0):
    distance = F.pairwise_distance(a, b)
    return torch.mean(same * distance.pow(2) + (1 - same) * torch.clamp(margin - distance, min=0.0).pow(2))


def info_nce(a, b, temperature=0.5):
    logits = F.normalize(a) @ F.normalize(b).T / temperature
    return F.cross_entropy(logits, torch.arange(len(a)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(6)
    if args.double:
        torch.set_default_dtype(torch.float64)
    loader = DataLoader(Triplets(), batch_size=16, shuffle=True)
    model = Tower()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(
        optimizer, base_lr=0.005, max_lr=0.05, step_size_up=10, mode="triangular2"
    )
    triplet = nn.TripletMarginLoss(margin=1.0, p=2, swap=True)
    cosine = nn.CosineEmbeddingLoss(margin=0.2)
    by_distance = nn.TripletMarginWithDistanceLoss(distance_function=lambda x, y: 1.0 - F.cosine_similarity(x, y))
    ranking = nn.MarginRankingLoss(0.5)
    step = 0
    while step < args.steps:
        for batch in loader:
            if step == args.steps:
                break
            a, p, n = model(batch["anchor"], batch["positive"], batch["negative"])
            one = torch.ones(len(a))
            losses = [
                triplet(a, p, n),
                contrastive(a, p, one) + contrastive(a, n, 0 * one),
                cosine(a, p, one) + cosine(a, n, -one) + info_nce(a, p),
                by_distance(a, p, n) + ranking((a * p).sum(1), (a * n).sum(1), one),
                F.hinge_embedding_loss(torch.cdist(a, n).diagonal(), -one) + F.soft_margin_loss((a * p).sum(1), one),
            ]
            loss = losses[step % len(losses)]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1


if __name__ == "__main__":
    main()
