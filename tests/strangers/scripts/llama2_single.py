import math, torch, torch.nn.functional as F
from dataclasses import dataclass
from typing import Any, Optional, Tuple
from torch import nn

torch.manual_seed(1337)


@dataclass
class ModelArgs:
    dim: int = 32
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: Optional[int] = 2
    vocab_size: int = 40
    hidden_dim: Optional[int] = None
    multiple_of: int = 8
    norm_eps: float = 1e-5
    max_seq_len: int = 16
    dropout: float = 0.0


class RMSNorm(torch.nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        output = self._norm(x.float()).type_as(x)
        return output * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    freqs = torch.outer(t, freqs).float()
    return torch.polar(torch.ones_like(freqs), freqs)


def reshape_for_broadcast(freqs_cis, x):
    ndim = x.ndim
    assert freqs_cis.shape == (x.shape[1], x.shape[-1])
    return freqs_cis.view([d if i == 1 or i == ndim - 1 else 1 for i, d in enumerate(x.shape)])


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    f = reshape_for_broadcast(freqs_cis, xq_)
    return torch.view_as_real(xq_ * f).flatten(3).type_as(xq), torch.view_as_real(xk_ * f).flatten(3).type_as(xk)


def repeat_kv(x, n_rep):
    bs, slen, n, hd = x.shape
    return x if n_rep == 1 else x[:, :, :, None, :].expand(bs, slen, n, n_rep, hd).reshape(bs, slen, n * n_rep, hd)


class Attention(nn.Module):
    def __init__(self, a: ModelArgs):
        super().__init__()
        self.nkv = a.n_heads if a.n_kv_heads is None else a.n_kv_heads
        self.nh = a.n_heads
        self.n_rep = self.nh // self.nkv
        self.hd = a.dim // a.n_heads
        self.wq = nn.Linear(a.dim, self.nh * self.hd, bias=False)
        self.wk = nn.Linear(a.dim, self.nkv * self.hd, bias=False)
        self.wv = nn.Linear(a.dim, self.nkv * self.hd, bias=False)
        self.wo = nn.Linear(self.nh * self.hd, a.dim, bias=False)
        self.flash = hasattr(torch.nn.functional, "scaled_dot_product_attention")
        mask = torch.full((1, 1, a.max_seq_len, a.max_seq_len), float("-inf"))
        mask = torch.triu(mask, diagonal=1)
        self.register_buffer("mask", mask, persistent=False)
        self.cache_k = self.cache_v = None

    def forward(self, x, freqs, start_pos=None):
        b, s, _ = x.shape
        q, k, v = (
            self.wq(x).view(b, s, self.nh, self.hd),
            self.wk(x).view(b, s, self.nkv, self.hd),
            self.wv(x).view(b, s, self.nkv, self.hd),
        )
        q, k = apply_rotary_emb(q, k, freqs)
        if start_pos is not None:
            if self.cache_k is None:
                self.cache_k = torch.zeros(b, 16, self.nkv, self.hd)
                self.cache_v = torch.zeros_like(self.cache_k)
            self.cache_k[:b, start_pos : start_pos + s] = k
            self.cache_v[:b, start_pos : start_pos + s] = v
            k, v = self.cache_k[:b, : start_pos + s], self.cache_v[:b, : start_pos + s]
        k, v = repeat_kv(k, self.n_rep), repeat_kv(v, self.n_rep)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        if self.flash and start_pos is None:
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=True)
        else:
            scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.hd)
            scores = scores + self.mask[:, :, start_pos : start_pos + s, : k.size(2)]
            out = torch.matmul(F.softmax(scores.float(), dim=-1).type_as(q), v)
        return self.wo(out.transpose(1, 2).contiguous().view(b, s, -1))


