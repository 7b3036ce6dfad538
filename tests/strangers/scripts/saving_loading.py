import torch, torch.nn as nn, torch.optim as optim, io, copy, collections

torch.manual_seed(0)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.bn = nn.BatchNorm2d(2)
        self.fc = nn.Linear(2, 2)

    def forward(self, x):
        return self.fc(self.bn(self.conv(x)).mean((2, 3)))


m = M()
opt = optim.SGD(m.parameters(), lr=0.001, momentum=0.9)
m(torch.randn(2, 1, 4, 4)).sum().backward()
opt.step()
print("Model's state_dict:")
for p in m.state_dict():
    print(p, "\t", m.state_dict()[p].size())
print("Optimizer's state_dict:")
for v in opt.state_dict():
    print(v, "\t", list(opt.state_dict()[v]) if v == "state" else {k: x for k, x in opt.state_dict()[v][0].items()})
torch.save(
    {"epoch": 5, "model_state_dict": m.state_dict(), "optimizer_state_dict": opt.state_dict(), "loss": 0.4}, "ck.tar"
)
ck = torch.load("ck.tar", weights_only=True)
m2 = M()
print(m2.load_state_dict(ck["model_state_dict"]))
o2 = optim.SGD(m2.parameters(), lr=0.1)
o2.load_state_dict(ck["optimizer_state_dict"])
print(o2, ck["epoch"])
for bad in (
    {"fc.weight": torch.ones(3, 3)},
    collections.OrderedDict(list(m.state_dict().items())[1:] + [("extra", torch.ones(1))]),
):
    try:
        m2.load_state_dict(bad)
    except RuntimeError as e:
        print(e)
print(m2.load_state_dict({"fc.bias": torch.zeros(2), "zzz": torch.ones(1)}, strict=False))
b = io.BytesIO()
torch.save(m.state_dict(), b)
b.seek(0)
sd = torch.load(b, map_location=torch.device("cpu"))
print(sd["bn.num_batches_tracked"], list(sd)[:3], sd._metadata["bn"] if hasattr(sd, "_metadata") else None)
torch.save(m, "m.pt")
try:
    torch.load("m.pt")
except Exception as e:
    print(type(e).__name__)
m3 = torch.load("m.pt", weights_only=False)
m3.eval()
print(m3.training, m3.fc.weight.equal(m.fc.weight))
t = copy.deepcopy(m)
t.fc.bias.data.zero_()
print(m.fc.bias.sum() != 0)
from collections import OrderedDict

sched = optim.lr_scheduler.CosineAnnealingLR(opt, 10)
sched.step()
print(sched.state_dict())
print({k: v.shape for k, v in nn.Linear(2, 2).state_dict(prefix="a.").items()})
m.register_buffer("tmp", torch.zeros(1), persistent=False)
print("tmp" in m.state_dict(), dict(m.named_buffers()).keys())
m.load_state_dict(m.state_dict(), assign=True)
x = torch.arange(4.0)
torch.save([x, x[1:]], "v.pt")
u, v = torch.load("v.pt")
u[1] = 9
print(v)
torch.save((1, "a", None, {2: torch.Size([1])}, torch.float32, torch.device("cpu")), "odd.pt")
print(torch.load("odd.pt"))
