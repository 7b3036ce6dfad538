import torch, numpy as np, math, operator, copy, pickle, collections
from pprint import pprint

t = torch.tensor([3.0, 1.0, 2.0])
s = torch.tensor(2.5)
i = torch.tensor(7)
print(len(t), bool(s), float(s), int(i), complex(s), torch.round(torch.tensor(2.567), decimals=1))
print(i // 2, i % 4, -i // 2, i**2, 2**i, 7 // i, 7.5 % s, abs(-t), ~i, i << 1, i >> 1, i & 3, i | 8, i ^ 1)
print(
    sum([s, s, s]),
    max(s, torch.tensor(9.0)),
    min(t),
    sorted(t),
    sorted([s, i.float(), torch.tensor(-1.0)]),
    list(reversed(t)),
)
print(3.0 in t, 5 in t, torch.tensor(1.0) in t, [s] == [s], s == 2.5, s is s, t.tolist(), s.item())
print(
    f"{s:.4f} {i:d} {i:05d} {s:>10.2f} {s:e} {t}",
    "%.3f %d %s" % (s, i, s),
    "{:.2f} {}".format(s, t),
    f"{s}",
    str(i),
    repr(i),
    f"{t[0]:.1f}",
)
print(
    [10, 20, 30][torch.tensor(1)],
    range(10)[torch.tensor(3)],
    list(range(torch.tensor(3))),
    "abc" * torch.tensor(2),
    np.arange(5)[torch.tensor(2)],
    np.zeros(3)[torch.tensor([0, 2])],
)
print(
    np.asarray(t),
    np.array(t),
    np.sqrt(t),
    np.sum(t.numpy()),
    np.mean(t.numpy()),
    t.numpy() + 1,
    np.add(t, 1),
    type(np.multiply(t, 2)),
    t * np.array([1.0, 2.0, 3.0]),
    np.float32(2) * t,
    t * np.float64(2),
    np.float64(2) + s,
)
x = t.clone().requires_grad_()
for f in (
    lambda: x.numpy(),
    lambda: np.asarray(x),
    lambda: bool(t),
    lambda: len(s),
    lambda: int(t),
    lambda: t.item(),
    lambda: iter(s).__next__(),
    lambda: [1][s],
    lambda: f"{t:.2f}",
    lambda: t[5],
    lambda: t + "a",
    lambda: "a" + t,
    lambda: torch.tensor("a"),
    lambda: t.foo,
    lambda: torch.foo,
    lambda: t.view(2, 2),
    lambda: torch.zeros(-1),
    lambda: hash([t]),
    lambda: t @ torch.ones(4),
    lambda: torch.cat([t, torch.ones(1, 1)]),
    lambda: torch.stack([t, s]),
    lambda: t.backward(),
    lambda: (t > 1) + 0.5 and None or x.sum().backward() or (x * 1).backward(),
    lambda: np.array(x),
    lambda: t < None,
):
    try:
        print("->", f())
    except Exception as e:
        print(type(e).__name__, str(e).splitlines()[0])
n = t.numpy()
n[0] = 42.0
print(
    t,
    t.data_ptr() == torch.from_numpy(n).data_ptr(),
    torch.as_tensor(n).data_ptr() == t.data_ptr(),
    torch.tensor(n).data_ptr() == t.data_ptr(),
)
d = {t: 1, s: 2}
print(d[t], t in d, len({t, t, s}), hash(t) == id(t))
a, b, c = t
print(a, b, c)
first, *rest = t
print(rest)
print([float(v) for v in t], [v.item() for v in t], dict(zip("abc", t)), dict(enumerate(t)))
for row in torch.arange(4).view(2, 2):
    print(row, row.shape)
print(
    math.sqrt(s),
    math.floor(s),
    math.ceil(s),
    math.isnan(s),
    math.exp(i),
    operator.index(i),
    isinstance(s, collections.abc.Hashable),
    isinstance(t, collections.abc.Iterable),
    isinstance(t, collections.abc.Sized),
)
print(s > 2, s > i, 3 > s, t > 1, (t > 1).any(), all(t > 0), any(t > 100), not s, s and i, s or i)
print(copy.copy(t), copy.deepcopy(t) is t, pickle.loads(pickle.dumps(t)), pickle.loads(pickle.dumps(x)))
print(
    torch.Size([2, 3]),
    torch.Size([2, 3]) + (4,),
    torch.Size([2, 3])[0],
    torch.Size([2, 3]).numel(),
    torch.Size([2, 3]) == (2, 3),
    list(torch.Size([2])),
    tuple(t.shape),
    torch.Size([1, 2, 3])[1:],
    (1,) + torch.Size([2]),
    t.shape[0] * 2,
    torch.Size([2]) * 2,
)
pprint({"a": t, "b": [s, i], "shape": t.shape})
print({"w": torch.zeros(2, 2)}, [torch.ones(1)], (t,))
m = t.max(0)
print(m, m.values, m.indices, m[0], tuple(m))
v, idx = torch.sort(t)
print(v, idx)
print(torch.unique(torch.tensor([1, 2, 2]), return_counts=True))
u = torch.tensor([[1, 2], [3, 4]])
print(
    u[0, 1].item(),
    u[:, 1],
    u[u > 2],
    u[[0, 1], [1, 0]],
    u[..., None].shape,
    u[torch.tensor([True, False])],
    u.T,
    u.t(),
    u[-1],
    u[::1, 1:],
)
u[0] = 9
u[:, 1] += 1
u[u > 9] = 0
print(u)
del u
print(
    torch.from_dlpack(np.arange(3)),
    np.from_dlpack(torch.arange(3.0)),
    torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.ones(2))),
)
print(
    torch.tensor([1, 2.0]),
    torch.tensor([True, False]),
    torch.tensor([1 + 2j]),
    torch.tensor([[]]),
    torch.tensor([np.float32(1), np.float32(2)]),
    torch.tensor(np.array([1, 2])),
    torch.tensor([torch.tensor(1), torch.tensor(2)]),
    torch.tensor(range(3)),
    torch.tensor((1, (2))),
)
