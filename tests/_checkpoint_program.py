"""Run under PyTorch or Penlight: trains several models, saves each in the middle, and goes on; or takes up what was saved.

python tests/_checkpoint_program.py save FOLDER      prints the losses of steps 10 to 19 of each model
python tests/_checkpoint_program.py resume FOLDER    the same, from the files of the other
"""

import sys
import warnings
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import lr_scheduler
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(9, 6)
        self.lstm = nn.LSTM(6, 7, num_layers=2, dropout=0.2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(14, 4)

    def forward(self, x):
        out, _ = self.lstm(self.embedding((x.abs() * 4).long().clamp(max=8)))
        return self.head(out[:, -1])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(1, 8)
        self.position = nn.Parameter(torch.randn(6, 8) * 0.1)
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.encoder(self.project(x.unsqueeze(-1)) + self.position).mean(1))


def mlp():
    return nn.Sequential(nn.Linear(6, 10), nn.PReLU(), nn.Dropout(0.1), nn.Linear(10, 4))


def cnn():
    return nn.Sequential(
        nn.Unflatten(1, (1, 6)),
        nn.Conv1d(1, 5, 3, padding=1),
        nn.BatchNorm1d(5),
        nn.ReLU(),
        nn.Flatten(),
        nn.utils.parametrizations.weight_norm(nn.Linear(30, 4)),
    )


optim, S = torch.optim, lr_scheduler
CASES = {
    "mlp sgd": (
        mlp,
        lambda p: optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
        lambda o: S.StepLR(o, 3),
    ),
    "cnn adam": (cnn, lambda p: optim.Adam(p, 1e-2, amsgrad=True), lambda o: S.OneCycleLR(o, 0.02, total_steps=40)),
    "lstm rmsprop": (
        Recurrent,
        lambda p: optim.RMSprop(p, 1e-2, momentum=0.5, centered=True),
        lambda o: S.ReduceLROnPlateau(o, patience=1, factor=0.5),
    ),
    "encoder adamw": (Encoder, lambda p: optim.AdamW(p, 3e-3), lambda o: S.LambdaLR(o, lambda e: 0.95**e)),
    "mlp nadam": (
        mlp,
        lambda p: optim.NAdam(p, 1e-2),
        lambda o: S.SequentialLR(o, [S.LinearLR(o, 0.1, total_iters=5), S.CosineAnnealingLR(o, 20)], [5]),
    ),
    "mlp adagrad": (mlp, lambda p: optim.Adagrad(p, 0.1), lambda o: S.PolynomialLR(o, 30)),
    "mlp rprop": (mlp, lambda p: optim.Rprop(p, 1e-2), lambda o: S.ConstantLR(o, 0.5, 12)),
    "mlp asgd": (mlp, lambda p: optim.ASGD(p, 0.1), lambda o: S.CosineAnnealingWarmRestarts(o, 4, 2)),
    "cnn adadelta": (cnn, lambda p: optim.Adadelta(p, 1.0), lambda o: S.MultiStepLR(o, [4, 12], 0.3)),
    "mlp adamax": (mlp, lambda p: optim.Adamax(p, 1e-2), lambda o: S.ExponentialLR(o, 0.9)),
    "mlp radam": (mlp, lambda p: optim.RAdam(p, 1e-2), lambda o: S.MultiplicativeLR(o, lambda e: 0.97)),
    "mlp lbfgs": (
        mlp,
        lambda p: optim.LBFGS(p, 0.1, max_iter=2),
        lambda o: S.CyclicLR(o, 0.05, 0.2, 4, cycle_momentum=False),
    ),
}


def step(model, average, optimizer, scheduler):
    x = torch.randn(12, 6)
    target = (x.sum(1) > 0).long() + 2 * (x[:, 0] > 0).long()

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    average.update_parameters(model)
    if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
        scheduler.step(loss.item())
    else:
        scheduler.step()
    with torch.no_grad():
        return loss.item() + average.eval()(x).square().mean().item()


def main(action, folder):
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    for number, (name, (make, optimise, schedule)) in enumerate(CASES.items()):
        torch.manual_seed(number if action == "save" else 1000)
        model = make()
        average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.8))
        optimizer = optimise(model.parameters())
        scheduler = schedule(optimizer)
        path = Path(folder) / f"{name.replace(' ', '_')}.pt"
        parts = {"model": model, "average": average, "optimizer": optimizer, "scheduler": scheduler}
        if action == "save":
            for _ in range(10):
                step(model, average, optimizer, scheduler)
            state = {key: part.state_dict() for key, part in parts.items()}
            torch.save(
                {**state, "rng": torch.get_rng_state(), "name": name},
                path,
                _use_new_zipfile_serialization=number % 4 != 3,
            )
        else:
            state = torch.load(path)
            assert state["name"] == name
            for key, part in parts.items():
                part.load_state_dict(state[key])
            torch.set_rng_state(state["rng"])
        for i in range(10, 20):
            print(f"{name}: step {i} loss {step(model, average, optimizer, scheduler):.17g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
