"""Nested tensors in the jagged layout, as PyTorch has them."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import pytest

import penlight
from penlight import _torch_function
from penlight.autograd import gradcheck, gradgradcheck

F = penlight.nn.functional


@pytest.fixture(autouse=True)
def _asleep():
    """Leave other tests the functions as they are without subclasses."""
    yield
    _torch_function.deactivate()


def described(value):
    """A value without the numbers of ragged sizes, which count all tensors of the process."""
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(described, value)) + "]"
    if getattr(value, "is_nested", False):
        seen = tuple(value.shape), value.stride(), value.dtype, value.is_contiguous(), value.offsets().tolist()
        lengths = None if value.lengths() is None else value.lengths().tolist()
        return re.sub(r"j\d+", "j", f"{seen} {lengths} {described(value.values().detach())}").replace(
            "penlight", "torch"
        )
    return re.sub(r"j\d+", "j", str(value)).replace("penlight", "torch")


def tell(say, ask):
    """What a question gives or raises; of an error PyTorch's words, without the advice that follows them here."""
    try:
        answer = described(ask())
    except Exception as error:
        words = re.split(r"\. (?:Use|Nested tensors can|Penlight has)|: nested tensors do not|\.default", str(error))[0]
        answer = f"{type(error).__name__}: {described(words.removesuffix('.'))}"
    say(answer)


def some(torch, *lengths, tail=(4,), **options):
    parts = [torch.arange(n * torch.Size(tail).numel() * 1.0).view(n, *tail).sin() + n for n in lengths]
    return torch.nested.nested_tensor(parts, layout=torch.jagged, **options)


def gappy(torch):
    """One whose components do not follow each other closely."""
    values, lengths = torch.arange(24.0).view(6, 4), torch.tensor([1, 3])
    return torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 6]), lengths)


def test_they_describe_themselves(same):
    def program(torch, say):
        facts = "dim() ndim numel() len() layout is_nested dtype device requires_grad is_leaf grad_fn size(0) size(-1) element_size() nbytes type() grad"
        for x in (
            some(torch, 2, 3),
            some(torch, 2, 3, tail=(2, 4)).transpose(1, 2),
            gappy(torch),
            some(torch, 1, 2, tail=()),
        ):
            for fact in facts.split():
                tell(say, lambda x=x, fact=fact: len(x) if fact == "len()" else eval("x." + fact, {"x": x}))
            say(re.sub(r"j\d+", "j", repr(x)))
            tell(say, lambda x=x: x)
            tell(say, lambda x=x: x.unbind())
            tell(say, lambda x=x: [x.double(), x.to(torch.int32), x.to("cpu"), x.clone(), x.detach(), x.contiguous()])
            tell(say, lambda x=x: x.size(7))
            tell(say, lambda x=x: x.unbind(1))
        x = some(torch, 2, 3, requires_grad=True)
        say(x.requires_grad, x.is_leaf, x.to(x.dtype) is x, x.contiguous() is x)
        say(*(re.sub(r"j\d+", "j", str(y)) for y in (x, x * 2, x.values(), x.detach())))

    same(program)


def test_ragged_sizes(same):
    def program(torch, say):
        x, y = some(torch, 2, 3), some(torch, 2, 3)
        again = torch.nested.nested_tensor_from_jagged(torch.zeros(5), x.offsets())
        j = x.shape[1]
        say(
            j == x.size(1),
            j == again.shape[1],
            j == y.shape[1],
            j == 3,
            j != 3,
            x.shape == (x * 2).shape,
            isinstance(j, torch.SymInt),
        )
        say(j > 1, j >= 2, j < 2, j <= 1, bool(j), hash(j) == hash(again.shape[1]), isinstance(j, int))
        for ask in (lambda: j * 2, lambda: 3 * j, lambda: j >= 3, lambda: j > 2, lambda: j < 7, lambda: j < y.shape[1]):
            tell(say, ask)

    same(program)


