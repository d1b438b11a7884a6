"""Print the descriptions in `configs/` and the help of the C programs as Markdown: text that Vale checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

#: keys with text for people
_KEYS = ("description", "question", "why")
_HELP = re.compile(r'(?:\.help|SUMMARY\[\]|HELP_HEAD\[\])\s*=\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def main() -> None:
    """Print one list per file, under its path."""
    yaml = YAML(typ="safe")
    for path in sorted(Path("configs").rglob("*.yml")):
        _show(path, _texts(yaml.load(path)))
    for path in sorted(Path("benchmarks").rglob("*.c")):
        found = _HELP.findall(path.read_text(encoding="utf-8"))
        _show(path, ("".join(_STRING.findall(one)).replace("\\n", " ") for one in found))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _KEYS and isinstance(inner, str):
                yield inner
            else:
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _show(path: Path, texts: Iterator[str]) -> None:
    items = [f"- {' '.join(text.split())}" for text in texts]
    if items:
        print(f"`{path}`:\n", *items, "", sep="\n")


if __name__ == "__main__":
    main()
