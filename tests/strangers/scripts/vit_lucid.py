import torch
from torch import nn, einsum
import torch.nn.functional as F
from functools import partial, wraps
from inspect import isfunction

torch.manual_seed(0)


def exists(v):
    return v is not None


def default(val, d):
    return val if exists(val) else (d() if isfunction(d) else d)


def pair(t):
    return t if isinstance(t, tuple) else (t, t)


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fn = fn

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs)


class FeedForward(nn.Module):
    def __init__(self, dim, hidden_dim, dropout=0.0):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden_dim, dim), nn.Dropout(dropout)
        )

    def forward(self, x):
        return self.net(x)


class GEGLU(nn.Module):
    def forward(self, x):
        x, gates = x.chunk(2, dim=-1)
        return x * F.gelu(gates)


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, dropout=0.0):
        super().__init__()
        inner = dim_head * heads
        self.heads = heads
        self.scale = dim_head**-0.5
        self.attend = nn.Softmax(dim=-1)
        self.to_qkv = nn.Linear(dim, inner * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, dim), nn.Dropout(dropout))
        self.null_kv = nn.Parameter(torch.randn(2, heads, dim_head))

    def forward(self, x, mask=None):
        b, n, _, h = *x.shape, self.heads
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, n, h, -1).permute(0, 2, 1, 3), qkv)
        nk, nv = map(lambda t: t[None, :, None].expand(b, -1, -1, -1), self.null_kv.unbind(0))
        k, v = torch.cat((nk, k), dim=-2), torch.cat((nv, v), dim=-2)
        sim = einsum("b h i d, b h j d -> b h i j", q, k) * self.scale
        if exists(mask):
            mask = F.pad(mask, (1, 0), value=True)
            sim = sim.masked_fill(~mask[:, None, None, :], -torch.finfo(sim.dtype).max)
        i, j = sim.shape[-2:]
        causal = torch.ones((i, j), dtype=torch.bool, device=x.device).triu(j - i + 1)
        sim = sim.masked_fill(causal, -torch.finfo(sim.dtype).max)
        attn = sim.softmax(dim=-1)
        out = einsum("b h i j, b h j d -> b h i d", attn, v)
        return self.to_out(out.permute(0, 2, 1, 3).reshape(b, n, -1))


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, pool="cls", channels=3):
        super().__init__()
        ih, iw = pair(image_size)
        self.p = patch_size
        n = (ih // patch_size) * (iw // patch_size)
        self.proj = nn.Linear(channels * patch_size**2, dim)
        self.pos_embedding = nn.Parameter(torch.randn(1, n + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([PreNorm(dim, Attention(dim)), PreNorm(dim, FeedForward(dim, dim * 2))]))
        self.pool = pool
        self.mlp_head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, img):
        x = img.unfold(2, self.p, self.p).unfold(3, self.p, self.p).permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)
        x = self.proj(x)
        b, n, _ = x.shape
        x = torch.cat((self.cls_token.expand(b, -1, -1), x), dim=1)
        x += self.pos_embedding[:, : (n + 1)]
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.mlp_head(x.mean(dim=1) if self.pool == "mean" else x[:, 0])


v = ViT(image_size=16, patch_size=4, num_classes=5, dim=16, depth=2)
img = torch.randn(3, 3, 16, 16)
opt = torch.optim.Adam(v.parameters(), 1e-2)
tgt = torch.tensor([0, 3, 4])
for i in range(5):
    l = F.cross_entropy(v(img), tgt, label_smoothing=0.1)
    opt.zero_grad()
    l.backward()
    opt.step()
    print(l.item())


class RelPos(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.emb = nn.Embedding(32, heads)

    def forward(self, i, j):
        q, k = torch.arange(i), torch.arange(j)
        rel = k[None, :] - q[:, None]
        n = -rel
        n = torch.max(n, torch.zeros_like(n))
        me = 16
        small = n < me
        big = me + (torch.log(n.float() / me) / torch.log(torch.tensor(128 / me)) * (32 - me)).long()
        big = torch.min(big, torch.full_like(big, 31))
        return self.emb(torch.where(small, n, big)).permute(2, 0, 1)


print(RelPos(2)(20, 20).shape, RelPos(2)(20, 20)[0, -1, :3])
at = Attention(16)
print(at(torch.ones(2, 4, 16), mask=torch.tensor([[True, True, False, False], [True] * 4])).sum(-1))


def cosine_sim_loss(a, b):
    a, b = map(lambda t: F.normalize(t, p=2, dim=-1), (a, b))
    return 2 - 2 * (a * b).sum(dim=-1)


print(cosine_sim_loss(torch.eye(3), torch.ones(3, 3)))
print(
    GEGLU()(torch.arange(4.0)),
    F.glu(torch.arange(4.0)),
    (lambda t, dim: (t - t.amax(dim=dim, keepdim=True).detach()).softmax(dim))(torch.arange(3.0), 0),
)
shift = lambda t, a, v=0.0: F.pad(t, (0, 0, a, -a), value=v)
print(shift(torch.ones(1, 3, 2), 1))
ema = nn.Linear(2, 2)
cur = nn.Linear(2, 2)
for c, m in zip(cur.parameters(), ema.parameters()):
    m.data = m.data * 0.9 + 0.1 * c.data
    m.data.lerp_(c.data, 0.5)
print(list(ema.parameters()))
t = torch.randn(2, 3)
print(
    torch.cat((t.sin(), t.cos()), dim=-1).shape,
    t.topk(2, dim=-1),
    torch.stack(t.unbind(-1), -1).equal(t),
    t.cumsum(-1).flip(-1),
)
