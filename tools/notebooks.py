"""Writes the pages of the tutorial as notebooks that run.

python tools/notebooks.py FOLDER
"""

from __future__ import annotations

import doctest
import itertools
import json
import re
import sys
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parent.parent / "docs" / "tutorial"


def notebook(page: str) -> dict[str, Any]:
    """A page's text and code as cells. What the code prints is left to whoever runs it; errors are shown and do not stop."""
    cells: list[dict[str, Any]] = []
    for number, part in enumerate(re.split(r"^```python\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)):
        if number % 2:
            examples = doctest.DocTestParser().get_examples(part)
            for fails, group in itertools.groupby(examples, lambda example: example.exc_msg is not None):
                tags = {"tags": ["raises-exception"]} if fails else {}
                code = "".join(example.source for example in group).rstrip()
                cells.append(_cell("code", code, tags) | {"execution_count": None, "outputs": []})
        elif part.strip():
            cells.append(_cell("markdown", re.sub(r"!?\[([^\]]*)\]\([^)h][^)]*\)", r"\1", part).strip(), {}))
    for count, cell in enumerate(cells):
        cell["id"] = f"cell-{count}"
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def _cell(kind: str, source: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": metadata, "source": source.splitlines(keepends=True)}


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for page in sorted(PAGES.glob("*.md")):
        if page.stem != "index":
            file = Path(folder) / f"{page.stem}.ipynb"
            file.write_text(json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1) + "\n", encoding="utf-8")
            print(f"wrote {file}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "notebooks")
