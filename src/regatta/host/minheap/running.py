"""Search a minheap on this host. The runner executes the attempts and records them like any invocation."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

from regatta.host.journal.journal_writer import JournalWriter
from regatta.host.journal.plan_files import Row
from regatta.host.measure.cgroup import open_accounting
from regatta.host.measure.host_lock import DEFAULT_LOCK
from regatta.host.measure.invocation import Bench
from regatta.host.measure.process import Interrupted, StopSignals, become_subreaper, keep_descriptors
from regatta.host.measure.segment import end_what_was_left, lock_host, place_on_cores
from regatta.host.minheap.search import Attempt, Attempts, NotMeasured, attempt_of
from regatta.host.values.record import Record


def search_here(attempts: Attempts) -> int:
    """Return the minheap (MiB). Execute attempts that are not recorded.

    Raises:
        HostError: no heap is sufficient.
        KeyboardInterrupt: interrupted by a signal.
    """
    try:
        return attempts.known()
    except NotMeasured:
        pass
    with AttemptRunner(attempts) as runner:

        def ask(collector: str, heap_mib: int, nth: int) -> Attempt:
            record = attempts.remembered(collector, heap_mib, nth)
            if record is None:
                runner.run(collector, heap_mib)
                record = attempts.remembered(collector, heap_mib, nth)
                assert record is not None
                _tell(attempts, collector, heap_mib, record)
            return attempt_of(record)

        return attempts.find(ask)


def _tell(attempts: Attempts, collector: str, heap_mib: int, record: Record) -> None:
    what = f"{attempts.search.benchmark} on {attempts.search.runtime} {collector}"
    print(
        f"minheap  {what}  {heap_mib} MiB: {record['status']} ({record['elapsed_ns'] / 1e9:.1f} s)",
        file=sys.stderr,
        flush=True,
    )


class AttemptRunner:
    """Context manager that executes attempts for one benchmark and runtime. It holds the host lock."""

    def __init__(self, attempts: Attempts) -> None:
        self.attempts = attempts
        self._stack = ExitStack()

    def __enter__(self) -> AttemptRunner:
        attempts = self.attempts
        # The runner changes the working directory with each process; paths of this command are relative to the original one.
        self._stack.callback(os.chdir, os.getcwd())
        # A fixed path, so that the next search finds processes left by a killed one.
        self._scratch = attempts.path.parent.resolve() / "scratch"
        lock = lock_host(Path(os.environ.get("REGATTA_HOST_LOCK", DEFAULT_LOCK)), self._scratch, "minheap", 0)
        self._stack.callback(lock.release)
        self._journal = JournalWriter(attempts.path)
        self._stack.callback(self._journal.close)
        end_what_was_left(lock, self._scratch)
        become_subreaper()
        keep_descriptors()
        self._accounting, _ = open_accounting()
        if self._accounting is not None:
            self._stack.callback(self._accounting.close)
        self._stop = self._stack.enter_context(StopSignals())
        self._number = self._journal.sequence
        # Another search may have added records while this one waited for the lock.
        attempts.read_again(self._journal.records)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def run(self, collector: str, heap_mib: int) -> None:
        """Execute one attempt and record it.

        Raises:
            KeyboardInterrupt: interrupted by a signal.
            StoreError: the record cannot be written.
        """
        header, cell = self.attempts.planned(collector, heap_mib)
        measured = place_on_cores(header)["measured"]
        bench = Bench(header, self._scratch, measured, self._accounting, self._stop)
        try:
            record = bench.measure(Row(self._number, self._number, 0, 0, cell), 0, 0)
        except Interrupted:
            raise KeyboardInterrupt from None
        finally:
            bench.close()
        self._number += 1
        self._journal.append(record)
        self.attempts.add(record)
