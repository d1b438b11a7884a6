"""Live view of the workflow: stage, progress bar with ETA, current cell, failures.

It checks a file of 1 KB once per second, and draws only after changes: the CPU belongs to the measurement.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from regatta.host.errors import RegattaError
from regatta.host.journal.decisions import groups_of, planned_rounds, read_decisions, undecided_groups
from regatta.host.journal.runner_state import read_state, waits_for
from regatta.host.printable import printable
from regatta.store.events import FAILED
from regatta.store.folder import Folder
from regatta.store.so_far import SoFar, read_so_far

if TYPE_CHECKING:
    from regatta.cli.live_bar import LiveBar


STAGES = {
    "prepare": "preparing",
    "build": "building workloads",
    "provision": "fetching runtimes",
    "calibrate": "finding minheaps",
    "plan": "planning",
    "measure": "measuring",
    "decide": "deciding",
    "verify": "verifying",
    "ingest": "filling the database",
    "analyse": "analyzing",
    "report": "writing the report",
    "finish": "verifying and analyzing",
    "ingest_influx": "sending to InfluxDB",
}

#: maximum characters of the text next to the bar
_LONGEST_NOTE = 300
#: interval of the search for runners without an event
_NOTICE_EVERY_S = 1.0
#: interval of printed lines without a terminal
_LINE_EVERY_S = 15.0
#: maximum number of interim comparisons
_ESTIMATES = 12
#: last columns of interim comparisons: ratio, interval and n
_NUMBERS = 3


class Watcher:
    """A context that shows progress on stderr. The reader of workflow events sets `stage`, and calls `look` repeatedly."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.stage = ""
        self._shown_stage = ""
        self._total: int | None = None
        self._seen: tuple[Any, ...] = ()
        self._line_at = 0.0
        #: moment and number of measured invocations from which the pace is computed
        self._first: tuple[float, int] | None = None
        #: what the runners that are alive have measured themselves: rows that were recorded before take no time
        self._measured = 0
        self._bar: LiveBar | None = None
        self._task: Any = None
        self._minheap_lines = 0
        self._hosts: dict[str, tuple[int, tuple[int, list[int], bool]]] = {}
        self._undecided = False
        self._done = 0
        self._noticed_at = 0.0
        self._estimates: SoFar | None = None

    @property
    def measuring(self) -> bool:
        """Return whether a measurement is running, so that this process should stay idle."""
        return self.stage in ("measure", "calibrate")

    @property
    def has_runner(self) -> bool:
        """Return whether a runner measures or waits."""
        return bool(self._runners())

    def __enter__(self) -> Watcher:
        if sys.stderr.isatty():
            from regatta.cli.live_bar import LiveBar

            self._bar = LiveBar()
            self._bar.start()
            self._task = self._bar.add_task("starting", total=None, now="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str, style: str = "") -> None:
        """Print lines above the bar. `style` is a style of rich."""
        text = "\n".join(map(printable, text.split("\n")))
        if self._bar is None:
            print(text, file=sys.stderr, flush=True)
            return
        from rich.text import Text

        self._bar.console.print(Text(text, style=style), soft_wrap=True)

    def look(self) -> None:
        """Show changes."""
        self._show_stage()
        if not self.measuring:
            self._notice_runners()
            self._show_stage()
        if self.stage == "measure":
            self._look_at_estimates()
            self._look_at_runners()
        elif self.stage == "calibrate":
            self._look_at_minheap()

    def _show_stage(self) -> None:
        if self.stage != self._shown_stage and self.stage in STAGES:
            self._shown_stage = self.stage
            self._show(STAGES[self.stage], None, "")

    def _notice_runners(self) -> None:
        """Detect running runners if the start event could not be written."""
        moment = time.monotonic()
        if moment - self._noticed_at < _NOTICE_EVERY_S:
            return
        self._noticed_at = moment
        if self._runners():
            self.stage = "measure"

    def _runners(self) -> list[dict[str, Any]]:
        """Return the states of runners that measure a cell or wait for their host."""
        states = [read_state(path) for path in sorted(self.folder.state.glob("*.json"))]
        return [
            state for state in states if state and state["alive"] and (state.get("cell") or waits_for(state))
        ]

    def _look_at_minheap(self) -> None:
        try:
            lines = (self.folder.logs / "minheap.log").read_text(errors="replace").splitlines()
        except OSError:
            return
        if lines and len(lines) != self._minheap_lines:
            self._minheap_lines = len(lines)
            self._show(STAGES["calibrate"], None, lines[-1].removeprefix("minheap  "))

    def _look_at_estimates(self) -> None:
        """Show new interim comparisons at once: below the bar, or as lines. Their computation limits how often."""
        found = read_so_far(self.folder)
        if found is None or found == self._estimates or not found.rows:
            return
        self._estimates = found
        lines = found.lines(_ESTIMATES)
        if self._bar is None:
            self.say("\n".join(lines))
            return
        self._bar.below = "\n".join(self._fitted(found, lines, self._bar.console.width))
        self._bar.refresh()

    @staticmethod
    def _fitted(found: SoFar, lines: list[str], width: int) -> list[str]:
        """Return the lines with a table that fits the terminal: a cut line would lose its numbers."""
        from regatta.cli.tables import fitted_lines, shortened
        from regatta.figures.section import Table

        rows = [tuple(row) for row in found.rows[:_ESTIMATES]]
        numbers = frozenset(range(max(0, len(found.columns) - _NUMBERS), len(found.columns)))
        table = fitted_lines(Table("", found.columns, rows, numbers), width)
        return [shortened(lines[0], width), *table, *lines[1 + len(table) :]]

    def _look_at_runners(self) -> None:
        runners = self._runners()
        waiting = [text for text in map(waits_for, runners) if text]
        alive = [state for state in runners if not waits_for(state)]
        seen = (*waiting, *((s["host"], s["index"], s["segment"]) for s in alive))
        if not runners or seen == self._seen:
            return
        self._seen = seen
        if not alive:
            self._show("; ".join(waiting), None, "")
            return
        try:
            hosts = {host: self._host(host) for host in self.folder.planned_hosts()}
        except RegattaError:
            return
        self._total = sum(sum(planned) for _, planned, _ in hosts.values())
        self._undecided = any(undecided for _, _, undecided in hosts.values())
        # A perturbed invocation is repeated at the end of its block; progress must not go back.
        done = sum(_before(int(s["index"]), *hosts[s["host"]][:2]) for s in alive if s["host"] in hosts)
        done = self._done = max(self._done, done)
        counts: Counter[str] = Counter()
        for state in alive:
            counts.update(state["counts"])
        self._measured = sum(counts.values())
        bad = {
            "failed": sum(counts[status] for status in FAILED),
            "oom": counts["oom"],
            "perturbed": counts["perturbed"],
        }
        notes = [
            *(f"{count} {what}" for what, count in bad.items() if count),
            *waiting,
            # Last, because a long name is cut on a narrow terminal.
            alive[0]["cell"],
        ]
        self._show(STAGES["measure"], done, " · ".join(notes))

    def _host(self, host: str) -> tuple[int, list[int], bool]:
        """Return the rows per round, the decided rounds of each cell, and whether some are undecided."""
        try:
            written = self.folder.decisions(host).stat().st_mtime_ns
        except OSError:
            written = 0
        known = self._hosts.get(host)
        if known is None or known[0] != written:
            header = self.folder.host_header(host)
            decisions = read_decisions(self.folder.decisions(host)) if groups_of(header) else {}
            undecided = bool(undecided_groups(header, decisions))
            known = written, (len(header["cells"]), planned_rounds(header, decisions), undecided)
            self._hosts[host] = known
        return known[1]

    def _show(self, stage: str, done: int | None, now: str) -> None:
        now = printable(now, _LONGEST_NOTE)
        if self._bar is not None:
            # `update` treats a total of None as no change.
            self._bar.tasks[0].total = self._total if done is not None else None
            self._bar.update(self._task, description=stage, completed=done or 0, now=now)
            self._bar.refresh()
            return
        moment = time.monotonic()
        if done is None:
            if now and moment - self._line_at < _LINE_EVERY_S:
                return
        elif self._first is None or self._measured < self._first[1]:
            self._first = (moment, self._measured)
        elif moment - self._line_at < _LINE_EVERY_S:
            return
        self._line_at = moment
        text = stage if done is None else f"{stage} {done}/{self._total}{self._eta(moment, done)}"
        print(f"{text}  {now}" if now else text, file=sys.stderr, flush=True)

    def _eta(self, moment: float, done: int) -> str:
        if self._first is None or self._measured <= self._first[1] or self._total is None:
            return ""
        pace = (moment - self._first[0]) / (self._measured - self._first[1])
        about = "at most" if self._undecided else "about"
        return f", {about} {pace * (self._total - done) / 60:.1f} min left"


def _before(index: int, width: int, planned: list[int]) -> int:
    """Return the number of planned invocations before a row, without rounds that are not needed."""
    round_, rest = divmod(index, width)
    still = sum(rounds > round_ for rounds in planned)
    return sum(min(rounds, round_) for rounds in planned) + rest * still // width
