"""How long each file of tests took: durations.json, by which several processes share the files (in_parallel.py).

./regatta test --full --record      write it anew, in whole seconds, on a machine that does nothing else
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from helpers import proven

TESTS = Path(__file__).parents[1]
RECORDED = TESTS / "durations.json"
_OPTION = "--record"


def add_option(parser: pytest.Parser) -> None:
    """Add the option that records."""
    what = "run all tests, and write how long each file took and what was proven; needs --full"
    parser.addoption(_OPTION, action="store_true", help=what)


def record(config: pytest.Config) -> None:
    """Record the run if it is asked for; refuse a run of a part, which would be written as the whole."""
    if not config.getoption(_OPTION) or hasattr(config, "workerinput"):
        return
    if not config.getoption("full") or any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"{_OPTION}: expected --full and no named tests")
    config.pluginmanager.register(Durations(RECORDED))
    config.pluginmanager.register(proven.Outcomes())


def recorded(path: Path = RECORDED) -> dict[Path, int]:
    """Seconds that each file took, fixtures included; no files where nothing was recorded."""
    seconds = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {TESTS / name: seconds[name] for name in seconds}


class Durations:
    """Adds up what the tests of each file took, and writes it at the end; files that did not run keep their values."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: Counter[Path] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[TESTS.parent / report.nodeid.partition("::")[0]] += report.duration  # type: ignore[assignment]

    def pytest_sessionfinish(self) -> None:
        took = recorded(self._path) | {path: round(seconds) for path, seconds in self._seconds.items()}
        names = {path.relative_to(TESTS).as_posix(): took[path] for path in sorted(took) if path.exists()}
        self._path.write_text(json.dumps(names, indent=0) + "\n", encoding="utf-8")
