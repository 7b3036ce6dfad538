"""Schedulers beside PyTorch: the same rates, exactly, the same momenta, the same states."""

import warnings

import pytest

import penlight
import penlight.optim.lr_scheduler as ours
import penlight.optim.swa_utils as our_swa

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.optim.lr_scheduler")
their_swa = pytest.importorskip("torch.optim.swa_utils")
pytestmark = pytest.mark.parity


class Both:
    """A library's schedulers, under one roof."""

    def __init__(self, lib, schedulers, swa):
        self.lib, self.swa = lib, swa
        self.schedulers = schedulers

    def __getattr__(self, name):
        return getattr(self.schedulers, name)


LIBS = [Both(penlight, ours, our_swa), Both(torch, theirs, their_swa)]

MAKERS = {
    "lambda": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9 + 0.01 * e),
    "step": lambda s, o: s.StepLR(o, 3, 0.3),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.7),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.7, 6),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.87),
    "polynomial": lambda s, o: s.PolynomialLR(o, 7, 1.5),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, 0.001),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.001),
    "restarts 1": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3),
    "cyclic 2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 3, 2, mode="triangular2"),
    "cyclic exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "cyclic fn": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 0.5 ** (x - 1), scale_mode="iterations"),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=25),
    "one cycle 3": lambda s, o: s.OneCycleLR(o, [0.5, 0.1], epochs=5, steps_per_epoch=5, three_phase=True),
    "one cycle linear": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=25, anneal_strategy="linear", pct_start=0.5),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 4)]),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, 5), s.StepLR(o, 2)], [4, 11]
    ),
    "nested": lambda s, o: s.SequentialLR(
        o,
        [s.SequentialLR(o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], [2]), s.PolynomialLR(o, 6)],
        [6],
    ),
    "swa cos": lambda s, o: s.swa.SWALR(o, 0.05, 4),
    "swa linear": lambda s, o: s.swa.SWALR(o, [0.05, 0.5], 6, "linear"),
    "swa at once": lambda s, o: s.swa.SWALR(o, 0.05, 0),
}


def optimizer(lib, kind="SGD"):
    params = [
        {"params": [lib.zeros(1, requires_grad=True)]},
        {"params": [lib.zeros(2, requires_grad=True)], "lr": 0.03},
    ]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(lib.optim, kind)(params, lr=0.1, **options)


def plain(value):
    """A state without functions and the modules that classes live in."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_rates(name, kind):
    traces, states = [], []
    for side in LIBS:
        opt = optimizer(side.lib, kind)
        scheduler = MAKERS[name](side, opt)
        trace = []
        for _ in range(20):
            groups = opt.param_groups
            trace.append([scheduler.get_last_lr(), [(g["lr"], g.get("momentum"), g.get("betas")) for g in groups]])
            opt.step()
            scheduler.step()
        traces.append(trace)
        states.append((plain(scheduler.state_dict()), [{k: v for k, v in g.items() if k != "params"} for g in groups]))
    assert traces[0] == traces[1]
    assert states[0] == states[1]
    assert list(states[0][0]) == list(states[1][0])


@pytest.mark.parametrize(
    "name", [n for n in MAKERS if n not in ("chained", "sequential", "nested") and not n.startswith("swa")]
)
def test_explicit_epochs(name):
    traces = []
    for side in LIBS:
        opt = optimizer(side.lib)
        scheduler = MAKERS[name](side, opt)
        trace = []
        opt.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for epoch in (1, 5, 2, 8, 13):
                scheduler.step(epoch)
                trace.append((scheduler.get_last_lr(), scheduler.last_epoch))
            scheduler.step()
        traces.append([*trace, scheduler.get_last_lr()])
    assert traces[0] == traces[1]


@pytest.mark.parametrize("name", [n for n in MAKERS if n not in ("chained", "lambda", "cyclic fn")])
def test_states_interchange(name):
    scheduler_states, optimizer_states = [], []
    for side in LIBS:
        opt = optimizer(side.lib)
        scheduler = MAKERS[name](side, opt)
        for _ in range(5):
            opt.step()
            scheduler.step()
        scheduler_states.append(scheduler.state_dict())
        optimizer_states.append(opt.state_dict()["param_groups"])
    traces = []
    for side, state, groups in zip(LIBS, scheduler_states[::-1], optimizer_states[::-1], strict=True):
        opt = optimizer(side.lib)
        scheduler = MAKERS[name](side, opt)
        scheduler.load_state_dict(dict(state))
        opt.load_state_dict({"state": {}, "param_groups": groups})
        trace = []
        for _ in range(6):
            opt.step()
            scheduler.step()
            trace.append(scheduler.get_last_lr())
        traces.append(trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 2},
        {"mode": "max", "patience": 1, "cooldown": 2, "factor": 0.5},
        {"threshold_mode": "abs", "threshold": 0.1, "patience": 0, "min_lr": [0.02, 0.001]},
        {"mode": "max", "threshold_mode": "abs", "threshold": 0.2, "patience": 1, "eps": 0.01},
    ],
)
def test_plateau(options):
    metrics = [1.0, 0.9, 0.95, 0.9, 0.85, 0.9, 0.9, 0.9, 0.9, 0.2, 0.3, 0.3, 0.3, 0.3, float("nan"), 0.1, 0.1, 0.1]
    traces = []
    for side in LIBS:
        opt = optimizer(side.lib)
        scheduler = side.ReduceLROnPlateau(opt, **options)
        trace = []
        for metric in metrics:
            scheduler.step(metric)
            trace.append(
                (scheduler.get_last_lr(), scheduler.best, scheduler.num_bad_epochs, scheduler.cooldown_counter)
            )
        traces.append((trace, scheduler.state_dict()))
    assert traces[0] == traces[1]


@pytest.mark.parametrize("case", ["order", "overridden", "epoch", "get_lr"])
def test_warnings(case):
    messages = []
    for side in LIBS:
        opt = optimizer(side.lib)
        scheduler = side.ExponentialLR(opt, 0.5)
        if case == "overridden":
            opt.step = lambda: None
        if case == "epoch":
            opt.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if case == "get_lr":
                scheduler.get_lr()
            else:
                scheduler.step(*([3] if case == "epoch" else []))
        messages.append([(w.category, str(w.message)) for w in caught])
    assert messages[0] == messages[1]
    assert len(messages[0]) == 1


def test_every_signature():
    import inspect

    for module, mine in ((theirs, ours), (their_swa, our_swa)):
        for name in module.__all__:
            a, b = getattr(mine, name), getattr(module, name)
            if isinstance(b, type):
                a, b = a.__init__, b.__init__
            assert [(p.name, p.default, p.kind) for p in inspect.signature(a).parameters.values()] == [
                (p.name, p.default, p.kind) for p in inspect.signature(b).parameters.values()
            ], name
