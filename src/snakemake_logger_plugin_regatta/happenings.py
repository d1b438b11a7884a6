"""Convert messages of Snakemake on jobs to events of their experiments."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

from regatta.cli.run import send_what_happened
from regatta.host.files import read_object
from regatta.host.journal.decisions import groups_of, planned_rounds, read_decisions
from regatta.influx.settings import HANDED_ON
from regatta.store.events import NO_HOST, append_event, counts_of
from regatta.store.folder import Folder

#: jobs without a step: they belong to the previous one, or run after the end
_UNTOLD = ("ingest_segment", "verified")
#: write the events of their steps themselves
_SEVERAL_STEPS = ("prepare", "finish")
#: sends the remaining points to InfluxDB at the end; alone it does not begin a run
_SENDS = "ingest_influx"
_LAST_WORDS = 500
#: message of Snakemake after Ctrl-C and SIGTERM; jobs that it then ends have not failed by themselves
_STOPPED = "Terminating processes on user request"


@dataclass(frozen=True)
class Job:
    """A job of the workflow: a rule for an experiment."""

    rule: str
    folder: Folder
    host: str = NO_HOST
    segment: int | None = None


class Happenings:
    """Writes events per experiment."""

    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        #: folder of the experiment -> how it ended; empty while it runs
        self._ends: dict[Path, str] = {}
        self._paces: dict[tuple[Path, str], _Pace] = {}
        self._stopped = False

    def take(self, record: LogRecord) -> Job | None:
        """Write the event of a log record. Return the job if the record announces its start.

        Raises:
            StoreError: an event cannot be written.
        """
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            job = _job(record)
            if job is not None:
                self._jobs[record.__dict__["jobid"]] = job
                self._begun(job)
            return job
        if event == LogEvent.JOB_FINISHED:
            job = self._jobs.pop(record.__dict__["job_id"], None)
            if job is not None:
                self._done(job)
        elif event == LogEvent.JOB_ERROR:
            job = self._jobs.pop(record.__dict__["jobid"], None)
            if job is not None and not self._stopped:
                self._failed(job, record.__dict__.get("log") or [])
        elif event is None and record.getMessage().startswith(_STOPPED):
            self._stopped = True
        return None

    def close(self) -> None:
        """Write the end of the workflow and of its unfinished experiments.

        If an InfluxDB is configured, the last events, which no job could send, are sent from here.

        Raises:
            StoreError: an event cannot be written.
        """
        ended = [path for path, end in self._ends.items() if end != "complete"]
        for path in ended:
            append_event(path, "experiment_ended", text=self._ends[path] or self._end(path))
        for path in ended if HANDED_ON in os.environ else ():
            send_what_happened(Folder(path))

    def _end(self, path: Path) -> str:
        stopped = self._stopped or any(job.folder.path == path for job in self._jobs.values())
        return "stopped" if stopped else "complete"

    def _begun(self, job: Job) -> None:
        path = job.folder.path
        if path not in self._ends and job.rule not in (*_UNTOLD, _SENDS):
            self._ends[path] = ""
            append_event(path, "experiment_started")
        if job.segment is not None and job.rule == "measure":
            self._paces.setdefault((path, job.host), _Pace()).begin()
            append_event(path, "segment_started", job.host, segment=job.segment)
        elif job.rule not in (*_UNTOLD, *_SEVERAL_STEPS):
            append_event(path, "stage", text=job.rule)
        if job.rule == _SENDS and path in self._ends and read_object(job.folder.verdict).get("holds") is True:
            # Everything is measured and analyzed; the points sent now must include this event.
            self._ends[path] = "complete"
            append_event(path, "experiment_ended", text="complete")

    def _done(self, job: Job) -> None:
        path = job.folder.path
        if job.rule == "measure" and job.segment is not None:
            receipt = read_object(job.folder.receipts / job.host / f"{job.segment:05d}.json")
            append_event(path, "segment_ended", job.host, segment=job.segment, **counts_of(receipt))
            pace = self._paces[path, job.host]
            pace.end(receipt)
            append_event(path, "progress", job.host, **_progress(job.folder, job.host, pace))

    def _failed(self, job: Job, logs: list[str]) -> None:
        # The last one that exists is that of the step that failed.
        written = [log for log in map(Path, logs) if log.exists()][-1:]
        said = _last_line(written[0]) if written else ""
        step = written[0].stem if written and job.rule in _SEVERAL_STEPS else job.rule
        text = f"{step}: {said}" if said else step
        # The first failure is the cause; later ones may be consequences.
        if not self._ends.get(job.folder.path, "").startswith("failed"):
            self._ends[job.folder.path] = f"failed: {text}"
        told: dict[str, str | int] = {"text": text}
        if written:
            told["log"] = written[0].name
        if job.segment is not None:
            told["segment"] = job.segment
        append_event(job.folder.path, "job_failed", job.host, **told)


class _Pace:
    """Measured speed of a host in this workflow."""

    def __init__(self) -> None:
        self._began_s = 0.0
        self.elapsed_s = 0.0
        self.measured = 0

    def begin(self) -> None:
        self._began_s = time.monotonic()

    def end(self, receipt: dict[str, Any]) -> None:
        measured = receipt.get("measured_now")
        if isinstance(measured, int) and measured > 0:
            self.elapsed_s += time.monotonic() - self._began_s
            self.measured += measured


def _job(record: LogRecord) -> Job | None:
    """Return the job of a log record; None if it belongs to no single experiment."""
    told = record.__dict__
    wildcards, logs = told.get("wildcards") or {}, told.get("log") or []
    if not logs or not wildcards.get("experiment"):
        return None
    folder = Folder(Path(logs[0]).absolute().parent.parent)
    if folder.name != wildcards["experiment"]:
        return None
    segment = int(wildcards["segment"]) if "segment" in wildcards else None
    return Job(told["rule_name"], folder, wildcards.get("host", NO_HOST), segment)


def _progress(folder: Folder, host: str, pace: _Pace) -> dict[str, int | float]:
    """Return the progress of a host from its receipts: the journal can be too long to read during measurements."""
    header = read_object(folder.host_plan(host) / "plan.json")
    if not header:
        return {}
    decisions = read_decisions(folder.decisions(host)) if groups_of(header) else {}
    found: dict[str, int | float] = {"planned": sum(planned_rounds(header, decisions))}
    counts = [counts_of(read_object(path)) for path in sorted((folder.receipts / host).glob("*.json"))]
    for name in ("recorded", "failed", "perturbed"):
        found[name] = sum(count.get(name, 0) for count in counts)
    if pace.measured:
        found["remaining_s"] = max(0, found["planned"] - found["recorded"]) * pace.elapsed_s / pace.measured
    return found


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1][:_LAST_WORDS] if lines else ""
