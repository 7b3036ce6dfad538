import torch, functools

HANDLED = {}


def implements(f):
    def d(g):
        functools.update_wrapper(g, f)
        HANDLED[f] = g
        return g

    return d


class ScalarTensor:
    def __init__(self, N, value):
        self._N = N
        self._value = value

    def __repr__(self):
        return f"ScalarTensor(N={self._N}, value={self._value})"

    def tensor(self):
        return self._value * torch.eye(self._N)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if kwargs is None:
            kwargs = {}
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **kwargs)


def ensure(d):
    return d if isinstance(d, torch.Tensor) else d.tensor()


@implements(torch.add)
def add(a, b):
    try:
        if a._N == b._N:
            return ScalarTensor(a._N, a._value + b._value)
    except AttributeError:
        return torch.add(ensure(a), ensure(b))


@implements(torch.mean)
def mean(a):
    return float(a._value) / a._N


@implements(torch.matmul)
def mmm(a, b):
    return torch.matmul(ensure(a), ensure(b))


@implements(torch.stack)
def st(ts, dim=0):
    return torch.stack([ensure(t) for t in ts], dim)


d = ScalarTensor(5, 2)
print(torch.mean(d))
print(torch.add(d, d))
t = torch.ones(5, 5)
print(torch.add(d, t))
print(torch.add(t, d))
print(torch.matmul(t, d))
print(torch.stack([d, t]).shape)
try:
    torch.mul(t, d)
except TypeError as e:
    print(e)


class MetadataTensor:
    def __init__(self, data, metadata=None, **kw):
        self._t = torch.as_tensor(data, **kw)
        self._metadata = metadata

    def __repr__(self):
        return f"Metadata:\n{self._metadata}\n\ndata:\n{self._t}"

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        metadatas = tuple(a._metadata for a in args if hasattr(a, "_metadata"))
        args = [getattr(a, "_t", a) for a in args]
        assert len(metadatas) > 0
        ret = func(*args, **kwargs)
        return MetadataTensor(ret, metadata=metadatas[0])


m = MetadataTensor([[1], [2]], metadata={"owner": "M"})
t = torch.tensor([[1, 2], [1, 2]])
print(torch.add(t, m))
print(torch.mul(t, m))
print(torch.nn.functional.relu(m))


class LoggingTensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is not torch.Tensor.__repr__:
            print(f"func: {func.__name__}, args: {args!r}, kwargs: {kwargs!r}")
        if kwargs is None:
            kwargs = {}
        return super().__torch_function__(func, types, args, kwargs)


class SubTensor(torch.Tensor):
    pass


print(type(torch.add(SubTensor([0]), SubTensor([1]))).__name__)
print(type(torch.add(SubTensor([0]), torch.tensor([1]))).__name__)


class SubSub(SubTensor):
    pass


class Other(torch.Tensor):
    pass


print(type(torch.add(SubTensor([0]), SubSub([1]))).__name__)
try:
    torch.add(SubTensor([0.0]), Other([1.0]))
except TypeError as e:
    print(e)
x = SubTensor([1.0, 2.0])
x.requires_grad_()
y = (x**2).sum()
print(type(y).__name__, y)
y.backward()
print(x.grad, type(x.grad).__name__)
print(x, x.max(0), x.tolist(), x.shape, repr(x.detach()))
import copy, pickle, io

x.detach_()
print(type(copy.copy(x)).__name__)
p = torch.nn.Parameter(SubTensor([3.0]))
print(type(p).__name__, isinstance(p, torch.nn.Parameter), p)
lin = torch.nn.Linear(2, 1)
lin.weight.data.fill_(0.5)
lin.bias.data.zero_()
print(lin(x.detach()))
from torch.overrides import TorchFunctionMode, has_torch_function


class Log(TorchFunctionMode):
    def __init__(self):
        self.n = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.n.append(torch.overrides.resolve_name(func).rpartition(".")[2])
        return func(*args, **(kwargs or {}))


with Log() as l:
    a = torch.zeros(3)
    b = a + 1
    c = torch.exp(b).sum()
    torch.nn.functional.softmax(b, 0)
    b.shape
print(l.n)
print(has_torch_function((x,)), has_torch_function((torch.ones(1),)))
with torch._C.DisableTorchFunctionSubclass():
    print(type(x.detach() * 2).__name__, has_torch_function((x,)))


class Meta(torch.Tensor):
    @staticmethod
    def __new__(cls, x, meta, *a, **k):
        return super().__new__(cls, x, *a, **k)

    def __init__(self, x, meta):
        self.meta = meta

    def clone(self, *a, **k):
        return Meta(super().clone(*a, **k), self.meta)

    def to(self, *a, **k):
        new = Meta([], self.meta)
        t = super().to(*a, **k)
        new.data = t.data
        new.requires_grad = t.requires_grad
        return new


q = Meta(torch.arange(3.0), "hello")
print(
    q.meta, q.clone().meta, q.to(torch.float64), q.to(torch.float64).meta, type(q + 1).__name__, hasattr(q + 1, "meta")
)
f = LoggingTensor([1.0, 2.0])
g = f + 1
g.mean()
print(torch.cat([f, g]))
for n in ("torch.add", "torch.Tensor.add"):
    print(callable(eval(n)))
print(
    torch.overrides.is_tensor_like(d),
    torch.overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__),
    torch.overrides.resolve_name(torch.Tensor.shape.__get__),
)


class V(torch.Tensor):
    @property
    def norm2(self):
        return self.pow(2).sum()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, V):
            out.tag = func.__name__
        return out


v = torch.ones(3).as_subclass(V)
print(v.norm2, (v * 2).tag, v[1:].tag)
for r in v:
    print(type(r).__name__, r)
a, b = v.split([1, 2])
print(type(a).__name__, b)
print(sum(v), max(v), float(v[0]), f"{v}")
buf = io.BytesIO()
torch.save({"v": x.detach()}, buf)
