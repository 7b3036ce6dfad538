import torch, torch.nn as nn

torch.manual_seed(0)
x = torch.randn(5, 2, 3)
for kind, fn in (("LSTM", torch.lstm), ("GRU", torch.gru), ("RNN", torch.rnn_tanh)):
    for bi in (False, True):
        m = getattr(nn, kind)(3, 4, 2, bidirectional=bi)
        h = torch.randn(2 * (1 + bi), 2, 4)
        hx = (h, h) if kind == "LSTM" else h
        want = m(x, hx)
        got = fn(x, hx, list(m.parameters()), True, 2, 0.0, False, bi, False)
        print(kind, bi, torch.allclose(want[0], got[0], atol=1e-6), len(got), got[1].shape, got[0].sum().item())
c = nn.LSTMCell(3, 4)
print(
    torch.lstm_cell(x[0], (torch.zeros(2, 4), torch.zeros(2, 4)), c.weight_ih, c.weight_hh, c.bias_ih, c.bias_hh)[0]
    .sum()
    .item()
)
c = nn.GRUCell(3, 4)
print(
    torch.gru_cell(x[0], torch.ones(2, 4), c.weight_ih, c.weight_hh, c.bias_ih, c.bias_hh).sum().item(),
    torch.rnn_relu_cell(x[0], torch.ones(2, 4), c.weight_ih[:4], c.weight_hh[:4]).sum().item(),
)
a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.zeros(3))
torch.utils.swap_tensors(a, b)
print(a, b)
(a * 2).sum().backward()
print(a.grad, b.grad, a.grad_dtype)
m1 = nn.Linear(2, 1, bias=False)
w = m1.weight
torch.utils.swap_tensors(w, nn.Parameter(torch.full((1, 2), 3.0)))
print(m1(torch.ones(1, 2)).item(), m1.weight is w)
from torch.utils.weak import WeakTensorKeyDictionary

d = WeakTensorKeyDictionary()
k = torch.ones(2)
d[k] = 5
print(d[k], len(d), k in d)
del k
print(len(d))
print(torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3))), torch.FloatStorage)
future = torch.__future__.get_swap_module_params_on_conversion()
print(future)
s = torch.nn.functional.interpolate(
    torch.arange(16.0).view(1, 1, 4, 4), scale_factor=2, mode="bicubic", align_corners=False
)
print(s[0, 0, 0, :3])
print(
    torch.functional.split(torch.arange(4), 2),
    torch.functional.norm(torch.ones(4)),
    torch.segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3])),
)

data = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
for r in ("sum", "mean", "max", "min", "prod"):
    out = torch.segment_reduce(data, r, lengths=torch.tensor([2, 0, 1]), initial=1.0 if r == "mean" else None)
    print(r, out.detach())
    data.grad = None
    torch.segment_reduce(data, r, lengths=torch.tensor([2, 1])).sum().backward()
    print(data.grad)