def test_making_them(same):
    def program(torch, say):
        nested, jagged = torch.nested, torch.jagged
        a, b = torch.ones(2, 3), torch.zeros(4, 3)
        for data in ([a, b], (a, b), torch.ones(2, 3, 2), [[1, 2], [3]], [torch.ones(3, 2), torch.zeros(3, 5)], [a, a], [a, torch.ones(0, 3)],
                     [], [torch.tensor(1.0)], [a, torch.ones(2)], [a, torch.ones(3, 5)], [a, b.int()], [3, 4]):  # fmt: skip
            tell(say, lambda data=data: nested.nested_tensor(data, layout=jagged))
            tell(say, lambda data=data: nested.as_nested_tensor(data, layout=jagged))
        tell(say, lambda: nested.nested_tensor([a, b], layout=jagged, dtype=torch.int32))
        tell(say, lambda: nested.nested_tensor([a], layout=torch.sparse_coo))
        tell(say, lambda: nested.nested_tensor([torch.tensor([1])], layout=jagged, requires_grad=True))
        tell(say, lambda: nested.as_nested_tensor(some(torch, 2), layout=jagged, dtype=torch.float32))
        tell(say, lambda: nested.as_nested_tensor(some(torch, 2)))
        tell(say, lambda: nested.as_nested_tensor(torch.ones(2), layout=jagged))
        values, offsets = torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 5])
        for options in (
            dict(), dict(offsets=offsets), dict(lengths=torch.tensor([4, 1])), dict(offsets=offsets, lengths=torch.tensor([1, 2])),
            dict(offsets=offsets.int()), dict(offsets=offsets, jagged_dim=0), dict(offsets=offsets.view(1, 3)),
            dict(offsets=offsets, lengths=torch.tensor([1])),
        ):  # fmt: skip
            tell(say, lambda options=options: nested.nested_tensor_from_jagged(values, **options))
        tell(say, lambda: nested.nested_tensor_from_jagged(values.t(), offsets, jagged_dim=2))
        tell(
            say,
            lambda: nested.nested_tensor_from_jagged(values, offsets, min_seqlen=1, max_seqlen=4).to_padded_tensor(0.0),
        )
        dense = torch.arange(20.0).view(2, 5, 2)
        for start, length in (
            (0, 3),
            (torch.tensor([0, 1]), torch.tensor([3, 2])),
            (1, torch.tensor([0, 4])),
            (0, torch.tensor([1, 2, 3])),
        ):
            tell(say, lambda start=start, length=length: nested.narrow(dense, 1, start, length, layout=jagged))
        tell(say, lambda: nested.narrow(dense, 2, 0, 1, layout=jagged))
        tell(say, lambda: nested.narrow(dense, 1, 0, torch.tensor([1, 2])))
        for mask in (dense[..., 0] > 4, torch.tensor([True, False, True, True, False]), dense[..., 0]):
            tell(say, lambda mask=mask: nested.masked_select(dense[..., 1], mask))
        tell(say, lambda: nested.masked_select(dense, dense > 3))

    same(program)


def test_padding(same):
    def program(torch, say):
        x = some(torch, 2, 3)
        for y in (x, some(torch, 1, 2, tail=()), some(torch, 2, 3, tail=(2, 4)).transpose(1, 2), x.int()):
            tell(say, lambda y=y: y.to_padded_tensor(-1))
        for size in ((2, 5, 4), (2, 2, 4), (2, 3)):
            tell(say, lambda size=size: torch.nested.to_padded_tensor(x, 0.5, size))

    same(program)


