"""A Wasserstein GAN with gradient penalty on a ring of Gaussians: double backward through the critic."""

import argparse
import math

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.optim as optim


class Generator(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, 2)
        )

    def forward(self, noise):
        return self.main(noise)


class Critic(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(2, dim), nn.LeakyReLU(0.2, inplace=True), nn.Linear(dim, dim), nn.Softplus(), nn.Linear(dim, 1)
        )

    def forward(self, inputs):
        return self.main(inputs).view(-1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Linear") != -1:
        m.weight.data.normal_(0.0, 0.2)
        m.bias.data.fill_(0)


def calc_gradient_penalty(netD, real_data, fake_data, lambda_=10.0):
    alpha = torch.rand(real_data.size(0), 1)
    alpha = alpha.expand(real_data.size())
    interpolates = alpha * real_data + ((1 - alpha) * fake_data)
    interpolates = autograd.Variable(interpolates, requires_grad=True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones(disc_interpolates.size()),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * lambda_


def real_batches(batch):
    angles = torch.arange(8) * (2 * math.pi / 8)
    centres = torch.stack((angles.cos(), angles.sin()), 1) * 2
    while True:
        yield centres[torch.randint(0, 8, (batch,))] + 0.02 * torch.randn(batch, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--critic-iters", type=int, default=2)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    if args.double:
        torch.set_default_dtype(torch.float64)

    netG, netD = Generator(), Critic()
    netD.apply(weights_init)
    netG.apply(weights_init)
    optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))
    one = torch.tensor(1.0)
    mone = one * -1
    data = real_batches(32)

    for iteration in range(args.steps):
        for p in netD.parameters():
            p.requires_grad = True
        for _ in range(args.critic_iters):
            real = next(data)
            netD.zero_grad()
            D_real = netD(real).mean()
            D_real.backward(mone)
            noise = torch.randn(32, 2)
            with torch.no_grad():
                fake = netG(noise)
            D_fake = netD(fake).mean()
            D_fake.backward(one)
            penalty = calc_gradient_penalty(netD, real.data, fake.data)
            penalty.backward()
            D_cost = D_fake - D_real + penalty
            optimizerD.step()
        for p in netD.parameters():
            p.requires_grad = False
        netG.zero_grad()
        G = netD(netG(torch.randn(32, 2))).mean()
        G.backward(mone)
        optimizerG.step()
        print(f"step {iteration} loss {D_cost.item():.17g}")


if __name__ == "__main__":
    main()
