import math, copy, torch, torch.nn as nn, torch.nn.functional as F
from torch.cuda.amp import autocast, GradScaler
from torch.optim import Adam
from functools import partial

torch.manual_seed(3)


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = math.log(10000) / (half - 1)
        emb = torch.exp(torch.arange(half, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class WSConv(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        w = self.weight
        mean = w.mean(dim=(1, 2, 3), keepdim=True)
        var = w.var(dim=(1, 2, 3), unbiased=False, keepdim=True)
        w = (w - mean) * (var + eps).rsqrt()
        return F.conv2d(x, w, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Block(nn.Module):
    def __init__(self, i, o, t):
        super().__init__()
        self.proj = WSConv(i, o, 3, padding=1)
        self.norm = nn.GroupNorm(4, o)
        self.act = nn.SiLU()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(t, o * 2))
        self.res = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, t):
        s, b = self.mlp(t)[:, :, None, None].chunk(2, dim=1)
        h = self.norm(self.proj(x))
        return self.act(h * (s + 1) + b) + self.res(x)


class Unet(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.t = nn.Sequential(SinusoidalPosEmb(d), nn.Linear(d, 16), nn.GELU(), nn.Linear(16, 16))
        self.i = nn.Conv2d(1, d, 7, padding=3)
        self.d1 = Block(d, d, 16)
        self.down = nn.Conv2d(d, d * 2, 4, 2, 1)
        self.mid = Block(d * 2, d * 2, 16)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(d * 2, d, 3, padding=1))
        self.u1 = Block(d * 2, d, 16)
        self.o = nn.Conv2d(d, 1, 1)

    def forward(self, x, time):
        t = self.t(time)
        x = self.i(x)
        h = self.d1(x, t)
        x = self.mid(self.down(h), t)
        x = torch.cat((self.up(x), h), dim=1)
        return self.o(self.u1(x, t))


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


def cosine_beta_schedule(T, s=0.008):
    x = torch.linspace(0, T, T + 1, dtype=torch.float64)
    ac = torch.cos(((x / T) + s) / (1 + s) * math.pi * 0.5) ** 2
    ac = ac / ac[0]
    return torch.clip(1 - (ac[1:] / ac[:-1]), 0, 0.999)


class GaussianDiffusion(nn.Module):
    def __init__(self, model, T=20):
        super().__init__()
        self.model = model
        betas = cosine_beta_schedule(T)
        alphas = 1.0 - betas
        ac = torch.cumprod(alphas, dim=0)
        acp = F.pad(ac[:-1], (1, 0), value=1.0)
        self.T = T
        reg = lambda n, v: self.register_buffer(n, v.to(torch.float32))
        reg("betas", betas)
        reg("ac", ac)
        reg("sac", torch.sqrt(ac))
        reg("somac", torch.sqrt(1.0 - ac))
        reg("srac", torch.sqrt(1.0 / ac))
        reg("srm1", torch.sqrt(1.0 / ac - 1))
        pv = betas * (1.0 - acp) / (1.0 - ac)
        reg("plv", torch.log(pv.clamp(min=1e-20)))
        reg("c1", betas * torch.sqrt(acp) / (1.0 - ac))
        reg("c2", (1.0 - acp) * torch.sqrt(alphas) / (1.0 - ac))

    def q_sample(self, x, t, noise):
        return extract(self.sac, t, x.shape) * x + extract(self.somac, t, x.shape) * noise

    @torch.no_grad()
    def p_sample(self, x, t):
        b = x.shape[0]
        bt = torch.full((b,), t, dtype=torch.long)
        eps = self.model(x, bt)
        x0 = (extract(self.srac, bt, x.shape) * x - extract(self.srm1, bt, x.shape) * eps).clamp_(-1.0, 1.0)
        mean = extract(self.c1, bt, x.shape) * x0 + extract(self.c2, bt, x.shape) * x
        noise = torch.randn_like(x) if t > 0 else 0.0
        return mean + (0.5 * extract(self.plv, bt, x.shape)).exp() * noise

    @torch.inference_mode()
    def sample(self, shape):
        img = torch.randn(shape)
        for t in reversed(range(0, self.T)):
            img = self.p_sample(img, t)
        return (img + 1) * 0.5

    def forward(self, img):
        b = img.shape[0]
        t = torch.randint(0, self.T, (b,)).long()
        noise = torch.randn_like(img)
        x = self.q_sample(img * 2 - 1, t, noise)
        loss = F.mse_loss(self.model(x, t), noise, reduction="none")
        return loss.flatten(1).mean(1).mean()


d = GaussianDiffusion(Unet())
opt = Adam(d.parameters(), lr=1e-3, betas=(0.9, 0.99))
ema = copy.deepcopy(d)
data = torch.rand(4, 1, 8, 8)
for i in range(5):
    l = d(data)
    l.backward()
    nn.utils.clip_grad_norm_(d.parameters(), 1.0)
    opt.step()
    opt.zero_grad()
    print(f"loss: {l.item():.4f}")
    with torch.no_grad():
        for pe, p in zip(ema.parameters(), d.parameters()):
            pe.copy_(pe.lerp(p, 0.5))
s = ema.sample((2, 1, 8, 8))
print(s.shape, s.mean(), s.is_inference())
print(sum(p.numel() for p in d.parameters()), len(d.state_dict()))
