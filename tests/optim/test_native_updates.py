"""Updates in machine code: the same as in NumPy, to the last bit. See Note [Bodies as machine code]."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import native
from penlight.kernels.elementwise import plans

optim = torch.optim
here = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
# Name, options, whether there is machine code for it.
CASES = [
    ("Adam", {}, True),
    ("Adam", {"weight_decay": 0.1, "amsgrad": True, "maximize": True}, True),
    ("AdamW", {"betas": (0.4, 0.9)}, True),
    ("AdamW", {"maximize": True}, True),
    ("SGD", {"lr": 0.1}, True),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.25, "weight_decay": 0.1}, True),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}, True),
    ("RMSprop", {}, True),
    ("RMSprop", {"centered": True, "momentum": 0.9, "alpha": 0.4}, True),
    ("Adadelta", {}, True),
    ("Adagrad", {"lr_decay": 0.1}, True),
    ("Adamax", {}, True),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}, True),
    ("RAdam", {}, True),
    ("ASGD", {}, True),
    ("Rprop", {}, True),
]


def train(name, options):
    """Parameters and state after some steps, in which the learning rate changes."""
    torch.manual_seed(0)
    params = [torch.randn(shape).requires_grad_() for shape in ((67, 71), (5001,), (3000,), (1500,), (7,))]
    optimizer = getattr(optim, name)(params, **options)
    for _ in range(6):
        for p in params:
            p.grad = torch.randn(p.shape)
        params[0].grad[0, :4] = torch.tensor([0.0, -0.0, 1e-30, 1e20])
        optimizer.param_groups[0]["lr"] *= 0.9
        optimizer.step()
    state = [value for p in params for value in optimizer.state[p].values() if torch.is_tensor(value)]
    return [tensor.detach().numpy() for tensor in [*params, *state]]


@here
@pytest.mark.parametrize("name, options, has_code", CASES, ids=lambda v: str(v))
def test_same_as_in_numpy(monkeypatch, name, options, has_code):
    done = []
    with monkeypatch.context() as patch:
        patch.setattr(plans, "update", lambda *args, run=plans.update: done.append(run(*args)) or done[-1])
        machine = train(name, options)
    assert any(done) == has_code
    monkeypatch.setattr(native, "available", lambda: False)
    for a, b in zip(machine, train(name, options), strict=True):
        np.testing.assert_array_equal(a, b)


@here
def test_a_schedule_needs_no_kernels_of_its_own():
    p = torch.zeros(5000, requires_grad=True)
    optimizer = optim.Adam([p])
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
    p.grad = torch.ones(5000)
    optimizer.step()
    kernels = len(plans._kernels)
    for _ in range(10):
        optimizer.step()
        scheduler.step()
    assert len(plans._kernels) == kernels
