"""`show` displays tensors and modules in a notebook, as a table or an image."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from ..kernels.lazy import lazy_import
from ..tensor import Tensor
from .svg import escape
from .values import size_of

_png = lazy_import(globals(), "_png", ".png")

_MOST = 24  # rows and columns of a table
_PIXELS = 256  # the width that a small image is enlarged to


class Shown:
    """The result of `show`: a notebook displays it, and `html` is its source.

    >>> torch.inspect.show(torch.eye(2))
    <Shown (2, 2) float32>
    """

    def __init__(self, title: str, html: str) -> None:
        self.title, self.html = title, html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return f"<Shown {self.title}>"


def show(x: Any, image: bool = False) -> Shown:
    """Display a tensor in a notebook as a table with cells coloured by value or as an image, or a module as the tree of its submodules.

    Args:
        x: a tensor with at most two dimensions, or for an image (height, width) or (1 or 3 channels, height, width); or a module.
        image: show an image instead of a table. Floating-point values are scaled from their minimum to their maximum; integers are taken as 0 to 255.

    Returns:
        a `Shown`, which a notebook displays.

    >>> "<td" in torch.inspect.show(torch.tensor([[1.0, 2.0]])).html
    True
    """
    if hasattr(x, "named_modules"):
        return Shown(type(x).__name__, _tree(x))
    if not isinstance(x, Tensor):
        raise TypeError(f"show() takes a tensor or a module, not {type(x).__name__}")
    array = (x.detach().double() if x.is_floating_point() else x.detach())._array
    return Shown(size_of(x), _image(array) if image else _table(array, size_of(x)))


def _table(array: Any, title: str) -> str:
    if array.ndim > 2:
        raise ValueError(
            f"show() takes a table of at most two dimensions, not {array.ndim}: show(x[0]), or show(x, image=True)"
        )
    table = array.reshape(1, -1) if array.ndim < 2 else array
    cut = table[:_MOST, :_MOST]
    numbers = np.abs(cut) if cut.dtype.kind == "c" else cut * 1.0
    finite = numbers[np.isfinite(numbers)]
    most = float(np.abs(finite).max()) if finite.size else 0.0
    rows = []
    for values, sizes in zip(cut.tolist(), numbers.tolist()):
        cells = "".join(
            f"<td style='text-align:right;{_colour(size, most)}'>{_cell(v)}</td>" for v, size in zip(values, sizes)
        )
        rows.append(f"<tr>{cells}{'<td>…</td>' if table.shape[1] > _MOST else ''}</tr>")
    more = "<tr><td>…</td></tr>" if table.shape[0] > _MOST else ""
    return f"<table>{''.join(rows)}{more}</table><p>{escape(title)}</p>"


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, complex)) else str(value)


def _colour(value: float, most: float) -> str:
    """Blue for positive values, red for negative ones, stronger for larger magnitudes."""
    if not np.isfinite(value) or not most:
        return ""
    channels = "58,110,165" if value >= 0 else "176,58,72"
    return f"background:rgba({channels},{0.6 * abs(value) / most:.2f})"


def _image(array: Any) -> str:
    if array.ndim == 3 and array.shape[0] in (1, 3):
        array = np.moveaxis(array, 0, -1)
    elif array.ndim == 2:
        array = array[..., None]
    else:
        raise ValueError(f"show() takes an image (height, width) or (1 or 3, height, width), not {tuple(array.shape)}")
    if array.dtype.kind == "f":
        values = np.nan_to_num(array, posinf=0.0, neginf=0.0)
        low, high = (values.min(), values.max()) if values.size else (0.0, 0.0)
        array = (values - low) * (255 / (high - low or 1.0))
    pixels = np.broadcast_to(array.clip(0, 255).astype(np.uint8), (*array.shape[:2], 3))
    png = base64.b64encode(_png.pack(pixels)).decode()
    width = max(_PIXELS, array.shape[1])
    return f"<img src='data:image/png;base64,{png}' width='{width}' style='image-rendering:pixelated'>"


def _tree(module: Any) -> str:
    rows = []
    for path, each in module.named_modules():
        name = "&nbsp;" * 4 * (path.count(".") + 1 if path else 0) + escape(path.rpartition(".")[2])
        own = f"{type(each).__name__}({each.extra_repr()})" if hasattr(each, "extra_repr") else type(each).__name__
        count = sum(p.numel() for p in each.parameters())
        cells = (name, escape(own), f"{count:,}")
        rows.append(
            "<tr>"
            + "".join(
                f"<td style='text-align:{'right' if k == 2 else 'left'}'>{cell}</td>" for k, cell in enumerate(cells)
            )
            + "</tr>"
        )
    return f"<table><tr><th></th><th>module</th><th>parameters</th></tr>{''.join(rows)}</table>"
