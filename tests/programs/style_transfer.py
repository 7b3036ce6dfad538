"""Pixels as parameters: features of a fixed network by hooks, Gram matrices, total variation, Adam and L-BFGS on the image."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


def gram_matrix(input):
    a, b, c, d = input.size()
    features = input.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class Normalization(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img):
        return (img - self.mean) / self.std


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    cnn = nn.Sequential(
        Normalization(torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])),
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(inplace=False),
        nn.AvgPool2d(2),
        nn.Conv2d(8, 12, 3, padding=1, padding_mode="replicate"),
        nn.ReLU(inplace=False),
    )
    cnn.requires_grad_(False)
    cnn.eval()
    features = {}
    for name, layer in cnn.named_children():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_hook(lambda module, inp, out, name=name: features.__setitem__(name, out))
    content, style = torch.rand(1, 3, 12, 12), torch.rand(1, 3, 12, 12).round()
    cnn(style)
    grams = {name: gram_matrix(f).detach() for name, f in features.items()}
    cnn(content)
    wanted = features["4"].detach()

    def compute(image):
        cnn(image)
        style_loss = sum(F.mse_loss(gram_matrix(features[name]), gram) for name, gram in grams.items())
        content_loss = F.mse_loss(features["4"], wanted)
        variation = (image[..., 1:, :] - image[..., :-1, :]).abs().mean() + torch.diff(image, dim=-1).pow(2).mean()
        return 100 * style_loss + content_loss + 0.1 * variation

    image = content.clone().requires_grad_(True)
    optimizer = optim.Adam([image], lr=0.02)
    for step in range(args.steps - 8):
        with torch.no_grad():
            image.clamp_(0, 1)
        optimizer.zero_grad()
        loss = compute(image)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    optimizer = optim.LBFGS([image], lr=0.1, max_iter=1)
    run = [args.steps - 8]
    while run[0] < args.steps:

        def closure():
            with torch.no_grad():
                image.clamp_(0, 1)
            optimizer.zero_grad()
            loss = compute(image)
            loss.backward()
            print(f"step {run[0]} loss {loss.item():.17g}")
            run[0] += 1
            return loss

        optimizer.step(closure)


if __name__ == "__main__":
    main()
