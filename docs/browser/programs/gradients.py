import torch

# y = (x + w) (w + 1): w is in two factors,
# so its gradient is a sum over two paths.
x = torch.tensor([2.0], requires_grad=True)
w = torch.tensor([1.0], requires_grad=True)
a = x + w
b = w + 1
b.retain_grad()  # only leaves keep their gradients otherwise
y = a * b
y.backward()

print("x.grad", x.grad)
print("w.grad", w.grad)
print("a.grad_fn", a.grad_fn, " leaf:", a.is_leaf)
print("b.grad", b.grad)
