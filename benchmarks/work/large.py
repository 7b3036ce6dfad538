"""Single functions on large arrays: some 400,000 numbers, as a matrix, as images or as a batch of small matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

ROWS, COLUMNS = 1000, 400


def operands(t: Any) -> dict[str, Any]:
    """The tensors that the functions below take by the names of their parameters; those of floats require grad."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return t.tensor(rng.standard_normal(shape).astype(np.float32)).requires_grad_()

    x = normal(ROWS, COLUMNS)
    y = t.tensor((rng.random((ROWS, COLUMNS)) * 0.9 + 0.05).astype(np.float32)).requires_grad_()
    square = normal(50, 20, 20)
    given = {
        "x": x,
        "y": y,
        "row": normal(COLUMNS),
        "column": normal(ROWS, 1),
        "vector": normal(ROWS),
        "double": x.detach().double().requires_grad_(),
        "half": x.detach().half(),
        "brief": x.detach().bfloat16(),
        "whole": t.tensor(rng.integers(-50, 50, (ROWS, COLUMNS))),
        "mask": x.detach() > 0,
        "labels": t.tensor(rng.integers(0, COLUMNS, ROWS)),
        "rows": t.tensor(rng.integers(0, ROWS, ROWS)),
        "places": t.tensor(rng.integers(0, COLUMNS, (ROWS, COLUMNS // 4))),
        "images": normal(8, 16, 56, 56),
        "weight": normal(16, 16, 3, 3),
        "scale": normal(16),
        "square": square,
        "definite": (square @ square.mT + 20 * t.eye(20)).detach().requires_grad_(),
        "heads": normal(8, 4, 96, 32),
        "table": normal(5000, 64),
        "words": t.tensor(rng.integers(0, 5000, (100, 60))),
        "grid": t.tensor(rng.uniform(-1, 1, (8, 56, 56, 2)).astype(np.float32)).requires_grad_(),
    }
    return given


LARGE: dict[str, Callable[..., Any]] = {}

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
    LARGE[_name] = lambda t, x, name=_name: getattr(t, name)(x)
for _name in _OF_Y.split():
    LARGE[_name] = lambda t, y, name=_name: getattr(t, name)(y)
for _name in _OF_BOTH.split():
    LARGE[_name] = lambda t, x, y, name=_name: getattr(t, name)(x, y)
for _name in _ACTIVATIONS.split():
    LARGE[_name] = lambda t, x, name=_name: getattr(t.nn.functional, name)(x)
for _name in _FOLDS.split():
    for _dim in (0, 1):
        LARGE[f"{_name}({_dim})"] = lambda t, x, name=_name, dim=_dim: getattr(t, name)(x, dim=dim)
for _name in ["sin", "exp", "log1p", "tanh", "erf", "sigmoid"]:
    LARGE[f"{_name} of doubles"] = lambda t, double, name=_name: getattr(t, name)(
        double.abs() if name == "log1p" else double
    )
for _name in ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"]:
    LARGE[_name] = lambda t, x, name=_name: (lambda made: made if t.is_tensor(made) else made[0])(
        getattr(t, name)(x, 1)
    )

LARGE |= {
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
    "layer_norm": lambda t, x, row: t.nn.functional.layer_norm(x, (COLUMNS,), row, row),
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
    "scatter_add": lambda t, x, places: t.zeros(ROWS, COLUMNS).scatter_add(1, places, x[:, : COLUMNS // 4]),
    "index_add": lambda t, x, rows: t.zeros(ROWS, COLUMNS).index_add(0, rows, x),
    "index_put accumulate": lambda t, x, y, rows: x.detach().clone().index_put_((rows,), y.detach(), accumulate=True),
    "embedding": lambda t, table, words: t.nn.functional.embedding(words, table),
    "embedding_bag": lambda t, table, words: t.nn.functional.embedding_bag(words, table),
    "one_hot": lambda t, labels: t.nn.functional.one_hot(labels, COLUMNS),
    "rand": lambda t: t.rand(ROWS, COLUMNS),
    "randn": lambda t: t.randn(ROWS, COLUMNS),
    "randint": lambda t: t.randint(0, 10, (ROWS, COLUMNS)),
    "randperm": lambda t: t.randperm(40_000),
    "bernoulli": lambda t, y: t.bernoulli(y.detach()),
    "poisson": lambda t, y: t.poisson(y.detach() * 20),
    "gamma": lambda t, y: t.distributions.Gamma(y[:100] * 5, y[:100]).rsample(),
    "multinomial": lambda t, y: t.multinomial(y.detach(), 3),
    "arange": lambda t: t.arange(ROWS * COLUMNS),
    "linspace": lambda t: t.linspace(0, 1, ROWS * COLUMNS),
    "x @ x.t()": lambda t, x: x @ x.t(),
    "x @ row": lambda t, x, row: x @ row,
    "dot": lambda t, x, y: x.view(-1).dot(y.view(-1)),
    "outer": lambda t, vector, row: t.outer(vector, row),
    "square @ square": lambda t, square: square @ square,
    "einsum": lambda t, heads: t.einsum("bhid,bhjd->bhij", heads, heads),
    "cdist": lambda t, x: t.cdist(x[:300], x[300:600]),
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
    "conv1d": lambda t, x, weight: t.nn.functional.conv1d(x.view(25, 16, 1000), weight[..., 0], padding=1),
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
