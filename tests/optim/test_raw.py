"""The fast path on raw arrays: the same numbers as the plain path, whatever happens to parameters and state between steps."""

import numpy as np
import pytest

import penlight as torch
from penlight.optim import _raw

OPTIONS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"betas": (0.2, 0.3)}),
    ("AdamW", {}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1}),
    ("RAdam", {"betas": (0.7, 0.8), "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1}),
    ("Adadelta", {}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("RMSprop", {"maximize": True}),
    ("Rprop", {}),
    ("ASGD", {"t0": 2, "weight_decay": 0.1}),
]
SIZES = [(3, 4), (5,), (), (2, 2, 2), (0,), (70, 1000), (9000,)]


def values(seed, dtype="float64", sizes=SIZES):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(size), dtype=dtype) for size in sizes]


def make(dtype="float64", sizes=SIZES):
    return [torch.from_numpy(v).requires_grad_() for v in values(0, dtype, sizes)]


def step(opt, params, seed, skip=()):
    dtype = str(params[0].detach().numpy().dtype)
    grads = values(seed, dtype, [tuple(p.shape) for p in params])
    for i, (p, grad) in enumerate(zip(params, grads, strict=True)):
        p.grad = None if i in skip else torch.from_numpy(grad)
    opt.step()


@pytest.fixture
def plainly(monkeypatch):
    """Runs a function without the fast path."""

    def run(function):
        with monkeypatch.context() as patch:
            patch.setattr(_raw, "update", lambda opt, index, group, params, grads, states: range(len(params)))
            return function()

    return run


def compare(plainly, scenario, dtype="float64"):
    """Run a scenario on both paths and compare parameters and state."""
    rtol = 1e-10 if dtype == "float64" else 2e-5
    fast, slow = scenario(), plainly(scenario)
    state_a, state_b = fast.state_dict()["state"], slow.state_dict()["state"]
    assert list(state_a) == list(state_b)
    for k in state_b:
        for name in state_b[k]:
            np.testing.assert_allclose(
                state_a[k][name].numpy(), state_b[k][name].numpy(), rtol=rtol, atol=rtol, err_msg=f"{k} {name}"
            )
    for p, q in zip(fast.param_groups[0]["params"], slow.param_groups[0]["params"], strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=rtol)
    return fast


