import torch

# A node with several outputs:
# the number beside an arrow says which of them it belongs to.
a = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
b, c, d = a.unbind()
e = b * c * d
e.backward()

print("a.grad", a.grad)
for following, output in e.grad_fn.next_functions:
    print(following.name(), output)
