"""More programs: nestings of transforms, in-place ops, indexing, single ops, custom functions, modules. See programs.py."""

from __future__ import annotations

from .programs import PROGRAMS, curved, program, programs, setting

# ----- Nestings -----------------------------------------------------------------------------------------------------

programs(
    "nested",
    vmap_vmap=lambda t: t.vmap(t.vmap(t.torch.dot), in_dims=(None, 0))(t.x, t.torch.stack([t.x, t.x * 2])),
    vmap_grad=lambda t: t.vmap(t.grad(curved))(t.x),
    vmap_grad_unbatched=lambda t: t.vmap(t.grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))(t.x, t.x),
    grad_vmap=lambda t: t.grad(lambda a: t.vmap(curved)(a).sum())(t.x),
    grad_vmap_unbatched=lambda t: t.grad(lambda w: t.vmap(lambda a: (w * a).sin().sum())(t.x).prod())(t.v),
    vmap_jvp=lambda t: t.vmap(lambda a, m: t.jvp(lambda b: (b * b).sin(), (a,), (m,)))(t.x, t.x * 2),
    vmap_jvp_unbatched=lambda t: t.vmap(lambda m: t.jvp(lambda b: (b * b).sin(), (t.v,), (m,)))(t.x),
    vmap_jvp_mixed=lambda t: t.vmap(lambda m, y: t.jvp(lambda b: (b * y * b).sin(), (t.v,), (m,)))(t.x, t.x * 3),
    vmap_jvp_grad=lambda t: t.vmap(lambda m, y: t.jvp(t.grad(lambda c: (c * y * c).sin().sum()), (t.v,), (m,)))(
        t.x, t.x * 3
    ),
    jvp_vmap=lambda t: t.jvp(t.vmap(lambda b: (b * b).sin()), (t.x,), (t.x,)),
    jvp_vmap_grad=lambda t: t.jvp(t.vmap(t.grad(curved)), (t.x,), (t.x,)),
    vmap_vmap_jvp=lambda t: t.vmap(t.vmap(lambda a, m: t.jvp(lambda b: b**3, (a,), (m,))[1], (None, 0)), (0, None))(
        t.x[:, 0], t.v
    ),
    vmap_jacrev_jacfwd=lambda t: t.vmap(t.jacrev(t.jacfwd(lambda a: (a**3).cumsum(0))))(t.x[:2, :2]),
    vmap_jacfwd_jacrev=lambda t: t.vmap(t.jacfwd(t.jacrev(lambda a: (a**3).cumsum(0))))(t.x[:2, :2]),
    jacfwd_vmap=lambda t: t.jacfwd(t.vmap(lambda a: a.sin().sum()))(t.x[:2, :2]),
    jacrev_vmap=lambda t: t.jacrev(t.vmap(lambda a: a.sin().sum()))(t.x[:2, :2]),
    jacrev_batched_closure=lambda t: t.vmap(lambda y: t.jacrev(lambda a: (a * y).cumsum(0))(t.v))(t.x),
    jacfwd_batched_closure=lambda t: t.vmap(lambda y: t.jacfwd(lambda a: (a * y).cumsum(0))(t.v))(t.x),
    vmap_vjp=lambda t: t.vmap(lambda a: t.vjp(lambda b: b.sin(), a)[1](t.torch.ones(4, dtype=t.D))[0])(t.x),
    vmap_of_pull=lambda t: t.vmap(t.vjp(lambda b: b.sin().cumsum(0), t.v)[1])(t.x),
    vmap_grad_hook=lambda t: t.vmap(t.grad(lambda a: doubled(a * 3)))(t.x),
    vmap_in_dual=lambda t: dual(t, t.x, t.x * 2, t.vmap(lambda a: a.sin() * a.sum())),
    complex=lambda t: t.vmap(t.grad(lambda a: (a * a.conj()).real.sum()))(t.torch.complex(t.x, t.x * 2)),
    in_graph=lambda t: t.vmap(lambda a: a * t.w)(t.x),
)


