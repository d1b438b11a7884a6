"""What the tests of segments on hosts share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.detached_beds import Bed
from regatta.store.folder import Folder


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    monkeypatch.setenv("REGATTA_HOST_LOCK", str(tmp_path / "host.lock"))
    made = Bed(Folder(tmp_path / "results" / "small"), tmp_path / "root")
    yield made
    for zipapp in made.root.glob("bin/*.pyz"):
        for folder in made.root.glob("experiments/*"):
            stop = [sys.executable, "-I", str(zipapp), "detached", "stop", "--folder", str(folder)]
            subprocess.run(stop, check=True, capture_output=True)
