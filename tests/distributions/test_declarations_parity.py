"""What every family, transform and constraint says about itself, against PyTorch: attributes, printing, shapes, errors, subclasses."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings

import pytest

import penlight

from .families import FAMILIES
from .test_transforms_and_kl_parity import TRANSFORMS

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def told(call):
    """What a call gives in words: its repr, or its error and that one's text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said = repr(call())
        except Exception as error:
            said = (type(error).__name__, str(error))
    words = [str(said), *(f"{w.category.__name__}: {w.message}" for w in caught)]
    return [re.sub(r"0x[0-9a-f]+|torch\.Size", "", text.replace("penlight", "torch")) for text in words]


def agree(make):
    assert told(lambda: make(penlight)) == told(lambda: make(torch))


def public(thing):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.parametrize("name", FAMILIES)
def test_family_has_the_attributes(name):
    ours, theirs = FAMILIES[name](penlight), FAMILIES[name](torch)
    assert public(theirs) <= public(ours)
    assert {n for n in vars(theirs) if not n.startswith("_")} <= {n for n in vars(ours) if not n.startswith("_")}
    assert list(ours.arg_constraints) == list(theirs.arg_constraints)
    assert repr(ours.arg_constraints) == repr(theirs.arg_constraints)
    assert ours._validate_args == theirs._validate_args
    assert repr(ours.support.event_dim) == repr(theirs.support.event_dim)
    assert repr(ours.support.is_discrete) == repr(theirs.support.is_discrete)
    agree(lambda t: type(FAMILIES[name](t)).support)


@pytest.mark.parametrize("name", FAMILIES)
def test_family_has_the_signatures(name):
    ours, theirs = type(FAMILIES[name](penlight)), type(FAMILIES[name](torch))
    for method in ("__init__", "expand", "sample", "rsample", "log_prob", "cdf", "icdf", "enumerate_support"):
        mine, yours = (inspect.signature(getattr(cls, method)) for cls in (ours, theirs))
        assert list(mine.parameters) == list(yours.parameters), method
        for a, b in zip(mine.parameters.values(), yours.parameters.values(), strict=True):
            assert (a.kind, tuple(a.default) if isinstance(a.default, tuple) else repr(a.default)) == (
                b.kind,
                tuple(b.default) if isinstance(b.default, tuple) else repr(b.default),
            )


@pytest.mark.parametrize("name", FAMILIES)
def test_family_takes_only_what_lies_in_its_support(name):
    far = lambda t: t.full(tuple(FAMILIES[name](t).batch_shape + FAMILIES[name](t).event_shape), -7.25)
    agree(lambda t: FAMILIES[name](t).log_prob(far(t)))
    agree(lambda t: FAMILIES[name](t).log_prob(t.full((5, 7, 9, 11), 0.5)))
    agree(lambda t: FAMILIES[name](t).log_prob("nothing"))
    agree(lambda t: FAMILIES[name](t).cdf(far(t)))
    agree(lambda t: FAMILIES[name](t).rsample and FAMILIES[name](t).has_rsample)


@pytest.mark.parametrize("name", FAMILIES)
def test_subclass_of_family(name):
    """A subclass without an __init__ expands to itself; with one it has to say how, or hand over an instance."""

    def plain(t):
        d = FAMILIES[name](t)
        d.__class__ = type("Mine", (type(d),), {})
        wide = d.expand((3, *d.batch_shape))
        return type(wide).__name__, wide.batch_shape, wide.event_shape, wide

    def with_init(t):
        d = FAMILIES[name](t)
        d.__class__ = type("Mine", (type(d),), {"__init__": lambda self: None})
        return d.expand((3, *d.batch_shape))

    def with_instance(t):
        d = FAMILIES[name](t)
        family = type(d)
        mine = type("Mine", (family,), {"__init__": lambda self: None})
        wide = family.expand(d, (3, *d.batch_shape), mine())
        return type(wide).__name__, wide.batch_shape, wide.event_shape, sorted(n for n in vars(wide) if n[0] != "_")

    for make in (plain, with_init, with_instance):
        agree(make)


@pytest.mark.parametrize("name", FAMILIES)
def test_validation_is_remembered(name):
    for value in (True, False):
        for t in (penlight, torch):
            t.distributions.Distribution.set_default_validate_args(value)
        try:
            agree(lambda t: FAMILIES[name](t)._validate_args)
            agree(lambda t: FAMILIES[name](t).expand((2, *FAMILIES[name](t).batch_shape))._validate_args)
        finally:
            for t in (penlight, torch):
                t.distributions.Distribution.set_default_validate_args(True)


