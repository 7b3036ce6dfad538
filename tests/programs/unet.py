"""A U-Net for segmentation: transposed convolutions, skip connections, F.pad, Dice and cross entropy, RMSprop, ReduceLROnPlateau."""

import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


class DoubleConv(nn.Module):
    """(convolution => [BN] => ReLU) * 2"""

    def __init__(self, in_channels, out_channels, mid_channels=None):
        super().__init__()
        mid_channels = mid_channels or out_channels
        self.double_conv = nn.Sequential(
            nn.Conv2d(in_channels, mid_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(mid_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(mid_channels, out_channels, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(in_channels, out_channels))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear=True):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(in_channels, out_channels, in_channels // 2)
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
            self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x1, x2):
        x1 = self.up(x1)
        diffY = x2.size()[2] - x1.size()[2]
        diffX = x2.size()[3] - x1.size()[3]
        x1 = F.pad(x1, [diffX // 2, diffX - diffX // 2, diffY // 2, diffY - diffY // 2])
        return self.conv(torch.cat([x2, x1], dim=1))


class UNet(nn.Module):
    def __init__(self, n_channels, n_classes, width=4):
        super().__init__()
        self.inc = DoubleConv(n_channels, width)
        self.down1 = Down(width, width * 2)
        self.down2 = Down(width * 2, width * 2)
        self.up1 = Up(width * 4, width * 2, bilinear=True)
        self.up2 = Up(width * 2, width, bilinear=False)
        self.up2.conv = DoubleConv(width * 2, width)
        self.outc = nn.Conv2d(width, n_classes, kernel_size=1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x = self.up1(x3, x2)
        x = self.up2(x, x1)
        return self.outc(x)


def dice_coeff(input, target, reduce_batch_first=False, epsilon=1e-6):
    assert input.size() == target.size()
    sum_dim = (-1, -2) if input.dim() == 2 or not reduce_batch_first else (-1, -2, -3)
    inter = 2 * (input * target).sum(dim=sum_dim)
    sets_sum = input.sum(dim=sum_dim) + target.sum(dim=sum_dim)
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


def dice_loss(input, target):
    return 1 - dice_coeff(input.flatten(0, 1), target.flatten(0, 1), reduce_batch_first=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    n = 13
    centre = torch.rand(40, 2, 1, 1) * n
    yy, xx = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
    masks = (((yy - centre[:, 0]) ** 2 + (xx - centre[:, 1]) ** 2) < 12).long()
    images = torch.stack([masks * 0.8, 1 - masks * 0.5], 1) + 0.2 * torch.randn(40, 2, n, n)

    model = UNet(2, 2).to(memory_format=torch.channels_last)
    optimizer = optim.RMSprop(model.parameters(), lr=1e-4, weight_decay=1e-8, momentum=0.9, foreach=True)
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=2)
    grad_scaler = torch.amp.GradScaler("cuda", enabled=False)
    criterion = nn.CrossEntropyLoss()
    for step in range(args.steps):
        index = torch.randperm(40)[:4]
        x, true_masks = images[index].to(memory_format=torch.channels_last), masks[index]
        with torch.autocast("cpu", enabled=False):
            pred = model(x)
            loss = criterion(pred, true_masks)
            one_hot = F.one_hot(true_masks, 2).permute(0, 3, 1, 2).to(pred.dtype)
            loss += dice_loss(F.softmax(pred, dim=1), one_hot)
        optimizer.zero_grad(set_to_none=True)
        grad_scaler.scale(loss).backward()
        grad_scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        grad_scaler.step(optimizer)
        grad_scaler.update()
        print(f"step {step} loss {loss.item():.17g}")
        if step % 10 == 9:
            model.eval()
            with torch.no_grad():
                guess = model(images).argmax(1)
            model.train()
            score = dice_coeff(guess.to(images.dtype), masks.to(images.dtype))
            scheduler.step(score)
            print(f"validation dice {score:.4f}")


if __name__ == "__main__":
    main()
