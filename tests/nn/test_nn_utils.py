"""nn.init and nn.utils against PyTorch."""

from __future__ import annotations

import copy

import pytest
from nn_data import array
from test_nn_module import attempt

# init


def test_fills(works):
    def run(lib):
        init = lib.nn.init
        make = [
            lambda t: init.uniform_(t),
            lambda t: init.uniform_(t, -2, 3),
            lambda t: init.normal_(t, 1, 0.5),
            lambda t: init.xavier_uniform_(t, gain=2.0),
            lambda t: init.xavier_normal_(t),
            lambda t: init.kaiming_uniform_(t, a=0.3, mode="fan_out"),
            lambda t: init.kaiming_normal_(t, nonlinearity="relu"),
            lambda t: init.trunc_normal_(t),
            lambda t: init.trunc_normal_(t, 0.5, 2.0, -1.0, 0.0),
            lambda t: init.trunc_normal_(t, -6.0, 1.0, -1.0, 1.0),
            lambda t: init.sparse_(t, 0.4),
            lambda t: init.constant_(t, 0.3),
            lambda t: init.ones_(t),
            lambda t: init.zeros_(t),
            lambda t: init.eye_(t),
        ]
        seen = []
        for dtype in (lib.float32, lib.float64):
            for fill in make:
                t = lib.empty(6, 5, dtype=dtype)
                seen.append((fill(t), fill(t) is t))
        for shape in ((6, 5, 3), (4, 2, 3, 3)):
            seen.append(init.kaiming_normal_(lib.empty(*shape), mode="fan_out"))
            seen.append(init.dirac_(lib.empty(*shape)))
            seen.append(init.dirac_(lib.empty(*shape), groups=2))
        return seen, lib.rand(1)

    works(run, rtol=1e-6, atol=0)


@pytest.mark.parametrize("shape", [(4, 4), (3, 6), (6, 3), (4, 2, 3)])
def test_orthogonal(works, shape):
    def run(lib):
        return lib.nn.init.orthogonal_(lib.empty(*shape), gain=1.5), lib.rand(1)

    works(run, rtol=1e-4, atol=1e-5)


def test_init_with_generator(works):
    def run(lib):
        g = lib.Generator()
        g.manual_seed(5)
        init = lib.nn.init
        return (
            [init.uniform_(lib.empty(3, 2), generator=g), init.normal_(lib.empty(3, 2), generator=g)],
            [init.xavier_normal_(lib.empty(3, 2), generator=g), init.kaiming_uniform_(lib.empty(3, 2), generator=g)],
            init.trunc_normal_(lib.empty(3, 2), generator=g),
            lib.rand(1),
        )

    works(run)


def test_init_requires_no_grad(works):
    def run(lib):
        w = lib.nn.Parameter(lib.empty(3, 2))
        init = lib.nn.init
        for fill in (init.uniform_, init.normal_, init.ones_, init.eye_, init.orthogonal_, init.trunc_normal_):
            fill(w)
        return w.requires_grad, w.is_leaf, w.grad_fn

    works(run)


