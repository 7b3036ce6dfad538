import torch

# backward() by hand: call each node with the gradient of its output,
# and hand on what it returns to the nodes that it points to.
x = torch.randn(4, 4, requires_grad=True)
y = torch.randn(4, 4, requires_grad=True)
z = x * y
loss = z.sum()


def walk(node, grad, depth=0):
    print("  " * depth + node.name())
    grads = node(grad)
    grads = grads if isinstance(grads, tuple) else (grads,)
    for (following, _), one in zip(node.next_functions, grads):
        if following is not None:
            walk(following, one, depth + 1)


walk(loss.grad_fn, torch.tensor(1.0))
print("x.grad is y:", torch.equal(x.grad, y))
print("y.grad is x:", torch.equal(y.grad, x))
