"""A grid detector with anchors: box decoding, generalised IoU, focal loss, non-maximum suppression, scripted and compiled parts."""

import argparse
import warnings
from typing import List, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


@torch.jit.script
def box_area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def iou_matrix(a: Tensor, b: Tensor) -> Tensor:
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    return inter / (box_area(a)[:, None] + box_area(b)[None, :] - inter)


def giou_loss(a: Tensor, b: Tensor) -> Tensor:
    inter = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    union = box_area(a) + box_area(b) - inter
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).prod(1)
    return 1 - inter / union + (hull - union) / hull


def focal_loss(logits: Tensor, target: Tensor, alpha: float = 0.25, gamma: float = 2.0) -> Tensor:
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    p_t = p * target + (1 - p) * (1 - target)
    alpha_t = torch.lerp(torch.full_like(target, 1 - alpha), torch.full_like(target, alpha), target)
    return (alpha_t * (1 - p_t).pow(gamma) * ce).sum()


def nms(boxes: Tensor, scores: Tensor, threshold: float) -> List[int]:
    order = scores.argsort(descending=True)
    keep: List[int] = []
    while order.numel() > 0:
        best = order[0]
        keep.append(int(best))
        if order.numel() == 1:
            break
        overlap = iou_matrix(boxes[best].unsqueeze(0), boxes[order[1:]])[0]
        order = order[1:][overlap <= threshold]
    return keep


class Detector(nn.Module):
    def __init__(self, cells: int = 4):
        super().__init__()
        self.cells = cells
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.SiLU(), nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.SiLU()
        )
        self.head = nn.Conv2d(12, 5, 1)
        nn.init.constant_(self.head.bias[4:], -2.0) if False else self.head.bias.data[4:].fill_(-2.0)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        out = self.head(self.backbone(x)).permute(0, 2, 3, 1)
        gy, gx = torch.meshgrid(torch.arange(self.cells), torch.arange(self.cells), indexing="ij")
        centre = (torch.sigmoid(out[..., :2]) * 2 - 0.5 + torch.stack([gx, gy], -1)) * 4
        size = 6 * (out[..., 2:4]).clamp(max=2).exp()
        return torch.cat([centre - size / 2, centre + size / 2], -1), out[..., 4]


def scene(n: int) -> Tuple[Tensor, Tensor]:
    images, boxes = 0.1 * torch.randn(n, 1, 16, 16), torch.empty(n, 4)
    for i in range(n):
        x, y = torch.randint(0, 10, (2,)).tolist()
        w, h = torch.randint(4, 7, (2,)).tolist()
        images[i, 0, y : y + h, x : x + w] += 1.0
        boxes[i] = torch.tensor([x, y, x + w, y + h], dtype=torch.get_default_dtype())
    return images, boxes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        images, boxes = scene(8)
        predicted, logits = model(images)
        cell = ((boxes[:, :2] + boxes[:, 2:]) / 8).floor().long().clamp_(0, 3)
        target = torch.zeros_like(logits)
        target[torch.arange(8), cell[:, 1], cell[:, 0]] = 1
        mine = predicted[torch.arange(8), cell[:, 1], cell[:, 0]]
        loss = (
            giou_loss(mine, boxes).mean()
            + focal_loss(logits, target) / 8
            + 0.05 * F.smooth_l1_loss(mine, boxes, beta=0.5)
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    model.eval()
    with torch.inference_mode():
        images, boxes = scene(4)
        predicted, logits = model(images)
        found = [nms(p.view(-1, 4), s.view(-1), 0.3)[:3] for p, s in zip(predicted, logits)]
        best = torch.stack([p.view(-1, 4)[f[0]] for p, f in zip(predicted, found)])
        print([len(f) for f in found], f"{iou_matrix(best, boxes).diagonal().mean().item():.3f}")


if __name__ == "__main__":
    main()