def doubled(b):
    b.register_hook(lambda g: g * 2)
    return b.sum()


def dual(t, primal, tangent, function):
    with t.fw.dual_level():
        return t.fw.unpack_dual(function(t.fw.make_dual(primal, tangent))).tangent


def _through(make):
    """Gradients of a transform's result by `autograd.grad`, for a leaf that is batched and one that is not."""

    def run(t):
        leaf = t.x.clone().requires_grad_()
        return t.torch.autograd.grad(make(t, leaf).pow(2).sum(), [leaf, t.w])

    return run


programs(
    "through",
    vmap=_through(lambda t, x: t.vmap(lambda a: (a * t.w).sin().sum())(x)),
    vmap_grad=_through(lambda t, x: t.vmap(t.grad(lambda a: (a * t.w).sin().sum()))(x)),
    hessian=_through(lambda t, x: t.hessian(lambda a: (a * t.w).sin().sum())(x[0])),
    vmap_jacfwd=_through(lambda t, x: t.vmap(t.jacfwd(lambda a: (a * t.w).sin()))(x)),
    pull=_through(lambda t, x: t.vmap(t.vjp(lambda a: (a * t.w).sin(), x[0])[1])(t.torch.eye(4, dtype=t.D))[0]),
    jvp=_through(lambda t, x: t.jvp(lambda a: (a * t.w).sin(), (x,), (x * 2,))[1]),
)


@program
def is_grads_batched(t):
    leaf = t.x.clone().requires_grad_()
    other = t.x.clone().requires_grad_()
    out = (leaf**2)[0]
    rows = t.torch.eye(4, dtype=t.D)
    return t.torch.autograd.grad(
        out, [leaf, other], rows, is_grads_batched=True, allow_unused=True, materialize_grads=True
    )


@program
def vectorised_jacobian(t):
    jacobian = t.torch.autograd.functional.jacobian
    f = lambda a, b: (a.sin() * b.sum(), a.outer(b))
    inputs = (t.v, t.x[1])
    return jacobian(f, inputs, vectorize=True), jacobian(f, inputs, vectorize=True, strategy="forward-mode")


@program
def vectorised_hessian(t):
    hessian = t.torch.autograd.functional.hessian
    return [hessian(curved, t.v, vectorize=True, outer_jacobian_strategy=s) for s in ("reverse-mode", "forward-mode")]


# ----- Writing in place -----------------------------------------------------------------------------------------------


def part_by_part(a):
    y = a.new_zeros(3)
    y[0] = a[0] * a[1]
    y[1] = a[2].sin()
    return y


def through_views(a):
    b = a * 1
    b.mul_(2)
    c = b[1:]
    c.add_(a[:-1])
    b[0].sin_()
    return b


def transposed(a):
    b = (a * 1).view(2, 2).t()
    b[0] = b[1] * 2
    b.mul_(b.sum())
    return b


def filled(a):
    b = a * 2
    b[1] = 5.0
    b[2].fill_(a[0])
    return b * b


for _f in (part_by_part, through_views, transposed, filled):
    programs(
        f"in place {_f.__name__}",
        vmap=lambda t, f=_f: t.vmap(f)(t.x),
        jacrev=lambda t, f=_f: t.jacrev(f)(t.v),
        jacfwd=lambda t, f=_f: t.jacfwd(f)(t.v),
        vmap_jacrev=lambda t, f=_f: t.vmap(t.jacrev(f))(t.x),
        vmap_jacfwd=lambda t, f=_f: t.vmap(t.jacfwd(f))(t.x),
        hessian=lambda t, f=_f: t.hessian(lambda a: (f(a) ** 2).sum())(t.v),
        rev_fwd=lambda t, f=_f: t.jacrev(t.jacfwd(lambda a: (f(a) ** 2).sum()))(t.v),
        rev_rev=lambda t, f=_f: t.jacrev(t.jacrev(lambda a: (f(a) ** 2).sum()))(t.v),
        vmap_hessian=lambda t, f=_f: t.vmap(t.hessian(lambda a: (f(a) ** 2).sum()))(t.x),
    )
