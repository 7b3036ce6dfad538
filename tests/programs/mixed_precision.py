"""Autocast to bfloat16 on the CPU with a GradScaler, gradient accumulation, and a branch of the step that needs full precision."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    use_amp = not args.double
    x = torch.randn(200, 8)
    y = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=2.0**10, growth_interval=20)
    accumulation_steps = 2
    for step in range(args.steps):
        index = torch.randint(200, (20,))
        with autocast(device_type="cpu", dtype=torch.bfloat16, enabled=use_amp):
            logits = model(x[index])
            assert logits.dtype is (torch.bfloat16 if use_amp else torch.float64)
            loss = F.cross_entropy(logits, y[index])
            with autocast(device_type="cpu", enabled=False):
                penalty = 1e-3 * sum(p.square().sum() for p in model.parameters())
            loss = (loss + penalty) / accumulation_steps
        scaler.scale(loss).backward()
        if (step + 1) % accumulation_steps == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        print(f"step {step} loss {loss.item() * accumulation_steps:.17g} scale {scaler.get_scale()}")


if __name__ == "__main__":
    main()