# Expressions, each told by both libraries. `x` and `y` have the same ragged size, `p` is (2, j, 2, 4) and `t` its transpose,
# `i` holds integers, `g` has gaps.
QUESTIONS = dict(
    numbers="x + 1; 1 - x; 2 / x; x**2; 2**x; x % 2; -x; abs(x); x > 2.5; x.sub(1, alpha=2)",
    each_other="x + y; x * y; x - y; x / y; x == y; x != y; torch.maximum(x, y); torch.lerp(x, y, 0.5); x.add(y, alpha=3); t * t; g + g",
    other_sizes="x + some(torch, 2, 3); x * p; x + g; x.add_(some(torch, 2, 3)); torch.ones(5, 4).add_(x) is None",
    functions="x.exp(); torch.log(x); x.sin(); x.sqrt(); x.clamp(1, 3); x.clamp(min=2); x.nan_to_num(); x.isnan(); x.round(); g.exp()",
    activations="F.relu(x); F.gelu(x); F.silu(x); F.leaky_relu(x); F.elu(x); F.softplus(x); F.mish(x); F.tanh(x); F.sigmoid(x); F.gelu(t)",
    booleans="~(x > 2); (x > 2) & (y > 2); (x > 2) | (y > 2); torch.logical_not(x); torch.where(x > 2, x, y); torch.where(x > 2, x, 0.0); "
    "x.masked_fill(x > 2, 0.0)",
    dense="x + torch.arange(4.0); torch.arange(4.0) - x; x * torch.tensor(2.0); x + torch.ones(1, 4); torch.arange(4.0).view(1, 1, 4) + x; "
    "x * torch.arange(2.0).view(2, 1, 1); x + torch.arange(8.0).view(2, 1, 4); x - torch.arange(24.0).view(2, 3, 4); "
    "i + torch.arange(6).view(2, 3); i * torch.arange(2).view(2, 1); t + torch.arange(16.0).view(2, 2, 1, 4)",
    dense_misfits="x + torch.ones(5, 4); x + torch.ones(3, 4); x + torch.ones(2, 4); x + torch.ones(1, 3, 4); x + torch.ones(1, 2, 1, 4); "
    "x + torch.ones(2, 5, 4); i + torch.ones(3); x + x[..., :3]",
    dropout="F.dropout(x, 0.5, False); F.dropout(x, 1.0)",
    in_place="x.add_(1); x.mul_(y); x.relu_(); x.copy_(y); x.zero_(); x.fill_(2.0); F.relu(x, inplace=True); x.exp_()",
    likes="torch.zeros_like(x); torch.ones_like(x, dtype=torch.int64); torch.full_like(x, 2.0); torch.rand_like(x); torch.randn_like(t)",
    embedding="F.embedding(i, torch.arange(12.0).view(6, 2)); F.one_hot(i); F.one_hot(i, 6); F.embedding(x, torch.ones(6, 2))",
    transpose="x.transpose(1, 2); x.transpose(-1, -2); p.transpose(2, 3); p.transpose(-1, 1); x.mT; x.transpose(0, 1)",
    permute="p.permute(0, 2, 1, 3); p.permute((0, 3, 2, 1)); p.permute(1, 0, 2, 3); p.permute(0, 1)",
    squeeze="x.unsqueeze(-1); x.unsqueeze(1); x.unsqueeze(2).squeeze(2); x.squeeze(-1); x.squeeze(1); x.squeeze(0); x.squeeze(); "
    "x.unsqueeze(0); x.unsqueeze(7)",
    parts="x.chunk(2, -1); x.split(3, -1); x.split([1, 3], 2); x.tensor_split(2, -1); x.chunk(2, 1); x.split(1); x.narrow(-1, 1, 2); "
    "x.narrow(1, 0, 1); x.repeat_interleave(2, dim=-1); x.split([1, 1], -1)",
    select="x[0]; x[-1]; x[1, 2]; x[..., 0]; x[..., 1:3]; x[..., None]; p[..., 0, :]; p[..., 0, 0, 0]; x.select(-1, 1); x.select(0, 1); "
    "x.select(1, 0); x[5]; x[:, 1]; x[None]; x[0:1]; list(x); g[1]; t[0]",
    view="x.view(2, -1, 2, 2); x.view(2, x.size(1), 2, -1); x.reshape(-1, -1, 4, 1); p.reshape(2, -1, 8); x.view(2, -1); x.view(-1, 4); "
    "x.view(2, 3, 4); x.view(2, x.size(1), 3); x.view(2, x.size(1) * 2, 2)",
    flatten="p.flatten(2); p.flatten(-2); x.unflatten(-1, [2, 2]); x.unflatten(2, (2, -1)); p.flatten(1, 2); x.flatten(); "
    "t.transpose(1, 2).flatten(2)",
    expand="x.unsqueeze(-1).expand(-1, -1, -1, 3); x.expand(2, x.size(1), 4); x.expand_as(x); x.expand(3, -1, 4); x.expand(2, 3, 4); x.view_as(x)",
    join="torch.cat([x, y], -1); torch.cat([x, y, x], 2); torch.cat([x, y]); torch.cat([x, y], 1); torch.stack([x, y], -1); torch.stack([x, y]); "
    "torch.stack([x, y], 1)",
    sums="x.sum(); x.sum(1); x.sum(-1); x.sum(-1, keepdim=True); x.sum(1, keepdim=True); x.sum((0, 1)); x.sum((0, 1), keepdim=True); "
    "x.sum((0, 1, 2)); x.sum(dtype=torch.float32); t.sum(2); t.sum(1); p.sum((2, 3)); i.sum(1); i.sum(); (i > 0).sum(1); g.sum(-1)",
    means="x.mean(); x.mean(1); x.mean(-1); x.mean(1, keepdim=True); x.mean((0, 1)); t.mean(2); i.mean(); x.float().mean(1)",
    extrema="x.amax(); x.amax(1); x.amin(-1); x.max(); x.min(); x.max(1); x.max(2); x.min(1, keepdim=True); x.argmax(1); x.argmin(-1); i.amax(1); "
    "i.min(1); x.prod(1); x.prod(-1); torch.max(x, y)",
    truths="(x > 2).any(); (x > 2).all(); (x > 2).any(1); (x > 2).all(1); (x > 2).any(-1)",
    refused_reductions="x.sum(0); x.sum((1, 2)); x.sum((0, 2)); x.max(0); x.mean(0); x.sum(5); x.cumsum(1); x.logsumexp(1)",
    softmax="x.softmax(-1); x.softmax(1); F.softmax(x, dim=1); F.log_softmax(x, -1); t.softmax(-1); x.softmax(-1, dtype=torch.float32); "
    "x[..., 0].softmax(1); x.softmax(0); x.softmax(5)",
    norms="F.layer_norm(x, (4,)); F.layer_norm(p, (2, 4)); F.layer_norm(x, (4,), torch.arange(4.0), torch.ones(4)); F.rms_norm(x, (4,)); "
    "F.rms_norm(x, x.shape[1:]); F.layer_norm(x, (3,))",
    products="F.linear(x, torch.arange(8.0).view(2, 4)); F.linear(x, torch.ones(2, 4), torch.ones(2)); x @ torch.arange(8.0).view(4, 2); "
    "x @ torch.arange(16.0).view(2, 4, 2); torch.bmm(x, torch.ones(2, 4, 2)); x.transpose(1, 2) @ y; t @ torch.ones(4, 2)",
    refused_products="F.linear(x, torch.ones(5, 3)); x @ torch.ones(3, 4, 2); x @ torch.ones(3, 2); x @ y.mT; x @ torch.ones(4)",
    attention="F.scaled_dot_product_attention(t, t, t); F.scaled_dot_product_attention(t, t * 2, t + 1).transpose(1, 2).flatten(2); "
    "F.scaled_dot_product_attention(some(torch, 1, 4, tail=(2, 4)).transpose(1, 2), t, t); F.scaled_dot_product_attention(p, p, p); "
    "F.scaled_dot_product_attention(t, t, t, scale=0.1); F.scaled_dot_product_attention(t, t, t, attn_mask=torch.ones(3, 3)); "
    "F.scaled_dot_product_attention(t, torch.ones(2, 2, 3, 4), torch.ones(2, 2, 3, 4))",
    keywords="torch.chunk(x, chunks=2, dim=-1); torch.split(x, split_size_or_sections=3, dim=2); F.softmax(input=x, dim=-1); x.sum(dim=1, keepdim=True); "
    "F.layer_norm(input=x, normalized_shape=(4,)); F.linear(input=x, weight=torch.ones(2, 4), bias=None); torch.add(input=x, other=y, alpha=2); "
    "torch.transpose(x, dim0=1, dim1=2); x.to(dtype=torch.float32); torch.cat(tensors=[x, y], dim=-1); x.unflatten(dim=-1, sizes=(2, 2)); "
    "F.scaled_dot_product_attention(query=t, key=t, value=t); x.flatten(start_dim=2); F.embedding(input=i, weight=torch.ones(6, 2))",
    refused="x.item(); x.tolist(); x.numpy(); bool(x); x.sort(-1); x.flip(1); x.to_dense(); x.dot(x); x.nonzero(); x[x > 0]; torch.mm(x, x); "
    "x.gather(-1, i)",
)  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_functions(same, name):
    def program(torch, say):
        x, p = some(torch, 2, 3), some(torch, 2, 3, tail=(2, 4))
        space = dict(
            torch=torch, F=torch.nn.functional, some=some, x=x, p=p, t=p.transpose(1, 2), g=gappy(torch),
            y=torch.nested.nested_tensor_from_jagged(torch.arange(20.0).view(5, 4) + 1, x.offsets()),
            i=torch.nested.nested_tensor([[1, 2], [0, 4, 3]], layout=torch.jagged),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # PyTorch's attention makes tensors in the strided layout, and warns of that
            for question in QUESTIONS[name].split("; "):
                tell(say, lambda question=question: eval(question, space))

    same(program)


def test_what_shares_memory(same):
    def program(torch, say):
        nested, jagged = torch.nested, torch.jagged
        dense, row = torch.zeros(2, 3), torch.zeros(2)
        made = [
            nested.as_nested_tensor(dense, layout=jagged),
            nested.narrow(dense, 1, 0, torch.tensor([1, 2]), layout=jagged),
        ]
        made += [nested.as_nested_tensor([row], layout=jagged), nested.nested_tensor([row], layout=jagged)]
        dense += 1
        row += 1
        say(*(x.values() for x in made))
        values = torch.zeros(5)
        x = nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5]))
        for y in (x, x.clone(), x.detach(), x.unsqueeze(-1), x.values(), x.unbind()[0], x.data, x.contiguous()):
            y.add_(1)
            say(values, x._version)
        leaf = torch.zeros(5, requires_grad=True)
        y = nested.nested_tensor_from_jagged(leaf * 2, torch.tensor([0, 2, 5]))
        y.mul_(3)
        y.sum().backward()
        say(leaf.grad)

    same(program)


