"""Normalisation in all its modes: train and eval, without tracking, cumulative averages, frozen statistics, functional calls."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(2, 6, 3, padding=1)
        self.bn = nn.BatchNorm2d(6, momentum=None)
        self.c2 = nn.Conv2d(6, 6, 3, padding=1, groups=3)
        self.untracked = nn.BatchNorm2d(6, track_running_stats=False)
        self.c3 = nn.Conv2d(6, 6, 1)
        self.frozen = nn.BatchNorm2d(6, affine=False)
        self.instance = nn.InstanceNorm2d(6, affine=True, track_running_stats=True)
        self.group = nn.GroupNorm(3, 6)
        self.layer = nn.LayerNorm([6, 4, 4])
        self.rms = nn.RMSNorm(6, eps=1e-6)
        self.local = nn.LocalResponseNorm(2)
        self.fc = nn.Linear(6, 3)
        self.bn1 = nn.BatchNorm1d(3, eps=1e-3, momentum=0.3)

    def train(self, mode=True):
        super().train(mode)
        self.frozen.eval()
        return self

    def forward(self, x):
        x = F.leaky_relu(self.bn(self.c1(x)))
        x = x + F.elu(self.untracked(self.c2(x)))
        x = F.gelu(self.frozen(self.c3(x)))
        x = F.avg_pool2d(self.instance(x) + self.group(x), 2)
        x = self.local(self.layer(x)).mean((2, 3))
        return self.bn1(self.fc(self.rms(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    target = torch.randint(3, (48,))
    x = torch.randn(3, 2, 8, 8)[target] + 0.7 * torch.randn(48, 2, 8, 8)
    net = Net()
    running_mean, running_var = torch.zeros(2), torch.ones(2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for step in range(args.steps):
        net.train(step % 10 != 9)
        index = torch.randperm(48)[:12]
        inputs = F.batch_norm(x[index], running_mean, running_var, training=True, momentum=0.05)
        loss = F.cross_entropy(net(inputs), target[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 30:
            net.bn.reset_running_stats()
            net.bn.momentum = 0.1
        print(f"step {step} loss {loss.item():.17g}")
    print(
        net.bn.num_batches_tracked, f"{net.bn.running_var.mean().item():.4f} {net.frozen.running_mean.sum().item():.4f}"
    )
    fused = torch.nn.utils.fusion.fuse_conv_bn_eval(net.c1.eval(), net.bn.eval())
    print(torch.allclose(fused(x), net.bn(net.c1(x)), atol=1e-4))


if __name__ == "__main__":
    main()
