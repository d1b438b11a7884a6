"""Print a notebook as Markdown: its page of the documentation site."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(path: str) -> None:
    """Print every cell, code as a block. The notebook is stored without outputs."""
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        print(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```", end="\n\n")


if __name__ == "__main__":
    main(sys.argv[1])