# ----- Gradients ----------------------------------------------------------------------------------------------------------


def test_gradients(same):
    def program(torch, say):
        a, b = (torch.arange(n * 3.0).view(n, 3).requires_grad_() for n in (2, 4))
        x = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
        say(x.requires_grad, x.is_leaf, type(x.grad_fn).__name__)
        (x.sin() * x.softmax(-1)).sum().backward()
        say(a.grad, b.grad)

        values = torch.arange(12.0).view(6, 2).requires_grad_()
        y = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 1, 6]))
        say(y.is_leaf, type(y.grad_fn).__name__, type(y.values().grad_fn).__name__, type((y * 2).grad_fn).__name__)
        (y.to_padded_tensor(0.0).sum(1) ** 2).sum().backward()
        say(values.grad)

        leaf = some(torch, 2, 3, requires_grad=True)
        z = leaf * 2
        z.retain_grad()
        handle = leaf.register_hook(lambda grad: grad * 10)
        z.backward(torch.ones_like(z))
        handle.remove()
        tell(say, lambda: [leaf.grad, z.grad])
        leaf.grad = None
        say(leaf.grad)
        tell(say, lambda: torch.autograd.grad((leaf * leaf).to_padded_tensor(0.0).sum(), leaf))
        tell(say, lambda: torch.autograd.grad(leaf.exp(), [leaf], torch.ones_like(leaf)))
        tell(say, lambda: z.backward())
        tell(say, lambda: leaf.unbind()[1].sum().backward())
        tell(say, lambda: leaf.grad)
        with torch.no_grad():
            say((leaf * 2).requires_grad)
        tell(say, lambda: copy.deepcopy(leaf))
        say(copy.deepcopy(leaf).is_leaf, leaf.detach().requires_grad, leaf.detach().requires_grad_().is_leaf)

    same(program)


