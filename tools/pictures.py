"""Draws the pictures of the README and the docs into docs/images; tests/test_pictures.py says if they are stale.

python tools/pictures.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))


def readme() -> str:
    """The graph of the README's fifteen lines."""
    import penlight as torch

    x = torch.tensor([1.0, 2.0, 3.0])
    w = torch.tensor([0.5, -0.2, 0.1], requires_grad=True)
    b = torch.tensor(0.1, requires_grad=True)
    y = torch.tanh(w @ x + b)
    loss = (y - 1) ** 2
    loss.backward(retain_graph=True)
    return torch.inspect.draw(loss, params={"x": x, "w": w, "b": b, "y": y, "loss": loss}).svg()


def product() -> str:
    """The tutorial's first graph: a product of which one factor requires grad."""
    import penlight as torch

    a = torch.tensor(2.0, requires_grad=True)
    b = torch.tensor(3.0)
    c = a * b
    return torch.inspect.draw(c, params={"a": a, "b": b, "c": c}).svg()


def two_ways() -> str:
    """(x + w)(w + 1): two ways lead to w."""
    import penlight as torch

    w = torch.tensor([1.0], requires_grad=True)
    x = torch.tensor([2.0], requires_grad=True)
    a = torch.add(w, x)
    b = torch.add(w, 1)
    y = torch.mul(a, b)
    y.backward(retain_graph=True)
    return torch.inspect.draw(y, params={"w": w, "x": x, "a": a, "b": b, "y": y}).svg()


def exponential() -> str:
    """exp(A B) + E."""
    import penlight as torch

    A = torch.tensor(2.0, requires_grad=True)
    B = torch.tensor(0.5, requires_grad=True)
    E = torch.tensor(1.0, requires_grad=True)
    C = A * B
    D = C.exp()
    F = D + E
    return torch.inspect.draw(F, params={"A": A, "B": B, "C": C, "D": D, "E": E, "F": F}).svg()


def unbind() -> str:
    """A node with three outputs."""
    import penlight as torch

    a = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    b, c, d = a.unbind()
    e = b * c * d
    return torch.inspect.draw(e, params={"a": a, "b": b, "c": c, "d": d, "e": e}).svg()


PICTURES = {
    "graph.svg": readme,
    "product.svg": product,
    "two_ways.svg": two_ways,
    "exponential.svg": exponential,
    "unbind.svg": unbind,
}


def main() -> None:
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (folder / name).write_text(picture() + "\n", encoding="utf-8")
        print(f"wrote docs/images/{name}")


if __name__ == "__main__":
    main()
