"""Values that PyTorch (samples) and SciPy (slopes) gave, without either of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import penlight as torch
from penlight.distributions import constraints
from penlight.kernels.random import gradients

from .families import FAMILIES

D = torch.distributions

SAMPLES = [
    (lambda: D.Normal(0.0, 1.0), [1.5409960746765137, -0.293428897857666, -2.1787893772125244]),
    (lambda: D.Gamma(2.0, 1.0), [4.5526227951049805, 1.3158268928527832, 0.6220217347145081]),
    (lambda: D.Beta(2.0, 3.0), [0.6726440787315369, 0.3900393545627594, 0.30394837260246277]),
    (lambda: D.Categorical(torch.tensor([1.0, 2.0, 3.0])), [2, 2, 1]),
    (lambda: D.Poisson(4.0), [7.0, 3.0, 5.0]),
    (lambda: D.Laplace(0.0, 1.0), [-0.007514926604926586, 0.7688271999359131, -1.7318599224090576]),
]


@pytest.mark.parametrize(("make", "expected"), SAMPLES)
def test_samples_of_seed_zero(make, expected):
    torch.manual_seed(0)
    np.testing.assert_allclose(make().sample((3,)).numpy(), expected, rtol=2e-6)


@pytest.mark.parametrize(
    ("alpha", "x", "slope"),
    [
        (0.3, 0.01, 0.149206953561),
        (2.5, 1.7, 0.875044381420),
        (50.0, 61.0, 1.106397256478),
        (3000.0, 2950.0, 0.99167507198),
    ],
)
def test_slope_of_gamma_samples(alpha, x, slope):
    np.testing.assert_allclose(gradients.gamma_grad(np.array([alpha]), np.array([x])), [slope], rtol=1e-9)


@pytest.mark.parametrize(
    ("a", "b", "x", "slope"),
    [
        (0.4, 0.6, 0.1, 0.753823616653),
        (2.0, 3.0, 0.7, 0.306751548197),
        (9.0, 0.7, 0.99, 0.112363512438),
        (200.0, 300.0, 0.41, 0.00202784243241),
    ],
)
def test_slope_of_beta_samples(a, b, x, slope):
    ours = gradients.dirichlet_grad(np.array([x]), np.array([a]), np.array([a + b]))
    np.testing.assert_allclose(ours, [slope], rtol=1e-9)


def test_gradients_reach_the_parameters():
    loc = torch.tensor(0.5, requires_grad=True)
    scale = torch.tensor(2.0, requires_grad=True)
    torch.manual_seed(0)
    x = D.Normal(loc, scale).rsample()
    x.backward()
    assert loc.grad == 1
    np.testing.assert_allclose(scale.grad.item(), (x.item() - 0.5) / 2, rtol=1e-6)
    assert not D.Normal(loc, scale).sample().requires_grad


def test_invalid_parameters_are_named():
    with pytest.raises(ValueError, match=r"Expected parameter scale \(Tensor of shape \(\)\) of distribution Normal"):
        D.Normal(0.0, -1.0)
    assert D.Normal(0.0, -1.0, validate_args=False).scale == -1


def test_divergences():
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0)).item() == 0.5
    assert D.kl_divergence(D.Normal(0.0, 1.0), D.Exponential(1.0)).item() == float("inf")
    with pytest.raises(NotImplementedError, match="No KL"):
        D.kl_divergence(D.Cauchy(0.0, 1.0), D.Normal(0.0, 1.0))


def test_lazy_parameters_and_pickling():
    d = D.Categorical(logits=torch.zeros(2))
    assert "probs" not in d.__dict__
    assert d.probs.tolist() == [0.5, 0.5]
    assert "probs" in d.__dict__
    assert pickle.loads(pickle.dumps(d)).probs.tolist() == [0.5, 0.5]


def test_constraints():
    assert constraints.lower_cholesky.check(torch.eye(2))
    assert not constraints.positive_definite.check(-torch.eye(2))
    assert repr(constraints.less_than(1.0)) == "LessThan(upper_bound=1.0)"
    assert constraints.is_dependent(D.Uniform.support)


@pytest.mark.parametrize("name", FAMILIES)
def test_expand(name):
    plain = FAMILIES[name](torch)
    wide = plain.expand((4, *plain.batch_shape))
    assert type(wide) is type(plain) and wide.batch_shape == (4, *plain.batch_shape)
    assert wide.event_shape == plain.event_shape and wide.sample().shape == (4, *plain.batch_shape, *plain.event_shape)
