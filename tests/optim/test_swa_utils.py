"""Averaged models and the schedule that goes with them."""

import copy

import numpy as np
import pytest

import penlight as torch
from penlight.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


def model_at(value):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with torch.no_grad():
        for p in model.parameters():
            p.fill_(value)
        model[1].running_mean.fill_(10 * value)
    return model


def averaged(values, **options):
    model = AveragedModel(model_at(0.0), **options)
    for value in values:
        model.update_parameters(model_at(value))
    return model


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 3.0),
        ({"avg_fn": get_swa_avg_fn()}, 3.0),
        ({"multi_avg_fn": get_swa_multi_avg_fn()}, 3.0),
        ({"avg_fn": get_ema_avg_fn(0.5)}, 3.75),
        ({"multi_avg_fn": get_ema_multi_avg_fn(0.5)}, 3.75),
        ({"avg_fn": lambda average, new, n: average + new * n}, 1.0 + 2.0 * 1 + 6.0 * 2),
    ],
)
def test_averages(options, expected):
    model = averaged([1.0, 2.0, 6.0], **options)
    for p in model.parameters():
        np.testing.assert_allclose(p.detach().numpy(), expected, rtol=1e-6)
    assert model.n_averaged.item() == 3
    assert model.n_averaged.dtype == torch.int64
    assert model.module[1].running_mean.tolist() == [60.0] * 3


def test_buffers_too():
    model = averaged([1.0, 2.0, 6.0], use_buffers=True)
    np.testing.assert_allclose(model.module[1].running_mean.numpy(), 30.0, rtol=1e-6)
    assert model.module[1].num_batches_tracked.item() == 0


def test_forward_and_state_dict():
    model = averaged([1.0])
    x = torch.ones(4, 2)
    model.eval()
    source = model_at(1.0).eval()
    assert torch.equal(model(x), source(x))
    assert list(model.state_dict())[:2] == ["n_averaged", "module.0.weight"]
    twin = averaged([2.0])
    twin.load_state_dict(model.state_dict())
    assert torch.equal(twin.module[0].weight, model.module[0].weight)
    assert copy.deepcopy(model).n_averaged.item() == 1


def test_refusals():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        AveragedModel(model_at(0.0), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn())
    for make in (get_ema_avg_fn, get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match=r"Invalid decay value 1\.5 provided\. Please provide a value in"):
            make(1.5)


def test_integer_buffers():
    update = get_ema_multi_avg_fn(0.5)
    average = [torch.tensor([2, 10])]
    update(average, [torch.tensor([4, 11])], 1)
    assert average[0].tolist() == [3, 10]
    update = get_swa_multi_avg_fn()
    floats = [torch.tensor([1.0, 2.0])]
    update(floats, [torch.tensor([4.0, 5.0])], torch.tensor(2))
    assert floats[0].tolist() == pytest.approx([2.0, 3.0])


def test_update_bn():
    model = torch.nn.Sequential(torch.nn.BatchNorm1d(1), torch.nn.Dropout(0.5)).eval()
    batches = [torch.tensor([[1.0], [3.0]]), (torch.tensor([[5.0], [7.0]]), "label")]
    update_bn(batches, model)
    assert model[0].running_mean.tolist() == [4.0]
    assert model[0].running_var.tolist() == [2.0]
    assert model[0].momentum == 0.1
    assert not model.training
    update_bn(batches, torch.nn.Linear(1, 1))


def test_schedule():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = SWALR(optimizer, swa_lr=0.5, anneal_epochs=4, anneal_strategy="linear")
    seen = []
    for _ in range(6):
        seen.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    assert seen == pytest.approx([1.0, 0.875, 0.75, 0.625, 0.5, 0.5])
    state = scheduler.state_dict()
    assert "anneal_func" not in state
    other = SWALR(optimizer, swa_lr=0.5)
    other.load_state_dict(state)
    assert (other._anneal_strategy, other.anneal_func(0.25)) == ("linear", 0.25)
    with pytest.raises(ValueError, match="anneal_strategy must be one of 'cos' or 'linear', instead got x"):
        SWALR(optimizer, 0.5, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs must be equal or greater than 0, got -1"):
        SWALR(optimizer, 0.5, anneal_epochs=-1)
