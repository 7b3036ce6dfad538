"""A convolutional autoencoder with max unpooling, a sparsity hook on the code, and Adagrad."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, padding="same", padding_mode="reflect")
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.norm = nn.GroupNorm(2, 6)
        self.code = nn.Conv2d(6, 4, 3, padding=1, groups=2)
        self.decode = nn.ConvTranspose2d(4, 6, 3, padding=1)
        self.unpool = nn.MaxUnpool2d(2)
        self.out = nn.Conv2d(6, 1, 3, padding=1, padding_mode="circular")

    def forward(self, x):
        x = nn.functional.silu(self.conv(x))
        size = x.size()
        x, indices = self.pool(x)
        x = torch.relu(self.code(self.norm(x)))
        x = nn.functional.hardswish(self.decode(x))
        return torch.sigmoid(self.out(self.unpool(x, indices, output_size=size)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(9)
    if args.double:
        torch.set_default_dtype(torch.float64)
    line = torch.linspace(0, 6.28, 9)
    phase = torch.rand(64, 1, 1) * 6
    images = ((line[None, :, None] + phase).sin() * (line[None, None, :] - phase).cos() + 1) / 2
    loader = DataLoader(TensorDataset(images.unsqueeze(1)), batch_size=8, shuffle=True)

    model = Autoencoder()
    codes = {}
    handle = model.code.register_forward_hook(lambda module, inputs, output: codes.update(code=output))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05, lr_decay=1e-3)
    criterion = nn.MSELoss()
    step = 0
    for _epoch in range(100):
        for (x,) in loader:
            if step == args.steps:
                break
            noisy = (x + 0.05 * torch.randn_like(x)).clamp_(0, 1)
            loss = criterion(model(noisy), x) + 1e-3 * codes["code"].abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1
    handle.remove()
    print(sum(p.numel() for p in model.parameters() if p.requires_grad))


if __name__ == "__main__":
    main()
