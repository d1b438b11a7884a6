"""Attempts at heap sizes, run by the runner's own code and recorded like any invocation."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from regatta.fleet.minheaps import LEAST_TIMEOUT_S, SLOW_FACTOR, Attempts, scratch_directory
from regatta.planner.cells import Crossing
from regatta.planner.plan import plan_host
from regatta.runner.host_lock import DEFAULT_LOCK, HostLock
from regatta.runner.invocation import Bench, measure
from regatta.runner.journal_writer import JournalWriter
from regatta.runner.plan_files import Row
from regatta.runner.process import Interrupted, StopSignals, become_subreaper


class AttemptRunner:
    """A context in which attempts for one benchmark and runtime can be made; it holds the host's lock."""

    def __init__(self, attempts: Attempts, directory: Path) -> None:
        self.attempts = attempts
        self._stack = ExitStack()

    def __enter__(self) -> AttemptRunner:
        attempts = self.attempts
        # The runner is in another directory after each process; paths of this command are relative to its own.
        self._stack.callback(os.chdir, os.getcwd())
        lock = HostLock(Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)), {"experiment": "minheap"})
        self._stack.callback(lock.release)
        self._scratch = self._stack.enter_context(scratch_directory())
        self._journal = JournalWriter(attempts.path)
        self._stack.callback(self._journal.close)
        become_subreaper()
        self._stop = self._stack.enter_context(StopSignals())
        self._number = self._journal.sequence
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self, collector: str, heap_mib: int, nth: int) -> dict[str, Any]:
        """Make one attempt and record it.

        Raises:
            KeyboardInterrupt: told to stop.
            StoreError: the record cannot be written.
        """
        attempts = self.attempts
        cell = attempts.cell(collector, heap_mib)
        experiment = attempts.narrowed(collector, heap_mib)
        header = plan_host(experiment, attempts.host.name, attempts.host.platform, Crossing([cell])).header(
            ""
        )
        timeout_s = experiment.timeout_s
        if attempts.roomy_s():
            timeout_s = min(timeout_s, max(LEAST_TIMEOUT_S, SLOW_FACTOR * attempts.roomy_s()))
        bench = Bench(header, self._scratch, None, None, self._stop)
        try:
            record = measure(bench, Row(self._number, nth, 0, 0, cell.to_json(timeout_s)), nth, 0)
        except Interrupted:
            raise KeyboardInterrupt from None
        self._number += 1
        self._journal.append(record)
        attempts.add(record)
        return record
