"""Bayesian linear layers: weights drawn by rsample, divergence by torch.distributions.kl, a scale-mixture prior, minibatch weights."""

import argparse
import math

import torch
import torch.distributions as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions.kl import kl_divergence


class BayesianLinear(nn.Module):
    def __init__(self, in_features, out_features, prior_sigma=1.0):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-0.2, 0.2))
        self.weight_rho = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-5, -4))
        self.bias_mu = nn.Parameter(torch.Tensor(out_features).uniform_(-0.2, 0.2))
        self.bias_rho = nn.Parameter(torch.Tensor(out_features).uniform_(-5, -4))
        self.register_buffer("prior_sigma", torch.tensor(prior_sigma))
        self.kl = 0.0

    def forward(self, input, sample=True):
        weight = dist.Normal(self.weight_mu, F.softplus(self.weight_rho))
        bias = dist.Normal(self.bias_mu, F.softplus(self.bias_rho))
        if self.training or sample:
            w, b = weight.rsample(), bias.rsample()
        else:
            w, b = weight.mean, bias.mean
        prior = dist.Normal(torch.zeros_like(self.weight_mu), self.prior_sigma)
        self.kl = kl_divergence(weight, prior).sum()
        self.kl = self.kl + kl_divergence(bias, dist.Normal(0.0, self.prior_sigma)).sum()
        return F.linear(input, w, b)


class Mixture(nn.Module):
    """A layer whose prior has no closed form: the divergence is estimated from the sample."""

    def __init__(self, n):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(n).normal_(0, 0.1))
        self.log_sigma = nn.Parameter(torch.full((n,), -3.0))

    def forward(self, x):
        posterior = dist.Independent(dist.Normal(self.mu, self.log_sigma.exp()), 1)
        w = posterior.rsample()
        prior = dist.MixtureSameFamily(
            dist.Categorical(torch.tensor([0.5, 0.5])), dist.Normal(torch.zeros(2), torch.tensor([1.0, math.exp(-6)]))
        )
        self.kl = posterior.log_prob(w) - prior.log_prob(w).sum()
        return x * w


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.scale, self.l2 = BayesianLinear(1, 16), Mixture(16), BayesianLinear(16, 2)

    def forward(self, x):
        return self.l2(self.scale(torch.tanh(self.l1(x))))

    def kl(self):
        return sum(m.kl for m in self.modules() if hasattr(m, "kl") and m is not self)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(4)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.linspace(-2, 2, 80).unsqueeze(1)
    y = x**3 / 4 + 0.1 * torch.randn(80, 1) * (1 + x.abs())
    net = Net()
    optimizer = torch.optim.Adamax(net.parameters(), lr=1e-2)
    for step in range(args.steps):
        index = torch.randint(0, 80, (20,))
        samples = torch.stack([net(x[index]) for _ in range(2)])
        mean, log_scale = samples.chunk(2, dim=-1)
        likelihood = dist.StudentT(5.0, mean, log_scale.exp()).log_prob(y[index]).sum(dim=(1, 2)).mean()
        loss = net.kl() / 4 - likelihood
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    net.eval()
    with torch.no_grad():
        draws = torch.stack([net(x)[:, :1] for _ in range(10)])
    print(f"spread {draws.std(0).mean().item():.4f} quantile {torch.quantile(draws, 0.9).item():.4f}")


if __name__ == "__main__":
    main()
