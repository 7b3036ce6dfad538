"""Options in all their forms, beside PyTorch: tensors, low precision, sparse gradients, old files, several mistakes at once."""

import warnings

import numpy as np
import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity
LIBS = (penlight, torch)
ELEMENTWISE = ["SGD", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD"]
ALL = [*ELEMENTWISE, "Adafactor", "SparseAdam", "Muon", "LBFGS"]
VALUES = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -0.0]])
GRADS = [np.array([[0.5, -1.0, 0.0], [2.0, -0.125, 1.0]]) * scale for scale in (1.0, -0.5, 2.0, 0.25)]


def both(function):
    """What a function of the library gives, or the error that it ends with, for both."""
    results = []
    for lib in LIBS:
        try:
            results.append(function(lib))
        except (ValueError, RuntimeError, TypeError, KeyError, AssertionError) as error:
            results.append((type(error).__name__, str(error)))
    return results


def parameter(lib, dtype="float64"):
    return lib.tensor(VALUES.tolist(), dtype=getattr(lib, dtype), requires_grad=True)


def trained(lib, name, dtype="float64", **options):
    p = parameter(lib, dtype)
    opt = getattr(lib.optim, name)([p], **options)
    for grad in GRADS:
        p.grad = lib.tensor(grad.tolist(), dtype=p.dtype)
        opt.step()
    state = {key: value.double() for key, value in opt.state[p].items()} if p in opt.state else {}
    return {"p": p.detach().double(), **state}


def assert_same(ours, theirs, rtol, atol=0.0):
    assert list(ours) == list(theirs)
    for key in ours:
        np.testing.assert_allclose(ours[key].numpy(), theirs[key].numpy(), rtol=rtol, atol=atol, err_msg=key)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("shape", [(), (1,)])
def test_learning_rate_as_a_tensor(name, shape):
    assert_same(*both(lambda lib: trained(lib, name, lr=lib.full(shape, 0.1, dtype=lib.float64))), 1e-12, 1e-14)
    assert_same(*both(lambda lib: trained(lib, name, lr=lib.full(shape, 0.1), maximize=True)), 1e-7, 1e-9)


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision(name, dtype):
    options = {"eps": 1e-3} if name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "RMSprop") else {}
    digits = 2**-10 if dtype == "float16" else 2**-7
    assert_same(*both(lambda lib: trained(lib, name, dtype, lr=0.125, **options)), 2 * digits, digits)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("amsgrad", [True, False])
def test_betas_as_tensors(dtype, amsgrad):
    def run(lib):
        betas = (lib.tensor(0.7), lib.tensor([0.8]))
        return trained(lib, "Adam", dtype, lr=0.1, betas=betas, amsgrad=amsgrad)

    assert_same(*both(run), 2e-2 if dtype == "bfloat16" else 1e-6, 1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "RAdam"])
def test_gradient_of_the_learning_rate(name):
    def run(lib):
        start = parameter(lib)
        p = start.clone()
        p.retain_grad()
        lr = lib.tensor(0.1, dtype=lib.float64, requires_grad=True)
        opt = getattr(lib.optim, name)([p], lr=lr, differentiable=True)
        for grad in GRADS:
            p.grad = lib.tensor(grad.tolist(), dtype=p.dtype) + 0.1 * start
            opt.step()
        (p * p).sum().backward()
        return {"p": p.detach(), "lr": lr.grad, "start": start.grad}

    ours, theirs = both(run)
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        assert_same(ours, theirs, 1e-6)  # the corrections for the start are float32


def test_gradient_of_weight_decay_and_betas():
    def run(lib):
        start = parameter(lib)
        p = start.clone()
        p.retain_grad()
        decay, *betas = (lib.tensor(x, dtype=lib.float64, requires_grad=True) for x in (0.1, 0.7, 0.8))
        opt = lib.optim.Adam([p], lr=0.1, betas=betas, weight_decay=decay, differentiable=True)
        for grad in GRADS:
            p.grad = lib.tensor(grad.tolist(), dtype=p.dtype) + 0.1 * start
            opt.step()
        (p * p).sum().backward()
        return {"p": p.detach(), "decay": decay.grad, "beta1": betas[0].grad, "beta2": betas[1].grad}

    assert_same(*both(run), 1e-6, 1e-9)


