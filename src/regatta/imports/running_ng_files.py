"""Read a running-ng configuration with its includes, with the place of every value.

Lists of several files are joined. In mappings, later files replace whole entries. Any other value may be in one file only.
`overrides` change included values, by paths with dots.
Source of the rules: running-ng's reference on configuration files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from regatta.host.errors import Problem, SpecError
from regatta.imports.reader import read_yaml_1_1
from regatta.spec.problems import found_at
from regatta.spec.yaml_lines import MAX_FILES, Budget, Document, KeyPath, as_text, paths_in

PACKAGE_DATA = "RUNNING_NG_PACKAGE_DATA"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


def read_configuration(path: Path, package_data: Path | None) -> Document:
    """Read a configuration and its includes.

    `package_data`: value of `$RUNNING_NG_PACKAGE_DATA`; None: unset.

    Raises:
        SpecError: a file is wrong or missing.
    """
    return _Reader(package_data).read(path, str(path), ())


class _Reader:
    def __init__(self, package_data: Path | None) -> None:
        self.package_data = package_data
        self.budget = Budget()

    def read(self, path: Path, name: str, above: tuple[Path, ...]) -> Document:
        own = read_yaml_1_1(path, name, self.budget)
        if not isinstance(own.value, dict):
            raise _wrong(own, (), "a running-ng configuration (a mapping)", own.value)
        included = own.value.get("includes")
        if included is None:
            if "overrides" in own.value:
                expected = "`includes`, because `overrides` change included values"
                raise _wrong(own, ("includes",), expected, None, "add `includes`, or remove `overrides`")
            return own
        if not isinstance(included, list) or not included:
            raise _wrong(
                own, ("includes",), "a list of at least 1 path", included, "write `includes: [base.yml]`"
            )
        base = Document(name, {})
        for index, entry in enumerate(included):
            other, shown_name = self.found(own, ("includes", index), entry, path, name)
            if other.resolve() in (*above, path.resolve()):
                raise _wrong(
                    own, ("includes", index), "includes without a cycle", entry, "remove the include"
                )
            self.budget.files -= 1
            if self.budget.spent:
                raise _wrong(own, ("includes", index), f"at most {MAX_FILES} includes", "more")
            _combine(base, self.read(other, shown_name, (*above, path.resolve())))
        self.override(base, own)
        for key in ("includes", "overrides"):
            own.value.pop(key, None)
        _combine(base, own)
        base.marks.setdefault((), own.mark(()))
        return base

    def found(self, own: Document, at: KeyPath, entry: Any, path: Path, name: str) -> tuple[Path, str]:
        """Return the file of an entry of `includes`, and its name in messages."""
        text = as_text(entry)
        if not text or "\0" in text:
            raise _wrong(own, at, "a path", entry, "write the path of a YAML file")
        variables = {
            **os.environ,
            **({PACKAGE_DATA: os.path.abspath(self.package_data)} if self.package_data else {}),
        }
        for match in _VARIABLE.finditer(text):
            variable = match[1] or match[2]
            if variable not in variables:
                fix = f"set ${variable}"
                if variable == PACKAGE_DATA:
                    fix = "pass the folder `config` of running-ng with `--package-data DIR`"
                raise _wrong(own, at, f"a value for ${variable}", entry, fix)
        expanded = _VARIABLE.sub(lambda match: variables[match[1] or match[2]], text)
        other = path.parent / expanded
        if not other.is_file():
            fix = "write a path relative to the including file"
            raise _wrong(own, at, "an existing file", entry, fix)
        absolute = Path(expanded).is_absolute()
        return other, expanded if absolute else os.path.normpath(Path(name).parent / expanded)

    def override(self, base: Document, own: Document) -> None:
        """Apply `overrides` to the included values."""
        overrides = own.value.get("overrides")
        if overrides is None:
            return
        if not isinstance(overrides, dict):
            raise _wrong(own, ("overrides",), "a mapping of dotted paths to values", overrides)
        for selector, value in overrides.items():
            at: KeyPath = ("overrides", selector)
            path: KeyPath = ()
            here: Any = base.value
            for part in selector.split("."):
                last = len(path) == selector.count(".")
                key: str | int = int(part) if part.isdigit() and isinstance(here, list) else part
                inside = isinstance(here, dict) and (last or key in here)
                inside |= isinstance(here, list) and isinstance(key, int) and key < len(here)
                if not inside:
                    known = (
                        f" ({', '.join(map(str, here))})" if isinstance(here, dict) and len(here) < 9 else ""
                    )
                    raise _wrong(
                        own, at, f"a path in the included files{known}", selector, f"correct `{part}`"
                    )
                path = (*path, key)
                if last:
                    here[key] = value
                    _place(base, path, own, at, value)
                else:
                    here = here[key]


def _wrong(document: Document, path: KeyPath, expected: str, got: Any, fix: str = "") -> SpecError:
    return SpecError([Problem(document.where(path), expected, found_at(document, path, got), fix)])


def _combine(under: Document, over: Document) -> None:
    """Merge the keys of `over` into those of `under`."""
    for key, value in over.value.items():
        below = under.value.get(key)
        at: KeyPath = (key,)
        if key not in under.value or below is None:
            under.value[key] = value
            _place(under, at, over, at, value)
        elif isinstance(below, list) and isinstance(value, list):
            for index, entry in enumerate(value):
                _place(under, (*at, len(below)), over, (*at, index), entry)
                below.append(entry)
        elif isinstance(below, dict) and isinstance(value, dict):
            for name, entry in value.items():
                below[name] = entry
                _place(under, (*at, name), over, (*at, name), entry)
        elif value is not None or isinstance(below, dict | list):
            expected = f"`{key}` in one file only, or a list or a mapping in every file"
            raise _wrong(over, at, expected, value, f"use `overrides: {{{key}: ...}}`")


def _place(under: Document, at: KeyPath, over: Document, source: KeyPath, value: Any) -> None:
    """Copy the places of a value and its contents from another document."""
    for old in [path for path in under.marks if path[: len(at)] == at]:
        del under.marks[old]
    for inner in paths_in(value):
        under.marks[(*at, *inner)] = over.mark((*source, *inner))