def test_a_block_of_a_transformer(same):
    def program(torch, say):
        nn, functional = torch.nn, torch.nn.functional
        embed, project, out, norm, head = (
            nn.Embedding(7, 8),
            nn.Linear(8, 24),
            nn.Linear(8, 8),
            nn.LayerNorm(8),
            nn.Linear(8, 2),
        )
        modules = nn.ModuleList([embed, project, out, norm, head])
        for number, parameter in enumerate(modules.parameters()):
            torch.nn.init.zeros_(parameter)
            parameter.data += torch.arange(parameter.numel() * 1.0).view(parameter.shape).sin() / (number + 2)
        tokens = torch.nested.nested_tensor([[1, 2, 3], [4], [0, 6, 5, 2, 1]], layout=torch.jagged)
        x = embed(tokens)
        query, key, value = (
            part.contiguous().unflatten(-1, [2, 4]).transpose(1, 2) for part in project(x).chunk(3, dim=-1)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as above
            attended = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(-2)
        x = norm(x + functional.dropout(out(attended), 0.1, False))
        loss = functional.cross_entropy(head(functional.gelu(x)).to_padded_tensor(0.0).sum(1), torch.tensor([0, 1, 0]))
        loss.backward()
        say(round(loss.item(), 8))
        for name, parameter in modules.named_parameters():
            say(name, [round(n, 7) + 0.0 for n in parameter.grad.flatten().tolist()])

    same(program)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.softmax(1), lambda x: x.sum(1), lambda x: x.mean(1), lambda x: x.amax(1), lambda x: x.prod(1), lambda x: x.max(1)[0],
        lambda x: x.to_padded_tensor(0.5), lambda x: x * penlight.arange(6.0, dtype=x.dtype).view(2, 1, 3), lambda x: x.transpose(1, 2) @ x,
        lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), lambda x: x @ penlight.ones(2, 3, 2, dtype=x.dtype),
        lambda x: x.log_softmax(1), lambda x: x.transpose(1, 2).softmax(2), lambda x: F.layer_norm(x, (3,)),
    ],
)  # fmt: skip
def test_derivatives(function):
    def of_components(*components):
        result = function(penlight.nested.as_nested_tensor(components, layout=penlight.jagged))
        return result.values() if result.is_nested else result

    inputs = [penlight.randn(n, 3, dtype=penlight.float64, requires_grad=True) for n in (2, 4)]
    assert gradcheck(of_components, inputs) and gradgradcheck(of_components, inputs)


