"""A generative network learns a ring; its critic is held to slope one by a penalty on its own gradient.

python examples/wgan_gp.py
"""

import argparse
import math

from plots import cloud, side_by_side

import penlight as torch
from penlight import nn


def real(count):
    angle = 2 * math.pi * torch.rand(count)
    return 2 * torch.stack([angle.cos(), angle.sin()], dim=1) + 0.15 * torch.randn(count, 2)


def network(inputs, outputs, width=64):
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, width),
        nn.LeakyReLU(0.2),
        nn.Linear(width, outputs),
    )


def penalty(critic, a, b):
    """How far the critic's slope is from one, between real and generated points. Its gradient needs a second derivative."""
    mix = torch.rand(len(a), 1)
    between = (mix * a + (1 - mix) * b).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    torch.manual_seed(0)
    generator, critic = network(4, 2), network(2, 1)
    optim_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
    optim_c = torch.optim.Adam(critic.parameters(), lr=4e-3, betas=(0.5, 0.9))
    before = generator(torch.randn(1500, 4)).tolist()
    for step in range(args.steps):
        for _ in range(3):
            x = real(128)
            with torch.no_grad():
                fake = generator(torch.randn(128, 4))
            distance = critic(x).mean() - critic(fake).mean()
            loss = -distance + 5 * penalty(critic, x, fake)
            optim_c.zero_grad()
            loss.backward()
            optim_c.step()
        optim_g.zero_grad()
        (-critic(generator(torch.randn(128, 4))).mean()).backward()
        optim_g.step()
        if step % max(1, args.steps // 6) == 0 or step == args.steps - 1:
            print(f"step {step:4}  distance of the distributions, as the critic sees it {distance.item():.3f}")
    with torch.no_grad():
        after = generator(torch.randn(1500, 4)).tolist()
    print(side_by_side(*(cloud(points, 2.8, 36, 18) for points in (before, after, real(1500).tolist()))))
    print("before, after, and what it should be")


if __name__ == "__main__":
    main()
