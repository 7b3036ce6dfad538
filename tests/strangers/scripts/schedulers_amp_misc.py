import torch, torch.nn as nn, torch.nn.functional as F, math
from torch.optim import lr_scheduler as L

torch.manual_seed(0)


def run(make, n=6):
    o = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    s = make(o)
    out = []
    for i in range(n):
        o.step()
        s.step(*([1.0] if isinstance(s, L.ReduceLROnPlateau) else []))
        out.append(round(o.param_groups[0]["lr"], 6))
    return out


for n, f in dict(
    step=lambda o: L.StepLR(o, 2, 0.5),
    multi=lambda o: L.MultiStepLR(o, [2, 4]),
    exp=lambda o: L.ExponentialLR(o, 0.9),
    cos=lambda o: L.CosineAnnealingLR(o, 5),
    warm=lambda o: L.CosineAnnealingWarmRestarts(o, 3),
    lam=lambda o: L.LambdaLR(o, lambda e: 0.95**e),
    mult=lambda o: L.MultiplicativeLR(o, lambda e: 0.9),
    lin=lambda o: L.LinearLR(o, total_iters=4),
    const=lambda o: L.ConstantLR(o, total_iters=2),
    poly=lambda o: L.PolynomialLR(o, total_iters=4, power=2),
    cyc=lambda o: L.CyclicLR(o, 0.01, 0.1, step_size_up=2, cycle_momentum=False),
    one=lambda o: L.OneCycleLR(o, 0.5, total_steps=8, cycle_momentum=False),
    plat=lambda o: L.ReduceLROnPlateau(o, patience=1, factor=0.5),
    seq=lambda o: L.SequentialLR(o, [L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)], [2]),
    chain=lambda o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)]),
).items():
    print(n, run(f))
m = nn.Sequential(nn.LazyLinear(8), nn.LazyBatchNorm1d(), nn.ReLU(), nn.LazyLinear(2))
print(m)
m(torch.randn(4, 5))
print(m)
scaler = torch.amp.GradScaler("cpu", enabled=True)
opt = torch.optim.AdamW(m.parameters())
with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
    out = m(torch.randn(4, 5))
    loss = out.float().pow(2).mean()
print(out.dtype, loss.dtype)
scaler.scale(loss).backward()
scaler.step(opt)
scaler.update()
print(scaler.get_scale())
avg = torch.optim.swa_utils.AveragedModel(m)
avg.update_parameters(m)
print(avg.n_averaged, torch.optim.swa_utils.get_ema_multi_avg_fn(0.9) is not None)
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

x = torch.randn(4, 5, requires_grad=True)
checkpoint(m, x, use_reentrant=False).sum().backward()
print(x.grad.shape)
print(checkpoint_sequential(m, 2, x, use_reentrant=False).shape)
from torch.profiler import profile, record_function, ProfilerActivity

with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    with record_function("model_inference"):
        m(torch.randn(4, 5))
print("model_inference" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=10))
import torch.utils.benchmark as benchmark

print(type(benchmark.Timer(stmt="x + 1", globals={"x": torch.ones(2)}).timeit(3)).__name__)
print(
    torch.nn.utils.parameters_to_vector(nn.Linear(2, 1).parameters()).shape,
    sum(p.numel() for p in m.parameters() if p.requires_grad),
)
torch.set_printoptions(precision=2, sci_mode=False)
print(torch.tensor([1.23456, 1e-8]))
torch.set_printoptions(profile="default")


class Grad(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)])
        self.d = nn.ParameterDict({"a": nn.Parameter(torch.zeros(1))})
        self.md = nn.ModuleDict({"x": nn.Identity()})


print(Grad(), [n for n, _ in Grad().named_parameters()], Grad().get_parameter("d.a"))
s = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
s.append(nn.Tanh())
s.insert(1, nn.Dropout(0.2))
del s[0]
print(s, s[-1], len(s), [type(c).__name__ for c in s.children()])
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0), 2)
print(
    enc(torch.ones(1, 3, 8), mask=nn.Transformer.generate_square_subsequent_mask(3), is_causal=True).shape,
    enc.layers[0].self_attn,
)
print(
    torch.jit.is_scripting(),
    torch.is_grad_enabled(),
    torch.get_default_dtype(),
    torch.backends.mps.is_available(),
    torch.cuda.device_count(),
)
try:
    torch.ones(2).cuda()
except Exception as e:
    print(type(e).__name__, str(e)[:36])
try:
    nn.Linear(2, 3)(torch.ones(1, 4))
except Exception as e:
    print(type(e).__name__, e)
try:
    nn.CrossEntropyLoss()(torch.ones(2, 3), torch.tensor([0, 5]))
except Exception as e:
    print(type(e).__name__, e)
try:
    F.conv2d(torch.ones(1, 2, 4, 4), torch.ones(1, 3, 2, 2))
except Exception as e:
    print(type(e).__name__, e)
