"""Prints tensors with PyTorch's text, character for character.

There are four steps, each a function of plain values: select the elements to show (`_shown`), format them with one width (`_texts`), nest
the flat list of texts in brackets (`_fold`), and append suffixes such as `dtype=...` or `grad_fn=<...>` (`close_with`). Only the elements
shown are read, so a tensor of a billion elements prints as fast as one of 1001.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from penlight._common.user_warnings import warn_user

from ..dtypes import get_default_dtype as default_dtype
from . import Tensor
from .conjugates import Marked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PARAMETER_TYPES: set[type] = set()
"""The class of parameters, which adds itself here when it is defined; printing does not import it."""


# -- options ----------------------------------------------------------------------------------------------------------


class PrintOptions:
    """The settings of `set_printoptions`, in PyTorch's order."""

    def __init__(self) -> None:
        self.precision: int = 4
        self.threshold: float = 1000
        self.edgeitems: int = 3
        self.linewidth: float = 80
        self.sci_mode: bool | None = None


PRINT_OPTS = PrintOptions()

_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: float | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Set how tensors are printed; omitted options keep their values, except `sci_mode`, which becomes automatic.

    `precision` is the number of digits after the point, `threshold` the number of elements above which only
    `edgeitems` at each end of a dimension are shown, `linewidth` the column at which lines break. `profile` is
    "default", "short" or "full" (nothing is left out) and is applied before the others. `sci_mode` forces scientific
    notation on or off.

    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1.23456])
    tensor([1.23])
    >>> torch.set_printoptions(profile="default")
    """
    chosen: dict[str, Any] = {}
    if profile is not None:
        if profile in _PROFILES:
            chosen.update(_PROFILES[profile])
        else:
            warn_user(
                f"set_printoptions: there is no profile {profile!r}, so it changes nothing; "
                "the profiles are 'default', 'short' and 'full'",
            )
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update((name, value) for name, value in given.items() if value is not None)
    _check(chosen)
    for name, value in chosen.items():
        setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def _check(options: dict[str, Any]) -> None:
    """Raise for an option that PyTorch would accept, only to fail at the next print (or to print nonsense)."""
    for name, value in options.items():
        try:
            if name == "precision":
                fine, wanted = f"{value}".isdecimal(), "an integer that is not negative"
            elif name == "edgeitems":
                fine, wanted = operator.index(value) >= 0, "an integer that is not negative"
            elif name == "linewidth":
                fine, wanted = math.isfinite(value), "a finite number"
            else:
                fine, wanted = not math.isnan(value), "a number (inf for no limit)"
        except TypeError:
            kind = type(value).__name__
            raise TypeError(f"set_printoptions(): argument '{name}' must be a number, not {kind}") from None
        if not fine:
            raise ValueError(f"set_printoptions(): argument '{name}' must be {wanted}, but got {value!r}")


def get_printoptions() -> dict[str, Any]:
    """The current print options, as a dict that `set_printoptions(**options)` accepts.

    >>> from penlight.tensor.printing import get_printoptions
    >>> get_printoptions()["linewidth"]
    80
    """
    return dict(vars(PRINT_OPTS))


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print options for the duration of a `with` block; takes the arguments of `set_printoptions`.

    >>> from penlight.tensor.printing import printoptions
    >>> with printoptions(sci_mode=True, precision=1):
    ...     torch.tensor([1.5])
    tensor([1.5e+00])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(PRINT_OPTS, name, value)


# -- numbers ----------------------------------------------------------------------------------------------------------


def _shown(array: np.ndarray) -> tuple[np.ndarray, tuple[bool, ...]]:
    """The elements to print, and for each dimension whether its middle is omitted."""
    if array.size <= PRINT_OPTS.threshold:
        return array, (False,) * array.ndim
    edge = PRINT_OPTS.edgeitems
    cut = tuple(n > 2 * edge for n in array.shape)
    if not any(cut):
        return array, cut
    corners = [[*range(edge), *range(n - edge, n)] if short else range(n) for n, short in zip(array.shape, cut)]
    return array[np.ix_(*corners)], cut


# Note [The width of a column]
# PyTorch computes the width of a float column from the nonzero finite elements only. So nan, inf, 0. and -0. may exceed their column, and a
# tensor that has only those counts as one character wide, which is why a line of zeros runs past the line width. The measured texts must be
# exactly those that are printed.


def _texts(values: np.ndarray) -> tuple[list[str], int]:
    """A real array's elements as texts, in order and not yet padded, and the nominal width of their column."""
    if values.dtype.kind in "biu":
        texts = list(map(str, values.ravel().tolist()))
        return texts, max(map(len, texts))
    with np.errstate(invalid="ignore"):  # no warning for widening a signalling NaN
        flat = values.ravel().astype(np.float64)
    counts = np.isfinite(flat) & (flat != 0)
    texts = list(map(_float_format(flat[counts]).__mod__, flat.tolist()))
    width = max(map(len, itertools.compress(texts, counts.tolist())), default=1)
    return texts, width


