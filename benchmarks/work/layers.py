"""Single layers, forward and backward, small (where calls cost) and large (where memory and arithmetic do)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def _ramp(t: Any, *shape: int) -> Any:
    """Numbers from -2 to 2 in a shape, wanting a gradient."""
    count = 1
    for n in shape:
        count *= n
    return t.linspace(-2, 2, count).reshape(shape).requires_grad_()


def _noise(t: Any, *shape: int) -> Any:
    t.manual_seed(0)
    return t.randn(*shape, requires_grad=True)


def _forward_backward(t: Any, apply: Callable[[Any], Any], x: Any) -> Step:
    """The layer, and the gradient of a weighted sum of its result by its input (and its parameters, if it has any)."""
    y = apply(x)
    g = t.linspace(-1, 1, y.numel()).reshape(y.shape)

    def step() -> Any:
        x.grad = None
        apply(x).backward(g)
        return x.grad

    return step


def softmax_small(t: Any) -> Step:
    """Softmax of 32 x 10, forward and backward."""
    return _forward_backward(t, lambda x: x.softmax(1), _ramp(t, 32, 10))


def softmax(t: Any) -> Step:
    """Softmax of 1024 x 512, forward and backward."""
    return _forward_backward(t, lambda x: x.softmax(1), _ramp(t, 1024, 512))


def layer_norm_small(t: Any) -> Step:
    """Layer norm of 32 x 64 with weights, forward and backward."""
    return _forward_backward(t, t.nn.LayerNorm(64), _noise(t, 32, 64))


def layer_norm(t: Any) -> Step:
    """Layer norm of 768 x 128 with weights, forward and backward."""
    return _forward_backward(t, t.nn.LayerNorm(128), _noise(t, 768, 128))


def _cross_entropy(t: Any, rows: int, classes: int) -> Step:
    x = _ramp(t, rows, classes)
    y = t.arange(rows) % classes
    cross_entropy = t.nn.functional.cross_entropy

    def step() -> Any:
        x.grad = None
        cross_entropy(x, y).backward()
        return x.grad

    return step


def cross_entropy_small(t: Any) -> Step:
    """Cross entropy of 32 x 10 logits, forward and backward."""
    return _cross_entropy(t, 32, 10)


def cross_entropy(t: Any) -> Step:
    """Cross entropy of 1024 x 512 logits, forward and backward."""
    return _cross_entropy(t, 1024, 512)


def batch_norm_small(t: Any) -> Step:
    """Batch norm of 32 x 64, forward and backward."""
    return _forward_backward(t, t.nn.BatchNorm1d(64), _noise(t, 32, 64))


def batch_norm(t: Any) -> Step:
    """Batch norm of 64 x 32 x 28 x 28, forward and backward."""
    return _forward_backward(t, t.nn.BatchNorm2d(32), _noise(t, 64, 32, 28, 28))


def max_pool_small(t: Any) -> Step:
    """2 x 2 maximum pooling of 4 x 8 x 12 x 12, forward and backward."""
    return _forward_backward(t, t.nn.MaxPool2d(2), _noise(t, 4, 8, 12, 12))


def max_pool(t: Any) -> Step:
    """2 x 2 maximum pooling of 64 x 32 x 28 x 28, forward and backward."""
    return _forward_backward(t, t.nn.MaxPool2d(2), _noise(t, 64, 32, 28, 28))


def avg_pool_small(t: Any) -> Step:
    """2 x 2 average pooling of 4 x 8 x 12 x 12, forward and backward."""
    return _forward_backward(t, t.nn.AvgPool2d(2), _noise(t, 4, 8, 12, 12))


def avg_pool(t: Any) -> Step:
    """2 x 2 average pooling of 64 x 32 x 28 x 28, forward and backward."""
    return _forward_backward(t, t.nn.AvgPool2d(2), _noise(t, 64, 32, 28, 28))


def _embedding(t: Any, words: int, width: int, *shape: int) -> Step:
    t.manual_seed(0)
    layer = t.nn.Embedding(words, width)
    ids = t.randint(words, shape)
    g = t.linspace(-1, 1, ids.numel() * width).reshape(*shape, width)

    def step() -> Any:
        layer.weight.grad = None
        layer(ids).backward(g)
        return layer.weight.grad

    return step


def embedding_small(t: Any) -> Step:
    """An embedding of 65 words of width 32, 4 x 8 ids, forward and backward."""
    return _embedding(t, 65, 32, 4, 8)


def embedding(t: Any) -> Step:
    """An embedding of 5,000 words of width 128, 32 x 64 ids, forward and backward."""
    return _embedding(t, 5000, 128, 32, 64)