def test_init_errors_and_warnings(works):
    def run(lib):
        init = lib.nn.init
        return attempt(
            lambda: [init.calculate_gain(n) for n in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu")],
            lambda: [init.calculate_gain("leaky_relu", a) for a in (None, 0.2, 1)],
            lambda: init.calculate_gain("leaky_relu", True),
            lambda: init.calculate_gain("leaky_relu", "a"),
            lambda: init.calculate_gain("bogus"),
            lambda: init.xavier_uniform_(lib.empty(3)),
            lambda: init.kaiming_normal_(lib.empty(3, 3), mode="fan"),
            lambda: init.kaiming_normal_(lib.empty(3, 0)),
            lambda: init.kaiming_uniform_(lib.empty(3, 0)),
            lambda: init.eye_(lib.empty(3)),
            lambda: init.dirac_(lib.empty(3)),
            lambda: init.dirac_(lib.empty(3, 3, 3), groups=2),
            lambda: init.orthogonal_(lib.empty(3)),
            lambda: init.orthogonal_(lib.empty(0, 3)),
            lambda: init.sparse_(lib.empty(3), 0.1),
            lambda: init._calculate_fan_in_and_fan_out(lib.empty(3, 4, 5)),
            lambda: init._calculate_correct_fan(lib.empty(3, 4, 5), "FAN_OUT"),
            lambda: init.uniform(lib.empty(2, 2)),
            lambda: init.normal(lib.empty(2, 2)),
            lambda: init.constant(lib.empty(2, 2), 1.0),
            lambda: init.xavier_normal(lib.empty(2, 2)),
            lambda: init.kaiming_uniform(lib.empty(2, 2)),
            lambda: init.orthogonal(lib.empty(2, 2)),
            lambda: (init.eye.__name__, init.dirac.__name__, init.sparse.__name__, init.xavier_uniform.__name__),
        )

    works(run)


# clip_grad and vectors


def test_clip_grad(works):
    def run(lib):
        utils, seen = lib.nn.utils, []

        def params():
            made = [
                lib.nn.Parameter(array(lib, 3, 2)),
                lib.nn.Parameter(array(lib, 4).double()),
                lib.nn.Parameter(lib.zeros(1)),
            ]
            made[0].grad, made[1].grad = array(lib, 3, 2, seed=1), array(lib, 4, seed=2).double()
            return made

        for norm_type in (2, 1, 3.0, float("inf")):
            for max_norm in (0.5, 100.0):
                ps = params()
                seen.append((utils.clip_grad_norm_(ps, max_norm, norm_type), [p.grad for p in ps]))
        ps = params()
        utils.clip_grad_value_(ps, 0.3)
        seen.append([p.grad for p in ps])
        seen.append(utils.clip_grad_norm_(params()[0], 1.0))
        seen.append(utils.clip_grad_norm_(iter([]), 1.0))
        seen.append(utils.clip_grad_norm_((p for p in []), 1.0))
        seen.append(utils.clip_grad_norm(params(), 1.0))
        seen.append(utils.get_total_norm([array(lib, 3), array(lib, 2)]))
        bad = params()
        bad[0].grad[0, 0] = float("nan")
        seen.append(attempt(lambda: utils.clip_grad_norm_(bad, 1.0, error_if_nonfinite=True)))
        seen.append((utils.clip_grad_norm_(bad, 1.0), bad[1].grad))
        return seen

    works(run)


def test_vectors(works):
    def run(lib):
        utils = lib.nn.utils
        m = lib.nn.Linear(2, 3)
        v = utils.parameters_to_vector(m.parameters())
        utils.vector_to_parameters(lib.arange(9.0), m.parameters())
        return v, v.requires_grad, dict(m.state_dict()), attempt(lambda: utils.vector_to_parameters(3, m.parameters()))

    works(run)


# rnn


def test_padding_and_packing(works):
    def run(lib):
        rnn = lib.nn.utils.rnn
        xs = [array(lib, n, 2, seed=n) for n in (3, 1, 2)]
        packed = rnn.pack_sequence(xs, enforce_sorted=False)
        padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, total_length=5, padding_value=9.0)
        batch = rnn.pad_sequence(xs, batch_first=True)
        return (
            list(packed),
            (padded, lengths),
            rnn.pad_sequence(xs),
            rnn.pad_sequence(xs, padding_value=-1.0, padding_side="left"),
            rnn.pad_sequence([x[:, 0].long() for x in xs]),
            rnn.unpad_sequence(batch, lib.tensor([3, 1, 2]), batch_first=True),
            rnn.unpack_sequence(packed),
            rnn.invert_permutation(lib.tensor([2, 0, 1])),
            rnn.invert_permutation(None),
            list(packed.double()),
            list(packed.to(lib.float64)),
            packed.to("cpu") is packed,
            (packed.is_cuda, packed.is_pinned()),
            list(rnn.pack_padded_sequence(batch, [3, 1, 2], batch_first=True, enforce_sorted=False)),
            attempt(
                lambda: rnn.pack_sequence(xs),
                lambda: rnn.pack_padded_sequence(batch, [3], batch_first=True),
                lambda: rnn.pack_padded_sequence(batch, [3, 1, 0], batch_first=True),
                lambda: rnn.pack_padded_sequence(lib.zeros(0, 2), [3, 1]),
                lambda: rnn.pack_padded_sequence(batch, lib.tensor([[3, 1, 1]]), batch_first=True),
                lambda: rnn.pad_packed_sequence(packed, total_length=1),
                lambda: rnn.pad_sequence([]),
                lambda: rnn.pad_sequence(3),
                lambda: rnn.pad_sequence([lib.zeros(2, 3), lib.zeros(2, 2)]),
                lambda: rnn.pad_sequence([lib.zeros(2)], padding_side="x"),
                lambda: rnn.PackedSequence(lib.zeros(2)),
                lambda: list(rnn.PackedSequence((lib.zeros(2), lib.tensor([1, 1])))),
            ),
        )

    works(run)