def _float_format(values: np.ndarray) -> str:
    """The %-format for a column of floats, of which `values` are the nonzero finite ones."""
    if not values.size:
        return "%#.0f"
    sci_mode = PRINT_OPTS.sci_mode
    if sci_mode is None:
        sizes = np.abs(values)
        low, high = float(sizes.min()), float(sizes.max())
        sci_mode = high / low > 1000.0 or high > 1.0e8 or low < 1.0e-4
    if sci_mode:
        return f"%.{PRINT_OPTS.precision}e"
    # All integers: no digits after the point, but the point itself ("#"), which marks them as floats.
    return "%#.0f" if bool((values == np.floor(values)).all()) else f"%.{PRINT_OPTS.precision}f"


def _cells(values: np.ndarray) -> tuple[list[str], int]:
    """The elements as they appear in the brackets, and the width that the line layout assumes for each."""
    if values.dtype.kind != "c":
        texts, width = _texts(values)
        return [text.rjust(width) for text in texts], width
    reals, real_width = _texts(values.real)
    imags, imag_width = _texts(values.imag)
    cells = [
        f"{real.rjust(real_width)}{'' if imag[0] == '-' else '+'}{imag}j"
        for real, imag in zip(reals, imags, strict=True)
    ]
    return cells, real_width + imag_width + 1


# -- layout -----------------------------------------------------------------------------------------------------------


def format_contents(array: np.ndarray, indent: int) -> str:
    """The elements in their brackets, to be placed after `indent` characters of prefix.

    >>> import numpy as np
    >>> from penlight.tensor.printing import format_contents
    >>> format_contents(np.array([[1.0, 2.5]]), 0)
    '[[1.0000, 2.5000]]'
    """
    if not array.size:
        return "[]"
    if array.ndim and array.size > PRINT_OPTS.threshold and not PRINT_OPTS.edgeitems:
        return "[...]"
    shown, cut = _shown(array)
    pieces, width = _cells(shown)
    for axis in reversed(range(shown.ndim)):
        n = shown.shape[axis]
        if axis == shown.ndim - 1:
            per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent - axis) / (width + 2)))
            gap, newlines = " ...", 1
        else:
            per_line = 1
            gap, newlines = "...", shown.ndim - 1 - axis
        between = "," + "\n" * newlines + " " * (indent + axis + 1)
        middle = PRINT_OPTS.edgeitems if cut[axis] else None
        pieces = [
            _fold(pieces[start : start + n], per_line, between, gap, middle) for start in range(0, len(pieces), n)
        ]
    return pieces[0]


def _fold(pieces: list[str], per_line: int, between: str, gap: str, middle: int | None) -> str:
    """One pair of brackets around `pieces`, with `gap` inserted at `middle` if elements are omitted."""
    if middle is not None:
        pieces.insert(middle, gap)
    if per_line > 1:
        pieces = [", ".join(pieces[start : start + per_line]) for start in range(0, len(pieces), per_line)]
    return f"[{between.join(pieces)}]"