programs(
    "in place",
    chain=lambda t: t.vmap(lambda a: a.clone().add_(1).mul_(a).relu_().clamp_(0, 2).unsqueeze_(0).squeeze_())(t.x),
    unbatched_untouched=lambda t: t.vmap(lambda a: t.torch.zeros(4, dtype=t.D).zero_() + a)(t.x),
    new_zeros=lambda t: t.vmap(lambda a: a.new_zeros(2).add_(a[0]))(t.x),
    zeros_like=lambda t: t.vmap(lambda a: t.torch.zeros_like(a).add_(a[0]))(t.x),
    set_at=lambda t: t.vmap(lambda a, i: setting(a.clone(), i, 7.0))(t.x, t.torch.tensor([0, 1, 2])),
    set_several=lambda t: t.vmap(lambda a, i: setting(a.clone(), i, a[0] * 2))(
        t.x, t.torch.tensor([[0, 1], [1, 2], [3, 3]])
    ),
)

# ----- Indexing -----------------------------------------------------------------------------------------------------

_INDEXED = dict(
    second=lambda a, i: a[:, i], around=lambda a, i: a[i, :, i], both=lambda a, i: a[i, i], first=lambda a, i: a[i], last=lambda a, i: a[:, :, i],
    dots=lambda a, i: a[..., i, :], column=lambda a, i: a[i[:, None], :, i], mixed=lambda a, i: a[0, i, 1:3], number=lambda a, i: a[i[0]],
    numbers=lambda a, i: a[i[0], :, i[1]],
)  # fmt: skip


def _indexed(g, dims, differentiate):
    def run(t):
        t.torch.manual_seed(1)
        y = t.torch.randn(3, 4, 2, 5, dtype=t.D)
        i = t.torch.tensor([[1, 0], [1, 1], [0, 1]])
        y, i = (y if dims[0] == 0 else y[0]), (i if dims[1] == 0 else i[0])
        f = t.jacrev(lambda a, j: (g(a, j) ** 2).sum()) if differentiate else g
        return t.vmap(f, in_dims=dims)(y, i)

    return run


for _dims in ((0, 0), (0, None), (None, 0)):
    programs(f"index {_dims}", **{name: _indexed(g, _dims, False) for name, g in _INDEXED.items()})
    programs(
        f"index gradient {_dims}",
        **{n: _indexed(g, _dims, True) for n, g in _INDEXED.items() if not n.startswith("number")},
    )
programs(
    "index",
    nested=lambda t: t.vmap(t.vmap(lambda a, i: a[i], in_dims=(None, 0)), in_dims=(0, 0))(
        t.x, t.torch.tensor([[3, 1], [0, 0], [1, 2]])
    ),
    put=lambda t: t.vmap(lambda a, i: a.index_put((i,), a[:2]))(t.x, t.torch.tensor([[3, 1], [0, 2], [1, 2]])),
    gather=lambda t: t.vmap(lambda a, i: a.gather(0, i))(t.x, t.torch.tensor([[3, 1], [0, 0], [1, 2]])),
    scatter_add=lambda t: t.vmap(lambda a, i: a.scatter_add(0, i, a))(t.x, t.torch.tensor([[3, 1], [0, 0], [1, 2]])),
    index_select=lambda t: t.vmap(lambda a, i: a.index_select(0, i))(t.x, t.torch.tensor([[3, 1], [0, 0], [1, 2]])),
    out_of_range=lambda t: t.vmap(lambda a, i: a.gather(0, i))(t.x, t.torch.tensor([[3, 1], [0, 9], [1, 2]])),
)

