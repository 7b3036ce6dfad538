"""State that is shared out between ranks: ZeroRedundancyOptimizer, checkpoints that all ranks write."""

from __future__ import annotations

import pytest

import penlight

from .ranks import needs_mpi, run
from .training import mlp, set_parameters


def sharded(torch, rank, size):
    """Equal to the optimiser on the whole; its state can be loaded with another number of ranks (here: one)."""
    from penlight.distributed.optim import ZeroRedundancyOptimizer

    models = [mlp(torch), mlp(torch)]
    for model in models:
        set_parameters(torch, model)
    zero = ZeroRedundancyOptimizer(models[0].parameters(), torch.optim.Adam, lr=0.01)
    whole = torch.optim.Adam(models[1].parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.ExponentialLR(zero, 0.9), torch.optim.lr_scheduler.ExponentialLR(whole, 0.9)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(torch.ones(4, 20)).square().mean().backward()
        optimizer.step()

    for _ in range(3):
        step(models[0], zero)
        step(models[1], whole)
        for one in schedule:
            one.step()
    assert len(zero.optim.state) < len(whole.state)
    for a, b in zip(models[0].parameters(), models[1].parameters()):
        assert torch.equal(a, b)
    if rank:
        with pytest.raises(RuntimeError, match="has not been consolidated"):
            zero.state_dict()
    zero.consolidate_state_dict(0)
    if rank == 0:
        saved = zero.state_dict()
        assert len(saved["state"]) == len(whole.state)
        again = torch.optim.Adam(models[1].parameters(), lr=0.01)
        again.load_state_dict(saved)
        for parameter in models[1].parameters():
            assert torch.equal(again.state[parameter]["exp_avg"], whole.state[parameter]["exp_avg"])
    shared = [zero.state_dict() if rank == 0 else None]
    torch.distributed.broadcast_object_list(shared)
    resumed = ZeroRedundancyOptimizer(models[0].parameters(), torch.optim.Adam, lr=0.01)
    resumed.load_state_dict(shared[0])
    step(models[0], resumed)
    step(models[1], whole)
    for a, b in zip(models[0].parameters(), models[1].parameters()):
        assert torch.equal(a, b)
    return True


@needs_mpi
@pytest.mark.parametrize("size", [2, 4])
def test_zero_redundancy_optimizer(size):
    assert all(run(penlight, size, sharded))


def written(torch, rank, size, folder):
    import penlight.distributed.checkpoint as checkpoint

    model = mlp(torch)
    set_parameters(torch, model)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 20)).sum().backward()
    optimizer.step()
    checkpoint.save({"model": model, "optimizer": optimizer, "epoch": 3}, checkpoint_id=folder)
    return [p.tolist() for p in model.parameters()][-1]


def read(torch, rank, size, folder):
    import penlight.distributed.checkpoint as checkpoint

    model = mlp(torch)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 20)).sum().backward()
    optimizer.step()
    state = {"model": model, "optimizer": optimizer, "epoch": 0}
    checkpoint.load(state, checkpoint_id=folder)
    assert state["epoch"] == 3
    assert torch.equal(optimizer.state_dict()["state"][0]["exp_avg"], optimizer.state[model[0].weight]["exp_avg"])
    with pytest.raises(RuntimeError, match="Missing key"):
        checkpoint.load({"other": torch.ones(1)}, checkpoint_id=folder)
    with pytest.raises(ValueError, match="Size mismatch"):
        checkpoint.load({"model": {"0.weight": torch.ones(1)}}, checkpoint_id=folder)
    return [p.tolist() for p in model.parameters()][-1]


@needs_mpi
def test_checkpoint_of_another_number_of_ranks(tmp_path):
    saved = run(penlight, 4, written, str(tmp_path))
    assert len(list(tmp_path.glob("*.distcp"))) == 4
    assert run(penlight, 2, read, str(tmp_path)) == saved[:2]
    assert read(penlight, 0, 1, str(tmp_path)) == saved[0]


def test_checkpoint_of_one_process(tmp_path):
    saved = written(penlight, 0, 1, str(tmp_path))
    assert read(penlight, 0, 1, str(tmp_path)) == saved
