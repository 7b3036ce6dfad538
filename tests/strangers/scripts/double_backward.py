import torch
from torch.autograd import Function


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return grad_out * 2 * x


x = torch.rand(3, 3, requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(Square.apply, x), torch.autograd.gradgradcheck(Square.apply, x))


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = torch.exp(x)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad_out):
        (result,) = ctx.saved_tensors
        return result * grad_out


print(torch.autograd.gradcheck(Exp.apply, x), torch.autograd.gradgradcheck(Exp.apply, x))


def sinh(x):
    return (torch.exp(x) - torch.exp(-x)) / 2


class Sinh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        expx = torch.exp(x)
        expnegx = torch.exp(-x)
        ctx.save_for_backward(expx, expnegx)
        return (expx - expnegx) / 2, expx, expnegx

    @staticmethod
    def backward(ctx, grad_out, _grad_out_exp, _grad_out_negexp):
        expx, expnegx = ctx.saved_tensors
        grad_input = grad_out * (expx + expnegx) / 2
        grad_input += _grad_out_exp * expx
        grad_input -= _grad_out_negexp * expnegx
        return grad_input


def sinh2(x):
    return Sinh.apply(x)[0]


print(torch.autograd.gradcheck(sinh2, x), torch.autograd.gradgradcheck(sinh2, x))


def cube_backward(grad_out, x):
    return grad_out * 3 * x**2


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors
        return CubeBackward.apply(grad_out, x)


class CubeBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, grad_out, x):
        ctx.save_for_backward(x, grad_out)
        return cube_backward(grad_out, x)

    @staticmethod
    def backward(ctx, sav_grad_out):
        x, grad_out = ctx.saved_tensors
        return sav_grad_out * 3 * x**2, sav_grad_out * 6 * x * grad_out


x = torch.tensor(2.0, requires_grad=True, dtype=torch.double)
print(torch.autograd.gradcheck(Cube.apply, x), torch.autograd.gradgradcheck(Cube.apply, x))
out = Cube.apply(x)
(g,) = torch.autograd.grad(out, x, create_graph=True)
(gg,) = torch.autograd.grad(g, x)
print(out, g, gg)


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
        gi = gw = gb = None
        if ctx.needs_input_grad[0]:
            gi = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            gw = grad_output.t().mm(input)
        if bias is not None and ctx.needs_input_grad[2]:
            gb = grad_output.sum(0)
        return gi, gw, gb


inp = (
    torch.randn(20, 20, dtype=torch.double, requires_grad=True),
    torch.randn(30, 20, dtype=torch.double, requires_grad=True),
    None,
)
print(torch.autograd.gradcheck(LinearFunction.apply, inp, eps=1e-6, atol=1e-4))


class Bad(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x.cos()


y = Bad.apply(x)
(g,) = torch.autograd.grad(y, x, create_graph=True)
try:
    g.backward()
except RuntimeError as e:
    print(e)


class MyExp(Function):
    @staticmethod
    def forward(ctx, i):
        r = i.exp()
        ctx.mark_non_differentiable(r.long())
        ctx.extra = 3
        return r

    @staticmethod
    def backward(ctx, g):
        return g * ctx.extra

    @staticmethod
    def jvp(ctx, t):
        return t


print(MyExp.apply(x), MyExp.apply(x).grad_fn)
