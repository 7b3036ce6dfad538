"""Programs of DistributedDataParallel that run with either library, from the same numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 50


def set_parameters(torch: Any, model: Any, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            fan = parameter.shape[-1] if parameter.dim() > 1 else 1
            noise = rng.standard_normal(tuple(parameter.shape)) / fan**0.5 * 0.5
            parameter.copy_(torch.tensor(noise.astype(np.float32)))


def mlp(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(20, 600), nn.Tanh(), nn.Linear(600, 600), nn.ReLU(), nn.Linear(600, 5))


def cnn(torch: Any) -> Any:
    nn = torch.nn
    return nn.Sequential(
        nn.Unflatten(1, (1, 4, 5)),
        nn.Conv2d(1, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(160, 5),
    )


def gpt(torch: Any) -> Any:
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(11, 16)
            self.place = nn.Parameter(torch.zeros(20, 16))
            self.block = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.head = nn.Linear(16, 5)

        def forward(self, x: Any) -> Any:
            tokens = (x.abs() * 4).long().clamp(max=10)
            return self.head(self.block(self.token(tokens) + self.place).mean(1))

    return Model()


def branches(torch: Any) -> Any:
    """A model that uses other parameters for each batch."""
    nn = torch.nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.never = nn.Linear(20, 5), nn.Linear(20, 5), nn.Linear(20, 5)

        def forward(self, x: Any) -> Any:
            return self.one(x) if x.sum() > 0 else self.two(x)

    return Model()


SETTINGS: dict[str, dict[str, Any]] = {
    "mlp": {"model": mlp},
    "mlp small buckets": {"model": mlp, "bucket_cap_mb": 0.1},
    "mlp views": {"model": mlp, "gradient_as_bucket_view": True},
    "mlp static": {"model": mlp, "static_graph": True},
    "mlp accumulating": {"model": mlp, "accumulate": True},
    "mlp hook": {"model": mlp, "hook": True},
    "cnn": {"model": cnn},
    "gpt": {"model": gpt},
    "branches": {"model": branches, "find_unused_parameters": True},
    "uneven": {"model": mlp, "uneven": True},
}


def losses(torch: Any, rank: int, size: int, names: list[str], steps: int) -> dict[str, list[float]]:
    """The losses of each program on this rank, and sums of the parameters after it."""
    return {name: _train(torch, rank, size, steps, **SETTINGS[name]) for name in names}


def _train(torch: Any, rank: int, size: int, steps: int, model: Any, accumulate: bool = False, hook: bool = False,
           uneven: bool = False, **options: Any) -> list[float]:  # fmt: skip
    made = model(torch)
    set_parameters(torch, made, seed=rank)  # rank 0's are taken
    parallel = torch.nn.parallel.DistributedDataParallel(made, **options)
    if hook:

        def halved(state, bucket):  # without annotations, which PyTorch reads
            work = torch.distributed.all_reduce(bucket.buffer().div_(size), async_op=True)
            return work.get_future().then(lambda future: future.value()[0] * 0.5)

        parallel.register_comm_hook(None, halved)
    optimizer = torch.optim.SGD(parallel.parameters(), 0.05, momentum=0.9)
    rng = np.random.default_rng(100 + rank)
    found = []

    def step(number: int) -> None:
        x, y = batch(torch, rng)
        loss = torch.nn.functional.cross_entropy(parallel(x), y)
        loss.backward()
        found.append(float(loss.detach()))

    if uneven:
        with parallel.join():
            for number in range(steps - 3 * rank):
                optimizer.zero_grad()
                step(number)
                optimizer.step()
        found += [float(p.detach().double().sum()) for p in made.parameters()]
        return found
    for number in range(steps):
        if accumulate and number % 3 < 2:
            with parallel.no_sync():
                step(number)
            continue
        step(number)
        optimizer.step()
        optimizer.zero_grad()
    return found + [float(p.detach().double().sum()) for p in made.parameters()]


def batch(torch: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Eight samples and their classes."""
    return torch.tensor(rng.standard_normal((8, 20)).astype(np.float32)), torch.tensor(rng.integers(0, 5, 8))


def synchronised(torch: Any, rank: int, size: int, steps: int) -> list[float]:
    """The losses on this rank of a model with SyncBatchNorm."""
    nn = torch.nn
    model = nn.SyncBatchNorm.convert_sync_batchnorm(cnn(torch))
    set_parameters(torch, model)
    return _descend(torch, nn.parallel.DistributedDataParallel(model), steps, [np.random.default_rng(100 + rank)])


def joint_batches(torch: Any, size: int, steps: int) -> list[float]:
    """The losses of the same model with BatchNorm in one process, on the batches of all ranks together."""
    model = cnn(torch)
    set_parameters(torch, model)
    return _descend(torch, model, steps, [np.random.default_rng(100 + rank) for rank in range(size)])


def _descend(torch: Any, model: Any, steps: int, sources: list[np.random.Generator]) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    found = []
    for _ in range(steps):
        x, y = (torch.cat(part) for part in zip(*(batch(torch, source) for source in sources)))
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(float(loss.detach()))
    return found