# ----- Single ops -----------------------------------------------------------------------------------------------------

_SINGLE = dict(
    arithmetic=lambda t, a: 2 - a + a / 3 * 4**a - (a > 0) + a % 2, sizes=lambda t, a: a * len(a) * a.numel() * a.dim() * a.size(0),
    truth=lambda t, a: ((a > 0).all(), (a > 0).any(), a.isnan().any()), topk=lambda t, a: a.topk(2), sort=lambda t, a: t.torch.sort(a), extremes=lambda t, a: (a.max(), a.max(0), a.argmin()),
    cumulative=lambda t, a: (a.cumsum(0), a.cumprod(0), a.cummax(0)[0], a.logcumsumexp(0)), spread=lambda t, a: (a.var(), a.std(), a.mean(), a.median()),
    kron=lambda t, a: t.torch.kron(a, a), outer=lambda t, a: t.torch.outer(a, t.v), tensordot=lambda t, a: t.torch.tensordot(a.view(2, 2), a.view(2, 2), 1),
    einsum=lambda t, a: t.torch.einsum("ij,kj->ik", a.view(2, 2), t.v.view(2, 2)), stack=lambda t, a: t.torch.stack([a, t.v], 1), cat=lambda t, a: t.torch.cat([t.v, a]),
    chunk=lambda t, a: a.chunk(2), tril=lambda t, a: a.view(2, 2).tril(), diag=lambda t, a: t.torch.diag(a), lerp=lambda t, a: t.torch.lerp(a, t.v, 0.3),
    clamp=lambda t, a: a.clamp(min=a.mean()), masked_fill=lambda t, a: a.masked_fill(a > 0, a.sum()), unfold=lambda t, a: a.unfold(0, 2, 1), flip=lambda t, a: a.flip(0),
    repeat=lambda t, a: a.repeat(2, 1), expand=lambda t, a: a.expand(2, 4), addmm=lambda t, a: t.torch.addmm(a[:2], a.view(2, 2), t.v.view(2, 2)),
    baddbmm=lambda t, a: t.torch.baddbmm(a[:2], a.view(1, 2, 2), t.v.view(1, 2, 2)), convert=lambda t, a: (a.float(), a.long(), a.bool()), where=lambda t, a: t.torch.where(a > 0, 1.0, a),
    cdist=lambda t, a: t.torch.cdist(a.view(2, 2), t.v.view(2, 2)), searchsorted=lambda t, a: t.torch.searchsorted(a.sort()[0], a), det=lambda t, a: t.torch.linalg.det(a.view(2, 2)),
    solve=lambda t, a: t.torch.linalg.solve(a.view(2, 2), t.v.view(2, 2)), fft=lambda t, a: t.torch.fft.fft(a), pad=lambda t, a: t.F.pad(a, (1, 2)), mse=lambda t, a: t.F.mse_loss(a, t.v),
    cosine=lambda t, a: t.F.cosine_similarity(a, t.v, 0), conv=lambda t, a: t.F.conv1d(a.view(1, 2, 2), t.v.view(1, 2, 2)), conv_own=lambda t, a: t.F.conv1d(t.v.view(1, 2, 2), a.view(1, 2, 2)),
    pool=lambda t, a: t.F.max_pool1d(a.view(1, 4), 2), norms=lambda t, a: (t.F.layer_norm(a, (4,), a, t.v), t.F.group_norm(a.view(1, 4), 2)), new=lambda t, a: a.new_full((2,), 3.0) + a[:2],
    mixed=lambda t, a: a.float() * a.sum(), slices=lambda t, a: (a[::2], a[-1], a[None, :, None], a[..., 0]), unbind=lambda t, a: sum(list(a)), aligned=lambda t, a: a.sum() * t.v,
    cross_entropy=lambda t, a: t.F.cross_entropy(a.view(2, 2), t.torch.tensor([0, 1])), attention=lambda t, a: t.F.scaled_dot_product_attention(*[a.view(1, 1, 2, 2)] * 3),
)  # fmt: skip
programs("op", **{name: (lambda t, f=f: t.vmap(lambda a: f(t, a))(t.x)) for name, f in _SINGLE.items()})


