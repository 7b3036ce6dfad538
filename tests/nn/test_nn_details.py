"""Details of layers against PyTorch: bad arguments, packed sequences, attention masks, options that a case has not."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from nn_data import array, gradients, integers
from test_nn_module import attempt


def test_bad_constructor_arguments(works):
    def run(lib):
        nn = lib.nn
        return attempt(
            lambda: nn.Bilinear(0, 2, 3),
            lambda: nn.Conv2d(3, 4, 3, groups=2),
            lambda: nn.Conv2d(4, 3, 3, groups=2),
            lambda: nn.Conv2d(4, 3, 3, groups=0),
            lambda: nn.Conv2d(4, 3, 3, stride=2, padding="same"),
            lambda: nn.ConvTranspose2d(4, 3, 3, padding_mode="reflect"),
            lambda: nn.GroupNorm(3, 4),
            lambda: nn.Dropout(1.5),
            lambda: nn.Dropout2d(-0.1),
            lambda: nn.Embedding(3, 2, padding_idx=3),
            lambda: nn.Embedding(3, 2, padding_idx=-4),
            lambda: nn.EmbeddingBag(3, 2, padding_idx=3),
            lambda: nn.Embedding(3, 2, _weight=lib.zeros(2, 2)),
            lambda: nn.Embedding.from_pretrained(lib.zeros(2)),
            lambda: nn.EmbeddingBag.from_pretrained(lib.zeros(2)),
            lambda: nn.Hardtanh(2, 1),
            lambda: nn.Hardtanh(min_value=-2, max_value=2),
            lambda: nn.HuberLoss(delta="a"),
            lambda: nn.MultiMarginLoss(p=3),
            lambda: nn.MultiMarginLoss(weight=lib.ones(2, 2)),
            lambda: nn.TripletMarginLoss(margin=-1),
            lambda: nn.TripletMarginWithDistanceLoss(margin=0),
            lambda: nn.MultiheadAttention(7, 2),
            lambda: nn.MultiheadAttention(0, 2),
            lambda: nn.FractionalMaxPool2d(2),
            lambda: nn.FractionalMaxPool2d(2, 3, 0.5),
            lambda: nn.FractionalMaxPool2d(2, output_ratio=1.5),
            lambda: nn.FractionalMaxPool3d(0, 3),
            lambda: nn.Unflatten(1, 3),
            lambda: nn.Unflatten(1, (2, "a")),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, []),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 5]),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5, 12]),
            lambda: nn.LinearCrossEntropyLoss(4, 3, weight=lib.ones(2)),
            lambda: nn.LinearCrossEntropyLoss(4, 3, label_smoothing=2.0),
            lambda: nn.LinearCrossEntropyOptions(acc_policy="x"),
            lambda: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:0"),
            lambda: nn.LinearCrossEntropyOptions(batch_chunk_size=0),
            lambda: nn.LinearCrossEntropyOptions(acc_dtype=lib.int8),
            lambda: nn.LinearCrossEntropyOptions(chunking_method="aspect_ratio:3"),
            lambda: nn.TransformerEncoderLayer(8, 2, activation="tanh"),
            lambda: nn.NLLLoss2d(),
            lambda: nn.Container(a=nn.ReLU()),
        )

    works(run)


def test_bad_rnn_arguments(works):
    def run(lib):
        nn = lib.nn
        return attempt(
            lambda: nn.LSTM(3, 4, dropout=1.5),
            lambda: nn.LSTM(3, 4, dropout=True),
            lambda: nn.LSTM(3, 4, bias=1),
            lambda: nn.LSTM(3, 4, batch_first=1),
            lambda: nn.LSTM(3.0, 4),
            lambda: nn.LSTM(3, "4"),
            lambda: nn.LSTM(0, 4),
            lambda: nn.LSTM(3, 0),
            lambda: nn.LSTM(3, 4, 0),
            lambda: nn.LSTM(3, 4, proj_size=-1),
            lambda: nn.LSTM(3, 4, proj_size=4),
            lambda: nn.GRU(3, 4, proj_size=2),
            lambda: nn.RNN(3, 4, proj_size=2),
            lambda: nn.RNN(3, 4, nonlinearity="elu"),
            lambda: nn.GRU(3, 4, dropout=0.1),
            lambda: nn.RNNBase("X", 3, 4),
            lambda: nn.GRU(3, 4, bogus=1),
        )

    works(run)


def test_bad_inputs(works):
    def run(lib):
        nn = lib.nn
        return attempt(
            lambda: nn.BatchNorm1d(3)(lib.zeros(3)),
            lambda: nn.BatchNorm2d(3)(lib.zeros(2, 3)),
            lambda: nn.BatchNorm3d(3)(lib.zeros(2, 3)),
            lambda: nn.SyncBatchNorm(3)(lib.zeros(2)),
            lambda: nn.SyncBatchNorm(0)(lib.zeros(2, 0)),
            lambda: nn.InstanceNorm1d(3)(lib.zeros(3)),
            lambda: nn.InstanceNorm2d(3)(lib.ones(2, 4, 2, 2)),
            lambda: nn.InstanceNorm2d(3, affine=True)(lib.ones(2, 4, 2, 2)),
            lambda: nn.Softmax2d()(lib.zeros(2)),
            lambda: nn.CircularPad1d(1)(lib.zeros(2)),
            lambda: nn.CircularPad2d(1)(lib.zeros(2)),
            lambda: nn.CircularPad3d(1)(lib.zeros(2)),
            lambda: nn.CrossMapLRN2d(3)(lib.zeros(2)),
            lambda: nn.ConvTranspose2d(1, 1, 3, 2)(lib.zeros(1, 1, 4, 4), output_size=(20, 20)),
            lambda: nn.ConvTranspose2d(1, 1, 3, 2)(lib.zeros(1, 1, 4, 4), output_size=[20]),
            lambda: nn.LSTM(3, 4)(lib.zeros(0, 2, 3)),
            lambda: nn.LSTM(3, 4)(lib.zeros(2)),
            lambda: nn.GRU(3, 4)(lib.zeros(2)),
            lambda: nn.RNN(3, 4)(lib.zeros(2)),
            lambda: nn.LSTM(3, 4)(lib.zeros(2, 1, 4)),
            lambda: nn.LSTM(3, 4)(lib.zeros(2, 1, 3), (lib.zeros(1, 4), lib.zeros(1, 4))),
            lambda: nn.LSTM(3, 4)(lib.zeros(2, 3), (lib.zeros(1, 1, 4), lib.zeros(1, 1, 4))),
            lambda: nn.LSTM(3, 4)(lib.zeros(2, 1, 3), (lib.zeros(1, 2, 4), lib.zeros(1, 1, 4))),
            lambda: nn.LSTM(3, 4)(lib.zeros(2, 1, 3), (lib.zeros(1, 1, 4), lib.zeros(1, 1, 5))),
            lambda: nn.GRU(3, 4)(lib.zeros(2, 1, 3), lib.zeros(1, 4)),
            lambda: nn.GRU(3, 4)(lib.zeros(2, 3), lib.zeros(1, 1, 4)),
            lambda: nn.GRU(3, 4)(lib.zeros(2, 3, 3), lib.zeros(1, 2, 4)),
            lambda: nn.GRU(3, 4)(lib.zeros(2, 3, 3).double()),
            lambda: nn.LSTMCell(3, 4)(lib.zeros(2, 4)),
            lambda: nn.LSTMCell(3, 4)(lib.zeros(2, 2, 4)),
            lambda: nn.LSTMCell(3, 4)(lib.zeros(2, 3), (lib.zeros(3, 4), lib.zeros(3, 4))),
            lambda: nn.LSTMCell(3, 4)(lib.zeros(2, 3), (lib.zeros(2, 4), lib.zeros(2, 5))),
            lambda: nn.LSTMCell(3, 4)(lib.zeros(2, 3), (lib.zeros(1, 2, 4), lib.zeros(2, 5))),
            lambda: nn.GRUCell(3, 4)(lib.zeros(2, 3), lib.zeros(1, 1, 4)),
            lambda: nn.GRUCell(3, 4)(lib.zeros(2, 3), lib.zeros(2, 3)),
            lambda: nn.RNNCell(3, 4)(lib.zeros(2, 2, 3)),
            lambda: nn.RNNCell(3, 4, nonlinearity="elu")(lib.zeros(2, 3)),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(lib.zeros(2, 4), lib.tensor([1, 2, 3])),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(lib.zeros(2, 4), lib.tensor([1, 10])),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(lib.zeros(2, 4), lib.tensor([[1, 10]])),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(lib.zeros(2, 4), lib.tensor(1)),
            lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 10, [5])(lib.zeros(1, 2, 4), lib.tensor([1])),
            lambda: nn.Transformer(8, 2, 1, 1, 8)(lib.zeros(3, 2, 8), lib.zeros(3, 1, 8)),
            lambda: nn.Transformer(8, 2, 1, 1, 8)(lib.zeros(3, 2, 8), lib.zeros(3, 2, 7)),
            lambda: nn.LazyLinear(2)(lib.zeros(2, 3)).shape,
        )

    works(run)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("enforce_sorted", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_packed_sequences(works, kind, enforce_sorted, bidirectional):
    lengths = [4, 3, 1] if enforce_sorted else [1, 4, 3]

    def run(lib):
        rnn = getattr(lib.nn, kind)(3, 5, 2, bidirectional=bidirectional)
        x = array(lib, 4, 3, 3, grad=True)
        packed = lib.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=enforce_sorted)
        rows = 4 if bidirectional else 2
        h = array(lib, rows, 3, 5, seed=4, grad=True)
        hx = (h, array(lib, rows, 3, 5, seed=5)) if kind == "LSTM" else h
        outputs = []
        for given in (None, hx):
            out, final = rnn(packed, given)
            padded, sizes = lib.nn.utils.rnn.pad_packed_sequence(out, padding_value=-1.0)
            outputs.append([out.data, out.batch_sizes, padded, sizes, final])
        grads = gradients(outputs, {"x": x, "h": h, **dict(rnn.named_parameters())}, lib)
        return outputs, grads, out.sorted_indices, out.unsorted_indices

    works(run, rtol=1e-4, atol=1e-5)


def test_rnn_odds_and_ends(works):
    def run(lib):
        rnn = lib.nn.LSTM(3, 4, 2, bidirectional=True)
        rnn.flatten_parameters()
        shapes = [[tuple(w.shape) for w in row] for row in rnn.all_weights]
        rnn.weight_ih_l0 = lib.nn.Parameter(lib.zeros(16, 3))
        out = rnn(array(lib, 2, 1, 3))[0]
        rnn.double()
        return shapes, out, rnn(array(lib, 2, 1, 3).double())[0], len(rnn._flat_weights)

    works(run)


def test_attention_masks(works):
    def run(lib):
        attention = lib.nn.MultiheadAttention(8, 2, batch_first=True)
        x = array(lib, 2, 4, 8)
        causal = lib.nn.Transformer.generate_square_subsequent_mask(4)
        boolean = causal != 0
        padding = lib.tensor([[False, False, True, True], [False, False, False, False]])
        per_head = array(lib, 4, 4, 4)
        return attempt(
            lambda: attention(x, x, x, attn_mask=causal),
            lambda: attention(x, x, x, attn_mask=boolean, key_padding_mask=padding),
            lambda: attention(x, x, x, attn_mask=causal, key_padding_mask=padding),
            lambda: attention(x, x, x, key_padding_mask=padding, average_attn_weights=False),
            lambda: attention(x, x, x, attn_mask=per_head),
            lambda: attention(x, x, x, attn_mask=causal, is_causal=True, need_weights=False),
            lambda: attention(x, x, x, is_causal=True),
            lambda: attention(x, x, x, attn_mask=lib.ones(4, 4, dtype=lib.int64)),
            lambda: attention(x, x, x, attn_mask=lib.ones(3, 4)),
            lambda: attention(x[0], x[0], x[0], key_padding_mask=padding[0]),
            lambda: attention.merge_masks(causal, lib.zeros(2, 4), x),
            lambda: attention.merge_masks(per_head, None, x),
            lambda: attention.merge_masks(None, padding, x),
            lambda: attention.merge_masks(None, None, x),
        )

    works(run)


def test_transformer_masks(works):
    def run(lib):
        model = lib.nn.Transformer(8, 2, 1, 1, 16, 0.0, batch_first=True)
        src, tgt = array(lib, 2, 5, 8), array(lib, 2, 3, 8, seed=1)
        causal = lib.nn.Transformer.generate_square_subsequent_mask(3)
        padding = lib.tensor([[False] * 3 + [True] * 2, [False] * 5])
        return [
            model(src, tgt, tgt_mask=causal),
            model(src, tgt, tgt_mask=causal, tgt_is_causal=True),
            model(src, tgt, src_key_padding_mask=padding, memory_key_padding_mask=padding),
            model(src[0], tgt[0]),
        ]

    works(run)


def test_encoder_that_skips_padding(works):
    """Evaluating without gradients, PyTorch leaves out padded positions, which shows in the output."""

    def run(lib):
        layer = lib.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
        encoder = lib.nn.TransformerEncoder(layer, 2)
        normed = lib.nn.TransformerEncoder(layer, 2, lib.nn.LayerNorm(8))
        src = array(lib, 2, 5, 8)
        padding = lib.tensor([[False] * 3 + [True] * 2, [False] * 5])
        ragged = lib.tensor([[True] + [False] * 4, [False] * 5])
        seen = [encoder(src, src_key_padding_mask=padding)]
        for model in (encoder.eval(), normed.eval()):
            with lib.no_grad():
                seen.append(model(src, src_key_padding_mask=padding))
                seen.append(model(src, src_key_padding_mask=ragged))
                seen.append(model(src))
            seen.append(model(src, src_key_padding_mask=padding))
        return seen

    works(run)


def test_encoder_warnings(works):
    def run(lib):
        nn = lib.nn

        def encoder(**options):
            return nn.TransformerEncoder(nn.TransformerEncoderLayer(6, options.pop("nhead", 2), 8, **options), 1)

        encoder(batch_first=True)
        encoder(batch_first=True, norm_first=True)
        encoder(batch_first=True, bias=False)
        encoder(batch_first=True, nhead=3)
        encoder(batch_first=True, activation=nn.Tanh())
        encoder()
        nn.TransformerEncoder(nn.Linear(1, 1), 1)
        nn.TransformerEncoder(nn.Linear(1, 1), 1, enable_nested_tensor=False)
        return None

    works(run)


def test_embedding_from_pretrained(works):
    def run(lib):
        table = array(lib, 4, 3)
        frozen = lib.nn.Embedding.from_pretrained(table, padding_idx=1)
        free = lib.nn.EmbeddingBag.from_pretrained(table, freeze=False, mode="max")
        indices = integers(lib, 4, 2, 2)
        return frozen, free, frozen.weight.requires_grad, free.weight.requires_grad, frozen(indices), free(indices)

    works(run)


def test_embedding_bag_arguments(works):
    def run(lib):
        bag = lib.nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True)
        indices, offsets = lib.tensor([0, 1, 2, 3]), lib.tensor([0, 3, 4])
        weights = array(lib, 4)
        return bag(indices, offsets), bag(indices, offsets, per_sample_weights=weights)

    works(run)


def test_batch_norm_statistics(works):
    def run(lib):
        seen = []
        for momentum in (0.1, None):
            bn = lib.nn.BatchNorm1d(3, momentum=momentum)
            for i in range(3):
                bn(array(lib, 4, 3, seed=i))
            bn.eval()
            seen.append((bn(array(lib, 2, 3)), dict(bn.state_dict())))
            bn.reset_running_stats()
            seen.append(dict(bn.state_dict()))
        net = lib.nn.Sequential(lib.nn.BatchNorm2d(2), lib.nn.Sequential(lib.nn.BatchNorm1d(2, affine=False)))
        converted = lib.nn.SyncBatchNorm.convert_sync_batchnorm(net)
        return seen, converted, converted is net, converted[0](array(lib, 2, 2, 3, 3))

    works(run)


def test_adaptive_softmax(works):
    def run(lib):
        m = lib.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], head_bias=True)
        x = array(lib, 6, 8, scale=3.0)
        single = m(x[0], lib.tensor(12))
        return m.log_prob(x), m.predict(x), m.predict(x * 10), single.output, single.loss

    works(run)


def test_loss_weights_and_reductions(works):
    def run(lib):
        nn = lib.nn
        x, classes = array(lib, 3, 4), integers(lib, 4, 3)
        weight, target = array(lib, 4).abs(), array(lib, 3, 4, seed=2).sigmoid()
        pos = nn.BCEWithLogitsLoss(weight=weight, pos_weight=weight)
        return attempt(
            lambda: nn.CrossEntropyLoss(weight=weight)(x, classes),
            lambda: nn.CrossEntropyLoss(weight=weight, reduction="none", ignore_index=2)(x, classes),
            lambda: nn.CrossEntropyLoss()(x, target.softmax(1)),
            lambda: nn.NLLLoss(weight)(x, classes),
            lambda: (pos(x, target), list(pos.state_dict())),
            lambda: nn.BCELoss(weight=weight)(x.sigmoid(), target),
            lambda: nn.MultiLabelSoftMarginLoss(weight=weight)(x, target.round()),
            lambda: nn.MultiMarginLoss(weight=weight)(x, classes),
            lambda: nn.MSELoss(size_average=True, reduce=True)(x, target),
            lambda: nn.L1Loss(reduction="bogus")(x, target),
            lambda: nn.MSELoss()(x, target[:1]),
            lambda: nn.KLDivLoss()(x.log_softmax(1), target.softmax(1)),
            lambda: nn.TripletMarginLoss(p=1, reduction="none")(x, target, x * 2),
            lambda: nn.GaussianNLLLoss(full=True, reduction="sum")(x, target, target),
            lambda: nn.LinearCrossEntropyLoss(4, 3, out_features=(2,))(x, integers(lib, 3, 3, 2)),
            lambda: repr(nn.LinearCrossEntropyLoss(4, 3, ignore_index=1)),
        )

    works(run)


def test_module_utils(works):
    def run(lib):
        utils = lib.nn.modules.utils
        state = lib.nn.Sequential(lib.nn.Linear(1, 1)).state_dict(prefix="module.")
        utils.consume_prefix_in_state_dict_if_present(state, "module.")
        return (
            [utils._single(1), utils._pair(2), utils._triple((1, 2, 3)), utils._quadruple(0), utils._ntuple(5)(1)],
            utils._pair.__name__,
            utils._reverse_repeat_tuple((1, 2), 2),
            utils._list_with_default([None, 3], [4, 5, 6]),
            list(state),
            dict(state._metadata),
            attempt(lambda: utils._list_with_default([1, 2], [1])),
            lib.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"device": 2}}),
            lib.nn.factory_kwargs(None),
            attempt(
                lambda: lib.nn.factory_kwargs({"dtype": 1, "factory_kwargs": {"dtype": 2}}),
                lambda: lib.nn.factory_kwargs({"bogus": 1}),
            ),
        )

    works(run)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_convolution_gradients_as_functions(works, dims):
    def run(lib):
        x, w = array(lib, 2, 4, *(5,) * dims), array(lib, 6, 2, *(3,) * dims)
        options = {"stride": 2, "padding": 1, "groups": 2}
        out = getattr(lib.nn.functional, f"conv{dims}d")(x, w, **options)
        grad = array(lib, *out.shape, seed=3)
        of = lib.nn.grad
        return (
            getattr(of, f"conv{dims}d_input")(x.shape, w, grad, **options),
            getattr(of, f"conv{dims}d_weight")(x, w.shape, grad, **options),
        )

    works(run, rtol=1e-4, atol=1e-5)


def test_data_parallel(works):
    def run(lib):
        wrapped = lib.nn.DataParallel(lib.nn.Linear(2, 2), device_ids=[0, 1])
        return wrapped, wrapped(array(lib, 1, 2)), list(wrapped.state_dict()), wrapped.device_ids

    works(run)


def test_crossmap_forward_needs_no_square_batch(works):
    def run(lib):
        return [lib.nn.CrossMapLRN2d(size, alpha=0.3)(array(lib, 1, c, 2, 2)) for size, c in ((1, 3), (5, 3), (7, 12))]

    works(run)


@pytest.mark.parity
def test_attention_bias():
    torch = pytest.importorskip("torch")
    importlib.import_module("torch.nn.attention.bias")
    from penlight.nn.attention import bias

    for name in ("causal_lower_right", "causal_upper_left"):
        theirs = getattr(torch.nn.attention.bias, name)(2, 3)
        ours = getattr(bias, name)(2, 3)
        assert np.array_equal(ours.numpy(), theirs._materialize().numpy())
        assert (int(ours.variant), ours.seq_len_q, ours.seq_len_kv) == (int(theirs.variant), 2, 3)


def test_running_statistics_of_another_dtype():
    """Instance norm takes them in the dtype of its weight, or of its input; they stay as they are."""
    import penlight

    norm = penlight.nn.InstanceNorm1d(2, track_running_stats=True)
    x = penlight.tensor([[[1.0, 3.0], [2.0, 6.0]]], dtype=penlight.float64)
    assert norm(x).dtype is penlight.float64
    assert norm.running_mean.dtype is penlight.float32 and norm.running_mean.tolist() == pytest.approx([0.2, 0.4])
    with pytest.raises(RuntimeError, match="mixed dtype"):
        penlight.nn.functional.instance_norm(x, weight=penlight.ones(2))
