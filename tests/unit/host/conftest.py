from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.runner_plans import Runner


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    """A runner that leaves nothing behind, whatever a test makes it run."""
    runner = Runner(tmp_path / "hand")
    yield runner
    runner.assert_nothing_left()
