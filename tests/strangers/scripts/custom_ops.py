import numpy as np, torch
from torch import Tensor


@torch.library.custom_op("mylib::numpy_sin", mutates_args=())
def numpy_sin(x: Tensor) -> Tensor:
    return torch.from_numpy(np.sin(x.numpy(force=True)))


@numpy_sin.register_fake
def _(x):
    return torch.empty_like(x)


def setup_context(ctx, inputs, output):
    (x,) = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * x.cos()


numpy_sin.register_autograd(backward, setup_context=setup_context)
x = torch.tensor([0.5, 1.0], requires_grad=True)
y = numpy_sin(x)
y.sum().backward()
print(y, x.grad, torch.ops.mylib.numpy_sin(x.detach()))


@torch.library.custom_op("mylib::scale", mutates_args=())
def scale(x: Tensor, k: float, flag: bool = True) -> Tensor:
    return x * k if flag else x.clone()


print(scale(torch.ones(2), 3.0), scale(torch.ones(2), 3.0, flag=False), scale(torch.ones(2), k=2.0))
try:
    scale(x, 2.0).sum().backward()
except RuntimeError as e:
    print(str(e)[:60])
torch.library.register_autograd(
    "mylib::scale",
    lambda ctx, g: (g * ctx.k, None, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "k", inputs[1]),
)
x.grad = None
scale(x, 2.0).sum().backward()
print(x.grad)
