"""What a program gives in a library, in a form that can be written down and compared."""

from __future__ import annotations

import warnings

import numpy as np

from .programs import tools


def outcome(lib, program):
    """Tensors by their place in the result, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return {"result": described(program(tools(lib)))}
        except Exception as error:
            return {"error": type(error).__name__, "message": plain(str(error))}


def plain(message):
    """A message without the names of modules, which differ."""
    return message.replace("penlight.tensor.", "torch.").replace("penlight", "torch")


def described(value):
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(v) for v in value]
    if hasattr(value, "requires_grad"):
        numbers = value.detach().flatten()
        numbers = numbers.tolist() if not value.dtype.is_complex else [[n.real, n.imag] for n in numbers.tolist()]
        return {"shape": list(value.shape), "dtype": str(value.dtype), "grad": value.requires_grad, "values": numbers}
    return value


def unlike(mine, theirs, where="result"):
    """The first difference between two descriptions, or None."""
    if isinstance(theirs, dict) and "values" in theirs and "dtype" in theirs:
        for what in ("shape", "dtype", "grad"):
            if mine[what] != theirs[what]:
                return f"{where}: {what} {mine[what]} instead of {theirs[what]}"
        tolerance = 1e-10 if theirs["dtype"] in ("torch.float64", "torch.complex128") else 1e-5
        a, b = np.asarray(mine["values"], np.float64), np.asarray(theirs["values"], np.float64)
        close = np.allclose(a, b, tolerance, tolerance, equal_nan=True)
        return None if close else f"{where}: {mine['values']} instead of {theirs['values']}"
    if isinstance(theirs, dict):
        if not isinstance(mine, dict) or list(mine) != list(theirs):
            return f"{where}: {mine} instead of {theirs}"
        return next(filter(None, (unlike(mine[k], theirs[k], f"{where}[{k!r}]") for k in theirs)), None)
    if isinstance(theirs, list):
        if not isinstance(mine, list) or len(mine) != len(theirs):
            return f"{where}: {mine} instead of {theirs}"
        return next(filter(None, (unlike(m, o, f"{where}[{i}]") for i, (m, o) in enumerate(zip(mine, theirs)))), None)
    return None if mine == theirs else f"{where}: {mine!r} instead of {theirs!r}"


def same_outcome(mine, theirs):
    """What differs: results in all their parts; errors in class and words, after which there may be advice."""
    if "error" in theirs:
        if mine.get("error") != theirs["error"]:
            return f"{mine} instead of {theirs}"
        if not mine["message"].startswith(theirs["message"].rstrip(". \n")):
            return f"{mine['message']!r} instead of {theirs['message']!r}"
        return None
    if "error" in mine:
        return f"{mine} instead of a result"
    return unlike(mine["result"], theirs["result"])
