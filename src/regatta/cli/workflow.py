"""Run Snakemake for one experiment: exclusively, with a live view, and with errors reported as those of Regatta."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from regatta.cli.handover import hand_over
from regatta.cli.stopping import stop_session, told_to_stop
from regatta.cli.watcher import Watcher
from regatta.host.errors import HostError, Problem, RegattaError
from regatta.host.files import locked
from regatta.host.printable import Lines, printable, with_lines
from regatta.host.values.experiment import Experiment
from regatta.store.events import append_event, events_path, read_events
from regatta.store.folder import Folder
from regatta.store.receipts import (
    withdraw_all_receipts,
    withdraw_for_another_way,
    withdraw_receipts_of_perturbed_segments,
    withdraw_receipts_of_touched_journals,
)

_LOOK_S = 0.1
_MEASURING_LOOK_S = 1.0
_INTERRUPTED = 130
_LEAST_ROOM_BYTES = 1 << 20
#: of its log; the ends of jobs are at the end
_SNAKEMAKES_LAST_BYTES = 1 << 18
_LOCK = ".run.lock"


@contextmanager
def _only_one(folder: Folder) -> Iterator[int]:
    """Hold the lock of the experiment. Snakemake inherits it, so that it survives if only this process is killed."""
    folder.path.mkdir(parents=True, exist_ok=True)

    def say() -> None:
        print(
            f"{folder.name} is already running; waiting until it ends (`regatta status` shows its progress)",
            file=sys.stderr,
            flush=True,
        )

    with locked(folder.path / _LOCK, say=say) as fd:
        yield fd


def is_being_run(folder: Folder) -> bool:
    """Return whether a `regatta run` of the experiment, or its Snakemake, is running."""
    try:
        with locked(folder.path / _LOCK, patience_s=0.0):
            return False
    except BlockingIOError:
        return True


@dataclass(frozen=True)
class Workflow:
    """A request to run the workflow of one spec."""

    spec: Path
    experiment: Experiment
    results: Path
    home: Path
    profile: str
    retry_failed: bool
    #: columns of the screen that shows the answer
    width: int

    @property
    def folder(self) -> Folder:
        """Return the folder of the experiment."""
        return Folder(self.results / self.experiment.name)


def run_workflow(wanted: Workflow) -> int:
    """Run the workflow of one spec to its end.

    Returns:
        0: success; 1: an invocation failed; 130: stopped.

    Raises:
        RegattaError: a job reported an error (its problems, its exit code), or Snakemake failed.
    """
    try:
        with _only_one(wanted.folder) as lock:
            return _run(wanted, lock)
    except OSError as error:
        raise HostError(
            str(wanted.folder.path), "a writable folder", str(error.strerror), "choose another with --results"
        ) from error


def _run(wanted: Workflow, lock: int) -> int:
    folder = wanted.folder
    folder.logs.mkdir(parents=True, exist_ok=True)
    errors = folder.logs / "errors.jsonl"
    errors.unlink(missing_ok=True)
    withdraw_for_another_way(folder, wanted.profile)
    if wanted.retry_failed:
        # Without receipts all segments are visited again; the journal determines the remaining work.
        withdraw_all_receipts(folder)
    else:
        withdraw_receipts_of_touched_journals(folder)
        withdraw_receipts_of_perturbed_segments(folder)
    environment = {
        **os.environ,
        "REGATTA_HOME": str(wanted.home),
        "REGATTA_ERRORS": str(errors.resolve()),
        **hand_over(wanted.spec, wanted.experiment, wanted.results, wanted.width),
    }
    if wanted.retry_failed:
        environment["REGATTA_RETRY_FAILED"] = "1"
    command = [
        sys.executable, "-m", "snakemake",
        "--snakefile", str(wanted.home / "Snakefile"),
        "--directory", str(Path.cwd()),
        "--profile", str(wanted.home / "configs" / "profiles" / wanted.profile),
        # Otherwise `profiles/default` next to the Snakefile or in the current folder replaces keys of that profile.
        "--workflow-profile", "none",
    ]  # fmt: skip
    heard = WorkflowEvents(folder)
    with (folder.logs / "snakemake.log").open("ab") as log, told_to_stop():
        began_at = os.fstat(log.fileno()).st_size
        # A separate session: Ctrl-C reaches only this process, which then ends the workflow gracefully.
        # A file instead of a pipe: the workflow survives a kill of this process, and never blocks on it.
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            pass_fds=(lock,), start_new_session=True,
        )  # fmt: skip
        try:
            with Watcher(folder) as watcher:
                _watch(process, heard, watcher)
        except KeyboardInterrupt:
            stop_session(process)
            _tell_end(folder, heard, "stopped")
            print("stopped; run the same command again to continue", file=sys.stderr)
            return _INTERRUPTED
    _tell_end(folder, heard, "stopped" if process.returncode < 0 else "failed")
    if process.returncode == 0:
        return 0
    _raise_for(errors, folder, heard.failed_log, began_at)
    return 1


class WorkflowEvents:
    """Follows the workflow through the events of the experiment, which its logger writes."""

    def __init__(self, folder: Folder, from_start: bool = False) -> None:
        """`from_start`: include earlier events."""
        self._path = events_path(folder.path)
        self._offset = 0
        #: hosts whose runner waits for another run
        self.waiting: set[str] = set()
        #: whether the experiment is in progress
        self.at_work = False
        if not from_start:
            for _ in self.stages():
                pass
            self.at_work = False
        #: log in `logs/` of the last failed step; empty without one
        self.failed_log = ""

    def stages(self) -> Iterator[str]:
        """Yield the steps that began since the last call."""
        try:
            for event in read_events(self._path, self._offset):
                self._offset = event.end
                if event.kind in ("experiment_started", "experiment_ended"):
                    self.at_work = event.kind == "experiment_started"
                elif event.kind == "waiting":
                    self.waiting.add(event.host)
                elif event.kind == "waiting_ended":
                    self.waiting.discard(event.host)
                elif event.kind == "segment_started":
                    yield "measure"
                elif event.kind == "job_failed":
                    self.failed_log = Path(event.fields.get("log", "")).name
                elif event.kind == "stage":
                    yield event.fields.get("text", "")
        except OSError:
            return


def _tell_end(folder: Folder, heard: WorkflowEvents, text: str) -> None:
    """Write the end of the experiment, if the workflow did not."""
    for _ in heard.stages():
        pass
    with suppress(RegattaError):
        # Otherwise the dashboard shows a stopped run as waiting forever.
        for host in sorted(heard.waiting):
            append_event(folder.path, "waiting_ended", host)
        if heard.at_work:
            append_event(folder.path, "experiment_ended", text=text)


def _watch(process: subprocess.Popen[bytes], heard: WorkflowEvents, watcher: Watcher) -> None:
    """Show the workflow until it ends; sleep between updates, longer during measurements."""
    ended = os.pidfd_open(process.pid)
    try:
        while process.poll() is None:
            select.select([ended], [], [], _MEASURING_LOOK_S if watcher.measuring else _LOOK_S)
            for stage in heard.stages():
                watcher.stage = stage
                watcher.look()
            watcher.look()
    finally:
        os.close(ended)


def _raise_for(errors: Path, folder: Folder, failed_log: str, since: int) -> None:
    """Raise the first error that a job reported; for `verify`, its problems with exit code 1.

    Without a reported error, show the last lines of `failed_log`, or if it is empty those of the newest log.
    """
    try:
        told = [json.loads(line) for line in errors.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError):
        told = []
    for error in told:
        raised = RegattaError(folder.name, "", "")
        raised.problems = tuple(_FormattedProblem(text, "", "") for text in error["problems"])
        raised.exit_code = error["exit_code"]
        raise raised
    room = os.statvfs(folder.path)
    if room.f_bavail * room.f_frsize < _LEAST_ROOM_BYTES:
        # No process could record the error.
        raise HostError(
            str(folder.path),
            "free disk space",
            f"{os.strerror(errno.ENOSPC)} ({room.f_bavail * room.f_frsize >> 10} KiB free)",
            "free disk space, and run the same command again; records are intact",
        )
    log = folder.logs / "snakemake.log"
    tail = _last_lines(folder.logs / failed_log) if failed_log else []
    killer = _killer(log, since, failed_log) if failed_log else ""
    if killer:
        raise HostError(
            str(folder.logs / failed_log),
            "a job that completes",
            with_lines(f"killed by {killer}", tail),
            "check for exhausted memory (`dmesg`), and run the same command again",
        )
    tail = tail or _last_lines(_latest_log(folder, log))
    raise HostError(
        str(log),
        "a successful workflow",
        with_lines("an error:", tail),
        "correct the error, and run the same command again",
    )


def _killer(log: Path, since: int, failed_log: str) -> str:
    """Return the signal that ended the job with that log, from the output of Snakemake after byte `since`; empty without one."""
    try:
        with log.open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - _SNAKEMAKES_LAST_BYTES))
            told = file.read().decode(errors="replace")
    except OSError:
        return ""
    ends = re.findall(
        re.escape(failed_log) + r"[^\n]* (?:returned non-zero exit status (\d+)|died with <Signals\.(\w+))",
        told,
    )
    code, name = ends[-1] if ends else ("", "")
    # A shell exits with 128 + the signal number of its command, unless it became the command.
    number = int(code or 0) - 128
    return name or (signal.Signals(number).name if number in signal.valid_signals() else "")


class _FormattedProblem(Problem):
    """A problem that another process has formatted already."""

    def __str__(self) -> str:
        return printable(Lines(self.where))


def _latest_log(folder: Folder, fallback: Path) -> Path:
    logs = [p for p in folder.logs.glob("*.log") if p.stat().st_size and p != fallback]
    return max(logs, key=lambda p: p.stat().st_mtime_ns, default=fallback)


def _last_lines(path: Path, count: int = 12) -> list[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return lines[-count:]
