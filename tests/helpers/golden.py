"""Texts that tests keep in a file instead of in their code, so that a change of wording is one command and one diff to read.

A test calls `golden(key, text)`. The text expected is in `golden.yml` beside the test's module, under the module's name and the
key. `pytest --update-golden PATHS` writes the texts anew; read the diff before you commit it. Where all tests of a module have
passed, a key that none of them used is an error, and the option removes it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

Golden = Callable[[str, str], None]
_OPTION = "--update-golden"


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # of a package without types
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def add_option(parser: pytest.Parser) -> None:
    """Add the option that writes the files anew."""
    parser.addoption(
        _OPTION, action="store_true", help="write golden.yml anew instead of comparing with it; needs -n0"
    )


def check_option(config: pytest.Config) -> None:
    """Refuse the option where processes would overwrite each other's texts, and where tests must fail."""
    if config.getoption(_OPTION) and ("CI" in os.environ or config.getoption("numprocesses", None)):
        raise pytest.UsageError(f"{_OPTION}: expected -n0 and no CI")


class _Uses:
    """The tests of each module that this process has collected, those that passed, and the keys that they used."""

    def __init__(self, config: pytest.Config) -> None:
        self._update = config.getoption(_OPTION)
        # Of such a module, only the chosen tests are collected.
        self._chosen = config.getoption("lf", False) or any("::" in argument for argument in config.args)
        self._tests: dict[Path, set[str]] = defaultdict(set)
        self._passed: set[str] = set()
        self.keys: dict[Path, set[str]] = defaultdict(set)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        self._tests[item.path].add(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, None, None]:
        yield
        if nextitem is None or nextitem.path != item.path:
            self._check(item.path)

    def _check(self, module: Path) -> None:
        """Remove or refuse keys without a use, after the last test of a module."""
        file = _file_of(module)
        if self._chosen or not file.exists() or not self._tests[module] <= self._passed:
            return
        kept = _read(file)
        of_module = kept.get(module.stem, {})
        unused = [key for key in of_module if key not in self.keys[module]]
        if unused and not self._update:
            pytest.fail(
                f"{file}: {module.stem}: no test uses {', '.join(unused)}; to remove: {_OPTION}",
                pytrace=False,
            )
        if unused:
            kept[module.stem] = {key: text for key, text in of_module.items() if key in self.keys[module]}
            _write(file, kept)


_USES = pytest.StashKey[_Uses]()


def watch(config: pytest.Config) -> None:
    """Find keys that no test uses."""
    config.stash[_USES] = _Uses(config)
    config.pluginmanager.register(config.stash[_USES])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the one kept under a key of this module; keys are unique in a module."""
    file = _file_of(request.path)

    def compare(key: str, text: str) -> None:
        request.config.stash[_USES].keys[request.path].add(key)
        kept = _read(file)
        of_module = kept.setdefault(request.path.stem, {})
        if request.config.getoption(_OPTION):
            of_module[key] = text
            _write(file, kept)
        assert text == of_module.get(key), (
            f"{file}: {request.path.stem}: {key}; if the new text is right: {_OPTION}"
        )

    return compare


def _file_of(module: Path) -> Path:
    return module.with_name("golden.yml")


def _write(file: Path, kept: dict[str, Any]) -> None:
    """Write the file without modules that have no keys."""
    texts = yaml.dump(
        {module: keys for module, keys in kept.items() if keys},
        Dumper=_Dumper, allow_unicode=True, width=10_000,
    )  # fmt: skip
    file.write_text(texts, encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    assert isinstance(found, dict)
    return found
