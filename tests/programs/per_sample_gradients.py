"""Private SGD: per-sample gradients by vmap(grad), clipped one by one, noise added; an ensemble by stack_module_state."""

import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, stack_module_state, vmap


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(x.flatten(1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model = Net()
    labels = torch.randint(3, (90,))
    images = torch.randn(3, 1, 6, 6)[labels] + 0.4 * torch.randn(90, 1, 6, 6)

    def compute_loss(params, buffers, sample, target):
        predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
        return F.cross_entropy(predictions, target.unsqueeze(0))

    per_sample = vmap(grad_and_value(compute_loss), in_dims=(None, None, 0, 0))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    generator = torch.Generator().manual_seed(2)
    for step in range(args.steps):
        index = torch.randint(90, (12,))
        params = {k: v.detach() for k, v in model.named_parameters()}
        grads, losses = per_sample(params, dict(model.named_buffers()), images[index], labels[index])
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()], dim=1).norm(dim=1)
        factor = (1.0 / (norms + 1e-6)).clamp(max=1.0)
        for name, p in model.named_parameters():
            clipped = torch.einsum("b,b...->...", factor, grads[name])
            p.grad = (clipped + 0.02 * torch.randn(p.shape, generator=generator)) / len(index)
        optimizer.step()
        print(f"step {step} loss {losses.mean().item():.17g} norm {norms.max().item():.5f}")

    models = [copy.deepcopy(model) for _ in range(3)]
    for i, m in enumerate(models):
        with torch.no_grad():
            m.fc.bias += 0.1 * i
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0])
    out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(params, buffers, images[:5])
    sensitivity = vmap(grad(lambda x: functional_call(model, dict(model.named_parameters()), (x[None],)).max()))(
        images[:4]
    )
    print(out.shape, f"{out.std().item():.5f} {sensitivity.norm().item():.5f}")


if __name__ == "__main__":
    main()
