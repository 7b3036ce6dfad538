import os, tempfile, uuid, torch, torch.nn as nn
from torch.autograd.graph import saved_tensors_hooks, save_on_cpu, Node

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = a * b
d = torch.exp(c).sum()
print(
    c.grad_fn._saved_self is a,
    c.grad_fn._saved_other is b,
    d.grad_fn.next_functions[0][0]._saved_result.grad_fn is d.grad_fn.next_functions[0][0],
)


def pack_hook(x):
    print("Packing", x.shape)
    return x + 1


def unpack_hook(x):
    print("Unpacking", x.shape)
    return x - 1


with saved_tensors_hooks(pack_hook, unpack_hook):
    y = torch.pow(a, 2) * b
y.sum().backward()
print(a.grad, b.grad)


class SelfDeletingTempFile:
    def __init__(self):
        self.name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self):
        os.remove(self.name)


def pack(t):
    f = SelfDeletingTempFile()
    torch.save(t, f.name)
    return f


def unpack(f):
    return torch.load(f.name)


x = torch.randn(5, requires_grad=True)
with saved_tensors_hooks(pack, unpack):
    z = x.pow(3).sum()
z.backward()
print(torch.allclose(x.grad, 3 * x.detach() ** 2))
with save_on_cpu(pin_memory=False):
    (x * x).sum().backward()
h = a.register_hook(lambda g: g * 2)
a.grad = None
(a * 3).sum().backward()
print(a.grad, h.id >= 0)
h.remove()
t = torch.rand(2, requires_grad=True)
o = t.clone()
o.register_hook(lambda g: print("hook", g))
o.retain_grad()
(o * 2).sum().backward()
print(o.grad, o.retains_grad)


def fn(grad_in, grad_out):
    print("node hook", [None if g is None else g.tolist() for g in grad_in], [g.tolist() for g in grad_out])


v = torch.ones(2, requires_grad=True)
w = v * 2
w.grad_fn.register_hook(fn)
w.grad_fn.register_prehook(lambda go: print("pre", go))
w.sum().backward()
m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
for p in m.parameters():
    nn.init.constant_(p, 0.5)


def fwd(mod, i, o):
    print(mod.__class__.__name__, i[0].shape, o.shape)


def bwd(mod, gi, go):
    print(
        "B", mod.__class__.__name__, [None if g is None else tuple(g.shape) for g in gi], [tuple(g.shape) for g in go]
    )


hs = [l.register_forward_hook(fwd) for l in m] + [l.register_full_backward_hook(bwd) for l in m]
m[0].register_forward_pre_hook(lambda mod, i: (i[0] * 2,))
m(torch.ones(4, 2, requires_grad=True)).sum().backward()
for hh in hs:
    hh.remove()
acts = {}


def get_activation(name):
    def hook(model, input, output):
        acts[name] = output.detach()

    return hook


m[1].register_forward_hook(get_activation("relu"))
m(torch.ones(1, 2))
print(acts["relu"])
opt = {p: torch.optim.SGD([p], lr=0.1) for p in m.parameters()}


def hook(p):
    opt[p].step()
    opt[p].zero_grad()


for p in m.parameters():
    p.register_post_accumulate_grad_hook(hook)
before = m[0].weight.clone()
m(torch.ones(1, 2)).sum().backward()
print([p.grad for p in m.parameters()], (m[0].weight - before).sum())
from torch.autograd.graph import register_multi_grad_hook

p, q = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
register_multi_grad_hook((p, q), lambda gs: print("multi", gs))
(p * 2 + q * 3).backward()
print(isinstance(w.grad_fn, Node), type(w.grad_fn).__name__, w.grad_fn.metadata)
with torch.autograd.set_detect_anomaly(True):
    n = torch.tensor([-1.0], requires_grad=True)
    try:
        torch.sqrt(n).backward()
    except RuntimeError as e:
        print(str(e).splitlines()[0])
