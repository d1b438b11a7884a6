"""Estimates beside a remote segment: none is under way when the segment has ended."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from regatta.answers.spine.so_far import Estimates
from regatta.cli import segment
from regatta.store.folder import Folder


def test_the_end_waits_for_an_estimate_that_is_being_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, ended = threading.Event(), threading.Event()

    def look(_: Estimates) -> None:
        began.set()
        time.sleep(0.3)
        ended.set()

    monkeypatch.setattr(Estimates, "look", look)
    monkeypatch.setattr(segment, "_ESTIMATE_EVERY_S", 0.01)
    with segment._estimated_meanwhile(Folder(tmp_path), "alpha"):
        assert began.wait(300)
    assert ended.is_set()
    assert not any(thread.name == "estimates" for thread in threading.enumerate())
