"""Single functions on large arrays, some 400,000 numbers, and on arrays of middle size, some 20,000: a matrix, images, a batch of small matrices."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Sizes(NamedTuple):
    """The shapes of what the functions are given."""

    matrix: tuple[int, int]
    squares: tuple[int, int, int]
    images: tuple[int, int, int, int]
    heads: tuple[int, int, int, int]
    table: tuple[int, int]
    words: tuple[int, int]


SIZES = {
    "large": Sizes((1000, 400), (50, 20, 20), (8, 16, 56, 56), (8, 4, 96, 32), (5000, 64), (100, 60)),
    "middle": Sizes((200, 100), (20, 12, 12), (2, 16, 28, 28), (2, 4, 80, 32), (1000, 64), (16, 20)),
}


def operands(t: Any, size: str = "large") -> dict[str, Any]:
    """What the functions below take by the names of their parameters: the matrix' shape, and tensors; those of floats require grad."""
    rng = np.random.default_rng(0)
    of = SIZES[size]
    rows, columns = of.matrix

    def normal(*shape: int) -> Any:
        return t.tensor(rng.standard_normal(shape).astype(np.float32)).requires_grad_()

    x = normal(rows, columns)
    y = t.tensor((rng.random((rows, columns)) * 0.9 + 0.05).astype(np.float32)).requires_grad_()
    square = normal(*of.squares)
    images, _, high, wide = of.images
    return {
        "shape": of.matrix,
        "x": x,
        "y": y,
        "row": normal(columns),
        "column": normal(rows, 1),
        "vector": normal(rows),
        "double": x.detach().double().requires_grad_(),
        "half": x.detach().half(),
        "brief": x.detach().bfloat16(),
        "whole": t.tensor(rng.integers(-50, 50, (rows, columns))),
        "mask": x.detach() > 0,
        "labels": t.tensor(rng.integers(0, columns, rows)),
        "rows": t.tensor(rng.integers(0, rows, rows)),
        "places": t.tensor(rng.integers(0, columns, (rows, columns // 4))),
        "images": normal(*of.images),
        "weight": normal(16, 16, 3, 3),
        "scale": normal(16),
        "square": square,
        "definite": (square @ square.mT + 20 * t.eye(square.shape[-1])).detach().requires_grad_(),
        "heads": normal(*of.heads),
        "table": normal(*of.table),
        "words": t.tensor(rng.integers(0, of.table[0], of.words)),
        "grid": t.tensor(rng.uniform(-1, 1, (images, high, wide, 2)).astype(np.float32)).requires_grad_(),
    }


def call(t: Any, name: str, given: dict[str, Any]) -> tuple[Callable[[], Any], list[Any]]:
    """A function with its operands in place, and those of them that gradients are asked for."""
    function = CALLS[name]
    wanted = [p for p, of in inspect.signature(function).parameters.items() if of.default is of.empty][1:]
    arguments = [given[p] for p in wanted]
    return lambda: function(t, *arguments), [a for a in arguments if t.is_tensor(a) and a.requires_grad]


CALLS: dict[str, Callable[..., Any]] = {}

_OF_X = (
    "neg abs sign sin cos tan atan sinh cosh tanh asinh sigmoid exp exp2 expm1 floor ceil round trunc frac square relu "
    "erf erfc isnan logical_not nan_to_num sinc"
)
_OF_Y = "sqrt rsqrt log log2 log10 log1p reciprocal asin acos atanh logit lgamma digamma erfinv"
_OF_BOTH = "add sub mul div maximum minimum atan2 hypot logaddexp fmod remainder copysign xlogy eq lt logical_and"
_ACTIVATIONS = (
    "relu6 leaky_relu elu selu celu gelu silu mish softplus softsign tanhshrink hardtanh hardsigmoid hardswish logsigmoid "
    "softshrink hardshrink"
)
_FOLDS = "sum mean prod amax amin var std norm logsumexp nansum"
for _name in _OF_X.split():
    CALLS[_name] = lambda t, x, name=_name: getattr(t, name)(x)
for _name in _OF_Y.split():
    CALLS[_name] = lambda t, y, name=_name: getattr(t, name)(y)
for _name in _OF_BOTH.split():
    CALLS[_name] = lambda t, x, y, name=_name: getattr(t, name)(x, y)
for _name in _ACTIVATIONS.split():
    CALLS[_name] = lambda t, x, name=_name: getattr(t.nn.functional, name)(x)
for _name in _FOLDS.split():
    for _dim in (0, 1):
        CALLS[f"{_name}({_dim})"] = lambda t, x, name=_name, dim=_dim: getattr(t, name)(x, dim=dim)
for _name in ["sin", "exp", "log1p", "tanh", "erf", "sigmoid"]:
    CALLS[f"{_name} of doubles"] = lambda t, double, name=_name: getattr(t, name)(
        double.abs() if name == "log1p" else double
    )
for _name in ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"]:
    CALLS[_name] = lambda t, x, name=_name: (lambda made: made if t.is_tensor(made) else made[0])(
        getattr(t, name)(x, 1)
    )

CALLS |= {
    "x + 1.5": lambda t, x: x + 1.5,
    "x ** 3": lambda t, x: x**3,
    "y ** 1.7": lambda t, y: y**1.7,
    "y ** x": lambda t, x, y: y**x,
    "1 / y": lambda t, y: 1 / y,
    "x + row": lambda t, x, row: x + row,
    "x * column": lambda t, x, column: x * column,
    "column * row": lambda t, column, row: column * row,
    "x.t() + y.t()": lambda t, x, y: x.t() + y.t(),
    "x[:, ::2] * y[:, ::2]": lambda t, x, y: x[:, ::2] * y[:, ::2],
    "x.add_(y, alpha)": lambda t, x, y: x.detach().add_(y.detach(), alpha=0.0),
    "clamp": lambda t, x: x.clamp(-1, 1),
    "where": lambda t, mask, x, y: t.where(mask, x, y),
    "masked_fill": lambda t, mask, x: x.masked_fill(mask, 0.0),
    "lerp": lambda t, x, y: t.lerp(x, y, 0.3),
    "addcmul": lambda t, x, y: t.addcmul(x, x, y, value=0.5),
    "glu": lambda t, x: t.nn.functional.glu(x, 1),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.1),
    "softmax(1)": lambda t, x: x.softmax(1),
    "softmax(0)": lambda t, x: x.softmax(0),
    "log_softmax": lambda t, x: x.log_softmax(1),
    "softmax of doubles": lambda t, double: double.softmax(1),
    "normalize": lambda t, x: t.nn.functional.normalize(x, dim=1),
    "cosine_similarity": lambda t, x, y: t.nn.functional.cosine_similarity(x, y, dim=1),
    "layer_norm": lambda t, x, row, shape: t.nn.functional.layer_norm(x, shape[1:], row, row),
    "mse_loss": lambda t, x, y: t.nn.functional.mse_loss(x, y),
    "l1_loss": lambda t, x, y: t.nn.functional.l1_loss(x, y),
    "huber_loss": lambda t, x, y: t.nn.functional.huber_loss(x, y),
    "cross_entropy": lambda t, x, labels: t.nn.functional.cross_entropy(x, labels),
    "nll_loss": lambda t, x, labels: t.nn.functional.nll_loss(x, labels),
    "kl_div": lambda t, x, y: t.nn.functional.kl_div(x, y, reduction="batchmean"),
    "binary_cross_entropy_with_logits": lambda t, x, mask: t.nn.functional.binary_cross_entropy_with_logits(
        x, mask.float()
    ),
    "sum()": lambda t, x: x.sum(),
    "sum of doubles": lambda t, double: double.sum(),
    "sum of halves": lambda t, half: half.sum(),
    "argmax": lambda t, x: x.argmax(1),
    "max(1)": lambda t, x: x.max(1).values,
    "median": lambda t, x: x.median(1).values,
    "sort": lambda t, x: x.sort(1).values,
    "topk": lambda t, x: x.topk(5, 1).values,
    "unique": lambda t, whole: whole.unique(),
    "bincount": lambda t, whole: (whole + 50).view(-1).bincount(),
    "histc": lambda t, x: t.histc(x, 100),
    "nonzero": lambda t, mask: mask.nonzero(),
    "searchsorted": lambda t, x: t.searchsorted(t.linspace(-3, 3, 100), x.detach()),
    "to double": lambda t, x: x.double(),
    "to half": lambda t, x: x.half(),
    "to int32": lambda t, x: x.int(),
    "half + half": lambda t, half: half + half,
    "bfloat16 * bfloat16": lambda t, brief: brief * brief,
    "whole + whole": lambda t, whole: whole + whole,
    "whole // 7": lambda t, whole: whole // 7,
    "whole % 7": lambda t, whole: whole % 7,
    "cat": lambda t, x, y: t.cat([x, y], 1),
    "stack": lambda t, x, y: t.stack([x, y], 2),
    "x.t().contiguous()": lambda t, x: x.t().contiguous(),
    "flip": lambda t, x: x.flip(1),
    "roll": lambda t, x: x.roll(3, 1),
    "tril": lambda t, x: x.tril(),
    "repeat_interleave": lambda t, x: x.repeat_interleave(2, 1),
    "pad": lambda t, images: t.nn.functional.pad(images, (2, 2, 2, 2)),
    "pad reflect": lambda t, images: t.nn.functional.pad(images, (2, 2, 2, 2), mode="reflect"),
    "diff": lambda t, x: x.diff(),
    "x[rows]": lambda t, x, rows: x[rows],
    "x[mask]": lambda t, x, mask: x[mask],
    "x[mask] = 0": lambda t, x, mask: x.detach().clone().masked_fill_(mask, 0.0),
    "gather": lambda t, x, places: x.gather(1, places),
    "scatter_add": lambda t, x, places, shape: t.zeros(shape).scatter_add(1, places, x[:, : shape[1] // 4]),
    "index_add": lambda t, x, rows, shape: t.zeros(shape).index_add(0, rows, x),
    "index_put accumulate": lambda t, x, y, rows: x.detach().clone().index_put_((rows,), y.detach(), accumulate=True),
    "embedding": lambda t, table, words: t.nn.functional.embedding(words, table),
    "embedding_bag": lambda t, table, words: t.nn.functional.embedding_bag(words, table),
    "one_hot": lambda t, labels, shape: t.nn.functional.one_hot(labels, shape[1]),
    "rand": lambda t, shape: t.rand(shape),
    "randn": lambda t, shape: t.randn(shape),
    "randint": lambda t, shape: t.randint(0, 10, shape),
    "randperm": lambda t, shape: t.randperm(40 * shape[0]),
    "bernoulli": lambda t, y: t.bernoulli(y.detach()),
    "poisson": lambda t, y: t.poisson(y.detach() * 20),
    "gamma": lambda t, y, shape: t.distributions.Gamma(y[: shape[0] // 10] * 5, y[: shape[0] // 10]).rsample(),
    "multinomial": lambda t, y: t.multinomial(y.detach(), 3),
    "arange": lambda t, shape: t.arange(shape[0] * shape[1]),
    "linspace": lambda t, shape: t.linspace(0, 1, shape[0] * shape[1]),
    "x @ x.t()": lambda t, x: x @ x.t(),
    "x @ row": lambda t, x, row: x @ row,
    "dot": lambda t, x, y: x.view(-1).dot(y.view(-1)),
    "outer": lambda t, vector, row: t.outer(vector, row),
    "square @ square": lambda t, square: square @ square,
    "einsum": lambda t, heads: t.einsum("bhid,bhjd->bhij", heads, heads),
    "cdist": lambda t, x, shape: t.cdist(x[: shape[0] * 3 // 10], x[-shape[0] * 3 // 10 :]),
    "linalg.solve": lambda t, definite, square: t.linalg.solve(definite, square),
    "linalg.inv": lambda t, definite: t.linalg.inv(definite),
    "linalg.cholesky": lambda t, definite: t.linalg.cholesky(definite),
    "linalg.qr": lambda t, square: t.linalg.qr(square).R,
    "linalg.svdvals": lambda t, square: t.linalg.svdvals(square),
    "linalg.eigvalsh": lambda t, definite: t.linalg.eigvalsh(definite),
    "linalg.slogdet": lambda t, definite: t.linalg.slogdet(definite).logabsdet,
    "fft.rfft": lambda t, x: t.fft.rfft(x).real,
    "complex product": lambda t, x, y: (t.complex(x, y) * t.complex(y, x)).real,
    "conv2d": lambda t, images, weight: t.nn.functional.conv2d(images, weight, padding=1),
    "conv2d stride 2": lambda t, images, weight: t.nn.functional.conv2d(images, weight, stride=2, padding=1),
    "conv2d depthwise": lambda t, images, weight: t.nn.functional.conv2d(images, weight[:, :1], padding=1, groups=16),
    "conv_transpose2d": lambda t, images, weight: t.nn.functional.conv_transpose2d(images, weight, stride=2, padding=1),
    "conv1d": lambda t, x, weight, shape: t.nn.functional.conv1d(
        x.view(-1, 16, shape[1] * 5 // 2), weight[..., 0], padding=1
    ),
    "max_pool2d": lambda t, images: t.nn.functional.max_pool2d(images, 2),
    "avg_pool2d": lambda t, images: t.nn.functional.avg_pool2d(images, 2),
    "adaptive_avg_pool2d": lambda t, images: t.nn.functional.adaptive_avg_pool2d(images, 7),
    "batch_norm": lambda t, images, scale: t.nn.functional.batch_norm(images, None, None, scale, scale, True),
    "group_norm": lambda t, images, scale: t.nn.functional.group_norm(images, 4, scale, scale),
    "interpolate bilinear": lambda t, images: t.nn.functional.interpolate(images, scale_factor=2, mode="bilinear"),
    "interpolate nearest": lambda t, images: t.nn.functional.interpolate(images, scale_factor=2),
    "grid_sample": lambda t, images, grid: t.nn.functional.grid_sample(images, grid, align_corners=False),
    "unfold": lambda t, images: t.nn.functional.unfold(images, 3),
    "scaled_dot_product_attention": lambda t, heads: t.nn.functional.scaled_dot_product_attention(
        heads, heads, heads, is_causal=True
    ),
}
