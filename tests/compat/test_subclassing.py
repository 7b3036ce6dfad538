"""Programs subclass modules, optimisers, schedulers, distributions and loaders: what they override is called, the rest is inherited."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from enum import Enum

import pytest

import penlight

PACKAGES = ["nn", "nn.utils.parametrize", "nn.utils.prune", "optim", "optim.lr_scheduler", "optim.swa_utils", "distributions",
            "distributions.transforms", "distributions.constraints", "utils.data", "autograd", "fx", "distributed"]  # fmt: skip


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_class_can_be_subclassed(package):
    module = importlib.import_module(f"penlight.{package}")
    classes = [c for name in dir(module) if not name.startswith("_") and inspect.isclass(c := getattr(module, name))]
    classes = [c for c in classes if c.__module__.startswith("penlight") and not issubclass(c, Enum)]
    assert classes
    for c in classes:
        type(c)("Mine", (c,), {"__module__": "__main__", "__doc__": "In a program of one file."})


def parameters(torch):
    return [torch.nn.Parameter(torch.tensor([1.0, -2.0]))]


def schedulers(torch):
    kinds = torch.optim.lr_scheduler

    class Warm(kinds.LambdaLR):
        def __init__(self, optimizer, warm, last_epoch=-1):
            self.warm = warm
            super().__init__(optimizer, self.factor, last_epoch)

        def factor(self, epoch):
            return min(1.0, (epoch + 1) / self.warm)

    class Decay(kinds._LRScheduler):
        def get_lr(self):
            return [rate * 2 / (self.last_epoch + 1) for rate in self.base_lrs]

    class Doubled(kinds.StepLR):
        def get_lr(self):
            return [rate * 2 for rate in super().get_lr()]

    class Counted(kinds.CosineAnnealingLR):
        def step(self, epoch=None):
            self.count = getattr(self, "count", 0) + 1
            return super().step(epoch)

    class Chain(kinds.SequentialLR):
        pass

    yield lambda o: Warm(o, 3)
    yield Decay
    yield lambda o: Doubled(o, 2)
    yield lambda o: Counted(o, 5)
    yield lambda o: Chain(o, [kinds.StepLR(o, 1), kinds.ConstantLR(o)], [2])


def test_schedulers(same):
    @same
    def program(torch, say):
        for make in schedulers(torch):
            optimizer = torch.optim.SGD(parameters(torch), lr=1.0)
            scheduler = make(optimizer)
            for _ in range(4):
                optimizer.step()
                scheduler.step()
                say(round(optimizer.param_groups[0]["lr"], 6), type(scheduler))
            state = scheduler.state_dict()
            other = make(torch.optim.SGD(parameters(torch), lr=1.0))
            other.load_state_dict(state)
            say(sorted(state), other.last_epoch)


def test_optimisers(same):
    @same
    def program(torch, say):
        class Counting(torch.optim.Adam):
            def __init__(self, params, lr=1e-2, count=0):
                super().__init__(params, lr=lr, betas=(0.8, 0.9))
                self.count = count

            def step(self, closure=None):
                self.count += 1
                return super().step(closure)

        class Double(torch.optim.SGD):
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-2 * group["lr"])

        class Fading(torch.optim.Optimizer):
            def __init__(self, params, lr=0.1):
                super().__init__(params, {"lr": lr})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        self.state[p]["n"] = self.state[p].get("n", 0) + 1
                        p.sub_(p.grad * group["lr"] / self.state[p]["n"])

        for make in (Counting, Double, Fading):
            params = parameters(torch)
            optimizer = make(params)
            for _ in range(3):
                optimizer.zero_grad()
                (params[0] ** 2).sum().backward()
                optimizer.step()
            say([round(x, 6) for x in params[0].tolist()], sorted(optimizer.defaults), len(optimizer.state), optimizer)
        say.attempt(lambda: copy.deepcopy(Counting(parameters(torch))).count)


def modules(torch):
    nn = torch.nn

    class Scaled(nn.Linear):
        def __init__(self, inputs, outputs, scale=2):
            super().__init__(inputs, outputs)
            self.scale = scale

        def forward(self, x):
            return super().forward(x) * self.scale

        def extra_repr(self):
            return super().extra_repr() + f", scale={self.scale}"

    class Ones(nn.Conv2d):
        def forward(self, x):
            return self._conv_forward(x, self.weight * 0 + 1, self.bias)

    class Wide(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.double()).type(x.dtype)

    class Unchecked(nn.BatchNorm2d):
        def _check_input_dim(self, x):
            pass

    class Clipped(nn.ReLU):
        def __init__(self, top=1):
            super().__init__(inplace=True)
            self.top = top

    class Pool(nn.MaxPool2d):
        def __init__(self):
            super().__init__(2, ceil_mode=True)

    class Flat(nn.AdaptiveAvgPool2d):
        def __init__(self):
            super().__init__(1)

        def forward(self, x):
            return super().forward(x).flatten(1)

    class Outputs(nn.LSTM):
        def forward(self, x, state=None):
            return super().forward(x, state)[0]

    class Started(nn.Embedding):
        def reset_parameters(self):
            nn.init.ones_(self.weight)
            self._fill_padding_idx_with_zero()

    class Smoothed(nn.CrossEntropyLoss):
        def __init__(self, smoothing=0.1):
            super().__init__(label_smoothing=smoothing)

    class Weighted(nn.modules.loss._WeightedLoss):
        def forward(self, x, y):
            return (x - y).abs().sum()

    class Residual(nn.Sequential):
        def forward(self, x):
            for module in self:
                x = module(x) + x
            return x

    class Silent(nn.TransformerEncoderLayer):
        def _sa_block(self, *args, **kwargs):
            return super()._sa_block(*args, **kwargs) * 0

    image, rows = torch.linspace(0, 1, 96).reshape(2, 3, 4, 4), torch.linspace(-1, 1, 6).reshape(2, 3)
    yield lambda: Scaled(3, 2), (rows,)
    yield lambda: Ones(3, 2, 3), (image,)
    yield lambda: Wide(3), (rows,)
    yield lambda: Unchecked(3), (image,)
    yield Clipped, (rows.clone(),)
    yield Pool, (image,)
    yield Flat, (image,)
    yield lambda: Outputs(3, 4, batch_first=True), (rows.unsqueeze(0),)
    yield lambda: Started(5, 2, padding_idx=0), (torch.tensor([0, 1]),)
    yield Smoothed, (rows, torch.tensor([0, 2]))
    yield Weighted, (rows, rows * 2)
    yield lambda: Residual(nn.Linear(3, 3), nn.Tanh()), (rows,)
    yield lambda: Silent(4, 2, 8, dropout=0.0, batch_first=True), (torch.ones(1, 2, 4),)


def test_modules(same):
    @same
    def program(torch, say):
        for make, args in modules(torch):
            torch.manual_seed(1)
            module = copy.deepcopy(make())
            result = module(*args)
            if result.requires_grad:
                result.sum().backward()
            say(module, tuple(result.shape), round(float(result.detach().square().sum()), 5), list(module.state_dict()))


def test_distributions(same):
    @same
    def program(torch, say):
        kinds, zeros, ones = torch.distributions, torch.zeros(2), torch.ones(2)

        class Sharp(kinds.Normal):
            def log_prob(self, value):
                return super().log_prob(value) * 2

            def expand(self, batch_shape, _instance=None):
                return super().expand(batch_shape, self._get_checked_instance(Sharp, _instance))

        class Constant(kinds.Distribution):
            arg_constraints = {"at": kinds.constraints.positive}
            support, has_rsample = kinds.constraints.real, True

            def __init__(self, at, validate_args=None):
                self.at = at
                super().__init__(at.shape, validate_args=validate_args)

            def rsample(self, sample_shape=()):
                return torch.zeros(self._extended_shape(torch.Size(sample_shape))) + self.at

        class Squashed(kinds.TransformedDistribution):
            def __init__(self, loc, scale):
                super().__init__(kinds.Normal(loc, scale), [kinds.transforms.TanhTransform(cache_size=1)])

            @property
            def mean(self):
                return self.transforms[0](self.base_dist.mean)

        class Exp(kinds.transforms.Transform):
            domain, codomain, bijective, sign = kinds.constraints.real, kinds.constraints.positive, True, 1

            def _call(self, x):
                return x.exp()

            def _inverse(self, y):
                return y.log()

            def log_abs_det_jacobian(self, x, y):
                return x

        sharp = Sharp(zeros, ones)
        say(
            sharp,
            sharp.log_prob(zeros),
            type(sharp.expand((3, 2))),
            kinds.kl_divergence(sharp, kinds.Normal(ones, ones)),
        )
        say(Constant(ones), Constant(ones).sample((2,)).shape)
        say.attempt(lambda: Constant(-ones))
        say(Squashed(zeros, ones).mean, Squashed(zeros, ones).log_prob(zeros))
        say(Exp(), Exp().inv(ones), kinds.TransformedDistribution(kinds.Normal(zeros, ones), [Exp()]).log_prob(ones))


def test_data(same):
    @same
    def program(torch, say):
        data = torch.utils.data

        class Backwards(data.Sampler):
            def __init__(self, count):
                self.count = count

            def __iter__(self):
                return reversed(range(self.count))

            def __len__(self):
                return self.count

        class Reversed(data.BatchSampler):
            def __iter__(self):
                return (batch[::-1] for batch in super().__iter__())

        class Doubled(data.DataLoader):
            def __iter__(self):
                for batch in super().__iter__():
                    yield batch * 2

        class First(data.TensorDataset):
            def __getitem__(self, index):
                return super().__getitem__(index)[0]

        rows = First(torch.arange(6.0))
        say(list(Doubled(rows, batch_size=2, sampler=Backwards(6))))
        say(list(data.DataLoader(rows, batch_sampler=Reversed(Backwards(6), 4, False))))


class Counted(penlight.optim.SGD):
    count = 3


def test_a_subclass_pickles():
    assert pickle.loads(pickle.dumps(Counted(parameters(penlight), lr=0.1))).count == 3
