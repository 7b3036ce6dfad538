import torch, torch.nn as nn, torch.nn.functional as F, math
from torch import autograd

torch.manual_seed(0)


def net(x, p):
    x = F.linear(x, p[0], p[1])
    x = F.relu(x)
    return F.linear(x, p[2], p[3])


params = [
    torch.Tensor(16, 1).uniform_(-1.0, 1.0).requires_grad_(),
    torch.zeros(16).requires_grad_(),
    torch.Tensor(1, 16).uniform_(-0.25, 0.25).requires_grad_(),
    torch.zeros(1).requires_grad_(),
]
opt = torch.optim.Adam(params, lr=1e-2)
for it in range(4):
    meta = 0.0
    for task in range(3):
        A, ph = 1 + 2 * torch.rand(1), math.pi * torch.rand(1)
        x = 4 * torch.rand(8, 1) - 2
        y = A * torch.sin(x + ph)
        fast = params
        for k in range(2):
            l = F.mse_loss(net(x, fast), y)
            g = autograd.grad(l, fast, create_graph=True)
            fast = [w - 0.01 * gg for w, gg in zip(fast, g)]
        meta = meta + F.mse_loss(net(x, fast), y)
    opt.zero_grad()
    meta.backward()
    opt.step()
    print("maml", meta.item())
u = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
o = torch.optim.LBFGS(u.parameters(), lr=1, max_iter=10, line_search_fn="strong_wolfe")
xt = torch.rand(20, 2, requires_grad=True)


def residual():
    y = u(xt)
    (d,) = autograd.grad(y, xt, torch.ones_like(y), create_graph=True)
    ux, ut = d[:, :1], d[:, 1:]
    uxx = autograd.grad(ux, xt, torch.ones_like(ux), create_graph=True)[0][:, :1]
    return (ut + y * ux - 0.01 / math.pi * uxx).pow(2).mean() + (u(torch.zeros(1, 2)) - 1).pow(2).sum()


def closure():
    o.zero_grad()
    l = residual()
    l.backward()
    return l


print("pinn", o.step(closure).item(), o.step(closure).item() < 1e-3)


class Coupling(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.s = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 2), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 2))

    def forward(self, x):
        xm = x * self.mask
        s, t = self.s(xm) * (1 - self.mask), self.t(xm) * (1 - self.mask)
        return xm + (1 - self.mask) * (x * s.exp() + t), s.sum(1)


fl = nn.ModuleList([Coupling(torch.tensor(m)) for m in ([0.0, 1.0], [1.0, 0.0])])
prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
op = torch.optim.Adam(fl.parameters(), 1e-2)
data = torch.randn(32, 2) * torch.tensor([1.0, 0.3]) + 1
for i in range(4):
    z, ld = data, 0
    for f in fl:
        z, d = f(z)
        ld = ld + d
    l = -(prior.log_prob(z) + ld).mean()
    op.zero_grad()
    l.backward()
    op.step()
    print("flow", l.item())
D = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
real, fake = torch.randn(8, 2), torch.randn(8, 2)
al = torch.rand(8, 1)
inter = (al * real + (1 - al) * fake).requires_grad_(True)
dd = D(inter)
gr = autograd.grad(
    outputs=dd, inputs=inter, grad_outputs=torch.ones(dd.size()), create_graph=True, retain_graph=True, only_inputs=True
)[0]
gp = ((gr.view(8, -1).norm(2, dim=1) - 1) ** 2).mean()
(D(fake).mean() - D(real).mean() + 10 * gp).backward()
print("wgan", gp.item(), D[0].weight.grad.norm().item())


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.zeros(o, i))
        self.rho = nn.Parameter(torch.full((o, i), -3.0))

    def forward(self, x):
        s = F.softplus(self.rho)
        q = torch.distributions.Normal(self.mu, s)
        w = q.rsample()
        self.kl = torch.distributions.kl_divergence(q, torch.distributions.Normal(0, 1)).sum()
        return F.linear(x, w)


bl = BayesLinear(3, 1)
X = torch.randn(10, 3)
Y = X @ torch.tensor([[1.0], [2.0], [-1.0]])
op = torch.optim.RMSprop(bl.parameters(), lr=0.05)
for i in range(4):
    l = F.mse_loss(bl(X), Y, reduction="sum") + bl.kl / 10
    op.zero_grad()
    l.backward()
    op.step()
    print("bayes", l.item())


class MoE(nn.Module):
    def __init__(self, d, n, k):
        super().__init__()
        self.ex = nn.ModuleList(nn.Linear(d, d) for _ in range(n))
        self.g = nn.Linear(d, n)
        self.k = k

    def forward(self, x):
        w, i = self.g(x).softmax(-1).topk(self.k)
        w = w / w.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        for e, ex in enumerate(self.ex):
            tok, slot = torch.where(i == e)
            if tok.numel():
                out.index_add_(0, tok, ex(x[tok]) * w[tok, slot, None])
        return out


mo = MoE(4, 3, 2)
v = torch.randn(6, 4)
mo(v).pow(2).sum().backward()
print("moe", mo(v).sum().item(), mo.g.weight.grad.abs().sum().item())
