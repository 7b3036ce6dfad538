"""Checks the derivatives of one declared op against finite differences: on arrays, on tensors, of second order, in forward mode.

The samples are calls that the records of tests/ops make, by preference those of the function that the op is named after.
"""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import replace

import numpy as np

import penlight
import penlight.nn.functional as F
from penlight.autograd import forward_ad
from penlight.ops import OPS
from tests.func import capturing

DOUBLES = (penlight.float64, penlight.complex128)
LARGEST = 300  # elements of a sample's inputs
STEP = 1e-6


HERMITIAN = {"_linalg_cholesky_ex", "_cholesky", "_linalg_eigh"}  # these read one triangle
PHASES = {"_linalg_svd", "_linalg_eigh", "_linalg_eig"}  # their vectors are given up to a sign or phase
# Whole sequences at once, which forward mode never runs: it takes the loop of other ops.
FUSED = {
    "_mkldnn_rnn_layer",
    *(
        f"_{kind}{ending}"
        for kind in ("lstm_sequence", "lstm_projected", "gru_sequence", "rnn_sequence")
        for ending in ("", "_packed")
    ),
}
# Loss and softmax in one become two ops where tangents are carried; that of CTC is refused, as in PyTorch.
WITHOUT_FORWARD_MODE = FUSED | {"_log_softmax_shared", "_nll_loss_shared", "_ctc_loss"}
NORMS = ("_native_layer_norm", "_fused_rms_norm", "_native_batch_norm", "_native_group_norm")


def differentiable_results(name):
    """How many of an op's results have a derivative: the others are kept for its backward pass. None is all."""
    if name in FUSED:
        return 3 if "lstm" in name or name == "_mkldnn_rnn_layer" else 2
    return 1 if name in (*NORMS, "_attention") else None


class Sample:
    """A call of an op as a function of those of its inputs that have rules."""

    def __init__(self, op, arguments):
        self.op, self.arguments = op, arguments
        self.paths = [
            path
            for path in capturing.places_of_tensors(arguments)
            if op.parameters[path[0]] in op.rules and capturing.at(arguments, path).dtype in DOUBLES
        ]
        self.names = [op.parameters[path[0]] for path in self.paths]
        self.is_complex = any(capturing.at(arguments, p).is_complex() for p in self.paths)

    def __repr__(self):
        return f"{self.op.name}{capturing.described(self.arguments)}"

    @property
    def inputs(self):
        return [capturing.at(self.arguments, p).numpy() for p in self.paths]

    def __call__(self, *inputs):
        arguments = self.arguments
        for path, value in zip(self.paths, inputs):
            if self.op.name in HERMITIAN:
                value = (value + value.mH) / 2
            arguments = capturing.replaced(arguments, path, value)
        penlight.manual_seed(0)
        outs = capturing.flatten(self.op.function(*arguments))
        if self.op.name in PHASES:
            outs = [o.abs() for o in outs]
        floats = [o for o in outs if o.is_floating_point() or o.is_complex()]
        return tuple(floats[: differentiable_results(self.op.name)])

    def usable(self):
        tensors = [capturing.at(self.arguments, p) for p in capturing.places_of_tensors(self.arguments)]
        floats = [t for t in tensors if t.is_floating_point() or t.is_complex()]
        size = sum(capturing.at(self.arguments, p).numel() for p in self.paths)
        least = 9 if self.op.name in HERMITIAN else 1
        if not self.paths or not least <= size <= LARGEST or any(unwanted(a) for a in self.arguments):
            return False
        return all(t.dtype in DOUBLES and t.numel() and np.isfinite(t.numpy()).all() for t in floats)


def unwanted(argument):
    """Infinities, results of less than double precision, and QR in modes that have no derivative."""
    if isinstance(argument, float):
        return math.isinf(argument)
    return (isinstance(argument, str) and argument in ("complete", "r")) or (
        isinstance(argument, penlight.dtype) and argument not in DOUBLES
    )


