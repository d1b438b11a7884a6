"""Detached segment: start, follow and reattach to a runner on a host that survives failures of the network or of this machine."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from regatta.fleet.agent import Agent
from regatta.fleet.controller_side import Stopped, holder, runner_failed, show_state, stopping_on_signals
from regatta.fleet.journal_copy import Acceptance, TakenOver
from regatta.fleet.remote.base import LARGEST_JOURNAL_BYTES, LONGEST_LINE_BYTES, Unreachable, distrusted
from regatta.host.errors import HostError, RegattaError
from regatta.host.journal.journal import segment_files
from regatta.host.printable import printable
from regatta.store.folder import Folder, identity_of

#: maximum outage of a host before the job fails; the host continues to measure, and the next run fetches its records
PATIENCE_S = 3600.0
_LONGEST_WAIT_S = 30.0
#: `follow` prints at least every five seconds
_SILENCE_S = 60.0
_SHORT_S = 120.0
_JOURNAL_FILE = re.compile(r"\d{5}\.jsonl")
_LONGEST_WORDS = 400


class Gone(Exception):
    """The runner on the host was killed without a final message, or the host was."""


class DetachedSegment:
    """One segment of one host, on the controller side."""

    def __init__(self, folder: Folder, agent: Agent, number: int, retry_failed: bool) -> None:
        self.folder = folder
        self.agent = agent
        self.name = agent.host.name
        self.number = number
        self.retry_failed = retry_failed
        self.header = folder.host_header(self.name)
        self.there = f"{agent.host.root}/experiments/{folder.name}-{identity_of(folder)}-{self.name}"
        self.clock: dict[str, int] = {}
        self._patience_s = float(os.environ.get("REGATTA_PATIENCE_S", PATIENCE_S))

    def run(self) -> dict[str, Any]:
        """Measure until the end of the segment; return its receipt.

        Raises:
            Stopped: a signal arrived; the host has stopped too, or could not be reached.
            Unreachable: the host was unreachable for too long.
            HostError, StoreError: the error of the runner, with the name of the host.
        """
        taken = TakenOver(self.folder, self.name, Acceptance(self.header, self.number), self.number)
        try:
            with stopping_on_signals():
                try:
                    return self._until_the_end(taken)
                except Stopped:
                    self._stop()
                    raise
        finally:
            taken.close()

    def _until_the_end(self, taken: TakenOver) -> dict[str, Any]:
        last_contact = time.monotonic()
        wait_s = 1.0
        deaths, seen = 0, taken.count
        before, retry_failed = taken.count, self.retry_failed

        def heard() -> None:
            nonlocal last_contact, wait_s
            last_contact, wait_s = time.monotonic(), 1.0

        while True:
            try:
                self._begin()
                ended = self._follow(taken, heard)
                return self._finish(ended, taken)
            except Gone:
                # Count only deaths without a new record in between: a long run may have several.
                deaths = 1 if taken.count > seen else deaths + 1
                # The killed runner may not have retried anything.
                self.retry_failed = retry_failed and taken.count == before
                seen = taken.count
                if deaths > 3:
                    raise HostError(
                        f"host {self.name}",
                        "a runner that keeps running",
                        f"killed {deaths} times in a row (out of memory?)",
                        f"read {self.there}/logs on the host",
                    ) from None
                self._refuse_edited_plan()
                self._say("the runner was killed; restarting it")
            except Unreachable as error:
                away_s = time.monotonic() - last_contact
                if away_s > self._patience_s:
                    raise
                self._say(f"{error.problems[0].got}; the host continues measuring; reconnecting")
                time.sleep(min(wait_s, max(0.1, self._patience_s - away_s)))
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _refuse_edited_plan(self) -> None:
        """Raise HostError if an edited plan has replaced this one."""
        now = self.folder.host_header(self.name)["plan_id"]
        if now != self.header["plan_id"]:
            raise HostError(
                f"host {self.name}",
                f"the plan {self.header['plan_id']}",
                f"the edited plan {now}",
                "run the experiment again; records are kept",
            )

    def _say(self, text: str) -> None:
        print(f"{self.name}: {printable(text)}", file=sys.stderr, flush=True)

    def _words(self, *words: str) -> list[str]:
        return [*words, "--folder", self.there]

    def _hello(self) -> dict[str, Any]:
        before = time.time_ns()
        told = self.agent.object(self._words("detached", "hello"), timeout_s=_SHORT_S)
        after = time.time_ns()
        if not isinstance(told.get("utc_ns"), int) or not isinstance(told.get("journal"), dict):
            raise HostError(f"host {self.name}", "the state of its clock and journal", json.dumps(told)[:300])
        self.clock = {
            "host_utc_ns": told["utc_ns"],
            "controller_utc_ns": (before + after) // 2,
            "round_trip_ns": after - before,
        }
        return told

    def _begin(self) -> None:
        """Send the plan and the missing part of the journal, and start the runner unless it is running."""
        told = self._hello()
        now = told.get("running")
        if now and (told.get("plan_id"), _segment(now)) != (self.header["plan_id"], self.number):
            # The running segment is of an edited spec or a lost controller: its records stay, and needed cells continue.
            self._say(
                f"stopping segment {_segment(now)} of plan {str(told.get('plan_id'))[:40]}, which it still measures"
            )
            self._stop()
            told = self._hello()
            now = told.get("running")
        if not now:
            self._bring(told)
            words = self._words("detached", "start", "--segment", str(self.number), "--holder", holder())
            told = self.agent.object(
                [*words, *(["--retry-failed"] if self.retry_failed else [])], timeout_s=_SHORT_S
            )
            # A second start must not retry the failures of the first.
            self.retry_failed = False
            now = told.get("running")
        if _segment(now) != self.number:
            raise HostError(
                f"host {self.name}",
                f"segment {self.number} running",
                f"segment {_segment(now)}",
                "wait until it ends: `regatta status`",
            )

    def _bring(self, told: Mapping[str, Any]) -> None:
        plan = self.folder.host_plan(self.name)
        expected = {key: self.header[key] for key in ("plan_id", "rows_sha256")}
        if {key: told.get(key) for key in expected} != expected:
            # Rows first: a header must never name missing rows.
            for part in ("rows.i32", "plan.json"):
                self.agent.remote.put(plan / part, f"{self.there}/plan/{part}")
        self._level_journals(told["journal"])
        decisions = self.folder.decisions(self.name)
        if decisions.exists():
            self.agent.remote.put(decisions, f"{self.there}/journal/{decisions.name}")

    def _level_journals(self, theirs: Mapping[str, Any]) -> None:
        """Restore the journal of a reinstalled host, and fetch records that it measured unattended.

        The runner counts all files of its journal, even if rounds were split into other segments.
        """
        journal = self.folder.journal / self.name
        ours = {path.name: TakenOver.records_in(path) for path in segment_files(journal)}
        for name in sorted({*ours, *(name for name in theirs if _JOURNAL_FILE.fullmatch(name))}):
            here, there = ours.get(name, 0), theirs.get(name, 0)
            if not isinstance(there, int) or there == here:
                continue
            if there < here:
                self._say(f"restoring {name} on the host, where it is missing")
                self.agent.remote.put(journal / name, f"{self.there}/journal/{name}")
            elif name != f"{self.number:05d}.jsonl":
                self._fetch_journal(name)

    def _fetch_journal(self, name: str) -> None:
        """Take over new records from the file of another segment of the host."""
        number = int(name.partition(".")[0])
        with tempfile.TemporaryDirectory(prefix="regatta-journal-") as folder:
            copy = Path(folder) / name
            self.agent.remote.get(f"{self.there}/journal/{name}", copy, LARGEST_JOURNAL_BYTES)
            taken = TakenOver(self.folder, self.name, Acceptance(self.header, number), number)
            try:
                taken.take_file(copy)
            finally:
                taken.close()

    def _follow(self, taken: TakenOver, heard: Callable[[], None]) -> dict[str, Any]:
        """Take over records until the segment ends; return its final message."""
        words = self._words("follow", "--segment", str(self.number), "--after", str(taken.whole_up_to))
        process = self.agent.remote.open(self.agent.argv(words))
        try:
            for line in _lines(process, self.name):
                heard()
                kind, text = line[:1], line[2:]
                if kind == b"R":
                    taken.take(text)
                elif kind == b"L":
                    self._say(printable(text.decode("utf-8", "replace"), _LONGEST_WORDS))
                elif kind == b"S":
                    show_state(self.folder, self.name, self.number, text)
                elif kind == b"E":
                    return _object(text, self.name)
                elif kind == b"G":
                    raise Gone
            told = process.stderr.read(4096).decode("utf-8", "replace") if process.stderr else ""
            raise Unreachable(
                f"host {self.name}", "records", printable(told.strip()[-300:]) or "connection lost"
            )
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def _finish(self, ended: Mapping[str, Any], taken: TakenOver) -> dict[str, Any]:
        """Return the receipt of the segment, or raise the error of the runner."""
        code = ended.get("exit_code")
        told = ended.get("problems")
        lines = told if isinstance(told, list) else ()
        problems = [printable(text) for text in lines if isinstance(text, str)]
        if code != 0:
            raise runner_failed(self.name, problems, code, f"read {self.there}/logs on the host")
        taken.finish(ended, self.agent, self.there)
        receipt = ended.get("receipt")
        expected = {"segment": self.number, "plan_id": self.header["plan_id"]}
        if not isinstance(receipt, dict) or {key: receipt.get(key) for key in expected} != expected:
            raise HostError(
                f"host {self.name}", f"the receipt of segment {self.number}", json.dumps(receipt)[:300]
            )
        return {
            **{key: receipt.get(key) for key in _RECEIPT},
            "experiment": self.header["experiment"],
            "host": self.name,
            "segment": self.number,
            "clock": self.clock,
            "refused": taken.refused,
        }

    def _stop(self) -> None:
        try:
            self.agent.object(self._words("detached", "stop"), timeout_s=_SHORT_S)
            self._say("stopped")
        except RegattaError as error:
            self._say(f"cannot stop it, and it continues measuring: {error}")


def _segment(running: object) -> int | None:
    """Return the segment that a host reports as running."""
    segment = running.get("segment") if isinstance(running, dict) else None
    return segment if isinstance(segment, int) else None


#: keys of a receipt from the host, besides its identity
_RECEIPT = (
    "plan_id", "planned", "not_needed", "measured_now", "statuses", "torn_bytes_dropped", "orphans_ended",
    "no_accounting", "no_subreaper",
)  # fmt: skip


def _object(text: bytes, host: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HostError(f"host {host}", "the result of the segment as JSON", str(error)) from error
    if not isinstance(value, dict):
        raise HostError(f"host {host}", "the result of the segment as a JSON object", type(value).__name__)
    return value


def _lines(process: subprocess.Popen[bytes], host: str) -> Iterator[bytes]:
    """Yield lines of a stream that may stall or never end: disconnect a silent one, refuse an overlong line."""
    assert process.stdout is not None
    fd = process.stdout.fileno()
    rest = bytearray()
    while True:
        ready, _, _ = select.select([fd], [], [], _SILENCE_S)
        if not ready:
            raise Unreachable(f"host {host}", "regular output", f"none for {_SILENCE_S:g} s")
        data = os.read(fd, 1 << 20)
        if not data:
            return
        rest += data
        if b"\n" in data:
            # Split only here: searching the whole buffer again for each chunk of a long line is quadratic.
            *lines, last = bytes(rest).split(b"\n")
            rest = bytearray(last)
            yield from lines
        if len(rest) > LONGEST_LINE_BYTES + 2:
            most = f"lines of at most {LONGEST_LINE_BYTES >> 20} MiB"
            raise distrusted(f"host {host}", most, "a longer line")
