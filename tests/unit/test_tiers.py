"""Which tests a command line chooses, held against made-up tests."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from helpers import tiers


class Item:
    """A test as the selection sees it."""

    def __init__(self, path: str, name: str, *marks: str, fixtures: tuple[str, ...] = ()) -> None:
        self.path = tiers.TESTS / path
        self.nodeid = f"tests/{path}::{name}"
        self.fixturenames = fixtures
        self.marks: dict[str, Any] = dict.fromkeys(marks, True)

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark


def made() -> list[Any]:
    return [
        Item("unit/test_a.py", "fast"),
        Item("unit/test_a.py", "slow", "full"),
        Item("unit/influx/test_b.py", "asks", fixtures=("influx_server",)),
        Item("unit/influx/test_b.py", "ingests", "smoke", fixtures=("influx_server",)),
        Item("fleet/test_c.py", "host"),
        Item("fleet/test_c.py", "kills", "long"),
        Item("workloads/test_lm_x.py", "program"),
        Item("workloads/test_java_x.py", "program", "smoke"),
        Item("workflow/test_x_in_chromium.py", "page"),
        Item("workflow/test_y.py", "run"),
    ]


def chosen(*words: str, full: bool = False, long: bool = False, only: str | None = None) -> list[Any]:
    items = made()
    told: list[Any] = []
    config: Any = SimpleNamespace(
        args=list(words) or ["tests"],
        invocation_params=SimpleNamespace(dir=tiers.TESTS.parent),
        option=SimpleNamespace(full=full, long=long, only=only),
        hook=SimpleNamespace(pytest_deselected=lambda items: told.extend(items)),
    )
    tiers.select(config, items)
    assert len(told) + len(items) == len(made())
    return items


def names(items: list[Any]) -> list[str]:
    return [f"{Path(item.path).stem[5:]}.{item.nodeid.split('::')[1]}" for item in items]


FIRST = ["a.fast", "b.ingests", "java_x.program"]


def test_the_first_tier_is_what_is_fast_and_what_is_smoke() -> None:
    items = chosen()
    assert names(items) == FIRST
    limits = [item.marks.get("timeout") for item in items]
    assert [mark and mark.args for mark in limits] == [(tiers.FIRST_TIER_S,), None, None]


def test_full_is_all_but_the_campaigns_and_long_the_campaigns_alone() -> None:
    assert names(chosen(full=True)) == [name for name in names(made()) if name != "c.kills"]
    assert names(chosen(long=True)) == ["c.kills"]


def test_the_parts_and_the_first_tier_are_the_full_tier() -> None:
    parts = {part: names(chosen(only=part)) for part in (*tiers.PARTS, tiers.REST)}
    assert parts == {
        "browser": ["x_in_chromium.page"],
        "docker": [],
        "influx": ["b.asks", "b.ingests"],
        "fleet": ["c.host"],
        "java": ["java_x.program"],
        "c": ["lm_x.program"],
        "workflow": ["a.slow", "y.run"],
    }
    assert {*FIRST, *(name for part in parts.values() for name in part)} == set(names(chosen(full=True)))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tests/fleet/test_c.py"], ["c.host"]),
        (
            ["tests/fleet/test_c.py::kills"],
            ["c.host", "c.kills"],
        ),  # pytest itself collects the named one alone
        (["tests/fleet"], ["c.host"]),
        (["tests/unit/test_a.py"], ["a.fast", "a.slow"]),
        (["tests"], FIRST),
        (["."], FIRST),
    ],
)
def test_what_is_named_runs_whole(words: list[str], expected: list[str]) -> None:
    inside = [tiers.TESTS.parent / word.partition("::")[0] for word in words]
    # As pytest collects them: what is not below a named path is not there at all.
    found = [item for item in chosen(*words) if any(item.path.is_relative_to(path) for path in inside)]
    assert names(found) == expected
