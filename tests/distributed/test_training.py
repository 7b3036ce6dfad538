"""DistributedDataParallel on real ranks: against one process with the joint batch, and against PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

from .ranks import needs_mpi, run
from .training import SETTINGS, STEPS, cnn, joint_batches, losses, mlp, set_parameters, synchronised


def joint(torch, rank, size, views):
    """Gradients of parts of a batch, averaged, and those of the whole batch."""
    pieces = [np.random.default_rng(r).standard_normal((4, 20)) for r in range(size)]
    model = mlp(torch).double()
    parallel = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=views, bucket_cap_mb=1)
    for _ in range(2):
        parallel(torch.tensor(pieces[rank])).square().mean().backward()
    alone = mlp(torch).double()
    alone.load_state_dict(model.state_dict())
    (2 * alone(torch.tensor(np.concatenate(pieces))).square().mean()).backward()
    pairs = [(a.grad, b.grad) for a, b in zip(model.parameters(), alone.parameters())]
    assert len(parallel.reducer.buckets) > 1
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in pairs)


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("views", [False, True])
def test_gradients_are_those_of_the_joint_batch(size, views):
    assert max(run(penlight, size, joint, views)) < 1e-12


def statistics(torch, rank, size):
    """SyncBatchNorm on parts of a batch of unequal sizes, and BatchNorm on the whole."""
    pieces = [np.random.default_rng(r).standard_normal((3 + r, 20)) for r in range(size)]
    model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(cnn(torch).double())
    set_parameters(torch, model)
    alone = cnn(torch).double()
    alone.load_state_dict(model.state_dict())
    x, whole = (torch.tensor(a, requires_grad=True) for a in (pieces[rank], np.concatenate(pieces)))
    model(x).square().sum().backward()
    alone(whole).square().sum().backward()
    first = sum(len(piece) for piece in pieces[:rank])
    torch.testing.assert_close(x.grad, whole.grad[first : first + len(x)])
    torch.testing.assert_close(model[2].running_mean, alone[2].running_mean)
    torch.testing.assert_close(model[2].running_var, alone[2].running_var)
    weight = model[1].weight.grad.clone()
    torch.distributed.all_reduce(weight)
    torch.testing.assert_close(weight, alone[1].weight.grad)
    model.eval()
    model(x)
    return True


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_sync_batch_norm(size):
    assert all(run(penlight, size, statistics))


def behaviour(torch, rank, size):
    """What DistributedDataParallel refuses, and its hooks."""
    nn, dist = torch.nn, torch.distributed
    from penlight.distributed.algorithms.ddp_comm_hooks import default_hooks
    from penlight.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import (
        PostLocalSGDState,
        post_localSGD_hook,
    )
    from penlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    from penlight.distributed.optim import PostLocalSGDOptimizer

    parallel = nn.parallel.DistributedDataParallel
    for model, words in (
        (nn.ReLU(), "doesn't have any parameter that requires a gradient"),
        (nn.Linear(2 + rank, 1), "appears not to match sizes of the same param in process 0"),
        (nn.Sequential(*[nn.Linear(2, 2) for _ in range(1 + rank)]), "DDP expects same model across all ranks"),
    ):
        with pytest.raises(RuntimeError, match=words):
            parallel(model)

    class Half(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(2, 1), nn.Linear(2, 1)

        def forward(self, x):
            return self.used(x)

    wrapped = parallel(Half())
    wrapped(torch.ones(1, 2)).sum().backward()
    with pytest.raises(RuntimeError, match="Expected to have finished reduction in the prior iteration"):
        wrapped(torch.ones(1, 2))
    for hook in (default_hooks.allreduce_hook, default_hooks.fp16_compress_hook,
                 default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)):  # fmt: skip
        model = nn.Linear(2, 1)
        wrapped = parallel(model)
        wrapped.register_comm_hook(None, hook)
        with pytest.raises(RuntimeError, match="can only be called once"):
            wrapped.register_comm_hook(None, hook)
        wrapped(torch.full((1, 2), float(rank))).sum().backward()
        assert model.weight.grad.tolist() == [[sum(range(size)) / size] * 2]
    # Local SGD: gradients stay local after the first step, every second step averages the parameters.
    model = nn.Linear(1, 1, bias=False)
    wrapped = parallel(model)
    wrapped.register_comm_hook(PostLocalSGDState(None, None, 1, False), post_localSGD_hook)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(wrapped.parameters(), 1.0), PeriodicModelAverager(2, 1))
    start = model.weight.item()
    seen = []
    for _ in range(4):
        optimizer.zero_grad()
        wrapped(torch.full((1, 1), float(rank))).sum().backward()
        optimizer.step()
        seen.append(start - model.weight.item())
    mean = sum(range(size)) / size
    np.testing.assert_allclose(seen, [mean, 2 * mean, 2 * mean + rank, 4 * mean], rtol=1e-5)
    sampler = torch.utils.data.DistributedSampler(range(10), shuffle=False)
    assert next(iter(sampler)) == rank and len(sampler) == -(-10 // size)
    with pytest.raises(RuntimeError, match="exhausted"), wrapped.join(throw_on_early_termination=True):
        for _ in range(2 + rank):
            wrapped(torch.ones(1, 1)).sum().backward()
    dist.barrier()
    return True


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_behaviour(size):
    assert all(run(penlight, size, behaviour))


@needs_mpi
@pytest.mark.parity
@pytest.mark.parametrize("size", [2, 4])
def test_losses_are_those_of_pytorch(size):
    torch = pytest.importorskip("torch")

    names = list(SETTINGS)
    ours, theirs = (run(library, size, losses, names, STEPS, seconds=300) for library in (penlight, torch))
    for rank in range(size):
        for name in names:
            np.testing.assert_allclose(
                ours[rank][name], theirs[rank][name], rtol=2e-4, atol=2e-5, err_msg=f"{name} on rank {rank}"
            )
            assert len(ours[rank][name]) > STEPS - 3 * size


@needs_mpi
@pytest.mark.parity
@pytest.mark.parametrize("size", [2, 4])
def test_losses_with_sync_batch_norm(size):
    """PyTorch's SyncBatchNorm needs a GPU, so its BatchNorm on the joint batch is what the ranks' mean loss is compared with."""
    torch = pytest.importorskip("torch")
    ours = np.mean(run(penlight, size, synchronised, STEPS), axis=0)
    np.testing.assert_allclose(ours, joint_batches(torch, size, STEPS), rtol=2e-4)
