import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
i = torch.tensor([3, 4])
for name in "add mul sub div multiply divide subtract true_divide".split():
    for arguments in ((2.0, x), (2, i), (2, 3), (2.5, i)):
        print(name, getattr(torch, name)(*arguments))
print(
    torch.div(7, i, rounding_mode="floor"), torch.add(1, x, alpha=3), torch.sub(1, x, alpha=2), torch.bitwise_and(2, i)
)
torch.div(1.0, 1.0 + torch.exp(-x)).sum().backward()
print(x.grad)
