"""Stochastic weight averaging and an exponential average: AveragedModel, SWALR, update_bn; warm restarts before."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.randn(120, 5)
    y = torch.sin(x[:, :2].sum(1, keepdim=True)) + 0.1 * torch.randn(120, 1)
    loader = DataLoader(TensorDataset(x, y), batch_size=24, shuffle=True)
    model = nn.Sequential(nn.Linear(5, 16), nn.BatchNorm1d(16), nn.Softplus(beta=2), nn.Linear(16, 1))
    swa_model = AveragedModel(model)
    ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, maximize=False)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2, eta_min=1e-3)
    swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=3, anneal_strategy="linear")
    swa_start, step, epoch = 5, 0, 0
    while step < args.steps:
        for i, (input, target) in enumerate(loader):
            if step == args.steps:
                break
            optimizer.zero_grad()
            loss = F.mse_loss(model(input), target)
            loss.backward()
            optimizer.step()
            ema_model.update_parameters(model)
            if epoch <= swa_start:
                scheduler.step(epoch + i / len(loader))
            with torch.no_grad():
                ema_loss = F.mse_loss(ema_model(input), target)
            print(f"step {step} loss {loss.item() + ema_loss.item():.17g}")
            step += 1
        if epoch > swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        epoch += 1
    update_bn(loader, swa_model)
    swa_model.eval()
    print(
        f"averaged {int(swa_model.n_averaged)} {F.mse_loss(swa_model(x), y).item():.6f} {sorted(swa_model.state_dict())[:3]}"
    )


if __name__ == "__main__":
    main()
