"""Merge specs with `include:`. Every value keeps the place where it was written."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.spec.problems import shown
from regatta.spec.yaml_lines import MAX_FILES, Budget, Document, KeyPath, as_text, paths_in, read_yaml


def read_with_includes(path: Path, name: str | None = None) -> Document:
    """Read a spec and its includes, merged.

    Mappings are merged key by key, other values are replaced. A later file of the list overrides an earlier one, and the
    including file overrides all.

    Args:
        path: the spec.
        name: its name in problems; the path as given when None.

    Returns:
        values without `include`, and their places in the original files.

    Raises:
        SpecError: a file is missing, is not YAML, or includes itself; every problem of all files at once.
    """
    reader = _Reader()
    document = reader.read(path, name or str(path), ())
    if reader.problems or document is None:
        raise SpecError(reader.problems)
    return document


class _Reader:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.budget = Budget()

    def read(self, path: Path, name: str, above: tuple[Path, ...]) -> Document | None:
        try:
            own = read_yaml(path, name, budget=self.budget)
        except SpecError as error:
            self.problems.extend(error.problems)
            return None
        if not isinstance(own.value, dict) or "include" not in own.value:
            return own
        above = (*above, path.resolve())
        merged = Document(name, {})
        for key, text in self.listed(own):
            base = self.include(path.parent / text, _beside(name, text), own.where(key), text, above)
            if base is not None:
                merge(merged, base)
        del own.value["include"]
        own.marks = {key: mark for key, mark in own.marks.items() if key[:1] != ("include",)}
        merge(merged, own)
        return merged

    def listed(self, own: Document) -> list[tuple[KeyPath, str]]:
        value = own.value["include"]
        entries = value if isinstance(value, list) else [value]
        found: list[tuple[KeyPath, str]] = []
        for index, entry in enumerate(entries):
            key: KeyPath = ("include", index) if isinstance(value, list) else ("include",)
            text = as_text(entry)
            if not text or "\0" in text:
                problem = Problem(
                    own.where(key), "a path or a list of paths", shown(entry), "write `include: common.yml`"
                )
                self.problems.append(problem)
            else:
                found.append((key, text))
        return found

    def include(
        self, path: Path, name: str, where: str, text: str, above: tuple[Path, ...]
    ) -> Document | None:
        if self.budget.spent:
            return None
        self.budget.files -= 1
        if self.budget.spent:
            self.problems.append(Problem(where, f"at most {MAX_FILES} includes", "more", "merge some files"))
            return None
        try:
            resolved = path.resolve()
            regular = stat.S_ISREG(resolved.stat().st_mode)
        except (OSError, RuntimeError, ValueError):
            regular = False
            resolved = path
        if not regular:
            fix = "write a path relative to the including file"
            self.problems.append(Problem(where, "an existing file", shown(text), fix))
            return None
        if resolved in above:
            chain = " -> ".join([*(p.name for p in above[above.index(resolved) :]), resolved.name])
            self.problems.append(Problem(where, "includes without a cycle", chain, "remove one include"))
            return None
        document = self.read(path, name, above)
        if document is not None and not isinstance(document.value, dict):
            if document.value is not None:
                got = shown(document.value)
                self.problems.append(Problem(document.where(()), "a mapping", got))
            return None
        return document


def _beside(name: str, text: str) -> str:
    """Return the name of an included file: relative in the same way as that of the including file."""
    return str(Path(name).parent / text)


def merge(under: Document, over: Document) -> None:
    """Merge the mapping `over` into the mapping `under`, in place, with the places."""
    under.marks.setdefault((), over.mark(()))
    if () in over.marks:
        under.marks[()] = over.marks[()]
        under.file = over.file
    _merge_values(under, over, under.value, over.value, ())


def _merge_values(
    under: Document, over: Document, low: dict[str, Any], high: dict[str, Any], path: KeyPath
) -> None:
    for key, value in high.items():
        at = (*path, key)
        below = low.get(key)
        if isinstance(below, dict) and isinstance(value, dict):
            under.marks[at] = over.mark(at)
            _merge_values(under, over, below, value, at)
        else:
            for old in paths_in(below, at):
                under.marks.pop(old, None)
            for new in paths_in(value, at):
                under.marks[new] = over.mark(new)
            low[key] = value
