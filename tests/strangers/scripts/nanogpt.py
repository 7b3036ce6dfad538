import math, inspect, torch, torch.nn as nn
from contextlib import nullcontext
from torch.nn import functional as F

torch.manual_seed(1337)
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.allow_tf32 = True
device_type = "cpu"
dtype = "bfloat16" if torch.cuda.is_available() and torch.cuda.is_bf16_supported() else "float32"
ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[dtype]
ctx = nullcontext() if device_type == "cpu" else torch.amp.autocast(device_type=device_type, dtype=ptdtype)


class LayerNorm(nn.Module):
    def __init__(self, ndim, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block, dropout, bias):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=bias)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)
        self.resid_dropout = nn.Dropout(dropout)
        self.n_head = n_head
        self.n_embd = n_embd
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class MLP(nn.Module):
    def __init__(self, n, bias, dropout):
        super().__init__()
        self.c_fc = nn.Linear(n, 4 * n, bias=bias)
        self.gelu = nn.GELU()
        self.c_proj = nn.Linear(4 * n, n, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(self.gelu(self.c_fc(x))))


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.ln_1 = LayerNorm(n, False)
        self.attn = CausalSelfAttention(n, 4, 16, 0.1, False)
        self.ln_2 = LayerNorm(n, False)
        self.mlp = MLP(n, False, 0.1)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(30, 32),
                wpe=nn.Embedding(16, 32),
                drop=nn.Dropout(0.1),
                h=nn.ModuleList([Block(32) for _ in range(2)]),
                ln_f=LayerNorm(32, bias=False),
            )
        )
        self.lm_head = nn.Linear(32, 30, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(4))
        print("number of parameters: %.4fM" % (sum(p.numel() for p in self.parameters()) / 1e6,))

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is not None:
            logits = self.lm_head(x)
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        else:
            logits = self.lm_head(x[:, [-1], :])
            loss = None
        return logits, loss


model = GPT()
scaler = torch.cuda.amp.GradScaler(enabled=(dtype == "float16"))
unoptimized = model
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
data = torch.randint(0, 30, (500,))


def get_batch():
    ix = torch.randint(len(data) - 16, (4,))
    return torch.stack([data[i : i + 16] for i in ix]), torch.stack([data[i + 1 : i + 17] for i in ix])


def get_lr(it, warmup=2, total=10, lr=1e-3):
    if it < warmup:
        return lr * it / warmup
    ratio = (it - warmup) / (total - warmup)
    return 1e-4 + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (lr - 1e-4)


for it in range(6):
    for g in optimizer.param_groups:
        g["lr"] = get_lr(it)
    for micro in range(2):
        X, Y = get_batch()
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {it}: loss {loss.item() * 2:.4f}, norm {norm:.4f}")
checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iter_num": 6, "config": {"a": 1}}
torch.save(checkpoint, "ckpt.pt")
ck = torch.load("ckpt.pt", map_location="cpu")
sd = ck["model"]
for k, v in list(sd.items()):
    if k.startswith("_orig_mod."):
        sd[k[10:]] = sd.pop(k)
print(model.load_state_dict(sd), list(sd)[:4])
optimizer.load_state_dict(ck["optimizer"])
print(model)
