"""A mixture density network: logsumexp by hand and MixtureSameFamily; Adam with parameter groups and OneCycleLR."""

import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal


class MDN(nn.Module):
    def __init__(self, n_hidden, n_gaussians):
        super().__init__()
        self.z_h = nn.Sequential(nn.Linear(1, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Mish())
        self.z_pi = nn.Linear(n_hidden, n_gaussians)
        self.z_sigma = nn.Linear(n_hidden, n_gaussians)
        self.z_mu = nn.Linear(n_hidden, n_gaussians)

    def forward(self, x):
        z_h = self.z_h(x)
        return torch.nn.functional.log_softmax(self.z_pi(z_h), -1), torch.exp(self.z_sigma(z_h)), self.z_mu(z_h)


def by_hand(log_pi, sigma, mu, y):
    z = (y.expand_as(mu) - mu) / sigma
    log_normal = -0.5 * z.square() - sigma.log() - 0.5 * torch.log(torch.tensor(2 * torch.pi))
    return -torch.logsumexp(log_pi + log_normal, dim=1).mean()


def by_distributions(log_pi, sigma, mu, y):
    component = Independent(Normal(mu.unsqueeze(-1), sigma.unsqueeze(-1)), 1)
    return -MixtureSameFamily(Categorical(logits=log_pi), component).log_prob(y).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(10)
    if args.double:
        torch.set_default_dtype(torch.float64)
    y = torch.empty(300, 1).uniform_(-10, 10)
    x = torch.sin(0.75 * y) * 7.0 + y * 0.5 + torch.randn_like(y)
    network = MDN(20, 5)
    heads = [p for n, p in network.named_parameters() if not n.startswith("z_h")]
    optimizer = torch.optim.Adam([{"params": network.z_h.parameters()}, {"params": heads, "lr": 5e-3}], lr=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=[2e-2, 1e-2], total_steps=args.steps + 1)
    for step in range(args.steps):
        pi, sigma, mu = network(x / 5)
        loss = (by_hand if step % 2 else by_distributions)(pi, sigma, mu, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        lrs = " ".join(f"{lr:.8f}" for lr in scheduler.get_last_lr())
        print(f"step {step} loss {loss.item():.17g} lr {lrs}")
    with torch.no_grad():
        pi, sigma, mu = network(torch.linspace(-2, 2, 10).unsqueeze(1))
        k = Categorical(logits=pi).sample()
        sample = torch.normal(mu, sigma).gather(1, k.view(-1, 1))
    print(sample.shape)


if __name__ == "__main__":
    main()
