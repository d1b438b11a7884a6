"""The examples that Hypothesis draws: in continuous integration the same in every run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

DRAW = """
import importlib, sys
import conftest
from hypothesis import given, settings, strategies

for name in sys.argv[1:]:
    importlib.import_module(name)

@settings(database=None)
@given(strategies.floats(allow_nan=False), strategies.text())
def draw(number, text):
    print(repr((number, text)))

draw()
"""


def drawn(*modules: str) -> str:
    """Examples of a process that has loaded these modules before."""
    return subprocess.run(
        [sys.executable, "-c", DRAW, *modules],
        env={**os.environ, "CI": "true", "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


@pytest.mark.full
def test_examples_in_ci_do_not_depend_on_what_was_loaded_before() -> None:
    examples = drawn()
    assert len(examples.splitlines()) > 20
    assert drawn("regatta.stats.ratios", "regatta.spec.load") == examples