SPARSE = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("SparseAdam", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1, "maximize": True}),
    *[(name, {}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adadelta", "RMSprop", "Rprop", "ASGD", "Muon")],
    ("Adafactor", {}),
    ("SGD", {"fused": True}),
    ("Adagrad", {"fused": True}),
    ("Adagrad", {"weight_decay": 0.1}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), SPARSE)
def test_sparse_gradients(name, options):
    def run(lib):
        p = parameter(lib)
        opt = getattr(lib.optim, name)([p], **options)
        values = lib.tensor([[1.0, 2.0, -1.0], [0.5, -0.5, 0.25]], dtype=lib.float64)
        for rows in ([1, 1], [0, 1]):
            opt.zero_grad()
            (lib.nn.functional.embedding(lib.tensor(rows), p, sparse=True) * values).sum().backward()
            opt.step()
        dense = {k: v.to_dense() if v.is_sparse else v for k, v in opt.state[p].items() if not isinstance(v, int)}
        return {"p": p.detach(), **dense}

    ours, theirs = both(run)
    if isinstance(theirs, tuple):
        assert ours == theirs
    else:
        assert_same(ours, theirs, 1e-12)


@pytest.mark.parametrize("name", ALL)
def test_files_without_the_newer_options(name):
    def run(lib):
        opt = getattr(lib.optim, name)([lib.zeros(2, 2, requires_grad=True)])
        opt.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})
        return list(opt.param_groups[0].items())[:-1], opt.defaults

    ours, theirs = both(run)
    assert [pair for pair in ours[0] if pair[0] != "params"] == [pair for pair in theirs[0] if pair[0] != "params"]
    assert list(ours[1].items()) == list(theirs[1].items())


NAN = float("nan")
MISTAKES = [
    *[(name, {"lr": NAN}) for name in ALL],
    *[(name, {"lr": "tensor"}) for name in ALL],
    *[(name, {"lr": -1.0, "betas": (2.0, 2.0)}) for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"eps": -1.0, "betas": (2.0, 2.0)}) for name in ("Adam", "Adamax", "NAdam", "RAdam", "SparseAdam")],
    *[(name, {"weight_decay": -1.0, "betas": (0.5, 2.0)}) for name in ("Adam", "Adamax", "NAdam", "RAdam")],
    ("NAdam", {"momentum_decay": -1.0, "weight_decay": -1.0}),
    ("SGD", {"momentum": -1.0, "weight_decay": -1.0}),
    ("SGD", {"momentum": NAN, "weight_decay": NAN}),
    ("SGD", {"nesterov": True, "weight_decay": -1.0}),
    ("RMSprop", {"alpha": -1.0, "momentum": -1.0, "weight_decay": -1.0}),
    ("RMSprop", {"eps": -1.0, "momentum": -1.0}),
    ("RMSprop", {"weight_decay": -1.0, "alpha": -1.0}),
    ("Adagrad", {"eps": -1.0, "initial_accumulator_value": -1.0}),
    ("Adagrad", {"lr_decay": -1.0, "weight_decay": -1.0}),
    ("Adadelta", {"rho": 2.0, "eps": -1.0}),
    ("Rprop", {"lr": -1.0, "etas": (2.0, 2.0)}),
    ("Adam", {"lr": "scalar tensor", "foreach": True, "eps": -1.0}),
    ("Adam", {"betas": "tensors", "foreach": True}),
    ("Adam", {"betas": "mixed"}),
    ("Adam", {"betas": "long"}),
    ("Adam", {"fused": True, "foreach": True, "differentiable": True}),
    ("Adafactor", {"d": 0.5, "weight_decay": -1.0, "eps": (-1.0, -1.0)}),
    ("Adafactor", {"d": 0.5, "weight_decay": -1.0}),
    ("Muon", {"momentum": -1.0, "weight_decay": -1.0, "adjust_lr_fn": "no"}),
    ("Muon", {"ns_steps": 100}),
    ("Muon", {"ns_coefficients": (1.0, 2.0)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), MISTAKES)
