"""Ten models of ordinary width, five steps each: where kernels work in blocks, by threads, or by another algorithm than for small arrays."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class LastStep(nn.Module):
    def __init__(self, kind, *args, **kwargs):
        super().__init__()
        self.rnn = kind(*args, batch_first=True, **kwargs)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


class Scale(nn.Module):
    """Elementwise work on large arrays, broadcast both ways."""

    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(200, 1))

    def forward(self, x):
        y = torch.exp(-(x * self.a + self.b).abs()) * torch.rsqrt(1 + x.square())
        y = torch.where(y > 0.5, y.sin(), y.clamp(min=0.1).log()) + y.cumsum(0) / 200
        return y / y.norm(dim=1, keepdim=True)


def models():
    c, r = nn.Conv2d, nn.ReLU()
    return {
        "mlp": (nn.Sequential(nn.Linear(300, 400), r, nn.LayerNorm(400), nn.Linear(400, 10)), (128, 300)),
        "elementwise": (nn.Sequential(Scale(300), nn.Linear(300, 10)), (200, 300)),
        "conv": (
            nn.Sequential(c(3, 32, 3, padding=1), nn.BatchNorm2d(32), r, c(32, 48, 3, padding=1), r, nn.AdaptiveAvgPool2d(1),
                          nn.Flatten(), nn.Linear(48, 10)), (8, 3, 20, 20),
        ),
        "strided": (
            nn.Sequential(c(8, 32, 5, stride=2, padding=2), nn.GELU(), c(32, 32, 3, groups=32, padding=1), c(32, 64, 1),
                          nn.GroupNorm(8, 64), nn.SiLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(), nn.Linear(64 * 36, 10)), (6, 8, 23, 23),
        ),
        "transposed": (
            nn.Sequential(nn.ConvTranspose2d(16, 24, 4, 2, 1), nn.InstanceNorm2d(24, affine=True), nn.ELU(), c(24, 8, 3, dilation=2),
                          nn.Upsample(scale_factor=2, mode="bilinear"), nn.AvgPool2d(4), nn.Flatten(), nn.Linear(8 * 14 * 14, 10)),
            (4, 16, 16, 16),
        ),
        "lstm": (nn.Sequential(LastStep(nn.LSTM, 40, 96, num_layers=2), nn.Linear(96, 10)), (32, 15, 40)),
        "gru": (nn.Sequential(LastStep(nn.GRU, 40, 64, bidirectional=True), nn.Linear(128, 10)), (32, 15, 40)),
        "encoder": (
            nn.Sequential(nn.TransformerEncoderLayer(96, 6, 256, 0.0, batch_first=True, activation="gelu"), nn.Flatten(1),
                          nn.Linear(96 * 24, 10)), (8, 24, 96),
        ),
        "volume": (
            nn.Sequential(nn.Conv3d(2, 12, 3, padding=1), nn.BatchNorm3d(12), nn.LeakyReLU(0.1), nn.MaxPool3d(2), nn.Flatten(),
                          nn.Linear(12 * 125, 10)), (4, 2, 10, 10, 10),
        ),
        "sequence": (
            nn.Sequential(nn.Conv1d(12, 64, 7, padding=3), nn.BatchNorm1d(64), nn.Mish(), nn.Conv1d(64, 64, 5, stride=2), nn.Softplus(),
                          nn.AdaptiveMaxPool1d(8), nn.Flatten(), nn.Dropout(0.2), nn.Linear(512, 10)), (16, 12, 120),
        ),
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    step = 0
    for model, shape in models().values():
        x, y = torch.randn(shape), torch.randint(10, shape[:1])
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for _ in range(args.steps // 10):
            loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(f"step {step} loss {loss.item():.17g} norm {norm.item():.6f}")
            step += 1


if __name__ == "__main__":
    main()
