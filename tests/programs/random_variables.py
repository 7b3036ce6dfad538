"""Gradients through sampling: relaxed categories, gammas, betas, Dirichlets, flows of transforms, score functions, all with seeds."""

import argparse

import torch
import torch.distributions as D
import torch.nn as nn
import torch.nn.functional as F


class DiscreteVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 24), nn.Softplus(), nn.Linear(24, 12))
        self.decoder = nn.Sequential(nn.Linear(12, 24), nn.Tanh(), nn.Linear(24, 8))

    def forward(self, x, temperature):
        logits = self.encoder(x).view(-1, 3, 4)
        q = D.RelaxedOneHotCategorical(torch.tensor(temperature), logits=logits)
        z = q.rsample()
        p = D.Independent(D.Bernoulli(logits=self.decoder(z.flatten(1))), 1)
        kl = D.kl_divergence(D.Categorical(logits=logits), D.Categorical(logits=torch.zeros_like(logits))).sum(1)
        hard = F.gumbel_softmax(logits, tau=temperature, hard=True)
        return (kl - p.log_prob(x)).mean() + 1e-2 * hard.var(0).sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    vae = DiscreteVAE()
    raw = nn.ParameterDict(
        {k: nn.Parameter(torch.zeros(n)) for k, n in dict(a=3, b=3, c=4, m=2, s=2, t=2, p=5).items()}
    )
    optimizer = torch.optim.Adam([*vae.parameters(), *raw.parameters()], lr=1e-2)
    codes = (torch.rand(4, 8) < 0.5).to(torch.get_default_dtype())
    data = D.Gamma(3.0, 2.0).sample((30, 3))
    shares = D.Dirichlet(torch.tensor([4.0, 2.0, 1.0, 1.0])).sample((30,))
    positive = {k: F.softplus for k in "abcst"}
    for step in range(args.steps):
        v = {k: positive.get(k, lambda x: x)(p) + (0.1 if k in positive else 0) for k, p in raw.items()}
        x = codes[torch.randint(4, (16,))]
        loss = vae(x, max(0.5, 1.0 - step * 0.01))
        gamma, beta, dirichlet = D.Gamma(v["a"], v["b"]), D.Beta(v["a"], v["b"]), D.Dirichlet(v["c"])
        loss = loss - gamma.log_prob(data).mean() - dirichlet.log_prob(shares).mean() * 0.3
        loss = loss + (gamma.rsample((8,)).mean(0) - 1.5).square().sum() + (beta.rsample((8,)) - 0.3).square().mean()
        loss = loss + (dirichlet.rsample((8,)) - 0.25).square().sum(1).mean()
        flow = D.TransformedDistribution(
            D.Normal(v["m"], v["s"]),
            [D.AffineTransform(1.0, 2.0), D.SigmoidTransform(), D.PowerTransform(torch.tensor(2.0))],
        )
        z = flow.rsample((8,))
        loss = loss + z.mean() + 0.01 * flow.log_prob(z.clamp(0.05, 0.95)).mean()
        student = D.StudentT(v["t"] + 2, v["m"], v["s"])
        laplace, gumbel, logistic = D.Laplace(v["m"], v["s"]), D.Gumbel(v["m"], v["s"]), D.LogNormal(v["m"], v["s"])
        loss = loss + sum(0.05 * d.rsample((6,)).abs().mean() for d in (student, laplace, gumbel, D.HalfNormal(v["s"])))
        loss = (
            loss
            + 0.01 * logistic.rsample().sum().log()
            + D.kl_divergence(D.Normal(v["m"], v["s"]), D.Laplace(0.0, 1.0)).mean() * 0.1
        )
        policy = D.Categorical(logits=raw["p"])
        action = policy.sample((12,))
        reward = (action == 3).to(loss.dtype) - 0.2
        loss = loss - (policy.log_prob(action) * reward).mean() - 0.01 * policy.entropy()
        counts = D.Multinomial(6, logits=raw["p"]).sample()
        loss = (
            loss - 0.01 * D.Poisson(v["c"]).log_prob(torch.poisson(torch.full((4,), 2.0))).mean() + 1e-3 * counts.max()
        )
        loss = (
            loss
            - 0.01 * D.NegativeBinomial(3, logits=raw["m"]).log_prob(D.Geometric(0.4).sample((2,)).clamp(max=9)).mean()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    print({k: round(p.mean().item(), 3) for k, p in raw.items()}, D.VonMises(0.0, 2.0).sample((3,)).shape, gamma)


if __name__ == "__main__":
    main()
