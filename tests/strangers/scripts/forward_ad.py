import torch
import torch.autograd.forward_ad as fwAD

torch.manual_seed(0)
primal = torch.randn(3, 3)
tangent = torch.randn(3, 3)


def fn(x, y):
    return x**2 + y**2


with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent)
    assert fwAD.unpack_dual(dual_input).tangent is tangent
    plain_tensor = torch.randn(3, 3)
    dual_output = fn(dual_input, plain_tensor)
    print(fwAD.unpack_dual(dual_output))
    print(dual_input)
assert fwAD.unpack_dual(dual_output).tangent is None
import torch.nn as nn

model = nn.Linear(5, 5)
input = torch.randn(16, 5)
params = {name: p for name, p in model.named_parameters()}
tangents = {name: torch.rand_like(p) for name, p in params.items()}
with fwAD.dual_level():
    for name, p in params.items():
        delattr(model, name)
        setattr(model, name, fwAD.make_dual(p, tangents[name]))
    out = model(input)
    jvp = fwAD.unpack_dual(out).tangent
print(jvp.sum().item(), jvp.shape)
from torch.func import functional_call

model = nn.Linear(5, 5)
params = {n: p for n, p in model.named_parameters()}
dual_params = {}
with fwAD.dual_level():
    for name, p in params.items():
        dual_params[name] = fwAD.make_dual(p, tangents[name])
    out = functional_call(model, dual_params, input)
    jvp2 = fwAD.unpack_dual(out).tangent
print(jvp2.sum().item())


class Fn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, foo):
        result = torch.exp(foo)
        ctx.result = result
        return result

    @staticmethod
    def jvp(ctx, gI):
        gO = gI * ctx.result
        del ctx.result
        return gO


fn = Fn.apply
primal = torch.randn(10, 10, dtype=torch.double, requires_grad=True)
tangent = torch.randn(10, 10)
with fwAD.dual_level():
    dual_input = fwAD.make_dual(primal, tangent.double())
    dual_output = fn(dual_input)
    jvp = fwAD.unpack_dual(dual_output).tangent
print(jvp.mean())
print(
    torch.autograd.gradcheck(
        Fn.apply,
        (primal,),
        check_forward_ad=True,
        check_backward_ad=False,
        check_undefined_grad=False,
        check_batched_grad=False,
    )
)
import torch.func as ft

primal0, tangent0, primal1, tangent1 = torch.randn(3), torch.randn(3), torch.randn(3), torch.randn(3)


def fn2(x, y):
    return x**2 + y**2


print(ft.jvp(fn2, (primal0, primal1), (tangent0, tangent1)))
print(ft.jacfwd(fn2)(primal0, primal1), ft.hessian(lambda x: (x**3).sum())(primal0))
