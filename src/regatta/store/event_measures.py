"""Measurements of traced invocations: computed from the kept trace of events, and added to those of the record."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from regatta.host.errors import RegattaError
from regatta.host.files import parse_object, write_object
from regatta.host.values.events import ABOUT_FILE, TRACE_FILE
from regatta.host.values.record import Record

#: increase it when a measure changes: cached ones are computed again
MEASURES_VERSION = 1
#: metric of an invocation whose trace cannot be read, for example without trace-cmd
UNREADABLE = "event_unreadable"
#: a failed invocation did not do its work
_MEASURED = ("ok", "perturbed")


def kept_traces(experiment_dir: Path) -> str:
    """Return what the measures depend on: the kept traces, and whether this machine can read them."""
    paths = sorted((experiment_dir / "journal").glob(f"*/kept/*/{TRACE_FILE}"))
    if not paths:
        return ""
    sizes = " ".join(f"{path.parent.name} {path.stat().st_size}" for path in paths)
    return f"{MEASURES_VERSION} {shutil.which('trace-cmd') is not None} {sizes}"


def with_event_measures(record: Record, host_journal: Path, cache: Path) -> Record:
    """Return a record with the measures of its trace, or with `UNREADABLE`; the record itself if it has none.

    Args:
        record: of the journal.
        host_journal: its folder, with the kept files.
        cache: folder for measures by the digest of their trace.
    """
    digests = {kept["name"]: str(kept["sha256"]) for kept in record.get("kept") or () if "sha256" in kept}
    if TRACE_FILE not in digests or record["status"] not in _MEASURED:
        return record
    digest = digests[TRACE_FILE][:32] + digests.get(ABOUT_FILE, "")[:32]
    path = cache / f"{digest}.json"
    rows = _cached(path)
    if rows is None:
        folder = host_journal / "kept" / f"{record['invocation_id']}-a{record['attempt']}"
        try:
            rows = _measured(folder)
        except RegattaError:
            rows = [[0, UNREADABLE, 1.0, "1", None, None]]
        else:
            cache.mkdir(exist_ok=True)
            write_object(path, {"v": MEASURES_VERSION, "rows": rows})
    extended = record.copy()
    extended["iterations"] = [*record["iterations"], *(tuple(row) for row in rows)]  # type: ignore[list-item]
    return extended


def _cached(path: Path) -> list[list[Any]] | None:
    try:
        found = parse_object(path)
    except (OSError, ValueError):
        return None
    rows = found.get("rows")
    return rows if found.get("v") == MEASURES_VERSION and isinstance(rows, list) else None


def _measured(recording: Path) -> list[list[Any]]:
    """Return iterations of a record: number, metric, value, unit, operations, parameters."""
    # Imported here because most experiments have no traces.
    from regatta.events.demands import demand_metrics
    from regatta.events.importing import import_recording
    from regatta.events.measures import measure, metrics

    with tempfile.TemporaryDirectory(prefix="regatta-events-") as folder:
        measures = measure(import_recording(recording, Path(folder)))
    found = [*metrics(measures), *demand_metrics(measures)]
    return [[0, name, value, unit, None, dict(given) or None] for name, value, unit, given in found]
