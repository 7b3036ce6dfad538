"""A variational autoencoder: reparametrisation, binary cross entropy summed, the closed form of the divergence."""

import argparse

import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader


class VAE(nn.Module):
    def __init__(self, features=36, hidden=40, latent=4):
        super().__init__()
        self.fc1 = nn.Linear(features, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, features)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        return torch.sigmoid(self.fc4(h3))

    def forward(self, x):
        mu, logvar = self.encode(x.view(x.size(0), -1))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.flatten(1), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def main():
    parser = argparse.ArgumentParser(description="VAE")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1)
    if args.double:
        torch.set_default_dtype(torch.float64)

    centre = torch.rand(300, 2, 1, 1) * 5
    grid = torch.arange(6.0)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    images = torch.exp(-((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2) / 2)
    loader = DataLoader(images.unsqueeze(1), batch_size=20, shuffle=True)

    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while step < args.steps:
        train_loss = 0
        for data in loader:
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data)
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            if step < args.steps:
                print(f"step {step} loss {loss.item() / len(data):.17g}")
            step += 1
        print(f"====> average loss: {train_loss / len(loader.dataset):.4f}")
    with torch.no_grad():
        sample = model.decode(torch.randn(8, 4)).cpu().view(8, 1, 6, 6)
        print(sample.shape, sample.mean().item())


if __name__ == "__main__":
    main()