def test_packing_gradients(works):
    def run(lib):
        rnn = lib.nn.utils.rnn
        xs = [array(lib, n, 2, seed=n, grad=True) for n in (3, 1, 2)]
        padded, _ = rnn.pad_packed_sequence(rnn.pack_sequence(xs, enforce_sorted=False))
        (padded * array(lib, *padded.shape)).sum().backward()
        return [x.grad for x in xs]

    works(run)


# Reparametrisation


def test_weight_norm_hook(works):
    def run(lib):
        seen = []
        for dim in (0, 1, None):
            m = lib.nn.utils.weight_norm(lib.nn.Linear(3, 2), dim=dim)
            out = m(array(lib, 2, 3))
            out.sum().backward()
            seen.append((out, m.weight_g.grad, m.weight_v.grad, sorted(m.state_dict())))
            lib.nn.utils.remove_weight_norm(m)
            seen.append((m(array(lib, 2, 3)), sorted(m.state_dict())))
        m = lib.nn.utils.weight_norm(lib.nn.Conv1d(3, 2, 2), dim=1)
        return (
            seen,
            m(array(lib, 1, 3, 4)),
            attempt(lambda: lib.nn.utils.weight_norm(m), lambda: lib.nn.utils.remove_weight_norm(lib.nn.Linear(1, 1))),
        )

    works(run)


def test_spectral_norm_hook(works):
    def run(lib):
        utils = lib.nn.utils
        m = utils.spectral_norm(lib.nn.Linear(3, 4), n_power_iterations=2)
        x = array(lib, 2, 3)
        outs = [m(x), m(x)]
        sum(out.sum() for out in outs).backward()
        grad = m.weight_orig.grad
        m.eval()
        outs.append(m(x))
        state = m.state_dict()
        other = utils.spectral_norm(lib.nn.Linear(3, 4))
        loaded = repr(other.load_state_dict(state))
        metadata = dict(state._metadata)
        transposed = utils.spectral_norm(lib.nn.ConvTranspose2d(3, 4, 2))
        shapes = [tuple(transposed.weight_u.shape), tuple(transposed.weight_v.shape)]
        removed = utils.remove_spectral_norm(m)
        return (
            outs,
            grad,
            sorted(state),
            metadata,
            loaded,
            shapes,
            removed(x),
            sorted(removed.state_dict()),
            attempt(
                lambda: utils.spectral_norm(lib.nn.Linear(1, 1), n_power_iterations=0),
                lambda: utils.spectral_norm(other),
                lambda: utils.remove_spectral_norm(lib.nn.Linear(1, 1)),
            ),
        )

    works(run, rtol=1e-4, atol=1e-5)