class Composite:
    """A function that calls an op among others, for what cannot be called or differentiated alone."""

    is_complex = False

    def __init__(self, op, function, names, *inputs):
        self.op, self.function, self.names, self.inputs = op, function, names.split(), inputs

    def __repr__(self):
        return f"a function of {[x.shape for x in self.inputs]}"

    def __call__(self, *inputs):
        penlight.manual_seed(0)
        return (self.function(*inputs),)


# ----- Finding samples ----------------------------------------------------------------------------------------------


def tensors_of(sample):
    values = [v for a in (*sample.args, *sample.kwargs.values()) for v in (a if isinstance(a, (list, tuple)) else [a])]
    return [v for v in values if hasattr(v, "layout")]


def random_data(sample):
    """Whether a sample has no given data, which is there for kinks and ties."""
    return not any(x.data is not None and "float" in x.dtype for x in tensors_of(sample))


WIDER = {"complex64": "complex128", "float32": "float64"}


def widened(value):
    """A sample's argument in double precision."""
    if isinstance(value, (list, tuple)):
        return type(value)(widened(v) for v in value)
    return replace(value, dtype=WIDER.get(value.dtype, value.dtype)) if hasattr(value, "layout") else value


def in_doubles(sample):
    """A sample of complex numbers in double precision; None for one of real numbers in another."""
    dtypes = {x.dtype for x in tensors_of(sample)}
    if "complex64" in dtypes:
        return replace(sample, args=widened(sample.args), kwargs={k: widened(v) for k, v in sample.kwargs.items()})
    return sample if dtypes & {"float64", "complex128"} and not dtypes & {"float32", "float16", "bfloat16"} else None


@functools.cache
def calls_of(name):
    """The usable calls of ops that a record makes, those of samples with random data first."""
    record, found = capturing.RECORDS[name], []
    doubles = [s for s in map(in_doubles, record.samples) if s is not None]
    record = replace(record, samples=tuple(sorted(doubles, key=lambda sample: not random_data(sample))))
    for number in range(len(record.samples)):
        try:
            noted = capturing.noting(capturing.whole_life(record, number, 0))
        except Exception:
            continue  # refused, or a sample that needs its own seed
        for call in noted:
            if call.op.rules and not call.inplace and not call.op.name.endswith("_into"):
                sample = Sample(call.op, call.arguments)
                if sample.usable():
                    found.append(sample)
    return found


@functools.cache
def records_in_order():
    """Smooth records without given data first."""
    return sorted(capturing.RECORDS, key=lambda name: not capturing.RECORDS[name].smooth)


@functools.cache
def samples(name):
    """Calls of an op that reach each of its rules in real numbers, and those rules in complex numbers that its own records reach."""
    op = OPS[name]
    if name in WRITTEN:
        return WRITTEN[name](op)
    named = [n for n in records_in_order() if op.public in (n.rpartition(".")[2], n.replace(".", "_").lower())]
    found, real, complexes = [], set(), set()
    for record in dict.fromkeys([*named, *records_in_order()]):
        if record not in named and real >= op.rules.keys():
            break
        for sample in calls_of(record):
            reached = complexes if sample.is_complex else real
            if sample.op is op and not reached >= {*sample.names}:
                found.append(sample)
                reached.update(sample.names)
    return found


def draw(*shape):
    return np.random.default_rng(len(shape)).uniform(-1.0, 1.0, shape)


def recurrent(gates, batch_sizes=None, cell=False, projection=None, more=()):
    """A recurrence of two steps (or packed ones) of three features in four units."""

    def make(op):
        state = projection or 4
        shapes = [
            (3, 3) if batch_sizes else (2, 2, 3),
            (gates * 4, 3),
            (gates * 4, state),
            (gates * 4,),
            (gates * 4,),
            (2, state),
        ]
        shapes += [(2, 4)] if cell else []
        shapes += [(state, 4)] if projection else []
        rng = np.random.default_rng(0)
        tensors = [penlight.tensor(rng.uniform(-1.0, 1.0, shape)) for shape in shapes]
        return [Sample(op, (*tensors, *more, batch_sizes, reverse)) for reverse in (False, True)]

    return make  # fmt: skip


