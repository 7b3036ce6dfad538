"""Every optimiser, many options, step by step beside PyTorch."""

import copy

import numpy as np
import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.1, "maximize": True, "momentum": 0.5, "nesterov": True, "weight_decay": 0.02}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "maximize": True, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("Adam", {"betas": (0.3, 0.4), "lr": 0.1}),
    ("Adam", {"betas": (0.0, 0.0), "lr": 0.1}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3, "amsgrad": True, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"lr": 0.1, "betas": (0.7, 0.8), "weight_decay": 0.1}),
    ("NAdam", {}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.7, 0.9)}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9}),
    ("RMSprop", {"lr": 0.01, "centered": True, "alpha": 0.9}),
    ("RMSprop", {"lr": 0.01, "centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 5, "weight_decay": 0.1}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.1, "beta2_decay": -0.5, "eps": (1e-3, 1e-2), "d": 2.0, "weight_decay": 0.1}),
]
SHAPES = [(4, 3), (5,), (), (2, 3, 2)]


def arrays(seed, dtype, shapes=SHAPES):
    rng = np.random.default_rng(seed)
    made = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        made = [(a + 1j * rng.standard_normal(a.shape)).astype(dtype) for a in made]
    return made


def params(lib, values):
    return [lib.from_numpy(np.array(v)).requires_grad_() for v in values]


def set_grads(ps, lib, values):
    for p, g in zip(ps, values, strict=True):
        p.grad = None if g is None else lib.from_numpy(np.array(g))


def assert_close(ours, theirs, dtype, what):
    kind = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1)
    rtol, atol = (2e-5, 5e-6) if kind == 4 else (1e-11, 1e-13)
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol, err_msg=str(what), strict=True
    )


def step_together(opts, all_params, dtype, seeds, skip=()):
    for i in seeds:
        grads = arrays(100 + i, dtype, [p.shape for p in all_params[0]])
        if i in skip:
            grads[0] = None
        for lib, opt, ps in zip((penlight, torch), opts, all_params, strict=True):
            set_grads(ps, lib, grads)
            opt.step()
        for k, (a, b) in enumerate(zip(*all_params, strict=True)):
            assert_close(a, b, dtype, (i, k))


def compare_state_dicts(ours, theirs, dtype):
    assert list(ours["state"]) == list(theirs["state"])
    for k, state in theirs["state"].items():
        assert list(ours["state"][k]) == list(state)
        for name, value in state.items():
            mine = ours["state"][k][name]
            assert str(mine.dtype) == str(value.dtype)
            assert tuple(mine.shape) == tuple(value.shape)
            assert_close(mine, value, dtype, (k, name))
    assert ours["param_groups"] == theirs["param_groups"]
    assert [list(g) for g in ours["param_groups"]] == [list(g) for g in theirs["param_groups"]]


def converted(state_dict, lib):
    """A state dict with the tensors of the other library."""

    def convert(x):
        if isinstance(x, dict):
            return {k: convert(v) for k, v in x.items()}
        if isinstance(x, list):
            return [convert(v) for v in x]
        return lib.from_numpy(np.array(x.detach().numpy())) if hasattr(x, "detach") else x

    return convert(copy.copy(state_dict))


def pair(name, options, dtype, seed=0):
    values = arrays(seed, dtype)
    both = [params(lib, values) for lib in (penlight, torch)]
    opts = [getattr(lib.optim, name)(ps, **options) for lib, ps in zip((penlight, torch), both, strict=True)]
    return both, opts


@pytest.mark.parametrize(("name", "options"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_twenty_steps(name, options, dtype):
    both, opts = pair(name, options, dtype)
    step_together(opts, both, dtype, range(20), skip=(0, 7))
    compare_state_dicts(opts[0].state_dict(), opts[1].state_dict(), dtype)
    assert repr(opts[0]) == repr(opts[1])


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "Adafactor"])
def test_complex(name, options):
    both, opts = pair(name, options, np.complex128)
    step_together(opts, both, np.complex128, range(4))
    compare_state_dicts(opts[0].state_dict(), opts[1].state_dict(), np.complex128)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_loading_both_ways(name, options):
    dtype = np.float64
    both, opts = pair(name, options, dtype)
    step_together(opts, both, dtype, range(3))
    fresh = [getattr(lib.optim, name)(ps, **options) for lib, ps in zip((penlight, torch), both, strict=True)]
    fresh[0].load_state_dict(converted(opts[1].state_dict(), penlight))
    fresh[1].load_state_dict(converted(opts[0].state_dict(), torch))
    step_together(fresh, both, dtype, range(3, 6))
    compare_state_dicts(fresh[0].state_dict(), fresh[1].state_dict(), dtype)


