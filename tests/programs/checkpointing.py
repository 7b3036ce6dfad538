"""Gradient checkpointing of both kinds, with dropout inside; saved tensors offloaded by hooks; a run resumed from its checkpoint."""

import argparse
import os

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(n), nn.Linear(n, 2 * n), nn.GLU(), nn.Dropout(0.1))

    def forward(self, x):
        return x + self.net(x)


class Model(nn.Module):
    def __init__(self, n=16, depth=4, mode="reentrant"):
        super().__init__()
        self.inp = nn.Linear(4, n)
        self.blocks = nn.Sequential(*[Block(n) for _ in range(depth)])
        self.out = nn.Linear(n, 1)
        self.mode = mode

    def forward(self, x):
        x = self.inp(x)
        if self.mode == "sequential":
            x = checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)
        elif self.mode == "offload":
            with torch.autograd.graph.save_on_cpu():
                x = self.blocks(x)
        else:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=self.mode == "reentrant")
        return self.out(x)


def save_checkpoint(path, step, model, optimizer, scheduler):
    torch.save(
        {
            "step": step,
            "state_dict": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
            "rng": torch.get_rng_state(),
        },
        path,
    )


def build():
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=50, power=1.5)
    return model, optimizer, scheduler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--resume", default="checkpoint.pth.tar")
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model, optimizer, scheduler = build()
    modes = ["reentrant", "non-reentrant", "sequential", "offload"]
    for step in range(args.steps):
        if step == 25:
            save_checkpoint(args.resume, step, model, optimizer, scheduler)
            model, optimizer, scheduler = build()
            assert os.path.isfile(args.resume)
            state = torch.load(args.resume, map_location="cpu", weights_only=True)
            model.load_state_dict(state["state_dict"])
            optimizer.load_state_dict(state["optimizer"])
            scheduler.load_state_dict(state["scheduler"])
            torch.set_rng_state(state["rng"])
            print("=> loaded checkpoint '{}' (step {})".format(args.resume, state["step"]))
        model.mode = modes[step % 4]
        x = torch.rand(16, 4)
        y = (x[:, :1] - x[:, 1:2]).abs() + x[:, 2:3] * x[:, 3:]
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.17g} lr {optimizer.param_groups[0]['lr']:.6g}")


if __name__ == "__main__":
    main()