def own_family(t):
    """A family as people write one for PyTorch."""
    D, constraints = t.distributions, t.distributions.constraints

    class Tent(D.Distribution):
        arg_constraints = {"width": constraints.positive}
        has_rsample = True

        def __init__(self, width, validate_args=None):
            (self.width,) = D.utils.broadcast_all(width)
            super().__init__(self.width.shape, validate_args=validate_args)

        @constraints.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return constraints.interval(-self.width, self.width)

        @property
        def mean(self):
            return t.zeros_like(self.width)

        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Tent, _instance)
            new.width = self.width.expand(batch_shape)
            super(Tent, new).__init__(batch_shape, validate_args=False)
            new._validate_args = self._validate_args
            return new

        def rsample(self, sample_shape=()):
            shape = self._extended_shape(sample_shape)
            return self.width * (t.rand(shape) - t.rand(shape))

        def log_prob(self, value):
            if self._validate_args:
                self._validate_sample(value)
            return (1 - value.abs() / self.width).log() - self.width.log()

    return Tent


OWN = [
    lambda t: own_family(t)(t.tensor([1.0, 2.0])),
    lambda t: own_family(t)(-1.0),
    lambda t: own_family(t)(2.0).expand([3]),
    lambda t: own_family(t)(2.0).expand(t.Size([3])).log_prob(t.tensor(1.0)),
    lambda t: own_family(t)(2.0).log_prob(t.tensor(3.0)),
    lambda t: own_family(t)(2.0).stddev,
    lambda t: own_family(t)(2.0).mode,
    lambda t: own_family(t)(2.0).entropy(),
    lambda t: own_family(t)(2.0).cdf(t.tensor(0.0)),
    lambda t: own_family(t).support,
    lambda t: t.manual_seed(0) and own_family(t)(2.0).sample((3,)),
    lambda t: t.distributions.TransformedDistribution(own_family(t)(2.0), [t.distributions.ExpTransform()]).support,
    lambda t: type("Bare", (t.distributions.Distribution,), {})(validate_args=True),
    lambda t: type("Bare", (t.distributions.Distribution,), {})(validate_args=False).expand([2]),
    lambda t: type("Bare", (t.distributions.Distribution,), {"arg_constraints": {}})().log_prob(t.ones(2)),
    lambda t: type("Bare", (t.distributions.Distribution,), {"arg_constraints": {}})()._validate_sample(t.ones(2)),
    lambda t: type("Bare", (t.distributions.Distribution,), {"arg_constraints": {}})().sample_n(2),
    lambda t: type("Bare", (t.distributions.Distribution,), {"arg_constraints": {}})().mode,
    lambda t: type("Bare", (t.distributions.ExponentialFamily,), {"arg_constraints": {}})().entropy(),
    lambda t: t.distributions.Distribution.set_default_validate_args("yes"),
    lambda t: t.distributions.Normal(0.0, 1.0).sample_n(0),
    lambda t: t.distributions.Normal(0.0, 1.0, validate_args=False).expand([2])._validate_args,
    lambda t: t.distributions.Normal.support,
    lambda t: t.distributions.Normal.arg_constraints,
    lambda t: isinstance(t.distributions.Bernoulli.probs, property),
]


@pytest.mark.parametrize("number", range(len(OWN)))
def test_family_of_ones_own(number):
    agree(OWN[number])