# ----- Where Penlight goes on, or stops before PyTorch does ---------------------------------------------------------------


def jagged(*parts, **options):
    return penlight.nested.nested_tensor(list(parts), layout=penlight.jagged, **options)


def test_what_belongs_to_no_component_does_not_count():
    """PyTorch sums it, too."""
    x = gappy(penlight)
    parts = [penlight.tensor([[0.0, 1, 2, 3]]), penlight.arange(8.0, 20.0).view(3, 4)]
    assert x.sum().item() == sum(part.sum().item() for part in parts)
    assert x.mean().item() == penlight.cat(parts).mean().item() and x.amax().item() == 19
    assert penlight.equal(x.sum(1), penlight.stack([part.sum(0) for part in parts]))
    assert penlight.equal(x.to_padded_tensor(-1.0)[0, 1:], -penlight.ones(2, 4))
    for result in (x.softmax(1), x + penlight.arange(24.0).view(2, 3, 4)[:, :3]):
        assert result.shape == x.shape
    for mine, part in zip(x.softmax(1).unbind(), parts, strict=True):
        assert penlight.allclose(mine, part.softmax(0))
    assert [part.shape[0] for part in x.contiguous().unbind()] == [1, 3] and x.contiguous().is_contiguous()
    product = x @ penlight.ones(2, 4, 2)
    assert penlight.equal(product.values(), penlight.cat(parts).sum(1, keepdim=True).expand(-1, 2))


def test_extrema_of_minus_infinity():
    """PyTorch pads with the least finite number, and gives that."""
    x = jagged(penlight.full((1, 2), -penlight.inf), penlight.ones(3, 2))
    assert x.amax(1).tolist() == [[-penlight.inf] * 2, [1.0] * 2] and x.argmax(1).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("offsets", [[0, 2, 7], [-1, 2, 5], [0, 3, 2]])
def test_offsets_stay_within_the_values(offsets):
    with pytest.raises(RuntimeError, match="must rise within its values"):
        penlight.nested.nested_tensor_from_jagged(penlight.ones(5, 2), penlight.tensor(offsets))


def test_lengths_and_narrow_stay_within_the_values():
    with pytest.raises(RuntimeError, match="must rise within its values"):
        penlight.nested.nested_tensor_from_jagged(penlight.ones(5), penlight.tensor([0, 3, 5]), penlight.tensor([1, 3]))
    with pytest.raises(RuntimeError, match="must stay within dimension 1 of size 5"):
        penlight.nested.narrow(penlight.ones(2, 5), 1, 0, penlight.tensor([6, 1]), layout=penlight.jagged)
    with pytest.raises(TypeError, match="must be integers"):
        penlight.nested.nested_tensor_from_jagged(penlight.ones(5), penlight.tensor([0.0, 5]))


