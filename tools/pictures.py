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


PICTURES = {"graph.svg": readme}


def main() -> None:
    folder = ROOT / "docs" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in PICTURES.items():
        (folder / name).write_text(picture() + "\n", encoding="utf-8")
        print(f"wrote docs/images/{name}")


if __name__ == "__main__":
    main()
