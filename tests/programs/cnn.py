"""A small convolutional network on synthetic images, in the manner of the MNIST example: Adadelta, StepLR, a checkpoint."""

from __future__ import print_function

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout2d(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(256, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        output = F.log_softmax(x, dim=1)
        return output


def make_images(n):
    """Bars and crosses with noise."""
    target = torch.randint(0, 4, (n,))
    images = 0.3 * torch.randn(n, 1, 12, 12)
    for i, t in enumerate(target.tolist()):
        row = torch.randint(1, 11, (1,)).item()
        if t in (0, 2):
            images[i, 0, row, :] += 1.0
        if t in (1, 2):
            images[i, 0, :, row] += 1.0
    return (images - 0.1307) / 0.3081, target


def train(args, model, device, train_loader, optimizer, step):
    model.train()
    for data, target in train_loader:
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if step < args.steps:
            print("step {} loss {:.17g}".format(step, loss.item()))
        step += 1
    return step


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    test_loss /= len(test_loader.dataset)
    print("Test set: Average loss: {:.4f}, Accuracy: {}/{}".format(test_loss, correct, len(test_loader.dataset)))


def main():
    parser = argparse.ArgumentParser(description="CNN")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--gamma", type=float, default=0.7)
    parser.add_argument("--double", action="store_true", default=False)
    parser.add_argument("--save-model", action="store_true", default=True)
    args = parser.parse_args()
    torch.manual_seed(1)
    if args.double:
        torch.set_default_dtype(torch.float64)
    device = torch.device("cpu")

    dataset1 = TensorDataset(*make_images(160))
    dataset2 = TensorDataset(*make_images(40))
    train_loader = DataLoader(dataset1, batch_size=args.batch_size, shuffle=True, num_workers=0, pin_memory=False)
    test_loader = DataLoader(dataset2, batch_size=20)

    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    step = 0
    while step < args.steps:
        step = train(args, model, device, train_loader, optimizer, step)
        test(model, device, test_loader)
        scheduler.step()
    if args.save_model:
        torch.save(model.state_dict(), "cnn.pt")
        model.load_state_dict(torch.load("cnn.pt"))


if __name__ == "__main__":
    main()