def test_parametrizations(works):
    def run(lib):
        make = lib.nn.utils.parametrizations
        seen = []
        x = array(lib, 2, 3)

        def note(m, x=x):
            out = m(x)
            out.sum().backward()
            grads = {name: p.grad for name, p in m.named_parameters()}
            seen.append((repr(m), out, grads, list(m.state_dict())))
            return m

        note(make.weight_norm(lib.nn.Linear(3, 2)))
        note(make.weight_norm(lib.nn.Linear(3, 2), dim=None))
        note(make.spectral_norm(lib.nn.Linear(3, 2), n_power_iterations=2))
        note(make.spectral_norm(lib.nn.Linear(3, 2), "bias"))
        note(make.spectral_norm(lib.nn.ConvTranspose1d(2, 3, 2)), array(lib, 1, 2, 4))
        old = lib.nn.Linear(3, 2)
        with_old = make.weight_norm(old)
        state = {"bias": lib.zeros(2), "weight_g": lib.ones(2, 1), "weight_v": array(lib, 2, 3)}
        seen.append((repr(with_old.load_state_dict(state)), with_old.weight))
        removed = lib.nn.utils.parametrize.remove_parametrizations(with_old, "weight")
        seen.append((repr(removed), type(removed).__name__, removed.weight, removed.weight.requires_grad))
        return seen, attempt(
            lambda: make.spectral_norm(lib.nn.Linear(1, 1), "nope"),
            lambda: make.spectral_norm(lib.nn.Linear(1, 1), dim=3),
            lambda: make.spectral_norm(lib.nn.Linear(1, 1), n_power_iterations=0),
            lambda: make.orthogonal(lib.nn.Linear(1, 1), "bias"),
            lambda: make.orthogonal(lib.nn.Linear(1, 1), "nope"),
            lambda: make.orthogonal(lib.nn.Linear(1, 1), orthogonal_map="x"),
        )

    works(run, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal_parametrization(works, sizes, kind, trivial):
    def run(lib):
        m = lib.nn.utils.parametrizations.orthogonal(lib.nn.Linear(*sizes), "weight", kind, use_trivialization=trivial)
        weight = m.weight
        (weight * array(lib, *weight.shape)).sum().backward()
        grad = m.parametrizations.weight.original.grad
        assigned = attempt(lambda: setattr(m, "weight", lib.nn.init.orthogonal_(lib.empty(sizes[1], sizes[0]))))
        return weight, grad, assigned, m.weight, list(m.state_dict())

    works(run, rtol=1e-4, atol=1e-5)


def test_parametrize(works):
    def run(lib):
        P, nn = lib.nn.utils.parametrize, lib.nn

        class Double(nn.Module):
            def forward(self, x):
                return x * 2

            def right_inverse(self, x):
                return x / 2

        class Symmetric(nn.Module):
            def forward(self, x):
                return x.triu() + x.triu(1).transpose(-1, -2)

        class Wider(nn.Module):
            def forward(self, x):
                return lib.cat([x, x])

        class Bad(nn.Module):
            def forward(self, x):
                return 3

        class Pair(nn.Module):
            def forward(self, a, b):
                return a + b

            def right_inverse(self, x):
                return x / 2, x / 2

        m = nn.Linear(3, 3)
        before = m.weight.detach().clone()
        P.register_parametrization(m, "weight", Double())
        P.register_parametrization(m, "weight", Symmetric())
        P.register_parametrization(m, "bias", Double())
        seen = [repr(m), before, m.weight, m.bias, P.is_parametrized(m), P.is_parametrized(m, "weight")]
        seen += [type(m).__name__, P.type_before_parametrizations(m).__name__, list(m.state_dict())]
        copied = copy.deepcopy(m)
        seen += [copied.weight, type(copied) is type(m), sorted(n for n, _ in copied.named_parameters())]
        with P.cached():
            seen.append(m.weight is m.weight)
        seen.append(m.weight is m.weight)
        m.bias = lib.ones(3)
        seen += [m.bias, m.parametrizations.bias.original]
        m(array(lib, 1, 3)).sum().backward()
        seen.append(m.parametrizations.weight.original.grad)
        pair = P.register_parametrization(nn.Linear(2, 2), "weight", Pair())
        pair.weight = lib.ones(2, 2)
        seen += [list(pair.state_dict()), pair.weight, pair.parametrizations.weight.original0]
        other = P.transfer_parametrizations_and_params(pair, nn.Linear(2, 2))
        seen += [repr(other), other.weight]
        seen += attempt(
            lambda: P.register_parametrization(nn.Linear(2, 2), "weight", Wider()),
            lambda: P.register_parametrization(nn.Linear(2, 2), "weight", Wider(), unsafe=True).weight.shape,
            lambda: P.register_parametrization(nn.Linear(2, 2), "weight", Bad()),
            lambda: P.register_parametrization(nn.Linear(2, 2), "nope", Double()),
            lambda: P.register_parametrization(m, "bias", Wider()),
            lambda: P.register_parametrization(m, "bias", Bad()),
            lambda: setattr(m, "weight", lib.ones(3, 3)),
            lambda: P.remove_parametrizations(pair, "weight", leave_parametrized=False),
            lambda: P.remove_parametrizations(nn.Linear(1, 1), "weight"),
            lambda: m.__getstate__(),
            lambda: P.ParametrizationList([], lib.zeros(1)),
        )
        P.remove_parametrizations(m, "bias", leave_parametrized=False)
        seen += [repr(m), m.bias]
        P.remove_parametrizations(m, "weight")
        return seen, repr(m), m.weight, type(m).__name__, list(m.state_dict())

    works(run)


def test_stateless(works):
    def run(lib):
        call = lib.nn.utils.stateless._functional_call
        m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2))
        tied = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
        tied[1].weight = tied[0].weight
        before = dict(m.state_dict())
        given = {"0.weight": lib.ones(2, 2), "1.running_mean": lib.zeros(2)}
        x = array(lib, 3, 2)
        seen = [call(m, given, x), given["1.running_mean"], before, dict(m.state_dict())]
        w = {"0.weight": lib.ones(2, 2)}
        seen += [call(tied, w, x), call(tied, w, (x,), tie_weights=False)]
        seen += attempt(
            lambda: call(m, {"0.nope": lib.ones(1), **given}, x, strict=True),
            lambda: call(m, {"0.bias": 3}, x),
            lambda: call(tied, {"0.weight": lib.ones(2, 2), "1.weight": lib.zeros(2, 2)}, x),
            lambda: call(lib.nn.DataParallel(m), {}, x),
            lambda: lib.nn.utils.stateless.functional_call(m, given, x).shape,
        )
        return seen, dict(m.state_dict())

    works(run)


