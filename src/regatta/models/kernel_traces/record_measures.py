"""Measurements of traced invocations, computed from kept traces of events and added to the records."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regatta.host.errors import FullDisk
from regatta.host.files import parse_object, scratch_folder, write_object
from regatta.host.journal.journal import Damage, journal_files, read_file
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE
from regatta.host.values.record import Record

#: increase it when a measure changes: cached ones are computed again
MEASURES_VERSION = 1
#: metric of an invocation whose trace cannot be read, for example without trace-cmd
UNREADABLE = "event_unreadable"
#: a failed invocation did not do its work
_MEASURED = ("ok", "perturbed")
#: memory of a process that measures a trace
_WORKER_BYTES = 2 << 30

Row = list[Any]


@dataclass(frozen=True)
class KeptTrace:
    """A kept trace, and where its measures are cached."""

    folder: Path
    cached: Path

    @property
    def bytes(self) -> int:
        """Size of the trace; 0 without one."""
        path = self.folder / TRACE_FILE
        return path.stat().st_size if path.exists() else 0


class EventMeasures:
    """The measures of the traces of an experiment, cached by the trace's digest: each takes seconds."""

    def __init__(self, cache: Path) -> None:
        """Prepare nothing yet.

        Args:
            cache: folder for the measures.
        """
        self._cache = cache
        #: of traces that cannot be read, which no cache keeps
        self._found: dict[Path, list[Row]] = {}

    @staticmethod
    def fingerprint(experiment_dir: Path) -> str:
        """Return what the measures depend on: the kept traces, and whether this machine can read them."""
        paths = sorted((experiment_dir / "journal").glob(f"*/kept/*/{TRACE_FILE}"))
        if not paths:
            return ""
        sizes = " ".join(f"{path.parent.name} {path.stat().st_size}" for path in paths)
        return f"{MEASURES_VERSION} {shutil.which('trace-cmd') is not None} {sizes}"

    def missing(self, experiment_dir: Path) -> list[KeptTrace]:
        """Return the kept traces whose measures are not cached.

        Args:
            experiment_dir: with a journal.
        """
        return [kept for kept in self._missing(experiment_dir) if kept.bytes]

    def compute(self, missing: Sequence[KeptTrace], progress: Callable[[int], None]) -> None:
        """Compute measures in several processes.

        Args:
            missing: of `missing`.
            progress: called with the bytes of each trace that is done.
        """
        if not missing:
            return
        self._cache.mkdir(exist_ok=True)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        workers = min(len(missing), len(os.sched_getaffinity(0)), max(1, memory // _WORKER_BYTES))
        # Imported here, because few experiments have traces.
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from concurrent.futures.process import BrokenProcessPool

        # A fork would copy the threads of other libraries only in part.
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, end_with_parent) as pool:
            running = {pool.submit(_rows, kept): kept for kept in missing}
            for done in as_completed(running):
                # What a killed process leaves undone, `added_to` does.
                with suppress(BrokenProcessPool):
                    self._found[running[done].cached] = done.result()
                progress(running[done].bytes)

    def added_to(self, record: Record, host_journal: Path) -> Record:
        """Return a record with the measures of its trace or `UNREADABLE`; the record itself without a trace.

        Args:
            record: of the journal.
            host_journal: its folder, with the kept files.
        """
        kept = self._kept(record, host_journal)
        if kept is None:
            return record
        extended = record.copy()
        rows = self._found.get(kept.cached) or _rows(kept)
        extended["iterations"] = [*record["iterations"], *(tuple(row) for row in rows)]  # type: ignore[list-item]
        return extended

    def _missing(self, experiment_dir: Path) -> Iterator[KeptTrace]:
        if not self.fingerprint(experiment_dir):
            return
        for path in journal_files(experiment_dir):
            for record in read_file(path):
                kept = None if isinstance(record, Damage) else self._kept(record, path.parent)
                if kept is not None and _cached(kept.cached) is None:
                    yield kept

    def _kept(self, record: Record, host_journal: Path) -> KeptTrace | None:
        digests = {kept["name"]: str(kept["sha256"]) for kept in record.get("kept") or () if "sha256" in kept}
        if TRACE_FILE not in digests or record["status"] not in _MEASURED:
            return None
        name = f"{digests[TRACE_FILE][:32]}{digests.get(ABOUT_FILE, '')[:32]}.json"
        folder = host_journal / "kept" / f"{record['invocation_id']}-a{record['attempt']}"
        return KeptTrace(folder, self._cache / name)


def end_with_parent() -> None:
    """In a process of a pool: end when the parent ends for any reason, rather than wait for work forever."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _rows(kept: KeptTrace) -> list[Row]:
    """Return iterations of a record: number, metric, value, unit, operations, parameters."""
    found = _cached(kept.cached)
    if found is not None:
        return found
    try:
        rows = _measured(kept.folder)
    except FullDisk:
        # The trace may be good.
        raise
    except Exception:
        # The files come from the measured host. However one is damaged, the other results are still answered.
        return [[0, UNREADABLE, 1.0, "1", None, None]]
    kept.cached.parent.mkdir(exist_ok=True)
    write_object(kept.cached, {"v": MEASURES_VERSION, "rows": rows})
    return rows


def _cached(path: Path) -> list[Row] | None:
    try:
        found = parse_object(path)
    except (OSError, ValueError):
        return None
    rows = found.get("rows")
    return rows if found.get("v") == MEASURES_VERSION and isinstance(rows, list) else None


def _measured(recording: Path) -> list[Row]:
    # Imported here because most experiments have no traces.
    from regatta.models.kernel_traces.demands import demand_metrics
    from regatta.models.kernel_traces.importing import import_recording
    from regatta.models.kernel_traces.measures import measure, metrics

    with scratch_folder("regatta-events-") as folder:
        measures = measure(import_recording(recording, folder))
    found = [*metrics(measures), *demand_metrics(measures)]
    rows: list[Row] = [
        [0, name, value, unit, None, dict(given) or None] for name, value, unit, given in found
    ]
    # As read from a cache.
    return list(json.loads(json.dumps(rows)))
