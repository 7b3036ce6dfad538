"""A diffusion model on a toy density: beta schedule in buffers, time embedding, EMA of the weights, ancestral sampling."""

import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(-math.log(10000) * torch.arange(start=0, end=half) / half)
        args = t[:, None].to(freqs.dtype) * freqs[None]
        return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class Block(nn.Module):
    def __init__(self, dim, time_dim):
        super().__init__()
        self.ff, self.act = nn.Linear(dim, dim), nn.GELU(approximate="tanh")
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time_dim, 2 * dim))
        self.norm = nn.LayerNorm(dim, elementwise_affine=False)

    def forward(self, x, emb):
        scale, shift = self.time(emb).chunk(2, dim=-1)
        return x + self.act(self.ff(self.norm(x) * (1 + scale) + shift))


class Denoiser(nn.Module):
    def __init__(self, dim=32, layers=2):
        super().__init__()
        self.embed = SinusoidalEmbedding(16)
        self.inp, self.out = nn.Linear(2, dim), nn.Linear(dim, 2)
        self.blocks = nn.ModuleList(Block(dim, 16) for _ in range(layers))

    def forward(self, x, t):
        emb, x = self.embed(t), self.inp(x)
        for block in self.blocks:
            x = block(x, emb)
        return self.out(x)


class Diffusion(nn.Module):
    def __init__(self, model, timesteps=20):
        super().__init__()
        self.model, self.timesteps = model, timesteps
        betas = torch.linspace(1e-4**0.5, 0.2**0.5, timesteps) ** 2
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, axis=0)
        self.register_buffer("betas", betas, persistent=False)
        self.register_buffer("alphas_cumprod", alphas_cumprod)
        self.register_buffer("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        self.register_buffer("sqrt_one_minus", torch.sqrt(1.0 - alphas_cumprod))

    def extract(self, a, t, shape):
        return a.gather(-1, t).reshape(t.shape[0], *((1,) * (len(shape) - 1)))

    def loss(self, x):
        t = torch.randint(0, self.timesteps, (x.shape[0],), device=x.device).long()
        noise = torch.randn_like(x)
        noisy = (
            self.extract(self.sqrt_alphas_cumprod, t, x.shape) * x
            + self.extract(self.sqrt_one_minus, t, x.shape) * noise
        )
        return F.smooth_l1_loss(self.model(noisy, t), noise)

    @torch.inference_mode()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.timesteps)):
            t = torch.full((n,), i, dtype=torch.long)
            beta = self.betas[i]
            mean = (x - beta / self.sqrt_one_minus[i] * self.model(x, t)) * (1 - beta).rsqrt()
            x = mean if i == 0 else mean + beta.sqrt() * torch.randn_like(x)
        return x


@torch.no_grad()
def update_ema(ema_model, model, decay=0.9):
    ema_params, model_params = dict(ema_model.named_parameters()), dict(model.named_parameters())
    for name, param in model_params.items():
        ema_params[name].mul_(decay).add_(param.data, alpha=1 - decay)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    diffusion = Diffusion(Denoiser())
    ema = copy.deepcopy(diffusion).requires_grad_(False)
    opt = torch.optim.AdamW(diffusion.parameters(), lr=2e-3, weight_decay=0.0)
    for step in range(args.steps):
        angle = torch.rand(64) * 2 * math.pi
        x = torch.stack([angle.cos(), angle.sin()], dim=-1) + 0.05 * torch.randn(64, 2)
        loss = diffusion.loss(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_ema(ema, diffusion)
        print(f"step {step} loss {loss.item():.17g}")
    sample = ema.eval().sample(32)
    print(sample.shape, f"{sample.norm(dim=-1).mean().item():.4f}")


if __name__ == "__main__":
    main()
