"""The Python blocks of the documents that the project grew out of, and how to run them.

`blocks.json` holds, for each document, its blocks in order with what PyTorch 2.13.0 printed and how it ended, written by

    python tests/seeds/blocks.py path/to/seeds
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import warnings
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("blocks.json")


def run(library: Any, blocks: list[str]) -> list[tuple[str, str | None]]:
    """Run a document's blocks in one namespace: what each printed, and the exception it ended with, if any."""
    names: dict[str, Any] = {"torch": library, "__name__": "seed"}
    outcomes = []
    before = sys.modules.get("torch")
    sys.modules["torch"] = library  # the blocks say `import torch`
    try:
        for block in blocks:
            library.manual_seed(0)
            printed, error = io.StringIO(), None
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    exec(block, names)
                except Exception as problem:
                    error = f"{type(problem).__name__}: {problem}"
            outcomes.append((_without_addresses(printed.getvalue()), error))
    finally:
        if before is None:
            del sys.modules["torch"]
        else:
            sys.modules["torch"] = before
    return outcomes


def _without_addresses(text: str) -> str:
    return re.sub(r"\b\d{8,}\b", "ADDRESS", re.sub(r"0x[0-9a-f]+", "ADDRESS", text))


def load() -> list[dict[str, Any]]:
    return json.loads(FILE.read_text())


def write(folder: Path) -> None:
    import torch

    documents = []
    for path in sorted(folder.glob("*.txt")):
        blocks = re.findall(r"```python\n(.*?)```", path.read_text(), re.S)
        outcomes = run(torch, blocks)
        documents.append({"name": path.stem, "blocks": blocks, "outcomes": outcomes})
    FILE.write_text(json.dumps(documents, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
