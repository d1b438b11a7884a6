"""requirements/ says what pyproject.toml asks for. When one of these fails: run tools/lock."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCKS = ["uv.txt", "build.txt", "lock.txt", "lock-dev.txt"]


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def _asked(lock: str) -> list[str]:
    project = _project()
    run, groups = project["project"]["dependencies"], project["dependency-groups"]
    return {
        "uv.txt": groups["installer"],
        "build.txt": groups["build"] + project["build-system"]["requires"],
        "lock.txt": run,
        "lock-dev.txt": run + groups["dev"],
    }[lock]


def _entries(lock: str) -> list[str]:
    text = (ROOT / "requirements" / lock).read_text().replace("\\\n", " ")
    return [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]


def _pins(lock: str) -> dict[str, set[Version]]:
    pins: dict[str, set[Version]] = {}
    for entry in _entries(lock):
        requirement = Requirement(entry.split(" --hash=")[0])
        (specifier,) = requirement.specifier
        assert specifier.operator == "=="
        pins.setdefault(canonicalize_name(requirement.name), set()).add(Version(specifier.version))
    return pins


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_of_a_lock_carries_hashes_and_no_address(lock: str) -> None:
    for entry in _entries(lock):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", entry), entry
        assert "://" not in entry
        assert not entry.startswith("-")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_pyproject_asks_for(lock: str) -> None:
    pins = _pins(lock)
    for asked in map(Requirement, _asked(lock)):
        versions = pins.get(canonicalize_name(asked.name), set())
        assert versions, f"{asked.name} is not in requirements/{lock}: run tools/lock"
        for version in versions:
            assert asked.specifier.contains(version, prereleases=True), (
                f"{asked} but {version}: run tools/lock"
            )


def test_the_development_lock_holds_the_versions_that_users_get() -> None:
    development = _pins("lock-dev.txt")
    assert {name: development.get(name) for name in _pins("lock.txt")} == _pins("lock.txt")
