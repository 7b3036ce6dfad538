"""Optimisers as people write them: subclasses of Optimizer (Lion, LARS-like, Lookahead around another, SAM with closures)."""

import argparse
from collections import defaultdict

import torch
import torch.nn as nn
from torch.optim import Optimizer
from torch.optim.optimizer import required


class Lion(Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data.mul_(1 - group["lr"] * group["weight_decay"])
                grad, state = p.grad, self.state[p]
                if len(state) == 0:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                beta1, beta2 = group["betas"]
                update = exp_avg * beta1 + grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class LARS(Optimizer):
    def __init__(self, params, lr=required, momentum=0.9, eta=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum, eta=eta))

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("nesterov", False)

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                d_p = p.grad.data
                ratio = torch.where(d_p.norm() > 0, group["eta"] * p.data.norm() / (d_p.norm() + 1e-8), torch.ones(()))
                buf = self.state[p].get("momentum_buffer")
                if buf is None:
                    buf = self.state[p]["momentum_buffer"] = torch.clone(d_p).detach()
                else:
                    buf.mul_(group["momentum"]).add_(d_p)
                p.data.add_(buf * ratio, alpha=-group["lr"])


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups = self.optimizer.param_groups
        self.state = defaultdict(dict)
        self.counter = 0
        self.slow = [[p.clone().detach() for p in group["params"]] for group in self.param_groups]

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            for group, slow in zip(self.param_groups, self.slow):
                for p, q in zip(group["params"], slow):
                    q.data.add_(p.data - q.data, alpha=self.alpha)
                    p.data.copy_(q.data)
        return loss

    def zero_grad(self):
        self.optimizer.zero_grad()


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norms = [p.grad.norm(p=2) for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = torch.norm(torch.stack(norms), p=2)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * (group["rho"] / (norm + 1e-12)).to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        return loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.rand(64, 3) * 2 - 1
    y = (x.prod(1, keepdim=True) * 4).tanh()

    def make():
        return nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))

    models = [make() for _ in range(4)]
    optimizers = [
        Lion(models[0].parameters(), lr=1e-3, weight_decay=0.1),
        LARS(models[1].parameters(), lr=1.0),
        Lookahead(torch.optim.Adam(models[2].parameters(), lr=1e-2)),
        SAM(models[3].parameters(), torch.optim.SGD, lr=0.1, momentum=0.9),
    ]
    scheduler = torch.optim.lr_scheduler.StepLR(optimizers[0], 10, 0.5)
    mse = nn.MSELoss()
    for step in range(args.steps):
        total = 0.0
        for model, optimizer in zip(models, optimizers):

            def closure():
                optimizer.zero_grad()
                loss = mse(model(x), y)
                loss.backward()
                return loss

            if isinstance(optimizer, SAM):
                loss = closure()
                optimizer.step(closure)
            elif isinstance(optimizer, LARS):
                loss = closure()
                optimizer.step()
            else:
                loss = optimizer.step(closure)
            total += loss.item()
        scheduler.step()
        print(f"step {step} loss {total:.17g}")
    print(optimizers[0])


if __name__ == "__main__":
    main()
