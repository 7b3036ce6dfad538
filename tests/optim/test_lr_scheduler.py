"""Schedulers against sequences that PyTorch 2.13 produced, their states, their warnings and what they refuse."""

import copy
import math
import warnings

import pytest

import penlight as torch
from penlight.optim.lr_scheduler import (
    ChainedScheduler,
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    CyclicLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    MultiplicativeLR,
    MultiStepLR,
    OneCycleLR,
    PolynomialLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
    _LRScheduler,
)


def sgd(lr=1.0, **options):
    return torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr, momentum=0.9, **options)


SEQUENCES = [
    (lambda o: LambdaLR(o, lambda e: 1 / (1 + e)), [1.0, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7]),
    (lambda o: MultiplicativeLR(o, lambda e: 0.9), [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531441]),
    (lambda o: StepLR(o, 2, 0.5), [1.0, 1.0, 0.5, 0.5, 0.25, 0.25, 0.125]),
    (lambda o: MultiStepLR(o, [2, 2, 4], 0.5), [1.0, 1.0, 0.25, 0.25, 0.125, 0.125, 0.125]),
    (lambda o: ConstantLR(o, 0.5, 3), [0.5, 0.5, 0.5, 1.0, 1.0, 1.0, 1.0]),
    (lambda o: LinearLR(o, 0.25, total_iters=3), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 1.0]),
    (lambda o: ExponentialLR(o, 0.5), [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625]),
    (lambda o: PolynomialLR(o, 4, 2.0), [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0, 0.0]),
    (lambda o: CosineAnnealingLR(o, 3, 0.1), [1.0, 0.775, 0.325, 0.1, 0.325, 0.775, 1.0]),
    (
        lambda o: CosineAnnealingWarmRestarts(o, 2, 2, 0.1),
        [1.0, 0.55, 1.0, 0.8681980515339464, 0.55, 0.23180194846605365, 1.0],
    ),
    (lambda o: CyclicLR(o, 0.1, 1.0, 2, 3, mode="triangular2"), [0.1, 0.55, 1.0, 0.7, 0.4, 0.1, 0.325]),
    (
        lambda o: OneCycleLR(o, 1.0, total_steps=8),
        [0.04, 0.819275104892192, 0.9719417773875232, 0.811745653949763, 0.5559840141227016, 0.28306099820869923, 0.0766415938342564],
    ),
    (lambda o: SequentialLR(o, [ConstantLR(o, 0.5, 2), ExponentialLR(o, 0.5)], [3]), [0.5, 0.5, 1.0, 1.0, 0.5, 0.25, 0.125]),
    (
        lambda o: ChainedScheduler([ExponentialLR(o, 0.5), StepLR(o, 2, 0.5)]),
        [1.0, 0.5, 0.125, 0.0625, 0.015625, 0.0078125, 0.001953125],
    ),
]  # fmt: skip


def run(optimizer, scheduler, steps):
    lrs = []
    for _ in range(steps):
        lrs.append(scheduler.get_last_lr()[0])
        assert optimizer.param_groups[0]["lr"] == lrs[-1]
        optimizer.step()
        scheduler.step()
    return lrs


@pytest.mark.parametrize(("make", "expected"), SEQUENCES)
def test_sequence(make, expected):
    optimizer = sgd()
    scheduler = make(optimizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(optimizer, scheduler, 7) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("make", "expected"), SEQUENCES)
def test_resuming_from_a_state_dict(make, expected):
    optimizer = sgd()
    scheduler = make(optimizer)
    run(optimizer, scheduler, 3)
    saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
    assert "optimizer" not in saved[1]
    twin = sgd()
    twin_scheduler = make(twin)
    twin_scheduler.load_state_dict(saved[1])
    twin.load_state_dict(saved[0])
    assert run(twin, twin_scheduler, 4) == pytest.approx(expected[3:], rel=1e-12)


@pytest.mark.parametrize(("make", "expected"), SEQUENCES[:10])
def test_learning_rate_as_a_tensor(make, expected):
    lr = torch.tensor(1.0, dtype=torch.float64)
    optimizer = sgd(lr=lr)
    scheduler = make(optimizer)
    seen = []
    for _ in range(7):
        seen.append(scheduler.get_last_lr()[0].item())
        assert optimizer.param_groups[0]["lr"] is lr
        optimizer.step()
        scheduler.step()
    assert seen == pytest.approx(expected, rel=1e-12)