def call(*arguments):
    """A sample of given arguments: arrays become tensors."""
    made = tuple(penlight.tensor(a) if isinstance(a, np.ndarray) else a for a in arguments)
    return lambda op: [Sample(op, made)]


def composite(function, names, *inputs):
    return lambda op: [Composite(op, function, names, *inputs)]


def ctc(scores):
    """PyTorch's rule holds for normalised probabilities only."""
    targets = penlight.tensor([[1, 2, 1], [3, 1, 2]])
    return F.ctc_loss(scores.log_softmax(2), targets, [5, 5], [3, 2], reduction="none")


def cross_entropy(scores):
    return F.cross_entropy(scores, penlight.tensor([0, 2, 1, 1]))


def bag(weight, per_sample_weights):
    indices = penlight.tensor([[0, 2], [1, 1]])
    return F.embedding_bag(indices, weight, mode="sum", per_sample_weights=per_sample_weights.reshape(2, 2))


def fractional_max_pool(images):
    pool = getattr(F, f"fractional_max_pool{images.ndim - 2}d")
    shares = penlight.full((*images.shape[:2], images.ndim - 2), 0.4, dtype=penlight.float64)
    return pool(images, 2, output_ratio=0.5, _random_samples=shares)


POINTS = np.array([[0.3, -1.2, 0.7], [-0.4, 1.5, -0.1]])
SLOPES = np.array([[1.0, 0.2, 1.0], [0.3, 1.0, 0.25]])

AMOUNTS = penlight.tensor([1.5, 2.2, 3.1], dtype=penlight.float64)

# Samples of ops that no record reaches alone, or with inputs by which the derivative is refused.
WRITTEN = {
    "_add_number": call(POINTS, 2.0),
    "_in_format_copy": call(POINTS.T, True),
    "_copy": call(POINTS, draw(2, 3)),
    "_negated": call(POINTS),
    "_fill": call(POINTS, 2.0),
    "_fill_tensor": call(POINTS, draw()),
    "_zero": call(POINTS),
    "_stack_one": call(POINTS),
    "_nested_view_from_jagged": call(POINTS),
    "_sparse_from_values": call(POINTS),
    "_nested_get_values": call(POINTS),
    "_leaky_relu_written": call(POINTS, 0.2),
    "_threshold_written": call(POINTS, 0.1, 0.5),
    "_elu_written": call(POINTS, 0.7, 1.3, 0.8),
    "_celu_written": call(POINTS, 0.7),
    "_rrelu_written": call(POINTS, penlight.tensor(SLOPES), 0.125, 0.5, True),
    "_rrelu_noisy_backward": call(draw(2, 3), POINTS, penlight.tensor(SLOPES)),
    "_fractional_max_pool2d": composite(fractional_max_pool, "input", draw(1, 2, 5, 6)),
    "_fractional_max_pool3d": composite(fractional_max_pool, "input", draw(1, 1, 4, 5, 4)),
    "_log_softmax_shared": composite(cross_entropy, "input", draw(4, 3)),
    "_nll_loss_shared": composite(cross_entropy, "input", draw(4, 3)),
    "_embedding_bag": composite(bag, "weight per_sample_weights", draw(3, 4), draw(4)),
    "_ctc_loss": composite(ctc, "log_probs", draw(5, 2, 4)),
    "igamma": composite(lambda x: penlight.igamma(AMOUNTS, x), "other", np.array([0.4, 1.1, 2.5])),
    "igammac": composite(lambda x: penlight.igammac(AMOUNTS, x), "other", np.array([0.4, 1.1, 2.5])),
    "_special_zeta": composite(lambda x: penlight.special.zeta(AMOUNTS, x), "other", np.array([0.4, 1.1, 2.5])),
    "_mkldnn_rnn_layer": recurrent(4, cell=True),
    "_lstm_sequence": recurrent(4, cell=True),
    "_lstm_sequence_packed": recurrent(4, (2, 1), cell=True),
    "_lstm_projected": recurrent(4, cell=True, projection=2),
    "_lstm_projected_packed": recurrent(4, (2, 1), cell=True, projection=2),
    "_gru_sequence": recurrent(3),
    "_gru_sequence_packed": recurrent(3, (2, 1)),
    "_rnn_sequence": recurrent(1, more=(False,)),
    "_rnn_sequence_packed": recurrent(1, (2, 1), more=(False,)),
}


