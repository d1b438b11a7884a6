"""Terminal output for users of Snakemake: the bar of `regatta run`, and important messages above it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from logging import ERROR, WARNING, LogRecord

from regatta.cli.watcher import STAGES, Watcher
from regatta.cli.workflow import WorkflowEvents
from snakemake_logger_plugin_regatta.happenings import Job

#: messages without an event that are redundant with the bar
_ROUTINE = (
    "Building DAG of jobs",
    "Select jobs to execute",
    "Assuming unrestricted shared filesystem usage",
    "Config file ",
    "Warning: the following output files of rule",
)
_LOOK_S = 1.0


class Screen:
    """A bar for the running experiment, updated once per second."""

    def __init__(self, errors_only: bool, nocolor: bool) -> None:
        self._errors_only = errors_only
        self._style = "" if nocolor else "red"
        self._watcher: Watcher | None = None
        self._heard: WorkflowEvents | None = None
        # Two threads draw the bar: the one that handles messages, and the one that watches the measurement.
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._looking: threading.Thread | None = None

    def show(self, job: Job) -> None:
        """Show the start of a job."""
        if self._errors_only or job.rule not in STAGES:
            return
        with self._lock:
            if self._watcher is None or self._watcher.folder.path != job.folder.path:
                if self._watcher is not None:
                    self._watcher.__exit__(None, None, None)
                self._watcher = Watcher(job.folder).__enter__()
                self._heard = WorkflowEvents(job.folder)
            self._watcher.stage = job.rule
            self._watcher.look()
        if self._looking is None:
            self._looking = threading.Thread(target=self._look, name="regatta-bar", daemon=True)
            self._looking.start()

    def take(self, record: LogRecord, text_of: Callable[[LogRecord], str]) -> None:
        """Show an important message."""
        if record.levelno < (ERROR if self._errors_only else WARNING) and (
            self._errors_only or getattr(record, "event", None) is not None
        ):
            return
        text = text_of(record)
        if not text or text == "None" or (record.levelno < ERROR and text.startswith(_ROUTINE)):
            return
        with self._lock:
            if self._watcher is None:
                print(text, file=sys.stderr, flush=True)
            else:
                self._watcher.say(text, self._style if record.levelno >= ERROR else "")

    def close(self) -> None:
        """Remove the bar."""
        self._ended.set()
        with self._lock:
            if self._watcher is not None:
                self._watcher.__exit__(None, None, None)
                self._watcher = None

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_S):
            try:
                with self._lock:
                    if self._watcher is not None and self._heard is not None:
                        # A job of several steps writes the event of each.
                        for stage in self._heard.stages():
                            self._watcher.stage = stage
                        self._watcher.look()
            except Exception:
                # Keep the bar; messages are still shown.
                return