@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "Adafactor"])
def test_gradients_through_a_step(name, options):
    results = []
    for lib in (penlight, torch):
        start = params(lib, arrays(0, np.float64))
        moved = [p.clone() for p in start]
        for p in moved:
            p.retain_grad()
        opt = getattr(lib.optim, name)(moved, **options, differentiable=True)
        for p, q in zip(moved, start, strict=True):
            p.grad = q.sin()
        opt.step()
        sum((p * p).sum() for p in moved).backward()
        results.append([*moved, *(q.grad for q in start)])
    for k, (a, b) in enumerate(zip(*results, strict=True)):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-12, err_msg=str(k))


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "weight_decay": 0.0}, {"adjust_lr_fn": "match_rms_adamw"}])
def test_muon(options):
    values = arrays(0, np.float32, [(4, 3), (3, 5), (4, 4)])
    both = [params(lib, values) for lib in (penlight, torch)]
    opts = [lib.optim.Muon(ps, lr=0.1, **options) for lib, ps in zip((penlight, torch), both, strict=True)]
    for i in range(4):
        grads = arrays(100 + i, np.float32, [(4, 3), (3, 5), (4, 4)])
        for lib, opt, ps in zip((penlight, torch), opts, both, strict=True):
            set_grads(ps, lib, grads)
            opt.step()
    for a, b in zip(*both, strict=True):  # bfloat16 iterations: rounding differs, the step does not
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"line_search_fn": "strong_wolfe"},
        {"line_search_fn": "strong_wolfe", "max_iter": 7, "history_size": 3, "lr": 0.5},
        {"lr": 0.01, "max_iter": 4, "history_size": 2},
        {"lr": 0.003, "max_iter": 30, "max_eval": 9},
    ],
)
def test_lbfgs(options):
    results = []
    for lib in (penlight, torch):
        x = lib.tensor([-1.5, 2.0], dtype=lib.float64, requires_grad=True)
        y = lib.tensor([[0.5], [-0.25]], dtype=lib.float64, requires_grad=True)
        opt = lib.optim.LBFGS([x, y], **options)
        trace = []

        def closure(x=x, y=y, opt=opt, trace=trace):
            opt.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2 + ((y - x[0]) ** 4).sum()
            loss.backward()
            trace.append(loss.item())
            return loss

        for _ in range(4):
            opt.step(closure)
        results.append((np.array(trace), x.detach().numpy(), y.detach().numpy(), opt.state[x]))
    ours, theirs = results
    assert len(ours[0]) == len(theirs[0])
    np.testing.assert_allclose(ours[0][:30], theirs[0][:30], rtol=1e-6)
    for a, b in zip(ours[1:3], theirs[1:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    assert set(ours[3]) == set(theirs[3])
    assert [ours[3][k] for k in ("func_evals", "n_iter")] == [theirs[3][k] for k in ("func_evals", "n_iter")]


BAD = [
    ("SGD", {"lr": -1}),
    ("SGD", {"momentum": -1}),
    ("SGD", {"weight_decay": -1}),
    ("SGD", {"nesterov": True, "momentum": 0.9, "dampening": 0.1}),
    *[(name, {"lr": -0.5}) for name in ("Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop")],
    *[(name, {"eps": -0.5}) for name in ("Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop")],
    *[(name, {"betas": (-0.1, 0.9)}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"betas": (0.1, float("nan"))}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"weight_decay": -0.5}) for name in ("Adam", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "ASGD")],
    ("Adam", {"betas": (0.5, 0)}),
    ("NAdam", {"momentum_decay": -1}),
    ("Adagrad", {"lr_decay": -1}),
    ("Adagrad", {"initial_accumulator_value": -1}),
    ("Adadelta", {"rho": 1.5}),
    ("RMSprop", {"momentum": -1}),
    ("RMSprop", {"alpha": -1}),
    ("Rprop", {"etas": (0.5, 0.9)}),
    ("ASGD", {"lr": -1}),
    ("SparseAdam", {"lr": 0}),
    ("SparseAdam", {"eps": 0}),
    ("LBFGS", {"lr": -1}),
    *[("Adafactor", o) for o in ({"lr": -1}, {"beta2_decay": 1}, {"eps": (-1, 1)}, {"eps": (None, -1)}, {"d": 0.1})],
    *[("Muon", o) for o in ({"lr": -1}, {"momentum": -1}, {"weight_decay": -1}, {"adjust_lr_fn": "no"})],
    ("SGD", {"fused": True, "foreach": True}),
    ("Adam", {"fused": True, "differentiable": True}),
    ("Adagrad", {"fused": True, "foreach": True}),
    ("SGD", {"unknown": 1}),
]


@pytest.mark.parametrize(("name", "options"), BAD)
def test_the_same_refusal(name, options):
    errors = []
    for lib in (penlight, torch):
        with pytest.raises((ValueError, RuntimeError, TypeError)) as error:
            getattr(lib.optim, name)([lib.zeros(2, 2, requires_grad=True)], **options)
        errors.append((error.type, str(error.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD"])
@pytest.mark.parametrize("foreach", [None, True])
def test_capturable_is_refused_with_the_same_words(name, foreach):
    errors = []
    for lib in (penlight, torch):
        p = lib.zeros(2, requires_grad=True)
        p.grad = lib.ones(2)
        with pytest.raises(AssertionError) as error:
            getattr(lib.optim, name)([p], capturable=True, foreach=foreach).step()
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_every_signature():
    import inspect

    for name in torch.optim.__all__:
        theirs = getattr(torch.optim, name)
        if not isinstance(theirs, type):
            continue
        ours = getattr(penlight.optim, name)
        a, b = (inspect.signature(cls.__init__) for cls in (ours, theirs))
        assert [(p.name, p.default, p.kind) for p in a.parameters.values()] == [
            (p.name, p.default, p.kind) for p in b.parameters.values()
        ], name
    assert sorted(penlight.optim.__all__) == sorted(torch.optim.__all__)
