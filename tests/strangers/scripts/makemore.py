import torch, torch.nn.functional as F, random

words = "emma olivia ava isabella sophia charlotte mia amelia harper evelyn".split()
chars = sorted(list(set("".join(words))))
stoi = {s: i + 1 for i, s in enumerate(chars)}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
V = len(itos)
N = torch.zeros((V, V), dtype=torch.int32)
for w in words:
    chs = ["."] + list(w) + ["."]
    for a, b in zip(chs, chs[1:]):
        N[stoi[a], stoi[b]] += 1
P = (N + 1).float()
P /= P.sum(1, keepdims=True)
g = torch.Generator().manual_seed(2147483647)
for _ in range(3):
    out, ix = [], 0
    while True:
        ix = torch.multinomial(P[ix], num_samples=1, replacement=True, generator=g).item()
        out.append(itos[ix])
        if ix == 0:
            break
    print("".join(out))


def build(words, block=3):
    X, Y = [], []
    for w in words:
        context = [0] * block
        for ch in w + ".":
            ix = stoi[ch]
            X.append(context)
            Y.append(ix)
            context = context[1:] + [ix]
    return torch.tensor(X), torch.tensor(Y)


X, Y = build(words)
print(X.shape, Y.shape, X.dtype)


class Linear:
    def __init__(self, fan_in, fan_out, bias=True):
        self.weight = torch.randn((fan_in, fan_out), generator=g) / fan_in**0.5
        self.bias = torch.zeros(fan_out) if bias else None

    def __call__(self, x):
        self.out = x @ self.weight
        if self.bias is not None:
            self.out += self.bias
        return self.out

    def parameters(self):
        return [self.weight] + ([] if self.bias is None else [self.bias])


class BatchNorm1d:
    def __init__(self, dim, eps=1e-5, momentum=0.1):
        self.eps, self.momentum, self.training = eps, momentum, True
        self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
        self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

    def __call__(self, x):
        if self.training:
            xmean = x.mean(0, keepdim=True)
            xvar = x.var(0, keepdim=True)
        else:
            xmean, xvar = self.running_mean, self.running_var
        xhat = (x - xmean) / torch.sqrt(xvar + self.eps)
        self.out = self.gamma * xhat + self.beta
        if self.training:
            with torch.no_grad():
                self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * xmean
                self.running_var = (1 - self.momentum) * self.running_var + self.momentum * xvar
        return self.out

    def parameters(self):
        return [self.gamma, self.beta]


class Tanh:
    def __call__(self, x):
        self.out = torch.tanh(x)
        return self.out

    def parameters(self):
        return []


C = torch.randn((V, 4), generator=g)
layers = [Linear(12, 20, bias=False), BatchNorm1d(20), Tanh(), Linear(20, V, bias=False), BatchNorm1d(V)]
with torch.no_grad():
    layers[-1].gamma *= 0.1
parameters = [C] + [p for l in layers for p in l.parameters()]
print(sum(p.nelement() for p in parameters))
for p in parameters:
    p.requires_grad = True
ud = []
for i in range(30):
    ix = torch.randint(0, X.shape[0], (16,), generator=g)
    Xb, Yb = X[ix], Y[ix]
    x = C[Xb].view(Xb.shape[0], -1)
    for layer in layers:
        x = layer(x)
    loss = F.cross_entropy(x, Yb)
    for layer in layers:
        layer.out.retain_grad()
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.1
    for p in parameters:
        p.data += -lr * p.grad
    with torch.no_grad():
        ud.append([((lr * p.grad).std() / p.data.std()).log10().item() for p in parameters])
    if i % 10 == 0:
        print(f"{i:7d}/{30:7d}: {loss.item():.4f}")
for i, layer in enumerate(layers[:-1]):
    if isinstance(layer, Tanh):
        t = layer.out
        print(
            "layer %d (%10s): mean %+.2f, std %.2f, saturated: %.2f%%"
            % (i, layer.__class__.__name__, t.mean(), t.std(), (t.abs() > 0.97).float().mean() * 100)
        )
        t = layer.out.grad
        print("%e" % t.std())
        hy, hx = torch.histogram(t, density=True)
        print(hx[:3], hy.shape)
logits = torch.randn(4, 5, generator=g)
logit_maxes = logits.max(1, keepdim=True).values
norm = logits - logit_maxes
counts = norm.exp()
sm = counts.sum(1, keepdims=True)
probs = counts * sm**-1
logprobs = probs.log()
print(-logprobs[range(4), [0, 1, 2, 3]].mean(), F.one_hot(logits.max(1).indices, num_classes=5))
xenc = F.one_hot(torch.tensor([0, 5, 13]), num_classes=V).float()
W = torch.randn((V, V), generator=g, requires_grad=True)
l = -(xenc @ W).softmax(1)[torch.arange(3), torch.tensor([1, 2, 3])].log().mean() + 0.01 * (W**2).mean()
l.backward()
print(l.item(), W.grad.abs().sum())