# ----- Comparing ----------------------------------------------------------------------------------------------------


def refused(error):
    return "is not implemented" in str(error) or "once_differentiable" in str(error)


def leaves(arrays):
    return [penlight.tensor(a, requires_grad=True) for a in arrays]


def random_like(rng, array):
    """Numbers about 1 of either sign, so that no part of a derivative is missed."""
    values = rng.uniform(0.5, 1.5, array.shape) * rng.choice([-1, 1], array.shape)
    return values + 1j * rng.uniform(0.5, 1.5, array.shape) if array.dtype.kind == "c" else values


def moved(inputs, number, direction, step):
    return [x + step * direction if i == number else x for i, x in enumerate(inputs)]


def inner(a, b):
    """The real inner product of lists of arrays; None is zero."""
    return sum(float(np.real(np.sum(np.conj(x) * y))) for x, y in zip(a, b) if x is not None and y is not None)


def size_of(a, b):
    return sum(float(np.sum(np.abs(x) * np.abs(y))) for x, y in zip(a, b) if x is not None and y is not None)


def arrays(tensors):
    return [None if t is None else t.detach().resolve_conj().numpy() for t in tensors]


def differ(found, expected, scale):
    return not abs(found - expected) <= 2e-5 * scale + 1e-7


def check(sample, second=True, forward=True):
    """What is wrong with the derivatives of an op at a sample: a list of sentences."""
    wrong = []
    rng = np.random.default_rng(0)
    inputs = sample.inputs
    with warnings.catch_warnings(), penlight.no_grad():
        warnings.simplefilter("ignore")
        directions = [random_like(rng, x) for x in inputs]
        weights = [random_like(rng, y) for y in arrays(sample(*map(penlight.tensor, inputs)))]
        slopes = []  # of each output along the direction of each input
        for i, d in enumerate(directions):
            after = arrays(sample(*map(penlight.tensor, moved(inputs, i, d, STEP))))
            before = arrays(sample(*map(penlight.tensor, moved(inputs, i, d, -STEP))))
            slopes.append([(a - b) / (2 * STEP) for a, b in zip(after, before)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong += check_backward(sample, inputs, weights, directions, slopes, second)
        if forward and sample.op.name not in WITHOUT_FORWARD_MODE:
            wrong += check_forward(sample, inputs, directions, slopes)
    return wrong


def gradients(sample, inputs, weights, create_graph=False):
    """Its gradients as tensors, the inputs and the gradients of the outputs that they are functions of."""
    tensors, given = leaves(inputs), [penlight.tensor(w, requires_grad=create_graph) for w in weights]
    outs = sample(*tensors)
    pairs = [(o, w) for o, w in zip(outs, given) if o.requires_grad]
    if not pairs:
        return [None] * len(tensors), tensors, given
    found = penlight.autograd.grad(
        [o for o, _ in pairs], tensors, [w for _, w in pairs], allow_unused=True, create_graph=create_graph
    )
    return found, tensors, given


def check_backward(sample, inputs, weights, directions, slopes, second):
    try:
        grads = arrays(gradients(sample, inputs, weights)[0])
    except (RuntimeError, NotImplementedError) as error:
        if refused(error):
            return []
        raise
    wrong = []
    for name, grad, d, slope in zip(sample.names, grads, directions, slopes):
        found, expected = inner([grad], [d]), inner(weights, slope)
        if differ(found, expected, size_of([grad], [d]) + size_of(weights, slope)):
            wrong.append(f"backward by {name}: {found} instead of {expected}")
    if not second:
        return wrong
    try:
        on_tensors, tensors, given = gradients(sample, inputs, weights, True)
    except (RuntimeError, NotImplementedError) as error:
        return wrong if refused(error) else [*wrong, f"create_graph=True: {error}"]
    for name, a, b in zip(sample.names, arrays(on_tensors), grads):
        if (a is None) != (b is None) or (a is not None and not np.allclose(a, b, 1e-8, 1e-10)):
            wrong.append(f"backward by {name} on tensors: {a} instead of {b}")
    return wrong + check_second(sample, inputs, weights, directions, on_tensors, tensors, given)


def check_second(sample, inputs, weights, directions, on_tensors, tensors, given):
    rng = np.random.default_rng(1)
    kept = [g for g in on_tensors if g is not None and g.requires_grad]
    if not kept:
        return []
    again = [None if g is None or not g.requires_grad else random_like(rng, g.detach().numpy()) for g in on_tensors]
    try:
        found = penlight.autograd.grad(
            kept, [*tensors, *given], [penlight.tensor(w) for w in again if w is not None], allow_unused=True
        )
    except (RuntimeError, NotImplementedError) as error:
        return [] if refused(error) else [f"second order: {error}"]
    wrong = []
    points, turned = [*inputs, *weights], [*directions, *(random_like(rng, w) for w in weights)]
    for i, (grad, d) in enumerate(zip(arrays(found), turned)):
        slope = []
        for step in (STEP, -STEP):
            point = moved(points, i, d, step)
            slope.append(arrays(gradients(sample, point[: len(inputs)], point[len(inputs) :])[0]))
        differences = [None if a is None else (a - b) / (2 * STEP) for a, b in zip(*slope)]
        mine, expected = inner([grad], [d]), inner(again, differences)
        if differ(mine, expected, size_of([grad], [d]) + size_of(again, differences)):
            wrong.append(f"second order by {i}: {mine} instead of {expected}")
    return wrong


def check_forward(sample, inputs, directions, slopes):
    wrong = []
    for i, (d, slope) in enumerate(zip(directions, slopes)):
        try:
            with forward_ad.dual_level():
                duals = [penlight.tensor(x) for x in inputs]
                duals[i] = forward_ad.make_dual(duals[i], penlight.tensor(d))
                tangents = arrays([forward_ad.unpack_dual(out).tangent for out in sample(*duals)])
        except (RuntimeError, NotImplementedError) as error:
            if not refused(error):
                wrong.append(f"forward mode: {error}")
            continue
        for mine, expected in zip(tangents, slope):
            mine = np.zeros_like(expected) if mine is None else mine
            scale = float(np.abs(expected).max(initial=0)) + float(np.abs(mine).max(initial=0))
            if mine.shape != expected.shape or not np.all(np.abs(mine - expected) <= 2e-5 * scale + 1e-7):
                wrong.append(f"forward mode by {i}: {mine.tolist()} instead of {expected.tolist()}")
    return wrong


# ----- Large arrays -------------------------------------------------------------------------------------------------

MANY = 40_000  # elements: beyond the sizes at which rules run in blocks, by threads and in machine code


def enlarged(sample):
    """A sample of an elementwise op with as many elements; None if it is not one of real numbers."""
    if not isinstance(sample, Sample) or sample.is_complex:
        return None
    paths = capturing.places_of_tensors(sample.arguments)
    shapes = [tuple(capturing.at(sample.arguments, p).shape) for p in paths]
    shape, arguments = np.broadcast_shapes(*shapes), sample.arguments
    for path in paths:
        value = np.broadcast_to(capturing.at(sample.arguments, path).numpy(), shape)
        arguments = capturing.replaced(arguments, path, penlight.tensor(np.resize(value, MANY)))
    return Sample(sample.op, arguments)


def check_single_precision(sample):
    """What is wrong with gradients in float32, compared with those in float64 of the same numbers."""
    rng = np.random.default_rng(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inputs = [x.astype(np.float32) for x in sample.inputs]
        with penlight.no_grad():
            weights = [random_like(rng, y) for y in arrays(sample(*map(penlight.tensor, inputs)))]
        try:
            narrow = [w.astype(np.complex64 if w.dtype.kind == "c" else np.float32) for w in weights]
            found = arrays(gradients(sample, inputs, narrow)[0])
            wanted = arrays(gradients(sample, [x.astype(np.float64) for x in inputs], weights)[0])
        except (RuntimeError, NotImplementedError) as error:
            return [] if refused(error) else [str(error)]
    wrong = []
    for name, a, b in zip(sample.names, found, wanted):
        if (a is None) != (b is None):
            wrong.append(f"{name}: a gradient in one precision only")
        elif a is not None and not np.all(np.abs(a - b) <= 2e-4 * (np.abs(b) + np.abs(b).mean()) + 1e-6):
            worst = np.unravel_index(np.argmax(np.abs(a - b)), a.shape)
            wrong.append(f"{name} in float32: {a[worst]} instead of {b[worst]} at {worst}")
    return wrong


def large(function, *shapes):
    """A public function of large arrays."""

    def make():
        rng = np.random.default_rng(3)
        names = " ".join(f"argument_{i}" for i in range(len(shapes)))
        return Composite(None, function, names, *(rng.uniform(-1.0, 1.0, shape) for shape in shapes))

    return make


ROWS, IMAGES, WIDE = (200, 200), (2, 8, 50, 50), (4, 100, 100)
WHERE = penlight.tensor(np.random.default_rng(4).integers(0, 200, ROWS))
GRID = (2 * penlight.tensor(np.random.default_rng(5).integers(0, 48, (2, 60, 60, 2))) + 2) / 50.0 - 1  # between pixels

# Ops that are not elementwise, at sizes where other code runs.
LARGE = {
    "sum": large(lambda x: x.sum(), ROWS),
    "sum_rows": large(lambda x: x.sum(1), ROWS),
    "sum_columns": large(lambda x: x.sum(0), ROWS),
    "mean": large(lambda x: x.mean(), ROWS),
    "mean_dims": large(lambda x: x.mean((0, 2, 3)), IMAGES),
    "var": large(lambda x: x.var(), ROWS),
    "var_rows": large(lambda x: x.var(1), ROWS),
    "std": large(lambda x: x.std(0), ROWS),
    "prod": large(lambda x: (1 + x / 100).prod(1), ROWS),
    "norm": large(lambda x: x.norm(), ROWS),
    "vector_norm": large(lambda x: penlight.linalg.vector_norm(x, 3, 1), ROWS),
    "logsumexp": large(lambda x: x.logsumexp(1), ROWS),
    "amax": large(lambda x: x.amax(1), ROWS),
    "max": large(lambda x: x.max(1)[0], ROWS),
    "sort": large(lambda x: x.sort(1)[0], ROWS),
    "topk": large(lambda x: x.topk(5, 1)[0], ROWS),
    "median": large(lambda x: x.median(1)[0], ROWS),
    "cumsum": large(lambda x: x.cumsum(1), ROWS),
    "cumprod": large(lambda x: (1 + x / 100).cumprod(1), ROWS),
    "logcumsumexp": large(lambda x: x.logcumsumexp(1), ROWS),
    "softmax": large(lambda x: x.softmax(1), ROWS),
    "softmax_columns": large(lambda x: x.softmax(0), ROWS),
    "log_softmax": large(lambda x: x.log_softmax(1), ROWS),
    "layer_norm": large(lambda x, w, b: F.layer_norm(x, (200,), w, b), ROWS, (200,), (200,)),
    "rms_norm": large(lambda x, w: F.rms_norm(x, (200,), w), ROWS, (200,)),
    "group_norm": large(lambda x, w, b: F.group_norm(x, 4, w, b), IMAGES, (8,), (8,)),
    "batch_norm": large(lambda x, w, b: F.batch_norm(x, None, None, w, b, True), IMAGES, (8,), (8,)),
    "instance_norm": large(lambda x: F.instance_norm(x), IMAGES),
    "local_response_norm": large(lambda x: F.local_response_norm(x, 3), IMAGES),
    "normalize": large(lambda x: F.normalize(x), ROWS),
    "cosine_similarity": large(lambda x, y: F.cosine_similarity(x, y), ROWS, ROWS),
    "linear": large(F.linear, ROWS, (100, 200), (100,)),
    "matmul": large(penlight.matmul, ROWS, ROWS),
    "bmm": large(penlight.bmm, WIDE, WIDE),
    "addmm": large(penlight.addmm, ROWS, ROWS, ROWS),
    "conv1d": large(lambda x, w, b: F.conv1d(x, w, b, padding=1), (4, 8, 1500), (8, 8, 3), (8,)),
    "conv2d": large(lambda x, w, b: F.conv2d(x, w, b, padding=1), IMAGES, (8, 8, 3, 3), (8,)),
    "conv2d_strided": large(lambda x, w: F.conv2d(x, w, stride=2), IMAGES, (8, 8, 3, 3)),
    "conv2d_of_groups": large(lambda x, w: F.conv2d(x, w, groups=8), IMAGES, (8, 1, 3, 3)),
    "conv2d_pointwise": large(lambda x, w: F.conv2d(x, w), IMAGES, (8, 8, 1, 1)),
    "conv3d": large(lambda x, w: F.conv3d(x, w), (1, 4, 22, 22, 22), (4, 4, 3, 3, 3)),
    "conv_transpose2d": large(lambda x, w: F.conv_transpose2d(x, w, stride=2), IMAGES, (8, 8, 3, 3)),
    "max_pool2d": large(lambda x: F.max_pool2d(x, 2), IMAGES),
    "max_pool2d_overlapping": large(lambda x: F.max_pool2d(x, 3, 2, 1), IMAGES),
    "avg_pool2d": large(lambda x: F.avg_pool2d(x, 2), IMAGES),
    "adaptive_avg_pool2d": large(lambda x: F.adaptive_avg_pool2d(x, 7), IMAGES),
    "adaptive_max_pool2d": large(lambda x: F.adaptive_max_pool2d(x, 7), IMAGES),
    "interpolate_nearest": large(lambda x: F.interpolate(x, scale_factor=2), (1, 4, 50, 50)),
    "interpolate_bilinear": large(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (1, 4, 50, 50)),
    "grid_sample": large(lambda x, g: F.grid_sample(x, GRID + 0.005 * g, align_corners=False), IMAGES, (2, 60, 60, 2)),
    "pad_reflect": large(lambda x: F.pad(x, (2, 2, 2, 2), "reflect"), IMAGES),
    "pad_constant": large(lambda x: F.pad(x, (2, 2)), IMAGES),
    "unfold": large(lambda x: F.unfold(x, 3), (1, 4, 50, 50)),
    "pixel_shuffle": large(lambda x: F.pixel_shuffle(x, 2), IMAGES),
    "glu": large(lambda x: F.glu(x), ROWS),
    "prelu": large(F.prelu, IMAGES, (8,)),
    "dropout": large(lambda x: F.dropout(x, 0.3), ROWS),
    "cross_entropy": large(lambda x: F.cross_entropy(x, WHERE[0]), ROWS),
    "nll_loss": large(lambda x: F.nll_loss(x, WHERE[0]), ROWS),
    "mse_loss": large(F.mse_loss, ROWS, ROWS),
    "l1_loss": large(F.l1_loss, ROWS, ROWS),
    "smooth_l1_loss": large(F.smooth_l1_loss, ROWS, ROWS),
    "huber_loss": large(F.huber_loss, ROWS, ROWS),
    "binary_cross_entropy": large(lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), ROWS, ROWS),
    "binary_cross_entropy_with_logits": large(
        lambda x, y: F.binary_cross_entropy_with_logits(x, y.sigmoid()), ROWS, ROWS
    ),
    "kl_div": large(lambda x, y: F.kl_div(x, y.exp(), reduction="sum"), ROWS, ROWS),
    "cdist": large(penlight.cdist, (150, 8), (300, 8)),
    "scaled_dot_product_attention": large(
        F.scaled_dot_product_attention, (2, 4, 100, 16), (2, 4, 100, 16), (2, 4, 100, 16)
    ),
    "embedding": large(lambda w: F.embedding(WHERE, w), (200, 16)),
    "index_select": large(lambda x: x.index_select(0, WHERE[0]), ROWS),
    "getitem": large(lambda x: x[WHERE[0], WHERE[1]], ROWS),
    "gather": large(lambda x: x.gather(1, WHERE), ROWS),
    "scatter_add": large(lambda x, y: x.scatter_add(1, WHERE, y), ROWS, ROWS),
    "index_add": large(lambda x, y: x.index_add(0, WHERE[0], y), ROWS, ROWS),
    "masked_fill": large(lambda x: x.masked_fill(WHERE > 100, 0.0), ROWS),
    "where": large(lambda x, y: penlight.where(WHERE > 100, x, y), ROWS, ROWS),
    "cat": large(lambda x, y: penlight.cat([x, y]), ROWS, ROWS),
    "stack": large(lambda x, y: penlight.stack([x, y], 1), ROWS, ROWS),
    "split": large(lambda x: x.split(50)[1], ROWS),
    "transpose": large(lambda x: x.t() * 2, ROWS),
    "expand": large(lambda x: x.expand(200, 200) * 2, (200, 1)),
    "add_broadcast": large(lambda x, b: x + b, ROWS, (200,)),
    "mul_broadcast": large(lambda x, b: x * b, IMAGES, (8, 1, 1)),
    "flip": large(lambda x: x.flip(1), ROWS),
    "roll": large(lambda x: x.roll(3, 1), ROWS),
    "repeat": large(lambda x: x.repeat(2, 2), ROWS),
    "repeat_interleave": large(lambda x: x.repeat_interleave(2, 0), ROWS),
    "tril": large(lambda x: x.tril(), ROWS),
    "trace": large(lambda x: x.trace(), ROWS),
    "diff": large(lambda x: x.diff(), ROWS),
    "einsum": large(lambda x, y: penlight.einsum("bij,bjk->bik", x, y), WIDE, WIDE),
    "fft_rfft": large(lambda x: penlight.view_as_real(penlight.fft.rfft(x)), ROWS),
    "renorm": large(lambda x: x.renorm(2, 0, 5.0), ROWS),
    "lstm": large(
        lambda x, h, c, w, u, b, d: penlight.lstm(x, (h, c), [w, u, b, d], True, 1, 0.0, False, False, False)[0],
        (20, 16, 32), (1, 16, 32), (1, 16, 32), (128, 32), (128, 32), (128,), (128,),
    ),
    "gru": large(
        lambda x, h, w, u, b, d: penlight.gru(x, h, [w, u, b, d], True, 1, 0.0, False, False, False)[0],
        (20, 16, 32), (1, 16, 32), (96, 32), (96, 32), (96,), (96,),
    ),
}  # fmt: skip
