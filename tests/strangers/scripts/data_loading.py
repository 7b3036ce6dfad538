import torch, os, pickle, random
from torch.utils.data import (
    Dataset,
    DataLoader,
    IterableDataset,
    Subset,
    ConcatDataset,
    random_split,
    WeightedRandomSampler,
    BatchSampler,
    SequentialSampler,
    SubsetRandomSampler,
    Sampler,
    default_collate,
    get_worker_info,
)

torch.manual_seed(0)


class Faces(Dataset):
    def __init__(self, n, transform=None):
        self.x = torch.arange(n * 2.0).view(n, 2)
        self.transform = transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        s = {"image": self.x[idx], "label": idx, "name": f"f{idx}"}
        return self.transform(s) if self.transform else s


class ToD:
    def __call__(self, s):
        return {**s, "image": s["image"] * 2}


ds = Faces(10, ToD())
dl = DataLoader(ds, batch_size=4, shuffle=True, num_workers=0)
for i, b in enumerate(dl):
    print(i, b["image"].size(), b["label"], b["name"])
print(len(dl), len(ds), dl.batch_size, ds[3], dl)
a, b = random_split(ds, [7, 3], generator=torch.Generator().manual_seed(42))
print(a.indices, len(b))
print([len(s) for s in random_split(range(10), [0.5, 0.3, 0.2])])
w = WeightedRandomSampler([0.1, 0.9, 0.5], 5, replacement=True)
print(list(w))
print(list(BatchSampler(SequentialSampler(range(7)), 3, False)), list(SubsetRandomSampler([1, 3, 5])))


class It(IterableDataset):
    def __iter__(self):
        return iter(range(5))


print(
    list(DataLoader(It(), batch_size=2)),
    list(DataLoader(ConcatDataset([Subset(range(10), [1, 2]), range(2)]), batch_size=3, drop_last=True)),
)


def pad(batch):
    xs, ys = zip(*batch)
    return torch.nn.utils.rnn.pad_sequence(xs, batch_first=True, padding_value=-1), torch.tensor(ys)


print(next(iter(DataLoader([(torch.ones(k), k) for k in (1, 3, 2)], batch_size=3, collate_fn=pad))))
print(default_collate([{"a": 1, "b": [1.0, 2.0]}, {"a": 2, "b": [3.0, 4.0]}]), default_collate([(1, "x"), (2, "y")]))


class S(Sampler):
    def __init__(self, d):
        self.d = d

    def __iter__(self):
        return iter(range(len(self.d) - 1, -1, -1))

    def __len__(self):
        return len(self.d)


print([b.tolist() for b in DataLoader(torch.arange(5), batch_size=2, sampler=S(range(5)))])


def seed_worker(worker_id):
    s = torch.initial_seed() % 2**32
    random.seed(s)


if __name__ == "__main__":
    g = torch.Generator()
    g.manual_seed(0)
    print(
        [
            b["label"].tolist()
            for b in DataLoader(ds, batch_size=5, shuffle=True, worker_init_fn=seed_worker, generator=g)
        ]
    )
try:
    DataLoader(ds, batch_size=2, shuffle=True, sampler=S(ds))
except ValueError as e:
    print(e)
try:
    default_collate([object()])
except TypeError as e:
    print(str(e)[:90])
try:
    random_split(range(3), [1, 1])
except ValueError as e:
    print(e)
