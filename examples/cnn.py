"""A convolutional network reads handwritten digits (1797 of 8 by 8 pixels, bundled), and shows those that it gets wrong.

python examples/cnn.py
"""

import argparse

from plots import image, side_by_side

import penlight as torch
from penlight import nn
from penlight._cli.digits import load
from penlight.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        )  # fmt: skip
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(256, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


@torch.no_grad()
def predict(model, images):
    model.eval()
    guesses = model(images).argmax(1)
    model.train()
    return guesses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(0)
    train, test = random_split(TensorDataset(*load()), [1400, 397])
    images, labels = (torch.stack(column) for column in zip(*test))
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = DataLoader(train, batch_size=64, shuffle=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, epochs=args.epochs, steps_per_epoch=len(loader))
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        right = (predict(model, images) == labels).float().mean()
        print(f"epoch {epoch + 1:2}  loss {loss.item():.4f}  right on {len(test)} unseen digits {right:.2%}")
    guesses = predict(model, images)
    wrong = (guesses != labels).nonzero().flatten()[:4]
    if len(wrong):
        print(f"\nThe first of the {(guesses != labels).sum()} that it got wrong:\n")
        blocks = [f"{image(images[i, 0].tolist())}\n{labels[i]}, taken for {guesses[i]}" for i in wrong]
        print(side_by_side(*blocks))


if __name__ == "__main__":
    main()
