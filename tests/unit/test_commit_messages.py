"""The hook that checks the subject of a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOOK = Path(__file__).parents[2] / "tools" / "commit-message"


def code_of(message: str, tmp_path: Path) -> int:
    file = tmp_path / "message"
    file.write_text(message)
    return subprocess.run([HOOK, file], capture_output=True).returncode


@pytest.mark.parametrize(
    "message",
    [
        "host: restore cpusets",
        "time, suites: accept codes\n\nWhy.",
        "# a comment\nhost/quiet: a",
        "Merge branch 'a'",
        "fixup! host: restore",
        "host: " + "ä" * 66,
    ],
)
def test_a_part_comes_first(message: str, tmp_path: Path) -> None:
    assert code_of(message, tmp_path) == 0


@pytest.mark.parametrize("message", ["", "Restore cpusets", "host:restore", "host: ", "host: " + "a" * 67])
def test_other_subjects_are_refused(message: str, tmp_path: Path) -> None:
    assert code_of(message, tmp_path) == 1
