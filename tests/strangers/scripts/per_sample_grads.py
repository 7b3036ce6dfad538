import torch, torch.nn as nn, torch.nn.functional as F
from torch.func import functional_call, vmap, grad, stack_module_state, jacrev, jacfwd, hessian, vjp, jvp

torch.manual_seed(0)


class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, 1)
        self.fc1 = nn.Linear(4 * 5 * 5, 8)
        self.fc2 = nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(x, 2)
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return F.log_softmax(self.fc2(x), dim=1)


model = CNN()
data = torch.randn(6, 1, 12, 12)
targets = torch.randint(10, (6,))


def compute_grad(sample, target):
    loss = F.nll_loss(model(sample.unsqueeze(0)), target.unsqueeze(0))
    return torch.autograd.grad(loss, list(model.parameters()))


per = [torch.stack(s) for s in zip(*[compute_grad(data[i], targets[i]) for i in range(6)])]
params = {k: v.detach() for k, v in model.named_parameters()}
buffers = {k: v.detach() for k, v in model.named_buffers()}


def compute_loss(params, buffers, sample, target):
    predictions = functional_call(model, (params, buffers), (sample.unsqueeze(0),))
    return F.nll_loss(predictions, target.unsqueeze(0))


ft = vmap(grad(compute_loss), in_dims=(None, None, 0, 0))(params, buffers, data, targets)
for a, b in zip(per, ft.values()):
    print(a.shape, torch.allclose(a, b, atol=1e-5))


class SimpleMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 8)
        self.fc2 = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


models = [SimpleMLP() for _ in range(4)]
params, buffers = stack_module_state(models)
import copy

base = copy.deepcopy(models[0]).to("meta") if False else copy.deepcopy(models[0])


def fmodel(params, buffers, x):
    return functional_call(base, (params, buffers), (x,))


x = torch.randn(4, 5, 12)
out = vmap(fmodel)(params, buffers, x)
print(out.shape, torch.allclose(out, torch.stack([m(v) for m, v in zip(models, x)]), atol=1e-5))
print(vmap(fmodel, in_dims=(0, 0, None))(params, buffers, x[0]).sum())


def predict(weight, bias, x):
    return F.linear(x, weight, bias).tanh()


weight = torch.randn(4, 4)
bias = torch.randn(4)
xs = torch.randn(4)
J = jacrev(predict, argnums=2)(weight, bias, xs)
print(torch.allclose(J, jacfwd(predict, argnums=2)(weight, bias, xs)), J)
H = hessian(predict, argnums=2)(weight, bias, xs)
print(H.shape, H.sum())
_, vjp_fn = vjp(lambda x: predict(weight, bias, x), xs)
(ft_jac,) = vmap(vjp_fn)(torch.eye(4))
print(torch.allclose(J, ft_jac))


def fnet_single(params, x):
    return functional_call(base, params, (x.unsqueeze(0),)).squeeze(0)


p0 = {k: v.detach() for k, v in base.named_parameters()}


def ntk(func, params, x1, x2):
    j1 = vmap(jacrev(func), (None, 0))(params, x1)
    j2 = vmap(jacrev(func), (None, 0))(params, x2)
    j1 = [j.flatten(2) for j in j1.values()]
    j2 = [j.flatten(2) for j in j2.values()]
    return torch.stack([torch.einsum("Naf,Mbf->NMab", a, b) for a, b in zip(j1, j2)]).sum(0)


r = ntk(fnet_single, p0, x[0], x[1])
print(r.shape, r.diagonal().sum())
g = grad(lambda p: fnet_single(p, x[0, 0]).sum())(p0)
print({k: v.sum().item() for k, v in g.items()})
from torch.autograd.functional import jacobian, hessian as hes, vhp, hvp

print(
    jacobian(lambda a: a.exp(), torch.ones(2)),
    hes(lambda a: a.pow(3).sum(), torch.ones(2)),
    hvp(lambda a: a.pow(3).sum(), torch.ones(2), torch.ones(2)),
)
