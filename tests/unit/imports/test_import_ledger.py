"""No key of an input is dropped silently: what changes a value changes what is written, or the value is in the list."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regatta.imports.rebench
import regatta.imports.running_ng
from helpers.specs.imported import REBENCH, RUNNING_NG, of_rebench, of_running_ng
from regatta.host.errors import SpecError
from regatta.imports.drafts import Imported
from regatta.imports.ledger import Ledger
from regatta.imports.reader import read_yaml_1_1
from regatta.imports.running_ng_files import read_configuration
from regatta.spec.yaml_lines import Document, KeyPath, dotted_path, parse_yaml, paths_in


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return int(value) + 1
    if isinstance(value, float):
        return float(value) + 0.5
    return "other" if value is None else f"{value}x" if isinstance(value, str) else value


def leaves(value: Any) -> list[KeyPath]:
    """The paths of all scalars, and of empty mappings and lists."""
    found = list(paths_in(value))
    inner = {path[:-1] for path in found if path}
    return [path for path in found if path not in inner]


def with_changed(document: Document, path: KeyPath) -> Document:
    found = copy.deepcopy(document)
    here = found.value
    for part in path[:-1]:
        here = here[part]
    here[path[-1]] = changed(here[path[-1]])
    return found


def listed(found: Imported, path: KeyPath) -> bool:
    keys = {item.key for item in found.items if item.kind == "left out"}
    return any(dotted_path(path[:length]) in keys for length in range(1, len(path) + 1))


def silent(
    importing: Callable[[Path], Imported], path: Path, document: Document, read: Callable[[Document], None]
) -> list[str]:
    """The keys of a file that neither the written files nor the list know of."""
    read(document)
    found = importing(path)
    missed = []
    for leaf in leaves(document.value):
        other_document = with_changed(document, leaf)
        if listed(found, leaf) or other_document.value == document.value:
            continue
        read(other_document)
        try:
            other = importing(path)
        except SpecError:
            continue  # it was read: another value is refused
        if other == found:
            missed.append(dotted_path(leaf))
    return missed


@pytest.mark.parametrize("path", REBENCH, ids=lambda path: path.stem)
def test_no_key_of_a_rebench_file_is_dropped_silently(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = read_yaml_1_1(path)

    def read(given: Document) -> None:
        monkeypatch.setattr(regatta.imports.rebench, "read_yaml_1_1", lambda *_, **__: copy.deepcopy(given))

    missed = silent(of_rebench, path, document, read)
    # A key with a dot is an anchor's: what an alias takes of it is in its place already when the file is read.
    assert [key for key in missed if not key.startswith(".")] == []


@pytest.mark.parametrize("path", RUNNING_NG, ids=lambda path: path.stem)
def test_no_key_of_a_running_ng_file_is_dropped_silently(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = read_configuration(path, Path(__file__).parent / "running_ng")

    def read(given: Document) -> None:
        monkeypatch.setattr(regatta.imports.running_ng, "read_configuration", lambda *_: copy.deepcopy(given))

    assert silent(of_running_ng, path, document, read) == []


_values = st.recursive(
    st.integers() | st.text("abc", max_size=3) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(value=st.dictionaries(st.text("abc", min_size=1, max_size=2), _values, min_size=1), data=st.data())
def test_every_key_is_carried_or_listed_once(value: dict[str, Any], data: st.DataObject) -> None:
    ledger = Ledger(Document("file", value))
    carried = set(data.draw(st.lists(st.sampled_from(leaves(value)), unique=True)))
    ledger.carry(*carried)
    items = ledger.close(lambda path: ("why", "what to do"))
    for leaf in leaves(value):
        above = [length for length in range(len(leaf) + 1) if leaf[:length] in ledger.listed]
        assert len(above) == (0 if leaf in carried else 1)
    assert len(items) == len(ledger.listed)


def test_the_list_has_the_line_of_a_key_and_is_in_the_order_of_the_file() -> None:
    document = parse_yaml(b"a: 1\nb: {c: 2, d: 3}\ne: [x,\n    y]\n", "in.yml")
    ledger = Ledger(document)
    ledger.leave(("e", 1), "unused", "drop")
    ledger.carry(("a",), ("b", "c"))
    ledger.change(("b", "c"), "is 2.0 here")
    assert [str(item) for item in ledger.close(lambda path: ("unknown", ""))] == [
        "in.yml:2:b.c · changed · is 2.0 here",
        "in.yml:2:b.d · excluded · unknown",
        "in.yml:3:e[0] · excluded · unknown",
        "in.yml:4:e[1] · excluded · unused · drop",
    ]