def test_closed_forms_agree_with_the_chainable_ones():
    for make, expected in SEQUENCES:
        optimizer = sgd()
        scheduler = make(optimizer)
        if not hasattr(scheduler, "_get_closed_form_lr"):
            continue
        optimizer.step()
        for epoch in range(7):
            with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
                scheduler.step(epoch)
            assert scheduler.get_last_lr()[0] == pytest.approx(expected[epoch], rel=1e-12)


def test_warm_restarts_take_fractions_of_epochs():
    scheduler = CosineAnnealingWarmRestarts(sgd(), T_0=2, T_mult=2)
    seen = []
    for epoch in (0.5, 1.9, 2.0, 5.0, 6.5):
        scheduler.step(epoch)
        seen.append((round(scheduler.get_last_lr()[0], 6), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch))
    assert seen == [
        (0.853553, 0.5, 2, 0),
        (0.006156, 1.9, 2, 1),
        (1.0, 0.0, 4, 2),
        (0.146447, 3.0, 4, 5),
        (0.990393, 0.5, 8, 6),
    ]
    with pytest.raises(ValueError, match="Expected non-negative epoch, but got -1"):
        scheduler.step(-1)


def test_momentum_cycles_against_the_rate():
    optimizer = sgd()
    scheduler = CyclicLR(optimizer, 0.1, 1.0, step_size_up=2, base_momentum=0.8, max_momentum=0.9)
    seen = []
    for _ in range(4):
        seen.append(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        scheduler.step()
    assert seen == pytest.approx([0.9, 0.85, 0.8, 0.85])
    adam = torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    OneCycleLR(adam, 1.0, total_steps=10)
    assert adam.param_groups[0]["betas"] == pytest.approx((0.95, 0.999))
    with pytest.raises(ValueError, match="optimizer must support momentum or beta1 with `cycle_momentum`"):
        CyclicLR(torch.optim.Rprop([torch.zeros(1, requires_grad=True)]), 0.1, 1.0)


def test_plateau():
    optimizer = sgd()
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=1, cooldown=1, min_lr=0.2)
    seen = []
    for loss in [1.0, 0.5, 0.5, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9]:
        scheduler.step(torch.tensor(loss))
        seen.append(scheduler.get_last_lr()[0])
    assert seen == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2]
    best = ReduceLROnPlateau(optimizer, mode="max", threshold_mode="abs", threshold=0.1)
    assert best.best == -math.inf
    best.step(1.0)
    best.step(1.05)
    assert (best.best, best.num_bad_epochs, best.last_epoch) == (1.0, 1, 2)
    for options, message in [
        ({"factor": 1.0}, "Factor should be < 1.0."),
        ({"mode": "x"}, "mode x is unknown!"),
        ({"threshold_mode": "x"}, "threshold mode x is unknown!"),
        ({"min_lr": [0.1, 0.2]}, "expected 1 min_lrs, got 2"),
    ]:
        with pytest.raises(ValueError) as error:
            ReduceLROnPlateau(optimizer, **options)
        assert str(error.value) == message
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        ReduceLROnPlateau(3)


def test_plateau_with_groups_that_were_added():
    optimizer = sgd()
    scheduler = ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    optimizer.add_param_group({"params": [torch.zeros(1, requires_grad=True)], "lr": 4.0})
    scheduler.step(1.0)
    scheduler.step(2.0)
    assert scheduler.get_last_lr() == [0.5, 2.0]


def test_groups_have_rates_of_their_own():
    a, b = (torch.zeros(1, requires_grad=True) for _ in range(2))
    optimizer = torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=1.0)
    scheduler = LambdaLR(optimizer, [lambda e: 0.5**e, lambda e: 0.1**e])
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == pytest.approx([0.5, 0.05])
    assert scheduler.base_lrs == [1.0, 0.5]
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        LambdaLR(optimizer, [lambda e: 1.0])


def test_order_of_steps_is_watched():
    optimizer = sgd()
    scheduler = StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        scheduler.step()
    optimizer = sgd()
    scheduler = StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="Seems like `optimizer.step\\(\\)` has been overridden after learning rate"):
        scheduler.step()


def test_get_lr_outside_of_step_warns():
    scheduler = ExponentialLR(sgd(), 0.5)
    with pytest.warns(UserWarning, match="To get the last learning rate computed by the scheduler"):
        scheduler.get_lr()


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups\\[0\\] when resuming"):
        StepLR(sgd(), 1, last_epoch=3)
    optimizer = sgd(lr=0.25)
    optimizer.param_groups[0]["initial_lr"] = 1.0
    scheduler = ExponentialLR(optimizer, 0.5, last_epoch=1)
    assert (scheduler.last_epoch, scheduler.get_last_lr()) == (2, [0.25])