def close_with(text: str, suffixes: Sequence[str], indent: int) -> str:
    """`text`, then the suffixes, each on a new line if it would not fit, then the closing parenthesis.

    >>> from penlight.tensor.printing import close_with
    >>> close_with("tensor([1, 2]", ["dtype=torch.int32"], 7)
    'tensor([1, 2], dtype=torch.int32)'
    """
    parts = [text]
    # PyTorch counts two more characters than the last line has, which affects where suffixes wrap.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    parts.append(")")
    return "".join(parts)


def format_array(
    array: np.ndarray, *, prefix: str = "tensor(", suffixes: Sequence[str] = (), indent: int | None = None
) -> str:
    """An ndarray, formatted as PyTorch prints a tensor of these values; `indent` defaults to the prefix's length.

    >>> import numpy as np
    >>> from penlight.tensor.printing import format_array
    >>> format_array(np.arange(3), suffixes=["requires_grad=True"])
    'tensor([0, 1, 2], requires_grad=True)'
    """
    if indent is None:
        indent = len(prefix)
    return close_with(prefix + format_contents(array, indent), suffixes, indent)


# -- tensors ----------------------------------------------------------------------------------------------------------


def describe(shape: tuple[int, ...], dtype: object) -> list[str]:
    """The suffixes that the elements do not imply: the size of an empty tensor, and an unusual dtype.

    >>> from penlight.tensor.printing import describe
    >>> describe((0, 3), "torch.int64")
    ['size=(0, 3)', 'dtype=torch.int64']
    """
    default = str(default_dtype())
    empty = 0 in shape
    implied = {default}
    if not empty:
        implied |= {"torch.int64", "torch.bool"}
        implied.add("torch.complex128" if default == "torch.float64" else "torch.complex64")
    suffixes = []
    if (empty and len(shape) != 1) or (not empty and not PRINT_OPTS.edgeitems):
        suffixes.append(f"size={shape}")
    if str(dtype) not in implied:
        suffixes.append(f"dtype={dtype}")
    return suffixes


def history(tensor: Tensor) -> list[str]:
    """The suffix for autograd: `grad_fn=<...>` for a result, `requires_grad=True` for a leaf, or none."""
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose history an in-place write has made invalid must still print
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{node.name().rpartition('::')[2]}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []


def is_plain(kind: type) -> bool:
    """Whether tensors of this class print as `tensor(...)`, rather than under the name of the class."""
    return kind is Tensor or kind is Marked or kind in PARAMETER_TYPES


def tensor_repr(tensor: Tensor, *, tensor_contents: str | None = None, tangent: object = None) -> str:
    """The text of `repr(tensor)`; `tensor_contents` replaces the elements, `tangent` is that of a dual tensor.

    >>> torch.ones(2, requires_grad=True) * 3
    tensor([3., 3.], grad_fn=<MulBackward0>)
    """
    kind = type(tensor)
    plain = is_plain(kind)
    prefix = "tensor(" if plain else f"{kind.__name__}("
    array = tensor._array
    suffixes = describe(array.shape, tensor.dtype) + history(tensor)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    if tensor_contents is None:
        text = format_array(array, prefix=prefix, suffixes=suffixes)
    else:
        text = close_with(prefix + tensor_contents, suffixes, len(prefix))
    named = not plain and isinstance(tensor, tuple(PARAMETER_TYPES))
    return f"Parameter({text})" if named else text


# PyTorch's names for these parts, which libraries with their own tensor classes use.
_str_intern = tensor_repr


def _tensor_str(self: Tensor, indent: int) -> str:
    return format_contents(self.detach()._array, indent)


def _add_suffixes(tensor_str: str, suffixes: Sequence[str], indent: int, force_newline: bool = False) -> str:
    return close_with(tensor_str, suffixes, indent)
