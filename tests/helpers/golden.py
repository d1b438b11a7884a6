"""Texts that tests keep in a file instead of in their code, so that a change of wording is one command and one diff to read.

A test calls `golden(key, text)`. The text expected is in `golden.yml` beside the test's module, under the module's name and the
key. `pytest --update-golden PATHS` writes the texts anew; read the diff before you commit it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
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


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compare a text with the one kept under a key of this module; keys are unique in a module."""
    file = request.path.with_name("golden.yml")

    def compare(key: str, text: str) -> None:
        kept = _read(file)
        of_module = kept.setdefault(request.path.stem, {})
        if request.config.getoption(_OPTION):
            of_module[key] = text
            file.write_text(
                yaml.dump(kept, Dumper=_Dumper, allow_unicode=True, width=10_000), encoding="utf-8"
            )
        assert text == of_module.get(key), (
            f"{file}: {request.path.stem}: {key}; if the new text is right: {_OPTION}"
        )

    return compare


def _read(file: Path) -> dict[str, Any]:
    found = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else {}
    assert isinstance(found, dict)
    return found