def test_callable_objects_are_saved():
    class Decay:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, epoch):
            return self.factor**epoch

    scheduler = LambdaLR(sgd(), Decay(0.5))
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"factor": 0.5}]
    other = LambdaLR(sgd(), Decay(0.9))
    other.load_state_dict(state)
    assert other.lr_lambdas[0].factor == 0.5
    assert LambdaLR(sgd(), lambda e: 1.0).state_dict()["lr_lambdas"] == [None]
    cyclic = CyclicLR(sgd(), 0.1, 1.0, scale_fn=Decay(0.5))
    assert cyclic.state_dict()["_scale_fn_custom"] == {"factor": 0.5}


def test_user_schedulers():
    class Warmup(_LRScheduler):
        def __init__(self, optimizer, steps, last_epoch=-1):
            self.steps = steps
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            return [base * min(1.0, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]

    optimizer = sgd()
    scheduler = Warmup(optimizer, 4)
    assert isinstance(scheduler, LRScheduler)
    assert run(optimizer, scheduler, 5) == [0.25, 0.5, 0.75, 1.0, 1.0]
    with pytest.raises(TypeError, match="list is not an Optimizer"):
        Warmup([], 4)


BAD = [
    (lambda: ConstantLR(sgd(), 2.0), ValueError, "Constant multiplicative factor expected to be between 0 and 1."),
    (
        lambda: LinearLR(sgd(), 0.0),
        ValueError,
        "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.",
    ),
    (lambda: LinearLR(sgd(), end_factor=2), ValueError, "Ending multiplicative factor expected to be between 0 and 1."),
    (lambda: MultiplicativeLR(sgd(), 3), TypeError, "lr_lambda should be a function, but got int"),
    (lambda: CosineAnnealingWarmRestarts(sgd(), 0), ValueError, "Expected positive integer T_0, but got 0"),
    (lambda: CosineAnnealingWarmRestarts(sgd(), 1, 0), ValueError, "Expected integer T_mult >= 1, but got 0"),
    (lambda: CyclicLR(sgd(), 0.1, 1.0, mode="x"), ValueError, "mode is invalid and scale_fn is None"),
    (
        lambda: CyclicLR(sgd(), [0.1, 0.2], 1.0),
        ValueError,
        "base_lr must have the same length as optimizer.param_groups. base_lr has 2 values, param_groups has 1.",
    ),
    (lambda: OneCycleLR(sgd(), 1.0), ValueError, "You must define either total_steps OR (epochs AND steps_per_epoch)"),
    (lambda: OneCycleLR(sgd(), 1.0, 0), ValueError, "Expected positive integer total_steps, but got 0"),
    (
        lambda: OneCycleLR(sgd(), 1.0, epochs=1, steps_per_epoch=-1),
        ValueError,
        "Expected positive integer steps_per_epoch, but got -1",
    ),
    (lambda: OneCycleLR(sgd(), 1.0, 5, pct_start=2.0), ValueError, "Expected float between 0 and 1 pct_start, but got 2.0"),
    (
        lambda: OneCycleLR(sgd(), 1.0, 5, anneal_strategy="x"),
        ValueError,
        "anneal_strategy must be one of 'cos' or 'linear', instead got x",
    ),
    (lambda: SequentialLR(sgd(), [], []), ValueError, "SequentialLR expects at least one scheduler, but got no scheduler."),
    (lambda: ChainedScheduler([]), ValueError, "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."),
]  # fmt: skip


@pytest.mark.parametrize(("make", "kind", "message"), BAD)
def test_refusals(make, kind, message):
    with pytest.raises(kind) as error:
        make()
    assert str(error.value) == message


def test_combined_schedulers_check_their_parts():
    optimizer = sgd()
    with pytest.raises(ValueError, match="expects all schedulers to belong to the same optimizer"):
        ChainedScheduler([StepLR(optimizer, 1), StepLR(sgd(), 1)])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau` scheduler"):
        SequentialLR(optimizer, [ReduceLROnPlateau(optimizer)], [])
    with pytest.raises(ValueError, match="expects number of schedulers provided to be one more than the number of"):
        SequentialLR(optimizer, [StepLR(optimizer, 1)], [1])


def test_one_cycle_ends():
    optimizer = sgd()
    scheduler = OneCycleLR(optimizer, 1.0, total_steps=3)
    run(optimizer, scheduler, 3)
    with pytest.raises(ValueError, match=r"Tried to step 4 times\. The specified number of total steps is 3"):
        scheduler.step()