CONSTRAINTS = {
    "boolean": lambda c: c.boolean,
    "one_hot": lambda c: c.one_hot,
    "nonnegative_integer": lambda c: c.nonnegative_integer,
    "positive_integer": lambda c: c.positive_integer,
    "integer_interval": lambda c: c.integer_interval(-1, 3),
    "integer_less_than": lambda c: c._IntegerLessThan(2),
    "multinomial": lambda c: c.multinomial(3),
    "real": lambda c: c.real,
    "real_vector": lambda c: c.real_vector,
    "positive": lambda c: c.positive,
    "nonnegative": lambda c: c.nonnegative,
    "greater_than": lambda c: c.greater_than(lower_bound=0.25),
    "greater_than_eq": lambda c: c.greater_than_eq(0.25),
    "less_than": lambda c: c.less_than(upper_bound=0.25),
    "unit_interval": lambda c: c.unit_interval,
    "interval": lambda c: c.interval(lower_bound=-1, upper_bound=1),
    "half_open_interval": lambda c: c.half_open_interval(-1.0, 1.0),
    "simplex": lambda c: c.simplex,
    "lower_triangular": lambda c: c.lower_triangular,
    "lower_cholesky": lambda c: c.lower_cholesky,
    "corr_cholesky": lambda c: c.corr_cholesky,
    "square": lambda c: c.square,
    "symmetric": lambda c: c.symmetric,
    "positive_semidefinite": lambda c: c.positive_semidefinite,
    "positive_definite": lambda c: c.positive_definite,
    "independent": lambda c: c.independent(c.positive, 1),
    "independent_matrices": lambda c: c.independent(c.lower_cholesky, 1),
    "mixture": lambda c: c.MixtureSameFamilyConstraint(c.simplex),
    "cat": lambda c: c.cat([c.positive, c.real], -1, [1, 2]),
    "cat_plain": lambda c: c.cat([c.positive, c.real, c.boolean]),
    "stack": lambda c: c.stack([c.positive, c.real, c.boolean], -1),
    "stack_first": lambda c: c.stack([c.positive, c.real, c.boolean]),
    "stack_far": lambda c: c.stack([c.positive, c.real], 5),
    "dependent": lambda c: c.dependent,
    "dependent_known": lambda c: c.dependent(is_discrete=True, event_dim=2),
    "dependent_property": lambda c: c.dependent_property(event_dim=1),
    "wrong_independent": lambda c: c.independent(1, 1),
    "wrong_dims": lambda c: c.independent(c.real, -1),
    "wrong_kind": lambda c: c.independent(c.real, 1.5),
    "wrong_cat": lambda c: c.cat([c.real, 3]),
    "wrong_lengths": lambda c: c.cat([c.real], lengths=[1, 2]),
    "base": lambda c: c.Constraint(),
}
VALUES = [
    0.5,
    [0.0, 1.0, 0.0],
    [0.25, 0.25, 0.5],
    [-1.0, 2.0, float("nan")],
    [3, 0, 1],
    [[1.0, 0.0, 0.0], [0.6, 0.8, 0.0], [0.0, 0.6, 0.8]],
    [[2.0, 0.5], [0.5, 1.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[0.0, 2.0], [3.0, 1.0]],
    [[[1.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]],
]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint(name):
    make = CONSTRAINTS[name]
    agree(lambda t: make(t.distributions.constraints))
    for attribute in ("event_dim", "is_discrete"):
        agree(lambda t, a=attribute: getattr(make(t.distributions.constraints), a))
    agree(lambda t: t.distributions.constraints.is_dependent(make(t.distributions.constraints)))
    for registry in ("biject_to", "transform_to"):
        agree(lambda t, r=registry: getattr(t.distributions, r)(make(t.distributions.constraints)))
    for value in VALUES:
        if name not in ("symmetric", "positive_semidefinite", "positive_definite") or not isinstance(value, float):
            agree(lambda t, v=value: make(t.distributions.constraints).check(t.tensor(v)))


REGISTRY = [
    lambda t: t.distributions.biject_to.register(3, len),
    lambda t: t.distributions.biject_to.register(int, len),
    lambda t: t.distributions.constraint_registry.ConstraintRegistry()(t.distributions.constraints.real),
    lambda t: t.distributions.utils.lazy_property(len).wrapped is len,
    lambda t: t.distributions.utils.broadcast_all(t.ones(2, dtype=t.float64), 3),
    lambda t: t.distributions.utils.broadcast_all(1, 2.5, True),
    lambda t: t.distributions.utils.broadcast_all([1], 2),
    lambda t: t.distributions.utils.tril_matrix_to_vec(t.ones(3, 3), 3),
    lambda t: t.distributions.utils.tril_matrix_to_vec(t.arange(9).reshape(3, 3), 1),
    lambda t: t.distributions.utils.vec_to_tril_matrix(t.arange(5.0)),
    lambda t: t.distributions.utils.vec_to_tril_matrix(t.arange(1.0, 4.0), -1),
    lambda t: t.distributions.utils.vec_to_tril_matrix(t.arange(1.0, 9.0), 1),
]


@pytest.mark.parametrize("number", range(len(REGISTRY)))
def test_registries_and_utilities(number):
    agree(REGISTRY[number])


MORE_TRANSFORMS = {
    **{name: make for name, (make, _) in TRANSFORMS.items()},
    "affine": lambda D, t: D.AffineTransform(t.tensor(1.0), -2.0, event_dim=1),
    "abs": lambda D, t: D.AbsTransform(),
    "softmax": lambda D, t: D.SoftmaxTransform(),
    "lower_cholesky": lambda D, t: D.LowerCholeskyTransform(),
    "positive_definite": lambda D, t: D.PositiveDefiniteTransform(),
    "power_alone": lambda D, t: D.PowerTransform(-2.0),
    "affine_numbers": lambda D, t: D.AffineTransform(1.0, -2.0),
    "identity": lambda D, t: D.identity_transform,
    "exp_inverse": lambda D, t: D.ExpTransform().inv,
    "stick_inverse": lambda D, t: D.StickBreakingTransform().inv,
    "chain": lambda D, t: D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()]),
    "chain_inverse": lambda D, t: D.ComposeTransform([D.ReshapeTransform((6,), (2, 3)), D.ExpTransform()]).inv,
    "own": lambda D, t: type("Own", (D.Transform,), {"domain": D.constraints.real, "codomain": D.constraints.real})(),
    "own_cached": lambda D, t: type("Own", (D.Transform,), {"__init__": lambda s: D.Transform.__init__(s)})(),
    "wrong_cache": lambda D, t: D.ExpTransform(cache_size=2),
    "wrong_reshape": lambda D, t: D.ReshapeTransform((2,), (3,)),
    "wrong_lengths": lambda D, t: D.CatTransform([D.ExpTransform()], lengths=[1, 2]),
    "wrong_members": lambda D, t: D.StackTransform([3]),
}
ASKED = [
    lambda f, t: f,
    lambda f, t: f.inv,
    lambda f, t: f.inv.inv is f,
    lambda f, t: f.domain,
    lambda f, t: f.codomain,
    lambda f, t: f.domain.event_dim,
    lambda f, t: f.codomain.event_dim,
    lambda f, t: f.event_dim,
    lambda f, t: f.bijective,
    lambda f, t: f.sign,
    lambda f, t: f == f,
    lambda f, t: f == t.distributions.ExpTransform(),
    lambda f, t: f.inv == t.distributions.ExpTransform().inv,
    lambda f, t: f.with_cache(),
    lambda f, t: f.with_cache()._cache_size,
    lambda f, t: f.with_cache(0) is f,
    lambda f, t: f == f.with_cache(),
    lambda f, t: f.with_cache(3),
    lambda f, t: type(f).domain,
    lambda f, t: f(t.linspace(0.1, 0.9, 6)),
    lambda f, t: f(t.linspace(0.1, 0.9, 4).reshape(2, 2)),
    lambda f, t: f(t.tensor(0.5)),
    lambda f, t: f.inv(t.tensor(0.5)),
    lambda f, t: f.log_abs_det_jacobian(t.full((2, 2), 0.25), t.full((2, 2), 0.5)),
    *[lambda f, t, s=s: f.forward_shape(t.Size(s)) for s in [(), (6,), (2, 3), (3, 3, 3)]],
    *[lambda f, t, s=s: f.inverse_shape(t.Size(s)) for s in [(), (2, 3), (3, 3, 3)]],
    lambda f, t: hash(f) and True,
]


