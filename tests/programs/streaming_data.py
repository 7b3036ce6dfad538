"""Data of every kind: iterable datasets, concatenation, subsets, nested dictionaries collated, worker processes, samplers."""

import argparse
import random

import numpy as np
import torch
from torch import nn
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    default_collate,
    get_worker_info,
)


class Stream(IterableDataset):
    def __init__(self, start, end):
        super().__init__()
        self.start, self.end = start, end

    def __iter__(self):
        info = get_worker_info()
        first, step = (self.start, 1) if info is None else (self.start + info.id, info.num_workers)
        for i in range(first, self.end, step):
            yield {
                "x": torch.tensor([i / 50.0, (i % 7) / 7.0]),
                "y": float(np.sin(i)),
                "meta": {"id": i, "name": f"n{i}"},
            }


class Records(Dataset):
    def __init__(self, n):
        self.x = np.random.RandomState(0).randn(n, 2)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        row = self.x[i].astype(np.float64 if torch.get_default_dtype() == torch.float64 else np.float32)
        return {"x": row, "y": float(row.sum()), "meta": {"id": i, "name": f"r{i}"}}


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    g = torch.Generator()
    g.manual_seed(0)
    both = ConcatDataset([Records(20), Subset(Records(60), list(range(20, 40)))])
    loaders = [
        DataLoader(Stream(0, 60), batch_size=10, num_workers=args.workers),
        DataLoader(both, batch_size=8, shuffle=True, generator=g, worker_init_fn=seed_worker),
        DataLoader(
            both, batch_size=8, sampler=SubsetRandomSampler(range(30)), drop_last=True, collate_fn=default_collate
        ),
        DataLoader(both, batch_size=10, sampler=SequentialSampler(both)),
    ]
    model = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Rprop(model.parameters(), lr=1e-3, etas=(0.5, 1.1))
    step = 0
    while step < args.steps:
        for loader in loaders:
            for batch in loader:
                if step == args.steps:
                    break
                x, y = batch["x"].to(torch.get_default_dtype()), batch["y"].to(torch.get_default_dtype())
                loss = nn.functional.mse_loss(model(x).squeeze(1), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                extra = f"{batch['meta']['id'].sum().item()} {batch['meta']['name'][0]} {len(loader.dataset) if loader is not loaders[0] else '?'}"
                print(f"step {step} loss {loss.item():.17g} of {extra}")
                step += 1
    rows = TensorDataset(torch.arange(6), torch.arange(6) ** 2)
    print([tuple(t.tolist() for t in b) for b in DataLoader(rows, batch_size=4)], len(rows), rows[2:4])


if __name__ == "__main__":
    main()