def test_the_same_refusal(name, options):
    def run(lib):
        special = {
            "tensor": lib.tensor([0.1, 0.2]),
            "scalar tensor": lib.tensor(0.1),
            "tensors": (lib.tensor(0.1), lib.tensor(0.2)),
            "mixed": (lib.tensor(0.1), 0.2),
            "long": (lib.tensor(0.1), lib.tensor([0.2, 0.2])),
        }
        given = {key: special[value] if isinstance(value, str) and value in special else value for key, value in options.items()}  # fmt: skip
        p = lib.zeros(2, 2, requires_grad=True)
        p.grad = lib.ones(2, 2)
        opt = getattr(lib.optim, name)([p], **given)
        if name not in ("LBFGS", "SparseAdam"):
            opt.step()
        return "accepted"

    ours, theirs = both(run)
    assert ours == theirs


SCHEDULERS = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda s, o: s.StepLR(o, 2, 0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [1, 3], 0.5),
    "constant": lambda s, o: s.ConstantLR(o, 0.5, 3),
    "linear": lambda s, o: s.LinearLR(o, 0.5, 1.0, 3),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "polynomial": lambda s, o: s.PolynomialLR(o, 4, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 3, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 2),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 2, cycle_momentum=False),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9),
    "chained": lambda s, o: s.ChainedScheduler([s.ExponentialLR(o, 0.9), s.ConstantLR(o, 0.5, 2)]),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=0),
}


@pytest.mark.parametrize("name", SCHEDULERS)
@pytest.mark.parametrize("tensor", [True, False])
def test_schedules_of_tensors_and_resumed_ones(name, tensor):
    def run(lib):
        p = lib.zeros(1, requires_grad=True)
        p.grad = lib.ones(1)
        lr = lib.tensor(0.25, dtype=lib.float64) if tensor else 0.25
        opt = lib.optim.SGD([p], lr=lr, momentum=0.9)
        scheduler = SCHEDULERS[name](lib.optim.lr_scheduler, opt)
        trace = []
        for _ in range(6):
            opt.step()
            scheduler.step(*[1.0] * (name == "plateau"))
            trace += [float(scheduler.get_last_lr()[0]), float(opt.param_groups[0]["lr"])]
        assert not tensor or opt.param_groups[0]["lr"] is lr or name == "one cycle"
        return trace

    ours, theirs = both(run)
    np.testing.assert_allclose(ours, theirs, rtol=1e-15)


RESUMED = {
    "step": lambda s, o, e: s.StepLR(o, 2, 0.5, e),
    "multistep": lambda s, o, e: s.MultiStepLR(o, [1, 6], 0.5, e),
    "constant": lambda s, o, e: s.ConstantLR(o, 0.5, 6, e),
    "linear": lambda s, o, e: s.LinearLR(o, 0.5, 1.0, 8, e),
    "exponential": lambda s, o, e: s.ExponentialLR(o, 0.9, e),
    "polynomial": lambda s, o, e: s.PolynomialLR(o, 9, 2.0, e),
    "cosine": lambda s, o, e: s.CosineAnnealingLR(o, 3, 0.01, e),
    "restarts": lambda s, o, e: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.0, e),
    "cyclic": lambda s, o, e: s.CyclicLR(o, 0.01, 0.1, 2, last_epoch=e),
    "one cycle": lambda s, o, e: s.OneCycleLR(o, 0.1, total_steps=19, last_epoch=e),
    "multiplicative": lambda s, o, e: s.MultiplicativeLR(o, lambda x: 0.9, e),
}


