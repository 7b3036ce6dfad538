"""Programs with torch.func, by name: functions of a library (PyTorch or Penlight) that give tensors or raise.

`recorded.json` holds what PyTorch gave; see test_programs.py.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace

PROGRAMS = {}


def program(function):
    """Add a program that is a function of its own."""
    PROGRAMS[function.__name__] = function
    return function


def programs(prefix, **each):
    """Add programs that are expressions."""
    for name, function in each.items():
        PROGRAMS[f"{prefix}: {name}"] = function


def tools(lib):
    """What programs use: the library, its func, and some tensors."""
    from importlib import import_module

    def part(name):
        return import_module(f"{lib.__name__}.{name}")

    lib.manual_seed(0)
    func = part("func")
    x = lib.randn(3, 4, dtype=lib.float64)
    return SimpleNamespace(
        torch=lib, func=func, F=part("nn.functional"), nn=part("nn"), fw=part("autograd.forward_ad"), D=lib.float64, x=x, v=x[0].clone(),
        w=lib.ones(4, dtype=lib.float64, requires_grad=True), **{name: getattr(func, name) for name in NAMES},
    )  # fmt: skip


NAMES = ("functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
         "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap")  # fmt: skip


def curved(a):
    """A function with all second derivatives."""
    return (a.sin() * a.exp().sum()).prod() + (a**3).sum()


# ----- Gradients ----------------------------------------------------------------------------------------------------

programs(
    "grad",
    plain=lambda t: t.grad(curved)(t.v),
    value=lambda t: t.grad_and_value(curved)(t.v),
    third=lambda t: t.grad(t.grad(t.grad(lambda a: a**4)))(t.torch.tensor(2.0)),
    aux=lambda t: t.grad(lambda a: ((a * t.w).sum(), {"double": a * 2}), has_aux=True)(t.v),
    value_aux=lambda t: t.grad_and_value(lambda a: ((a * t.w).sum(), a * 2), has_aux=True)(t.v),
    closure=lambda t: t.grad(lambda a: (a * t.w).sum())(t.v),
    of_leaf=lambda t: t.grad(lambda a: (a**2).sum())(t.w),
    argnums_last=lambda t: t.grad(lambda a, b: (a * b).sum(), argnums=-1)(t.v, t.v * 0 + 5),
    argnums_both=lambda t: t.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(t.v, t.v * 0 + 5),
    tree=lambda t: t.grad(lambda d: d["a"].sum() + (d["b"][0] ** 2).sum())({"a": t.v, "b": (t.v,)}),
    unused=lambda t: t.grad(lambda a, b: a.sum(), argnums=1)(t.v, t.v),
    independent=lambda t: t.grad(lambda a: t.torch.tensor(1.0))(t.v),
    integer_output=lambda t: t.grad(lambda a: a.sum().long())(t.v),
    detached=lambda t: t.grad(lambda a: (a.detach() * a).sum())(t.v),
    keyword=lambda t: t.grad(lambda a, b=2.0: (a * b).sum())(t.v, b=3.0),
    hook=lambda t: t.grad(lambda a: hooked(a * 3))(t.v),
    confusion_reverse=lambda t: t.grad(lambda a: a * t.grad(lambda b: a + b)(one(t)))(one(t)),
    confusion_forward=lambda t: t.jvp(
        lambda a: a * t.jvp(lambda b: a + b, (one(t),), (one(t),))[1], (one(t),), (one(t),)
    ),
    confusion_mixed=lambda t: t.grad(lambda a: a * t.jvp(lambda b: a * b, (one(t) * 2,), (one(t),))[1])(one(t) * 3),
    confusion_mixed_2=lambda t: t.jvp(lambda a: a * t.grad(lambda b: a * b * b)(one(t) * 2), (one(t) * 3,), (one(t),)),
    inner_no_grad=lambda t: t.grad(lambda a: without_grad(t, a))(t.v),
    inner_no_grad_forward=lambda t: t.jvp(lambda a: without_grad(t, a), (t.v,), (t.v,)),
    inner_no_grad_hessian=lambda t: t.hessian(lambda a: without_grad(t, a))(t.v),
    inner_no_grad_batched=lambda t: t.vmap(t.grad(lambda a: without_grad(t, a)))(t.x),
    grad_in_no_grad=lambda t: t.grad(lambda a: grad_without_grad(t, a))(t.v),
    grad_in_no_grad_forward=lambda t: t.jacfwd(lambda a: grad_without_grad(t, a))(t.v),
    not_scalar=lambda t: t.grad(lambda a: a)(t.v),
    no_tensor=lambda t: t.grad(lambda a: 3.0)(t.v),
    a_tuple=lambda t: t.grad(lambda a: (a.sum(),))(t.v),
    integers=lambda t: t.grad(lambda a: a.sum())(t.torch.arange(3)),
    no_tensor_in=lambda t: t.grad(lambda a: a)(3.0),
    argnum_too_large=lambda t: t.grad(lambda a: a.sum(), argnums=2)(t.v),
    argnums_twice=lambda t: t.grad(lambda a, b: (a * b).sum(), argnums=(0, 0))(t.v, t.v),
    argnums_none=lambda t: t.grad(lambda a: a.sum(), argnums=())(t.v),
    argnums_float=lambda t: t.grad(lambda a: a.sum(), argnums=1.5)(t.v),
    argnums_floats=lambda t: t.grad(lambda a: a.sum(), argnums=(1.5,))(t.v),
    aux_missing=lambda t: t.grad(lambda a: a.sum(), has_aux=True)(t.v),
    aux_text=lambda t: t.grad(lambda a: (a.sum(), "s"), has_aux=True)(t.v),
    written_input=lambda t: t.grad(lambda a: (a.add_(1) ** 2).sum())(t.v.clone()),
    written_view=lambda t: t.grad(lambda a: (a[0].add_(1) ** 2).sum())(t.v.clone()),
    complex_number=lambda t: t.grad(lambda a: a * a)(t.torch.tensor(1j)),
    backward_inside=lambda t: t.grad(lambda a: (a.sum().backward(), a.sum())[1])(t.v),
)


def one(t):
    return t.torch.tensor(1.0)


def hooked(b):
    b.register_hook(lambda g: g * 2)
    return b.sum()


def without_grad(t, a):
    with t.torch.no_grad():
        c = a**2
    return (a * c).sum()


def grad_without_grad(t, a):
    with t.torch.no_grad():
        g = t.grad(lambda b: (b**3).sum())(a)
    return (a * g).sum()


# ----- Products with Jacobians ----------------------------------------------------------------------------------------

programs(
    "vjp",
    output=lambda t: t.vjp(lambda a: a**2, t.v)[0],
    output_in_graph=lambda t: t.vjp(lambda a: a * t.w, t.v)[0],
    product=lambda t: t.vjp(lambda a: a * t.w, t.v)[1](t.v),
    cotangent_in_graph=lambda t: t.vjp(lambda a: a * 2, t.v)[1](t.torch.ones(4, dtype=t.D, requires_grad=True)),
    dictionary=lambda t: t.vjp(lambda a: {"u": a * 2}, t.v)[1]({"u": t.v}),
    two=lambda t: t.vjp(lambda a, b: a * b, t.v, t.v)[1](t.v),
    aux=lambda t: t.vjp(lambda a: (a, a * 2), t.v, has_aux=True)[2],
    twice=lambda t: (lambda pull: (pull(t.v), pull(t.v * 2)))(t.vjp(lambda a: a.sin(), t.v)[1]),
    structure=lambda t: t.vjp(lambda a: (a, a), t.v)[1](t.v),
    shape=lambda t: t.vjp(lambda a: a, t.v)[1](t.torch.ones(2, dtype=t.D)),
    nothing=lambda t: t.vjp(lambda a: (), t.v),
    no_tensor=lambda t: t.vjp(lambda a: 3, t.v),
    integers=lambda t: t.vjp(lambda a: a.long(), t.v),
    aux_missing=lambda t: t.vjp(lambda a: a, t.v, has_aux=True),
)
programs(
    "jvp",
    plain=lambda t: t.jvp(curved, (t.v,), (t.v,)),
    closure=lambda t: t.jvp(lambda a: a * t.w, (t.v,), (t.v,))[1].sum(),
    tree=lambda t: t.jvp(lambda d: {"z": d["a"] ** 2}, ({"a": t.v},), ({"a": t.v},)),
    aux=lambda t: t.jvp(lambda a: (a**2, a * 3), (t.v,), (t.v,), has_aux=True),
    independent=lambda t: t.jvp(lambda a: t.torch.ones(2), (t.v,), (t.v,)),
    integers=lambda t: t.jvp(lambda a: a.long(), (t.v,), (t.v,)),
    norm_at_zero=lambda t: t.jvp(lambda a: a.norm(), (t.v * 0,), (t.v,)),
    strict=lambda t: t.jvp(lambda a: t.torch.ones(2), (t.v,), (t.v,), strict=True),
    not_a_tuple=lambda t: t.jvp(lambda a: a, t.v, t.v),
    structure=lambda t: t.jvp(lambda a: a, (t.v,), (t.v, t.v)),
    shape=lambda t: t.jvp(lambda a: a, (t.v,), (t.v[:2],)),
    empty=lambda t: t.jvp(lambda: t.v, (), ()),
    no_tensor=lambda t: t.jvp(lambda a: a, (1.0,), (1.0,)),
    no_tensor_out=lambda t: t.jvp(lambda a: 3, (t.v,), (t.v,)),
    aux_missing=lambda t: t.jvp(lambda a: a, (t.v,), (t.v,), has_aux=True),
)
programs(
    "linearize",
    plain=lambda t: t.linearize(curved, t.v)[1](t.v),
    count=lambda t: t.linearize(lambda a: a**2, t.v)[1](t.v, t.v),
    shape=lambda t: t.linearize(lambda a: a**2, t.v)[1](t.v[:2]),
    dtype=lambda t: t.linearize(lambda a: a**2, t.v)[1](t.v.float()),
    functionalize=lambda t: t.functionalize(lambda a: a.clone().add_(1))(t.v),
    functionalize_wrong=lambda t: t.functionalize(lambda a: a, remove="all")(t.v),
)

# ----- Jacobians ----------------------------------------------------------------------------------------------------

programs(
    "jacobian",
    reverse=lambda t: t.jacrev(lambda a: a.sin().cumsum(0))(t.v),
    forward=lambda t: t.jacfwd(lambda a: a.sin().cumsum(0))(t.v),
    reverse_two=lambda t: t.jacrev(lambda a, b: (a**2, b.sum()), argnums=(0, 1))(t.v, t.v),
    forward_two=lambda t: t.jacfwd(lambda a, b: (a**2, b.sum()), argnums=(0, 1))(t.v, t.v),
    reverse_dictionary=lambda t: t.jacrev(lambda a, b: {"u": a**2, "v": b.sum()}, argnums=(1,))(t.v, t.v),
    forward_tree=lambda t: t.jacfwd(lambda d: d["a"].outer(d["b"]))({"a": t.v[:2], "b": t.v}),
    reverse_aux=lambda t: t.jacrev(lambda a: (a**2, a), has_aux=True)(t.v),
    forward_aux=lambda t: t.jacfwd(lambda a: (a**2, a), has_aux=True)(t.v),
    chunks=lambda t: t.jacrev(lambda a: a.sin().cumsum(0), chunk_size=3)(t.v),
    chunks_of_one=lambda t: t.jacrev(lambda a: a.sin().cumsum(0), chunk_size=1)(t.v),
    matrix=lambda t: t.jacrev(lambda a: a @ a.mT)(t.x),
    matrix_forward=lambda t: t.jacfwd(lambda a: a @ a.mT)(t.x),
    scalar=lambda t: t.jacrev(lambda a: a**2)(t.v[0]),
    reverse_independent=lambda t: t.jacrev(lambda a: t.torch.ones(2))(t.v),
    forward_independent=lambda t: t.jacfwd(lambda a: t.torch.ones(2))(t.v),
    chunk_zero=lambda t: t.jacrev(lambda a: a**2, chunk_size=0)(t.v),
    no_tensor=lambda t: t.jacrev(lambda a: 3)(t.v),
    nothing=lambda t: t.jacrev(lambda a: ())(t.v),
    reverse_integers=lambda t: t.jacrev(lambda a: a * 2)(t.torch.arange(3)),
    forward_integers=lambda t: t.jacfwd(lambda a: a * 2)(t.torch.arange(3)),
    reverse_complex=lambda t: t.jacrev(lambda a: a * a)(t.torch.tensor([1j])),
    forward_complex=lambda t: t.jacfwd(lambda a: a * a)(t.torch.tensor([1j])),
    forward_random=lambda t: t.jacfwd(lambda a: a * t.torch.rand(4))(t.v),
    forward_random_different=lambda t: t.jacfwd(lambda a: a * t.torch.rand(4), randomness="different")(t.v),
)


def _hessian(outer, inner):
    return lambda t: getattr(t, outer)(getattr(t, inner)(lambda a: curved(a) + (a[:2].prod() * a.norm()).tanh()))(t.v)


programs("hessian", **{f"{o}_{i}": _hessian(o, i) for o in ("jacrev", "jacfwd") for i in ("jacrev", "jacfwd")})
programs(
    "hessian",
    plain=lambda t: t.hessian(curved)(t.v),
    two=lambda t: t.hessian(lambda a, b: (a**3 * b.sin()).sum(), argnums=(0, 1))(t.v, t.x[1]),
    of_samples=lambda t: t.vmap(t.hessian(curved))(t.x),
    of_samples_reverse=lambda t: t.vmap(t.jacrev(t.jacrev(curved)))(t.x),
    of_samples_mixed=lambda t: t.vmap(t.jacrev(t.jacfwd(curved)))(t.x),
    of_samples_forward=lambda t: t.vmap(t.jacfwd(t.jacfwd(curved)))(t.x),
    third=lambda t: t.jacfwd(t.jacrev(t.jacfwd(curved)))(t.v[:2]),
    third_reverse=lambda t: t.jacrev(t.jacfwd(t.jacrev(curved)))(t.v[:2]),
    batched_closure=lambda t: t.vmap(lambda y: t.hessian(lambda a: (a * a * y).cumsum(0).sin().sum())(t.v))(t.x[:2]),
    vector=lambda t: t.jvp(t.grad(curved), (t.v,), (t.v,))[1],
)

# ----- vmap: arguments ------------------------------------------------------------------------------------------------


def same(a):
    return a


def added(a, b):
    return a + b


programs(
    "vmap arguments",
    text=lambda t: t.vmap(added, in_dims="x")(t.x, t.x),
    no_inputs=lambda t: t.vmap(same)(),
    too_few=lambda t: t.vmap(added, in_dims=(0,))(t.x, t.x),
    nested=lambda t: t.vmap(added, in_dims=(0, (0,)))(t.x, t.x),
    float=lambda t: t.vmap(added, in_dims=(0, 1.5))(t.x, t.x),
    number=lambda t: t.vmap(added)(t.x, 3),
    number_none=lambda t: t.vmap(added, in_dims=(0, None))(t.x, 3),
    too_large=lambda t: t.vmap(same, in_dims=2)(t.x),
    negative=lambda t: t.vmap(same, in_dims=-1)(t.x),
    too_negative=lambda t: t.vmap(same, in_dims=-3)(t.x),
    no_dimensions=lambda t: t.vmap(same)(t.torch.tensor(1.0)),
    sizes=lambda t: t.vmap(added)(t.x, t.torch.ones(2, 4)),
    none=lambda t: t.vmap(added, in_dims=None)(t.x, t.x),
    all_none=lambda t: t.vmap(added, in_dims=(None, None))(t.x, t.x),
    out_text=lambda t: t.vmap(same, out_dims="a")(t.x),
    out_two=lambda t: t.vmap(same, out_dims=(0, 0))(t.x),
    out_tuple=lambda t: t.vmap(same, out_dims=(1,))(t.x),
    out_too_large=lambda t: t.vmap(same, out_dims=2)(t.x),
    out_negative=lambda t: t.vmap(same, out_dims=-1)(t.x),
    out_none_batched=lambda t: t.vmap(same, out_dims=None)(t.x),
    out_none=lambda t: t.vmap(lambda a: t.torch.ones(2), out_dims=None)(t.x),
    out_unbatched=lambda t: t.vmap(lambda a: t.torch.ones(2))(t.x),
    out_number=lambda t: t.vmap(lambda a: 3)(t.x),
    out_nothing=lambda t: t.vmap(lambda a: None)(t.x),
    out_dictionary=lambda t: t.vmap(lambda a: {"u": a, "v": [a]}, out_dims={"u": 1, "v": 0})(t.x),
    out_wrong_dictionary=lambda t: t.vmap(lambda a: {"u": a, "v": [a]}, out_dims={"u": 1})(t.x),
    chunks=lambda t: t.vmap(lambda a: (a * 2, a.sum()), chunk_size=2, out_dims=(1, 0))(t.x),
    chunk_zero=lambda t: t.vmap(same, chunk_size=0),
    randomness=lambda t: t.vmap(same, randomness="foo"),
    keyword=lambda t: t.vmap(lambda a, b=None: a + b)(t.x, b=t.v),
    tree=lambda t: t.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))({"a": t.x, "b": t.v}),
    partial=lambda t: t.vmap(functools.partial(added, t.x), in_dims="a")(t.x),
    empty=lambda t: t.vmap(lambda a: (a * 2, a.sum(), a.softmax(0), a @ a))(t.torch.ones(0, 4, dtype=t.D)),
)

# ----- vmap: what it refuses --------------------------------------------------------------------------------------------


def setting(tensor, index, value):
    tensor[index] = value
    return tensor


programs(
    "vmap refuses",
    item=lambda t: t.vmap(lambda a: a.sum().item())(t.x),
    bool=lambda t: t.vmap(lambda a: a if a.sum() > 0 else -a)(t.x),
    tolist=lambda t: t.vmap(lambda a: a.tolist())(t.x),
    numpy=lambda t: t.vmap(lambda a: a.numpy())(t.x),
    float=lambda t: t.vmap(lambda a: float(a.sum()))(t.x),
    index=lambda t: t.vmap(lambda a: [1, 2, 3][a])(t.torch.arange(3)),
    data=lambda t: t.vmap(lambda a: a.data)(t.x),
    requires_grad_=lambda t: t.vmap(lambda a: a.requires_grad_())(t.x),
    backward=lambda t: t.vmap(lambda a: a.sum().backward())(t.x.clone().requires_grad_()),
    autograd_grad=lambda t: t.vmap(lambda a: t.torch.autograd.grad((a**2).sum(), a)[0])(t.x.clone().requires_grad_()),
    inplace_mul=lambda t: t.vmap(lambda a: t.torch.zeros(4, dtype=t.D).mul_(a))(t.x),
    inplace_copy=lambda t: t.vmap(lambda a: t.torch.zeros(4, dtype=t.D).copy_(a))(t.x),
    inplace_setitem=lambda t: t.vmap(lambda a: setting(t.torch.zeros(4, dtype=t.D), 0, a[0]))(t.x),
    inplace_index_put=lambda t: t.vmap(lambda a: t.torch.zeros(4, dtype=t.D).index_put_((t.torch.tensor([0]),), a[:1]))(
        t.x
    ),
    inplace_masked_fill=lambda t: t.vmap(lambda a: t.torch.zeros(4, dtype=t.D).masked_fill_(a > 0, 1.0))(t.x),
    nonzero=lambda t: t.vmap(lambda a: a.nonzero())(t.x),
    mask=lambda t: t.vmap(lambda a: a[a > 0])(t.x),
    masked_select=lambda t: t.vmap(lambda a: a.masked_select(a > 0))(t.x),
    unique=lambda t: t.vmap(lambda a: a.unique())(t.x),
    mask_setitem=lambda t: t.vmap(lambda a: setting(a.clone(), a > 0, 0.0))(t.x),
    shapes=lambda t: t.vmap(lambda a: a + t.torch.ones(5, dtype=t.D))(t.x),
    shapes_batched=lambda t: t.vmap(added)(t.x, t.torch.ones(3, 5, dtype=t.D)),
    random=lambda t: t.vmap(lambda a: a + t.torch.rand(4))(t.x),
    dropout=lambda t: t.vmap(lambda a: t.F.dropout(a))(t.x),
    bernoulli_unbatched=lambda t: t.vmap(lambda a: t.torch.zeros(4).bernoulli_() + a, randomness="different")(t.x),
    bernoulli_same=lambda t: t.vmap(lambda a: t.torch.bernoulli(a.sigmoid()), randomness="same")(t.x),
    multinomial_same=lambda t: t.vmap(lambda a: t.torch.multinomial(a.exp(), 2), randomness="same")(t.x),
    batch_norm=lambda t: t.vmap(t.nn.BatchNorm1d(2).double())(t.x.view(3, 2, 2)),
    vmap_of_own_function=lambda t: t.vmap(unbatchable(t).apply)(t.x),
)


def unbatchable(t):
    class Unbatchable(t.torch.autograd.Function):
        @staticmethod
        def forward(a):
            return a.clone()

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return Unbatchable


# ----- vmap: random numbers ---------------------------------------------------------------------------------------------

for _mode in ("same", "different"):
    programs(
        f"random {_mode}",
        **{
            name: lambda t, f=f, mode=_mode: t.vmap(lambda a: f(t, a), randomness=mode)(t.x)
            for name, f in dict(
                rand=lambda t, a: a + t.torch.rand(4), randn=lambda t, a: a + t.torch.randn(20)[3], randint=lambda t, a: a + t.torch.randint(0, 10, (4,)),
                randperm=lambda t, a: t.torch.randperm(4), rand_like=lambda t, a: t.torch.rand_like(a), normal_=lambda t, a: a.clone().normal_(),
                dropout=lambda t, a: t.F.dropout(a), alpha_dropout=lambda t, a: t.F.alpha_dropout(a, training=True), dropout1d=lambda t, a: t.F.dropout1d(a.view(2, 2)),
                bernoulli_fixed=lambda t, a: t.torch.bernoulli(t.torch.full((4,), 0.5)), normal=lambda t, a: t.torch.normal(t.torch.zeros(4), 1.0),
                multinomial=lambda t, a: t.torch.multinomial(t.torch.ones(4), 2), nested=lambda t, a: t.vmap(lambda b: b + t.torch.rand(2), randomness="different")(a),
            ).items()
        },
    )  # fmt: skip
programs(
    "random different",
    bernoulli=lambda t: t.vmap(lambda a: t.torch.bernoulli(a.sigmoid()), randomness="different")(t.x),
    batched_normal=lambda t: t.vmap(lambda a: t.torch.normal(a, 1.0), randomness="different")(t.x),
    batched_multinomial=lambda t: t.vmap(lambda a: t.torch.multinomial(a.exp(), 2), randomness="different")(t.x),
)