# Fusion, init, prune


def test_fusion(works):
    def run(lib):
        utils, nn = lib.nn.utils, lib.nn
        seen = []
        for conv, transpose in ((nn.Conv2d(3, 4, 2), False), (nn.ConvTranspose2d(3, 4, 2, bias=False), True)):
            bn = nn.BatchNorm2d(4)
            bn(array(lib, 5, 4, 3, 3))
            x = array(lib, 1, 3, 4, 4)
            fused = utils.fuse_conv_bn_eval(conv.eval(), bn.eval(), transpose)
            seen.append((fused(x), bn(conv(x)), fused.weight.requires_grad))
        bn = nn.BatchNorm1d(4)
        bn(array(lib, 5, 4))
        linear = nn.Linear(3, 4)
        seen.append(utils.fuse_linear_bn_eval(linear.eval(), bn.eval())(array(lib, 2, 3)))
        return seen, attempt(
            lambda: utils.fuse_conv_bn_eval(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)),
            lambda: utils.fuse_linear_bn_eval(nn.Linear(1, 2).eval(), nn.BatchNorm1d(3).eval()),
        )

    works(run, rtol=1e-4, atol=1e-5)


def test_prune(works):
    def run(lib):
        prune, nn = lib.nn.utils.prune, lib.nn
        seen = []
        m = nn.Linear(4, 3)
        x = array(lib, 2, 4)
        prune.l1_unstructured(m, "weight", 0.3)
        seen.append((m.weight, m.weight_mask, list(m.state_dict()), m(x)))
        prune.ln_structured(m, "weight", 1, n=2, dim=0)
        prune.l1_unstructured(m, "weight", 2)
        seen.append((m.weight, m.weight_mask, prune.is_pruned(m), prune.is_pruned(nn.Linear(1, 1))))
        hook = next(iter(m._forward_pre_hooks.values()))
        seen.append((type(hook).__name__, len(hook), [type(h).__name__ for h in hook]))
        m(x).sum().backward()
        seen.append(m.weight_orig.grad)
        prune.remove(m, "weight")
        seen.append((m.weight, list(m.state_dict()), m.weight.requires_grad))
        prune.random_unstructured(m, "bias", 1)
        prune.random_structured(m, "weight", 0.5, dim=1)
        seen.append((m.bias_mask, m.weight_mask))
        a, b = nn.Linear(3, 2), nn.Linear(2, 3)
        prune.identity(a, "bias")
        prune.custom_from_mask(b, "bias", lib.tensor([1, 0, 1]))
        prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=5)
        seen.append((a.weight_mask, b.weight_mask, a.bias_mask, b.bias))
        seen.append(prune.L1Unstructured(2).prune(lib.tensor([1.0, -3.0, 2.0, 0.5])))
        seen.append(prune.l1_unstructured(nn.Linear(2, 2), "weight", 1, array(lib, 2, 2)).weight_mask)
        return seen, attempt(
            lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", 1.5),
            lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", -1),
            lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", "a"),
            lambda: prune.l1_unstructured(nn.Linear(1, 1), "weight", 5),
            lambda: prune.random_structured(nn.Linear(1, 1), "bias", 1, dim=0),
            lambda: prune.random_structured(nn.Linear(1, 1), "weight", 1, dim=2),
            lambda: prune.remove(nn.Linear(1, 1), "weight"),
            lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1),
            lambda: prune.global_unstructured([(a, "weight")], prune.L1Unstructured, importance_scores=3, amount=1),
            lambda: prune.global_unstructured([(a, "weight")], prune.RandomStructured, amount=1),
            lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", 1, array(lib, 2)),
            lambda: prune.PruningContainer(prune.L1Unstructured(1)),
        )

    works(run)