# ----- Custom functions -----------------------------------------------------------------------------------------------


def generated(t):
    class Generated(t.torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y.sum(), x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs, output[1])
            ctx.save_for_forward(*inputs, output[1])
            ctx.shape = inputs[1].shape

        @staticmethod
        def backward(ctx, g, h):
            x, y, e = ctx.saved_tensors
            return g * y.sum() + h * e, (g * x).sum() * t.torch.ones(ctx.shape, dtype=x.dtype)

        @staticmethod
        def jvp(ctx, dx, dy):
            x, y, e = ctx.saved_tensors
            return dx * y.sum() + x * dy.sum(), e * dx

    return Generated


def own(t):
    class Own(t.torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x.sin() * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos() * ctx.k, None

        @staticmethod
        def vmap(info, in_dims, x, k):
            assert (info.batch_size, info.randomness) == (3, "error")
            return Own.apply(x, k), in_dims[0]

    return Own


def _total(t, x, y):
    return sum(part.sum() for part in generated(t).apply(x, y))


programs(
    "custom function",
    generated=lambda t: t.vmap(generated(t).apply, in_dims=(0, None))(t.x, t.v),
    generated_second=lambda t: t.vmap(generated(t).apply, in_dims=(None, 0))(t.v, t.x),
    vmap_grad=lambda t: t.vmap(t.grad(lambda x, y: _total(t, x, y), argnums=(0, 1)), in_dims=(0, None))(t.x, t.v),
    grad_vmap=lambda t: t.grad(lambda y: sum(p.sum() for p in t.vmap(generated(t).apply, in_dims=(0, None))(t.x, y)))(
        t.v
    ),
    jvp_vmap=lambda t: t.jvp(lambda x: t.vmap(generated(t).apply, in_dims=(0, None))(x, t.v), (t.x,), (t.x,)),
    vmap_jvp=lambda t: t.vmap(lambda x, m: t.jvp(lambda x: generated(t).apply(x, t.v), (x,), (m,)))(t.x, t.x),
    jacrev=lambda t: t.jacrev(lambda x: generated(t).apply(x, t.v)[1])(t.v),
    jacfwd=lambda t: t.jacfwd(lambda x: generated(t).apply(x, x)[0])(t.v),
    second=lambda t: t.vmap(t.jacrev(t.grad(lambda x: _total(t, x, t.v))))(t.x),
    twice=lambda t: t.vmap(t.vmap(generated(t).apply, in_dims=(None, 0)), in_dims=(0, None))(t.x, t.x),
    own=lambda t: t.vmap(own(t).apply, in_dims=(0, None))(t.x, 2.0),
    own_grad=lambda t: t.vmap(t.grad(lambda x: own(t).apply(x, 3.0).sum()))(t.x),
)

# ----- Modules ------------------------------------------------------------------------------------------------------


def network(t):
    layers = t.nn.Linear(4, 6), t.nn.Tanh(), t.nn.LayerNorm(6), t.nn.Linear(6, 3)
    return t.nn.Sequential(*layers).double()


@program
def per_sample_gradients(t):
    model = network(t)
    params = {k: p.detach() for k, p in model.named_parameters()}

    def loss(params, x, y):
        return t.F.cross_entropy(t.functional_call(model, params, (x.unsqueeze(0),)), y.unsqueeze(0))

    return t.vmap(t.grad(loss), in_dims=(None, 0, 0))(params, t.x, t.torch.tensor([0, 2, 1]))


@program
def per_sample_gradients_of_a_cnn(t):
    layers = t.nn.Conv2d(1, 3, 2), t.nn.ReLU(), t.nn.MaxPool2d(2), t.nn.Flatten(), t.nn.Linear(12, 2)
    model = t.nn.Sequential(*layers).double()
    params = {k: p.detach() for k, p in model.named_parameters()}
    data = t.torch.randn(3, 1, 6, 6, dtype=t.D)

    def loss(params, x):
        return t.functional_call(model, params, (x.unsqueeze(0),)).log_softmax(1)[0, 0]

    return t.vmap(t.grad(loss), in_dims=(None, 0))(params, data)


@program
def ensemble(t):
    models = [network(t) for _ in range(3)]
    params, buffers = t.stack_module_state(models)

    def call(params, buffers, x):
        return t.functional_call(models[0], (params, buffers), (x,))

    out = t.vmap(call, in_dims=(0, 0, None))(params, buffers, t.x)
    out.pow(2).sum().backward()
    return out, {k: p.grad for k, p in params.items()}, t.vmap(call)(params, buffers, t.x.unsqueeze(1))


@program
def meta_learning(t):
    def inner(p, x, y):
        return ((x.sin() * p["a"] + p["b"] - y) ** 2).mean()

    def outer(p, x, y):
        g = t.grad(inner)(p, x, y)
        return inner({k: p[k] - 0.1 * g[k] for k in p}, x, y)

    start = {"a": t.torch.tensor(0.3, dtype=t.D), "b": t.torch.tensor(-0.2, dtype=t.D)}
    return t.grad(lambda p: t.vmap(outer, in_dims=(None, 0, 0))(p, t.x, t.x * 2).mean())(start)


@program
def tangent_kernel(t):
    model = network(t)
    params = {k: p.detach() for k, p in model.named_parameters()}
    jacobians = t.vmap(t.jacrev(lambda p, x: t.functional_call(model, p, (x,))), (None, 0))(params, t.x)
    return sum(t.torch.einsum("Naf,Mbf->NMab", j.flatten(2), j.flatten(2)) for j in jacobians.values())


@program
def batch_norm_without_statistics(t):
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2)).double()
    t.replace_all_batch_norm_modules_(model)
    assert model[1].running_mean is None and not model[1].track_running_stats
    params = {k: p.detach() for k, p in model.named_parameters()}
    call = lambda p, x: t.functional_call(model, p, (x,)).sin().sum()
    return t.vmap(t.grad(call), in_dims=(None, 0))(params, t.torch.randn(3, 5, 2, dtype=t.D))


