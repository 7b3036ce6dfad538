"""Distributions that libraries derive from PyTorch's."""

from __future__ import annotations


def test_the_variance_of_normal_vectors_does_not_ask_for_the_shape_of_samples(same):
    def program(torch, say):
        class Matrices(torch.distributions.MultivariateNormal):
            """Its samples are matrices; its mean and variance are vectors, as inside of gpytorch."""

            def _extended_shape(self, sample_shape=()):
                return torch.Size([*sample_shape, 2, 2])

        d = Matrices(torch.arange(4.0), torch.eye(4) * 2)
        say(d.mean, d.variance, d.stddev, d.covariance_matrix.shape)

    same(program)
