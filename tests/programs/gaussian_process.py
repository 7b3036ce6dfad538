"""A Gaussian process and a Kalman filter fitted by their likelihoods: Cholesky factors, triangular solves, log-determinants, eigenvalues."""

import argparse
import math

import torch
from torch import nn
from torch.distributions import LowRankMultivariateNormal, MultivariateNormal


class GP(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_length, self.log_scale, self.log_noise = (nn.Parameter(torch.tensor(v)) for v in (0.0, 0.0, -1.0))

    def kernel(self, a, b):
        return self.log_scale.exp() * torch.exp(-0.5 * torch.cdist(a, b).square() / self.log_length.exp() ** 2)

    def covariance(self, x):
        return self.kernel(x, x) + self.log_noise.exp() * torch.eye(len(x))

    def by_cholesky(self, x, y):
        L = torch.linalg.cholesky(self.covariance(x))
        alpha = torch.cholesky_solve(y.unsqueeze(1), L)
        return 0.5 * y @ alpha.squeeze(1) + L.diagonal().log().sum() + len(x) / 2 * math.log(2 * math.pi)

    def by_distribution(self, x, y):
        return -MultivariateNormal(torch.zeros(len(x)), self.covariance(x)).log_prob(y)

    def by_slogdet(self, x, y):
        K = self.covariance(x)
        return 0.5 * (y @ torch.linalg.solve(K, y) + torch.linalg.slogdet(K)[1] + len(x) * math.log(2 * math.pi))

    def by_eigenvalues(self, x, y):
        K = self.covariance(x)
        values = torch.linalg.eigvalsh(K)
        return 0.5 * (
            y @ torch.linalg.lstsq(K, y.unsqueeze(1)).solution.squeeze(1) + (values.log() + math.log(2 * math.pi)).sum()
        )

    def by_whitening(self, x, y):
        L = torch.linalg.cholesky(self.covariance(x))
        z = torch.linalg.solve_triangular(L, y.unsqueeze(1), upper=False)
        return 0.5 * (z**2).sum() + torch.logdet(L) + len(x) / 2 * math.log(2 * math.pi)

    @torch.no_grad()
    def predict(self, x, y, new):
        inverse = torch.linalg.inv(self.covariance(x))
        cross = self.kernel(new, x)
        return cross @ inverse @ y, self.kernel(new, new).diagonal() - torch.einsum(
            "ij,jk,ik->i", cross, inverse, cross
        )


def kalman(observations, transition, noise_q, noise_r):
    mean, cov = torch.zeros(2), torch.eye(2)
    observe = torch.tensor([[1.0, 0.0]])
    loss = 0.0
    for z in observations:
        mean, cov = transition @ mean, transition @ cov @ transition.T + noise_q.exp() * torch.eye(2)
        s = observe @ cov @ observe.T + noise_r.exp()
        gain = cov @ observe.T @ torch.inverse(s)
        residual = z - observe @ mean
        loss = loss + 0.5 * (residual @ torch.inverse(s) @ residual + torch.det(s).log())
        mean, cov = mean + gain @ residual, (torch.eye(2) - gain @ observe) @ cov
    return loss / len(observations)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.rand(24, 1) * 6
    y = (x * 1.5).sin().squeeze(1) + 0.2 * torch.randn(24)
    gp = GP()
    ways = [gp.by_cholesky, gp.by_distribution, gp.by_slogdet, gp.by_eigenvalues, gp.by_whitening]
    transition = nn.Parameter(torch.tensor([[0.9, 0.2], [-0.2, 0.9]]))
    noises = nn.ParameterList([nn.Parameter(torch.tensor(-1.0)), nn.Parameter(torch.tensor(0.0))])
    factor, diagonal = nn.Parameter(torch.randn(4, 2) * 0.3), nn.Parameter(torch.zeros(4))
    data = torch.randn(40, 2) @ torch.randn(2, 4) + 0.3 * torch.randn(40, 4)
    series = torch.sin(torch.arange(15) * 0.5).unsqueeze(1) + 0.1 * torch.randn(15, 1)
    optimizer = torch.optim.Adam([*gp.parameters(), transition, *noises, factor, diagonal], lr=0.02)
    for step in range(args.steps):
        loss = ways[step % 5](x, y) / len(x) + kalman(series, transition, *noises)
        loss = loss - LowRankMultivariateNormal(torch.zeros(4), factor, diagonal.exp()).log_prob(data).mean()
        loss = loss + 1e-2 * (torch.linalg.svdvals(transition).sum() + torch.linalg.matrix_norm(factor, "nuc"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    mean, var = gp.predict(x, y, torch.linspace(0, 6, 5).unsqueeze(1))
    q, r = torch.linalg.qr(factor.detach())
    print(
        f"{mean.mean():.4f} {var.mean():.4f} {torch.linalg.cond(transition.detach()):.4f}",
        q.shape,
        torch.linalg.matrix_rank(r),
    )


if __name__ == "__main__":
    main()