def _layer(t):
    return t.nn.Linear(4, 2).double()


programs(
    "module",
    dicts=lambda t: t.functional_call(_layer(t), [{"weight": t.x[:2]}, {"bias": t.v[:2]}], t.x),
    keyword=lambda t: t.functional_call(_layer(t), {}, kwargs={"input": t.x}).shape[0] * t.v,
    twice=lambda t: t.functional_call(_layer(t), ({"weight": t.x[:2]}, {"weight": t.x[:2]}), t.x),
    no_dict=lambda t: t.functional_call(_layer(t), 3, t.x),
    no_dicts=lambda t: t.functional_call(_layer(t), (3,), t.x),
    strict=lambda t: t.functional_call(_layer(t), {"foo": t.x}, t.x, strict=True),
    stack_none=lambda t: t.stack_module_state([]),
    stack_classes=lambda t: t.stack_module_state([_layer(t), t.nn.Dropout()]),
    stack_modes=lambda t: t.stack_module_state([t.nn.Dropout(), t.nn.Dropout().eval()]),
    stack_requires_grad=lambda t: t.stack_module_state([_layer(t), _layer(t).requires_grad_(False)]),
    stack_buffers=lambda t: t.stack_module_state([t.nn.BatchNorm1d(2), t.nn.BatchNorm1d(2)]),
)

__all__ = ["PROGRAMS"]