@pytest.mark.parametrize(("name", "options"), OPTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equals_the_plain_path(name, options, dtype, plainly):
    def scenario():
        params = make(dtype)
        opt = getattr(torch.optim, name)(params, **options)
        for i in range(8):
            step(opt, params, i + 1)
        return opt

    compare(plainly, scenario, dtype)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_parameters_that_come_late_and_pause(name, options, plainly):
    def scenario():
        params = make()
        opt = getattr(torch.optim, name)(params, **options)
        for i, skip in enumerate([(0, 5), (0,), (), (1, 2), (), ()]):
            step(opt, params, i + 1, skip)
        return opt

    compare(plainly, scenario)


def test_state_of_small_parameters_is_one_array():
    params = make(sizes=[(3, 4), (5,), ()])
    opt = torch.optim.Adam(params)
    step(opt, params, 1)
    step(opt, params, 2)
    (plan,) = opt._plans.values()
    (bucket,) = plan.buckets
    (gathered,) = bucket.copied  # only the parameters
    assert gathered.flat.size == 18
    assert bucket.scalars["step"].tolist() == [2.0, 2.0, 2.0]


def test_state_replaced_between_steps(plainly):
    def scenario():
        params = make()
        opt = torch.optim.Adam(params)
        step(opt, params, 1)
        step(opt, params, 2)
        opt.state[params[0]]["exp_avg"] = torch.full_like(params[0], 0.5)
        opt.state[params[1]]["exp_avg_sq"].data = torch.full_like(params[1], 2.0).detach()
        opt.state[params[3]]["step"] = torch.tensor(10.0)
        step(opt, params, 3)
        opt.state[params[0]]["exp_avg"].zero_()
        opt.state[params[2]]["step"].add_(5)
        step(opt, params, 4)
        return opt

    compare(plainly, scenario)


def test_parameters_replaced_between_steps(plainly):
    def scenario():
        params = make()
        opt = torch.optim.SGD(params, momentum=0.9)
        step(opt, params, 1)
        step(opt, params, 2)
        params[0].data = torch.full((3, 4), 7.0, dtype=torch.float64)
        with torch.no_grad():
            params[1].fill_(3.0)
        step(opt, params, 3)
        opt.param_groups[0]["params"].reverse()
        step(opt, params, 4)
        opt.param_groups[0]["momentum"] = 0
        step(opt, params, 5)
        return opt

    compare(plainly, scenario)


def test_options_changed_between_steps(plainly):
    def scenario():
        params = make()
        opt = torch.optim.AdamW(params)
        for i, lr in enumerate([0.1, np.float64(0.2), 1, torch.tensor(0.3, dtype=torch.float64), np.float32(0.5)]):
            opt.param_groups[0]["lr"] = lr
            step(opt, params, i + 1)
        opt.param_groups[0]["weight_decay"] = 1.0
        opt.param_groups[0]["lr"] = 1.0
        step(opt, params, 9)
        return opt

    compare(plainly, scenario)


def test_parameters_that_share_memory(plainly):
    def scenario():
        base = values(0, sizes=[(10,)])[0]
        params = [torch.from_numpy(base[:6]).requires_grad_(), torch.from_numpy(base[4:]).requires_grad_()]
        opt = torch.optim.SGD(params, lr=0.1, weight_decay=0.5)
        for i in range(3):
            step(opt, params, i + 1)
        return opt

    compare(plainly, scenario)


def test_what_cannot_be_raw_is_plain(plainly):
    def scenario():
        matrix = values(0, sizes=[(6, 4)])[0]
        params = [
            torch.from_numpy(matrix.T).requires_grad_(),
            torch.from_numpy(matrix[:, :2].copy()[:, ::2]).requires_grad_(),
            *make(sizes=[(3,), (2, 2)]),
            torch.ones(3, dtype=torch.float16, requires_grad=True),
        ]
        opt = torch.optim.Adam(params, lr=0.1, eps=1e-3)
        for i in range(3):
            for p, g in zip(params, values(i, sizes=[tuple(p.shape) for p in params]), strict=True):
                p.grad = torch.from_numpy(g).to(p.dtype)
            opt.step()
        return opt

    fast = compare(plainly, scenario)
    if hasattr(fast.param_groups[0]["params"][0], "_array"):
        assert next(iter(fast._plans.values())).rest == [0, 1, 4]


def test_non_contiguous_and_shared_gradients(plainly):
    def scenario():
        params = make(sizes=[(3, 4), (3, 4), (100, 200)])
        opt = torch.optim.Adam(params, lr=0.1)
        for i in range(3):
            (g, big) = values(i + 1, sizes=[(4, 3), (200, 100)])
            params[0].grad = params[1].grad = torch.from_numpy(g).t()
            params[2].grad = torch.from_numpy(big).t()
            opt.step()
        return opt

    compare(plainly, scenario)


def test_gradients_are_left_alone():
    for options in ({}, {"maximize": True}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "maximize": True}):
        for name in ("SGD", "Adam", "Rprop", "RMSprop"):
            if name == "Rprop" and "weight_decay" in options:
                continue
            params = make(sizes=[(3, 4), (20000,)])
            opt = getattr(torch.optim, name)(params, lr=0.1, **options)
            step(opt, params, 1)
            step(opt, params, 2)
            for p, g in zip(params, values(2, sizes=[(3, 4), (20000,)]), strict=True):
                assert (p.grad.numpy() == g).all()


def test_versions_move():
    params = make(sizes=[(3, 4), (20000,)])
    for opt in (torch.optim.SGD(params, momentum=0.9), torch.optim.Adam(params)):
        step(opt, params, 1)
        for _ in range(2):
            watched = [*params, *(t for state in opt.state.values() for t in state.values())]
            before = [t._version for t in watched]
            step(opt, params, 2)
            assert all(t._version > v for t, v in zip(watched, before, strict=True))


def test_backward_through_a_stepped_parameter_raises():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    w.grad = torch.ones(2)
    opt.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_infinite_gradients_do_not_warn(recwarn):
    params = make(sizes=[(3,), (4,)])
    opt = torch.optim.Adam(params, eps=0.0)
    for value in (0.0, np.inf, np.nan, 1e300):
        for p in params:
            p.grad = torch.full_like(p, value).detach()
        opt.step()
    assert not recwarn.list


def test_buckets_are_bounded():
    sizes = [_raw.SMALL, _raw.SMALL + 1, 5, _raw.BLOCK * 3, _raw.SMALL, _raw.SMALL, _raw.SMALL, 7]
    groups = _raw._grouped(list(range(len(sizes))), sizes)
    assert sorted(i for group in groups for i in group) == list(range(len(sizes)))
    for group in groups:
        assert len(group) == 1 or sum(sizes[i] for i in group) <= _raw.BLOCK


def test_many_small_parameters_beside_a_larger_one(plainly):
    """Together the small ones need more room than the largest: the scratch memory is for the longest group."""

    def scenario():
        params = make(sizes=[(_raw.SMALL + 4,), *[(_raw.SMALL - 1,)] * 3, (5,)])
        opt = torch.optim.AdamW(params)
        for i in range(3):
            step(opt, params, i + 1)
        return opt

    compare(plainly, scenario)