@pytest.mark.parametrize("make", [penlight.nested.nested_tensor, penlight.nested.as_nested_tensor])
def test_the_strided_layout_is_refused(make):
    with pytest.raises(NotImplementedError, match=r"Use layout=torch\.jagged"):
        make([penlight.ones(2)])


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x + penlight.ones(6, 2).view(2, 3, 2)[:1], lambda x: x.transpose(1, 2) + penlight.ones(5, 3), lambda x: x[..., 0] + x,
        lambda x: penlight.where(x > 0), lambda x: penlight.add(x, x, out=penlight.ones(5, 3)), lambda x: penlight.ones(2, 3, 3).add_(x),
        lambda x: penlight.nn.MultiheadAttention(3, 1)(x, x, x), lambda x: penlight.nn.MultiheadAttention(3, 1, batch_first=True)(x, x, x),
        lambda x: x.float().numpy(), lambda x: penlight.nn.LSTM(3, 3)(x), lambda x: penlight.zeros(x.shape), lambda x: x.unique(),
        lambda x: penlight.nested.nested_tensor([x], layout=penlight.jagged), lambda x: x.__setitem__(0, 1.0), lambda x: int(x.shape[1]),
    ],
)  # fmt: skip
def test_what_would_be_wrong_is_refused(ask):
    x = jagged(penlight.ones(2, 3), penlight.ones(3, 3))
    with pytest.raises((RuntimeError, NotImplementedError, ValueError, AssertionError, TypeError)) as refusal:
        ask(x)
    assert len(str(refusal.value)) > 20 and penlight.equal(x.values(), penlight.ones(5, 3))


def test_the_values_of_the_user_stay_theirs():
    values = penlight.ones(5)
    x = penlight.nested.nested_tensor_from_jagged(values, penlight.tensor([0, 2, 5]))
    x.requires_grad_()
    assert not values.requires_grad and x.is_leaf
    x.detach().mul_(3)
    assert values.tolist() == [3.0] * 5  # one memory
    values.requires_grad_()
    y = penlight.nested.nested_tensor_from_jagged(values, penlight.tensor([0, 2, 5]))
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)


def test_copies():
    x = jagged(penlight.ones(2, 3), penlight.zeros(4, 3), requires_grad=True)
    for y in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.is_nested and y.requires_grad and penlight.equal(y.values(), x.values())
        assert [p.shape for p in y.unbind()] == [(2, 3), (4, 3)]
    assert copy.deepcopy(x).shape == x.shape and pickle.loads(pickle.dumps(x)).shape != x.shape
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(x * 2)


def test_the_class_is_where_pytorch_has_it():
    from penlight.nested._internal.nested_tensor import NestedTensor

    x = NestedTensor(penlight.arange(5.0), penlight.tensor([0, 2, 5]))
    assert [part.tolist() for part in x.unbind()] == [[0, 1], [2, 3, 4]]


def test_comparisons():
    x = jagged(penlight.ones(2), penlight.ones(3))
    penlight.testing.assert_close(x * 2, x + 1)
    with pytest.raises(AssertionError, match="Mismatched elements: 5 / 5"):
        penlight.testing.assert_close(x, x * 2)
    with pytest.raises(AssertionError, match="'shape' do not match"):
        penlight.testing.assert_close(x, jagged(penlight.ones(2), penlight.ones(3)))


def test_an_optimiser_trains_one():
    x = jagged(penlight.ones(2), penlight.ones(3), requires_grad=True)
    optimiser = penlight.optim.SGD([x], 0.5)
    (x * x).sum().backward()
    optimiser.step()
    optimiser.zero_grad()
    assert x.values().tolist() == [0.0] * 5 and x.grad is None


def test_offsets_that_were_written_to():
    offsets = penlight.tensor([0, 2, 5])
    x = penlight.nested.nested_tensor_from_jagged(penlight.arange(5.0), offsets)
    offsets[1] = 3
    y = penlight.nested.nested_tensor_from_jagged(penlight.ones(5), offsets)
    assert [len(part) for part in x.unbind()] == [2, 3] and [len(part) for part in y.unbind()] == [3, 2]
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        x + y


def test_sizes_are_forgotten_with_their_tensors():
    from penlight.nested import tensor as module

    x = jagged(penlight.ones(2), penlight.ones(3))
    before = len(module._sizes)
    for _ in range(50):
        assert jagged(penlight.ones(2)).shape[1] != x.shape[1]
    assert len(module._sizes) <= before + 2
