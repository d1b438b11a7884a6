"""The rules of Vale in `tools/vale` find what they are for, and accept correct text."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VALE = shutil.which("vale", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")

pytestmark = pytest.mark.skipif(VALE is None, reason="NOT TESTED: Vale is not installed")


def rules(folder: Path, text: str) -> set[str]:
    """Return the rules that a text violates."""
    page = folder / "page.md"
    page.write_text(text + "\n")
    command = [str(VALE), "--config", str(ROOT / ".vale.ini"), "--output", "line", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return {line.rsplit("Regatta.", 1)[1].split(":")[0] for line in done.stdout.splitlines()}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# Install The Package", "Headings"),
        ("The command will print a table.", "Future"),
        ("We recommend 30 rounds.", "FirstPerson"),
        ("Use `time` when I measure.", "FirstPerson"),
        ("Set a limit, e.g. 5 s.", "Google"),
        ("Name the host, the platform, etc. in the spec.", "Google"),
        ("Please restart the host.", "Google"),
        ("The run is complete!", "Google"),
        ("Wait for 5ms.", "Spacing"),
        ("At most 5% of the time.", "Spacing"),
        ("One sentence.Another sentence.", "Spacing"),
        ("One sentence.  Another sentence.", "Spacing"),
        ("Read more [here](page.md).", "LinkText"),
        ("It has a folder of its own.", "Words"),
        ("What was measured is in the journal.", "WhatClauses"),
    ],
)
def test_a_rule_finds_its_fault(tmp_path: Path, text: str, rule: str) -> None:
    assert rules(tmp_path, text) == {rule}


def test_correct_text_passes(tmp_path: Path) -> None:
    text = """\
# Import from ReBench to a JVM with Slurm

The pressure of I/O is 5 % of the time. R. I. Killick describes the suite Are We Fast Yet, and
java.util.Random is a class. How long will an application take there? Costs are in us.
"""
    assert rules(tmp_path, text) == set()