@pytest.mark.parametrize("name", MORE_TRANSFORMS)
def test_transform_says_the_same(name):
    make = MORE_TRANSFORMS[name]
    for asked in ASKED:
        agree(lambda t, a=asked: a(make(t.distributions, t), t))


@pytest.mark.parametrize("name", [n for n in MORE_TRANSFORMS if not n.startswith("wrong")])
def test_transform_remembers_one_pair(name):
    def run(t):
        f = MORE_TRANSFORMS[name](t.distributions, t)
        try:
            f = f.with_cache()
            x = t.full((2, 6), 0.25)
            y = f(x)
            again = f(x) is y, f.inv(y) is x, f.inv.inv(x) is y
            f(x + 0.5)
            return again, f(x) is y, f.inv(y) is x
        except Exception as error:
            return type(error).__name__

    agree(run)


@pytest.mark.parametrize("name", [n for n in MORE_TRANSFORMS if not n.startswith(("wrong", "own"))])
def test_transform_is_pickled(name):
    if "inverse" not in name:  # PyTorch's pickles of these have lost the transform that they invert
        agree(lambda t: pickle.loads(pickle.dumps(MORE_TRANSFORMS[name](t.distributions, t))))
    agree(lambda t: type(MORE_TRANSFORMS[name](t.distributions, t)).__module__)
