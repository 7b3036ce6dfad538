"""Functions of one's own inside a model: straight-through estimators, gradient reversal, a fused op, clipping, a double backward."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        return torch.round(x.clamp(-1, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).to(grad.dtype), None


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.neg() * ctx.alpha, None


class LinearFunction(Function):
    @staticmethod
    def forward(input, weight, bias):
        output = input.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, bias = inputs
        ctx.save_for_backward(input, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_input = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_input, grad_weight, grad_bias


class Cube(Function):
    """Twice differentiable, and it lends its square to both."""

    @staticmethod
    def forward(ctx, x):
        square = x**2
        ctx.save_for_backward(x, square)
        return x * square, square

    @staticmethod
    def backward(ctx, grad_cube, grad_square):
        x, square = ctx.saved_tensors
        return grad_cube * 3 * square + grad_square * 2 * x


class TopK(Function):
    @staticmethod
    def forward(ctx, x, k):
        values, indices = x.topk(k, dim=-1)
        ctx.shape = x.shape
        ctx.save_for_backward(indices)
        ctx.mark_non_differentiable(indices)
        ctx.set_materialize_grads(False)
        return values, indices

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_values, _):
        if grad_values is None:
            return None, None
        (indices,) = ctx.saved_tensors
        return torch.zeros(ctx.shape, dtype=grad_values.dtype).scatter_(-1, indices, grad_values), None


class AddOne(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(12, 5))
        self.bias = nn.Parameter(torch.empty(12))
        nn.init.trunc_normal_(self.weight, std=0.3)
        nn.init.uniform_(self.bias, -0.1, 0.1)
        self.head, self.domain = nn.Linear(6, 1), nn.Linear(12, 2)

    def forward(self, x, alpha):
        h = torch.tanh(LinearFunction.apply(x, self.weight, self.bias))
        q = RoundSTE.apply(h, 4)
        cube, square = Cube.apply(q + 0.1 * h)
        top, _ = TopK.apply(cube + 0.5 * square, 6)
        return self.head(AddOne.apply(top * 1)), self.domain(ReverseLayerF.apply(h, alpha))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model = Model()
    seen = []
    model.weight.register_hook(lambda g: g.clamp(-1, 1))
    model.bias.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.norm().item()))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        x = torch.randn(24, 5)
        domain = torch.randint(2, (24,))
        y = (x.sum(1, keepdim=True) + domain[:, None]).sin()
        out, d = model(x, alpha=2 / (1 + torch.exp(torch.tensor(-step / 10.0)).item()) - 1)
        z = x[:, :1].clone().requires_grad_()
        cube, _ = Cube.apply(z * model.bias[0])
        (slope,) = torch.autograd.grad(cube.sum(), z, create_graph=True)
        loss = F.mse_loss(out, y) + F.cross_entropy(d, domain) + slope.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    print(
        len(seen),
        f"{sum(seen):.4f}",
        type(out.grad_fn).__name__,
        torch.autograd.gradcheck(Cube.apply, torch.randn(3).double().requires_grad_()),
    )


if __name__ == "__main__":
    main()
