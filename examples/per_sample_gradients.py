"""The gradient of each sample by vmap(grad(f)), and what it is good for: digits with a wrong label have large gradients.

python examples/per_sample_gradients.py
"""

import argparse
import time

from plots import image, side_by_side

import penlight as torch
from penlight import nn
from penlight._cli.digits import load
from penlight.func import functional_call, grad, vmap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    images, labels = load()
    images, labels = images[:1000].flatten(1), labels[:1000].clone()
    liars = torch.randperm(1000)[:50]
    true = labels[liars].clone()
    labels[liars] = (true + torch.randint(1, 10, (50,))) % 10
    print("50 of 1000 digits are given a wrong label.")

    model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(args.epochs):
        for index in torch.randperm(1000).split(50):
            loss = nn.functional.cross_entropy(model(images[index]), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss_of_one(params, x, y):
        return nn.functional.cross_entropy(functional_call(model, params, (x[None],)), y[None])

    begin = time.perf_counter()
    grads = vmap(grad(loss_of_one), in_dims=(None, 0, 0))(params, images, labels)
    batched = time.perf_counter() - begin
    begin = time.perf_counter()
    for i in range(100):
        one = grad(loss_of_one)(params, images[i], labels[i])
    looped = (time.perf_counter() - begin) * 10
    assert all(torch.allclose(grads[name][99], one[name], atol=1e-6) for name in params)
    print(
        f"1000 gradients of {sum(p.numel() for p in params.values())} numbers each: {batched * 1e3:.0f} ms, one by one {looped * 1e3:.0f} ms"
    )

    sizes = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    suspects = sizes.argsort(descending=True)[:50]
    found = torch.isin(suspects, liars).sum()
    print(f"of the 50 samples with the largest gradients, {found} are among the 50 wrong ones. The first of them:\n")
    blocks = [
        f"{image(images[i].view(8, 8).tolist())}\nlabelled {labels[i]}, gradient {sizes[i]:.1f}" for i in suspects[:3]
    ]
    print(side_by_side(*blocks))


if __name__ == "__main__":
    main()
