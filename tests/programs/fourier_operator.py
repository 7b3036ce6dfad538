"""A Fourier neural operator for the heat equation: complex weights, rfft and irfft, relative errors, Adam on complex numbers."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes):
        super().__init__()
        self.modes, self.out_channels = modes, out_channels
        dtype = torch.complex128 if torch.get_default_dtype() == torch.float64 else torch.cfloat
        scale = 1 / (in_channels * out_channels)
        self.weights = nn.Parameter(scale * torch.rand(in_channels, out_channels, modes, dtype=dtype))

    def forward(self, x):
        x_ft = torch.fft.rfft(x)
        out_ft = torch.zeros(x.shape[0], self.out_channels, x.size(-1) // 2 + 1, dtype=x_ft.dtype)
        out_ft[:, :, : self.modes] = torch.einsum("bix,iox->box", x_ft[:, :, : self.modes], self.weights)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO(nn.Module):
    def __init__(self, width=8, modes=5):
        super().__init__()
        self.p = nn.Linear(2, width)
        self.convs = nn.ModuleList([SpectralConv1d(width, width, modes) for _ in range(2)])
        self.ws = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(2)])
        self.q = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, 1))

    def forward(self, x):
        grid = torch.linspace(0, 1, x.shape[1]).reshape(1, -1, 1).repeat(x.shape[0], 1, 1)
        x = self.p(torch.cat((x, grid), dim=-1)).permute(0, 2, 1)
        for conv, w in zip(self.convs, self.ws):
            x = F.gelu(conv(x) + w(x))
        return self.q(x.permute(0, 2, 1))


class LpLoss:
    def __call__(self, x, y):
        n = x.size(0)
        diff = torch.norm(x.reshape(n, -1) - y.reshape(n, -1), 2, 1)
        return torch.mean(diff / torch.norm(y.reshape(n, -1), 2, 1))


def heat(n, points=32):
    k = torch.fft.rfftfreq(points, 1 / points)
    spectrum = torch.randn(n, points // 2 + 1) * torch.exp(-0.2 * k) * points
    u0 = torch.fft.irfft(spectrum + 0j, n=points)
    u1 = torch.fft.irfft(torch.fft.rfft(u0) * torch.exp(-0.02 * k**2), n=points)
    return u0.unsqueeze(-1), u1.unsqueeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model, loss_fn = FNO(), LpLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
    for step in range(args.steps):
        u0, u1 = heat(10)
        loss = loss_fn(model(u0), u1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
