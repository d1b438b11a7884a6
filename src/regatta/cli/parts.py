"""Jobs of the workflow that do several steps in one process. Each step has a stage and a log, as if it were a job."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.store.events import NO_HOST, append_event
from regatta.store.folder import Folder

Part = tuple[str, Callable[[], None]]


def run_parts(folder: Folder, parts: Iterable[Part], logs: Sequence[Path]) -> None:
    """Run the steps of a job in order. A step that raises ends the job; its log is then the last one that exists.

    Args:
        folder: folder of the experiment.
        parts: stage and work of each step.
        logs: log of each step, not there yet. It gets all output, and after the last step that of the rest of the process.
    """
    for (stage, work), log in zip(parts, logs, strict=True):
        _write_to(log)
        note(folder, "stage", text=stage)
        work()


def note(folder: Folder, kind: str, **fields: Any) -> None:
    """Append an event of an experiment. A failure does not stop the job: an event only records a time."""
    with suppress(StoreError):
        append_event(folder.path, kind, NO_HOST, **fields)


def _write_to(log: Path) -> None:
    """Make the log the standard output and error of this process, for libraries and child processes too."""
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(fd, stream.fileno())
    os.close(fd)
