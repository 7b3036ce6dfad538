"""Blurs, perspective and masks by hand, in the manner of libraries for images; a chain CRF with lengths, in that of one for structures."""

import torch
import torch.nn.functional as F


def gaussian_kernel(size, sigma):
    half = (size - 1) * 0.5
    pdf = torch.exp(-0.5 * (torch.linspace(-half, half, steps=size) / sigma).pow(2))
    line = pdf / pdf.sum()
    return torch.mm(line[:, None], line[None, :])


def blur(image, size, sigma):
    kernel = gaussian_kernel(size, sigma)
    kernel = kernel.expand(image.shape[-3], 1, *kernel.shape)
    padded = F.pad(image[None], [size // 2] * 4, mode="reflect")
    return F.conv2d(padded, kernel, groups=image.shape[-3])[0]


def perspective(image, start, end):
    rows = []
    for (x, y), (u, v) in zip(end, start):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    a = torch.tensor(rows, dtype=torch.float64)
    c = torch.linalg.lstsq(a, torch.tensor(start, dtype=torch.float64).view(8), driver="gels").solution.float()
    h, w = image.shape[-2:]
    top = torch.tensor([[[c[0], c[1], c[2]], [c[3], c[4], c[5]]]])
    bottom = torch.tensor([[[c[6], c[7], 1.0], [c[6], c[7], 1.0]]])
    base = torch.stack(torch.meshgrid(torch.arange(w) + 0.5, torch.arange(h) + 0.5, indexing="xy"), -1)
    base = torch.cat([base, torch.ones(h, w, 1)], -1).view(1, h * w, 3)
    scaled = top.transpose(1, 2) / torch.tensor([0.5 * w, 0.5 * h])
    grid = base.bmm(scaled) / base.bmm(bottom.transpose(1, 2)) - 1.0
    return F.grid_sample(image[None], grid.view(1, h, w, 2), align_corners=False)[0]


torch.manual_seed(0)
image = torch.rand(3, 20, 24, requires_grad=True)
for size in (3, 5):
    print(size, blur(image, size, 0.8).sum(dim=(1, 2)))
blur(image, 5, 1.1).square().mean().backward()
print(image.grad.norm())
bent = perspective(image.detach(), [[0, 0], [23, 0], [23, 19], [0, 19]], [[2, 1], [21, 2], [22, 18], [1, 17]])
print(bent.mean(dim=(1, 2)), (bent == 0).sum())
print([part.shape for part in torch.tensor_split(image, indices=(5, 9), dim=2)])

batch, steps, tags = 2, 4, 3
scores = torch.randn(batch, steps, tags, tags, requires_grad=True)
lengths = torch.tensor([5, 3])
mask = torch.arange(steps).view(1, steps).expand(batch, steps).type_as(scores) >= (lengths - 1).view(batch, 1)
identity = torch.full((tags, tags), -1e9).masked_fill(torch.eye(tags).bool(), 0.0)
chain = torch.where(mask.view(batch * steps, 1, 1), identity, scores.reshape(batch * steps, tags, tags)).view_as(scores)
total = chain[:, 0]
for step in range(1, steps):
    total = torch.logsumexp(total.unsqueeze(3) + chain[:, step].unsqueeze(1), dim=2)
partition = total.logsumexp(dim=(1, 2))
marginals = torch.autograd.grad(partition.sum(), scores)[0]
print(partition, marginals.sum(dim=(2, 3)))

rows = torch.cat([torch.arange(6.0).view(3, 2).t(), torch.ones(2, 1).expand(2, 3)], 1)
print(rows.view(-1), rows.stride(), torch.stack([rows.t(), rows.t()], 1).view(6, 4))

weight = torch.ones(2, requires_grad=True)
torch.Tensor(weight).mul(3).sum().backward()
print(weight.grad, torch.Tensor(torch.arange(3)).dtype)