class FeedForward(nn.Module):
    def __init__(self, dim, hidden, multiple_of):
        super().__init__()
        hidden = int(2 * (4 * dim) / 3)
        hidden = multiple_of * ((hidden + multiple_of - 1) // multiple_of)
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.attention = Attention(a)
        self.feed_forward = FeedForward(a.dim, a.hidden_dim, a.multiple_of)
        self.attention_norm = RMSNorm(a.dim, a.norm_eps)
        self.ffn_norm = RMSNorm(a.dim, a.norm_eps)

    def forward(self, x, f, sp=None):
        h = x + self.attention(self.attention_norm(x), f, sp)
        return h + self.feed_forward(self.ffn_norm(h))


class Transformer(nn.Module):
    last_loss: Optional[torch.Tensor]

    def __init__(self, p):
        super().__init__()
        self.params = p
        self.tok_embeddings = nn.Embedding(p.vocab_size, p.dim)
        self.layers = torch.nn.ModuleList([Block(p) for _ in range(p.n_layers)])
        self.norm = RMSNorm(p.dim, eps=p.norm_eps)
        self.output = nn.Linear(p.dim, p.vocab_size, bias=False)
        self.tok_embeddings.weight = self.output.weight
        self.freqs_cis = precompute_freqs_cis(p.dim // p.n_heads, p.max_seq_len)
        self.apply(self._init_weights)
        for pn, pp in self.named_parameters():
            if pn.endswith("w3.weight") or pn.endswith("wo.weight"):
                torch.nn.init.normal_(pp, mean=0.0, std=0.02 / math.sqrt(2 * p.n_layers))

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)
        elif isinstance(m, nn.Embedding):
            torch.nn.init.normal_(m.weight, mean=0.0, std=0.02)

    def forward(self, tokens, targets=None, start_pos=None):
        b, s = tokens.shape
        h = self.tok_embeddings(tokens)
        sp = start_pos or 0
        f = self.freqs_cis[sp : sp + s]
        for l in self.layers:
            h = l(h, f, start_pos)
        h = self.norm(h)
        if targets is not None:
            logits = self.output(h)
            self.last_loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1), ignore_index=-1)
            return logits
        return self.output(h[:, [-1], :])

    def configure_optimizers(self, weight_decay, learning_rate, betas):
        param_dict = {pn: p for pn, p in self.named_parameters() if p.requires_grad}
        decay = [p for n, p in param_dict.items() if p.dim() >= 2]
        nodecay = [p for n, p in param_dict.items() if p.dim() < 2]
        print(f"num decayed parameter tensors: {len(decay)}, with {sum(p.numel() for p in decay):,} parameters")
        import inspect

        fused_available = "fused" in inspect.signature(torch.optim.AdamW).parameters
        print(fused_available)
        return torch.optim.AdamW(
            [{"params": decay, "weight_decay": weight_decay}, {"params": nodecay, "weight_decay": 0.0}],
            lr=learning_rate,
            betas=betas,
        )

    @torch.inference_mode()
    def generate(self, idx, n, temperature=1.0, top_k=None):
        for _ in range(n):
            cond = idx if idx.size(1) <= self.params.max_seq_len else idx[:, -self.params.max_seq_len :]
            logits = self(cond)[:, -1, :]
            if temperature == 0.0:
                _, nxt = torch.topk(logits, k=1, dim=-1)
            else:
                logits = logits / temperature
                if top_k is not None:
                    v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                    logits[logits < v[:, [-1]]] = -float("Inf")
                nxt = torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)
            idx = torch.cat((idx, nxt), dim=1)
        return idx


m = Transformer(ModelArgs())
opt = m.configure_optimizers(0.1, 1e-2, (0.9, 0.95))
x = torch.randint(0, 40, (4, 17))
for it in range(6):
    m(x[:, :-1], x[:, 1:])
    m.last_loss.backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
    opt.zero_grad(set_to_none=True)
    print(it, m.last_loss.item())
m.eval()
print(m.generate(x[:1, :3], 6, temperature=0.0))
print(m.generate(x[:1, :3], 6, temperature=0.8, top_k=5))
with torch.no_grad():
    full = m(x[:1, :5])
    pre = m(x[:1, :4], start_pos=0)
    step = m(x[:1, 4:5], start_pos=4)
    print(torch.allclose(full, step, atol=1e-5), m.freqs_cis[:2])