@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("group", [{}, {"initial_lr": 0.5, "max_lr": 0.1, "min_lr": 0.01, "max_momentum": 0.9, "base_momentum": 0.8}])  # fmt: skip
def test_schedules_that_resume(name, group):
    def run(lib):
        opt = lib.optim.SGD([{"params": lib.zeros(1, requires_grad=True), **group}], lr=0.25, momentum=0.9)
        scheduler = RESUMED[name](lib.optim.lr_scheduler, opt, 5)
        trace = [scheduler.get_last_lr(), scheduler.last_epoch]
        for _ in range(4):
            opt.step()
            scheduler.step()
            trace.append(scheduler.get_last_lr())
        return trace

    ours, theirs = both(run)
    assert ours == theirs


BAD_SCHEDULERS = {
    "no optimizer": lambda s, o: s.StepLR(3, 1),
    "plateau of none": lambda s, o: s.ReduceLROnPlateau(3),
    "lambdas": lambda s, o: s.LambdaLR(o, [abs, abs]),
    "no function": lambda s, o: s.MultiplicativeLR(o, [3]),
    "constant": lambda s, o: s.ConstantLR(o, 2.0),
    "linear start": lambda s, o: s.LinearLR(o, 0.0),
    "linear end": lambda s, o: s.LinearLR(o, 0.5, 2.0),
    "T_0": lambda s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "T_mult": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0.5),
    "eta_min": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 1, "a"),
    "negative epoch": lambda s, o: s.CosineAnnealingWarmRestarts(o, 1).step(-1),
    "plateau factor": lambda s, o: s.ReduceLROnPlateau(o, factor=1.0),
    "plateau mode": lambda s, o: s.ReduceLROnPlateau(o, mode="no"),
    "plateau threshold": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="no"),
    "plateau min_lr": lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1, 0.1]),
    "cyclic mode": lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="no"),
    "cyclic lengths": lambda s, o: s.CyclicLR(o, [0.1, 0.1], 0.2),
    "one cycle nothing": lambda s, o: s.OneCycleLR(o, 0.1),
    "one cycle steps": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0),
    "one cycle epochs": lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
    "one cycle per epoch": lambda s, o: s.OneCycleLR(o, 0.1, epochs=1, steps_per_epoch=0.5),
    "one cycle start": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, pct_start=2.0),
    "one cycle strategy": lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, anneal_strategy="no"),
    "one cycle long": lambda s, o: [s.OneCycleLR(o, 0.1, total_steps=1).step() for _ in range(3)],
    "sequential of none": lambda s, o: s.SequentialLR(o, [], []),
    "sequential milestones": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "sequential foreign": lambda s, o: s.SequentialLR(o, [3], []),
    "sequential plateau": lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "chained of none": lambda s, o: s.ChainedScheduler([]),
    "chained plateau": lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
}


@pytest.mark.parametrize("name", BAD_SCHEDULERS)
def test_schedulers_that_are_refused(name):
    def run(lib):
        opt = lib.optim.SGD([lib.zeros(1, requires_grad=True)], lr=0.25, momentum=0.9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            BAD_SCHEDULERS[name](lib.optim.lr_scheduler, opt)
        return "accepted"

    ours, theirs = both(run)
    assert ours == theirs


def test_averaged_models():
    def run(lib):
        swa = lib.optim.swa_utils
        trace = {}
        for name, options in {
            "swa": {},
            "ema": {"avg_fn": swa.get_ema_avg_fn(0.9)},
            "multi": {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)},
            "multi swa": {"multi_avg_fn": swa.get_swa_multi_avg_fn()},
            "buffers": {"use_buffers": True},
        }.items():
            model = lib.nn.BatchNorm1d(3).double()
            average = swa.AveragedModel(model, **options)
            for i in range(4):
                model.weight.data.fill_(i * 0.5)
                model.running_mean.fill_(i * 2.0)
                average.update_parameters(model)
            trace |= {f"{name} {key}": value.double() for key, value in average.state_dict().items()}
        return trace

    assert_same(*both(run), 1e-14)
