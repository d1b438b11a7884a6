"""Which tests run: the tiers and the parts of `./regatta test`.

    ./regatta test                first tier: unit tests without servers, and smoke tests over the whole way
    ./regatta test --full         everything except the campaigns
    ./regatta test --long         the campaigns (marker `long`)
    ./regatta test --only PART    one part of the second tier
    ./regatta test PATH ...       all tests of these paths except the campaigns; a named test (PATH::NAME) always runs

A test belongs to the second tier by its folder, by a fixture that needs a server, or by the marker `full`. The marker
`smoke` takes a test of such a folder into the first tier. The body of any other test there may last FIRST_TIER_S seconds.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
#: seconds; a test that needs more is marked `full`
FIRST_TIER_S = 20
#: options by which pytest itself chooses among all tests: those that failed, or by marker
CHOSEN_BY_PYTEST = ("lf", "failedfirst", "markexpr")
#: folders of the second tier
FULL_FOLDERS = ("fleet", "workloads", "workflow")
#: fixtures that need a server, and the part that their tests belong to
FULL_FIXTURES = {"influx_server": "influx", "own_influx_server": "influx", "docker_engine": "docker"}
#: part -> patterns of paths below tests/; the first that matches decides, before the fixtures
PARTS = {
    "browser": ("workflow/*_in_chromium.py",),
    "docker": ("workflow/test_docker_*.py", "workflow/test_compose.py"),
    "influx": ("workflow/*influx*.py", "workflow/test_services.py", "workflow/test_local_grafana.py", "workflow/test_boards.py"),
    "fleet": ("fleet/*", "unit/fleet/*"),
    "java": ("workloads/*java*.py", "workloads/test_jmh.py", "workloads/test_chat_*.py", "workflow/*java*.py", "workflow/test_demo.py"),
    "c": ("workloads/*",),
}  # fmt: skip
#: where everything else of the second tier belongs
REST = "workflow"


def add_options(parser: pytest.Parser) -> None:
    """Add the options that choose a tier or a part."""
    group = parser.getgroup("tiers", "which tests run (see tests/helpers/tiers.py)").addoption
    group("--full", action="store_true", help="everything except the campaigns")
    group("--long", action="store_true", help="the campaigns")
    group("--only", choices=(*PARTS, REST), help="one part of the second tier")


def is_full(item: pytest.Item) -> bool:
    """Whether a test belongs to the second tier."""
    if item.get_closest_marker("smoke") is not None:
        return False
    if item.get_closest_marker("full") is not None or item.path.relative_to(TESTS).parts[0] in FULL_FOLDERS:
        return True
    return any(fixture in FULL_FIXTURES for fixture in _fixtures(item))


def part_of(item: pytest.Item) -> str:
    """The part of the second tier that a test, or the second tier's tests beside it, belong to."""
    path = item.path.relative_to(TESTS).as_posix()
    for part, patterns in PARTS.items():
        if any(fnmatch(path, pattern) for pattern in patterns):
            return part
    return next((part for name, part in FULL_FIXTURES.items() if name in _fixtures(item)), REST)


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that the command line asks for, and give those of the first tier their time limit."""
    named = Named(config)
    only, first_tier = config.option.only, False
    if config.option.long:
        chosen = [item for item in items if item.get_closest_marker("long") is not None]
    else:
        chosen = [item for item in items if item.get_closest_marker("long") is None or named.test(item)]
        if only:
            smoke = [item for item in chosen if item.get_closest_marker("smoke") is not None]
            chosen = [item for item in chosen if part_of(item) == only and (is_full(item) or item in smoke)]
        elif not any(getattr(config.option, name, None) for name in ("full", *CHOSEN_BY_PYTEST)):
            first_tier = not named.paths
            chosen = [item for item in chosen if named.path(item) or not is_full(item)]
    if first_tier:
        for item in chosen:
            if item.get_closest_marker("timeout") is None and item.get_closest_marker("smoke") is None:
                # Without the fixtures: the first test that asks for a build waits for it.
                item.add_marker(pytest.mark.timeout(FIRST_TIER_S, func_only=True))
    if len(chosen) < len(items):
        kept = set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = chosen


class Named:
    """The paths and tests that the command line names, tests/ itself excepted."""

    def __init__(self, config: pytest.Config) -> None:
        given = [argument.partition("::") for argument in config.args]
        places = [(config.invocation_params.dir / path, name) for path, _, name in given]
        self.tests = [(path.resolve(), name) for path, name in places if name]
        self.paths = [path.resolve() for path, _ in places if path.resolve() not in (TESTS, TESTS.parent)]

    def path(self, item: pytest.Item) -> bool:
        return any(item.path.is_relative_to(path) for path in self.paths)

    def test(self, item: pytest.Item) -> bool:
        own = item.nodeid.partition("::")[2]
        return any(path == item.path and own.startswith(name) for path, name in self.tests)


def _fixtures(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])
