"""Every learning-rate schedule on every optimiser, in turn, on one small problem."""

import argparse
import warnings

import torch
import torch.nn as nn
from torch.optim import lr_scheduler as S


def build_schedulers(opt):
    return {
        "lambda": lambda: S.LambdaLR(opt, lr_lambda=[lambda e: 0.95**e]),
        "multiplicative": lambda: S.MultiplicativeLR(opt, lr_lambda=lambda e: 0.97),
        "step": lambda: S.StepLR(opt, 3, 0.5),
        "multistep": lambda: S.MultiStepLR(opt, [2, 5, 7], 0.3),
        "constant": lambda: S.ConstantLR(opt, 0.4, total_iters=4),
        "linear": lambda: S.LinearLR(opt, 0.2, 0.9, total_iters=6),
        "exponential": lambda: S.ExponentialLR(opt, 0.9),
        "cosine": lambda: S.CosineAnnealingLR(opt, 8, eta_min=1e-4),
        "polynomial": lambda: S.PolynomialLR(opt, 8, power=2.0),
        "plateau": lambda: S.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, threshold=0.2),
        "restarts": lambda: S.CosineAnnealingWarmRestarts(opt, 3, 2),
        "onecycle": lambda: S.OneCycleLR(opt, 0.05, total_steps=20, cycle_momentum=False, three_phase=True),
        "cyclic": lambda: S.CyclicLR(opt, 1e-3, 1e-2, 3, mode="exp_range", gamma=0.9, cycle_momentum=False),
        "chained": lambda: S.ChainedScheduler([S.ConstantLR(opt, 0.3, 3), S.ExponentialLR(opt, 0.95)]),
        "sequential": lambda: S.SequentialLR(opt, [S.ConstantLR(opt, 0.3, 3), S.ExponentialLR(opt, 0.9)], [3]),
    }


OPTIMIZERS = {
    "SGD": dict(lr=0.05, momentum=0.8, nesterov=True, weight_decay=1e-3),
    "Adam": dict(lr=0.01, amsgrad=True),
    "AdamW": dict(lr=0.01),
    "Adamax": dict(lr=0.01),
    "NAdam": dict(lr=0.01),
    "RAdam": dict(lr=0.01),
    "Adagrad": dict(lr=0.05, initial_accumulator_value=0.1),
    "Adadelta": dict(lr=1.0),
    "RMSprop": dict(lr=0.01, centered=True),
    "Rprop": dict(lr=0.001),
    "ASGD": dict(lr=0.05),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    warnings.filterwarnings("ignore")
    x = torch.randn(32, 4)
    y = torch.cos(x.sum(1, keepdim=True))
    runs = []
    for name, options in OPTIMIZERS.items():
        model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid(), nn.Linear(8, 1))
        optimizer = getattr(torch.optim, name)(model.parameters(), **options)
        runs.append((model, optimizer))
    kinds = list(build_schedulers(None))
    schedulers = [None] * len(runs)
    for step in range(args.steps):
        if step % 10 == 0:
            for i, (_, optimizer) in enumerate(runs):
                for group in optimizer.param_groups:
                    group["lr"] = OPTIMIZERS[type(optimizer).__name__]["lr"]
                    group.pop("initial_lr", None)
                kind = kinds[(i + step // 10 * 4) % len(kinds)]
                schedulers[i] = build_schedulers(optimizer)[kind]()
        total = 0.0
        for (model, optimizer), scheduler in zip(runs, schedulers):
            optimizer.zero_grad()
            loss = (model(x) - y).pow(2).mean()
            loss.backward()
            optimizer.step()
            if isinstance(scheduler, S.ReduceLROnPlateau):
                scheduler.step(loss)
            else:
                scheduler.step()
            total += loss.item()
        rate = sum(o.param_groups[0]["lr"] for _, o in runs)
        print(f"step {step} loss {total + rate:.17g}")


if __name__ == "__main__":
    main()
