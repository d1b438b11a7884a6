"""Take over records of a host into the local journal. A host may be broken or hostile, so each record is validated first."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from regatta.fleet.agent import Agent
from regatta.fleet.remote.base import (
    LARGEST_KEPT_BYTES,
    LONGEST_LINE_BYTES,
    MOST_ATTEMPTS,
    MOST_KEPT_BYTES,
    MOST_REFUSED_LINES,
    Unreachable,
    distrusted,
)
from regatta.host.cache import bytes_sha256
from regatta.host.duet.trial import TRIALS
from regatta.host.errors import HostError
from regatta.host.journal.cells import CellsFile
from regatta.host.journal.decisions import DECISIONS, DECISIONS_VERSION, read_decisions
from regatta.host.journal.journal import Damage, read_file
from regatta.host.journal.line_file import LineFile
from regatta.host.journal.looks import Outcome
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.host.journal.record_shape import ALL_KEYS, shape_problem
from regatta.host.journal.stopping import AMPLE_ROUNDS, BY_TIME
from regatta.host.printable import printable
from regatta.host.values.counters import PROFILE_FILE, PROGRAM_PROFILE
from regatta.host.values.record import Record
from regatta.store.folder import Folder, write_json

#: maximum number of refused lines that are reported
_NAMED = 20
#: no plan has more rounds
_MOST_ROUNDS = 10**7
#: maximum characters of a reason
_SHOWN = 300


class _Pair(BaseModel):
    """The result of one comparison (`PairDecision`)."""

    model_config = ConfigDict(strict=True)

    a: str
    b: str
    series: str
    n: int = Field(ge=0, le=_MOST_ROUNDS)
    sd: float | None
    half_width_percent: float | None
    needed: int | None = Field(ge=0, le=_MOST_ROUNDS)
    met: bool
    reason: str
    outcome: Outcome | None = None
    expected: int | None = Field(None, ge=0)


class _Decision(BaseModel):
    """The result of one group (`GroupDecision`)."""

    model_config = ConfigDict(strict=True)

    needed: int | None
    rule: str = ""
    met: bool
    modes: list[str]
    pairs: list[_Pair]
    reason: str
    cells: dict[str, int] = Field(default_factory=dict)


def _fits(entry: object, stopping: Mapping[str, Any]) -> bool:
    """Return whether a decision has its form, and numbers of rounds between minimum and maximum of the plan."""
    try:
        found = _Decision.model_validate(entry)
    except ValidationError:
        return False
    rounds = [*found.cells.values(), *([] if found.needed is None else [found.needed])]
    allowed = range(stopping["pilot"], stopping["maximum"] + 1)
    if "most" in stopping and found.rule == BY_TIME:
        allowed = range(min(AMPLE_ROUNDS, stopping["maximum"]), stopping["most"] + 1)
        return found.needed in allowed
    if found.rule not in ("", stopping["rule"]):
        return False
    return (found.needed is not None or stopping["rule"] != "stein") and all(n in allowed for n in rounds)


class Acceptance:
    """Valid records for one segment of the plan of a host."""

    def __init__(self, header: Mapping[str, Any], segment: int) -> None:
        self.header = header
        self._segment = segment
        self._cells: dict[str, Mapping[str, Any]] = {cell["cell_id"]: cell for cell in header["cells"]}

    def keeps(self, cell_id: str, name: str) -> bool:
        """Return whether the plan keeps a file of this name for a cell."""
        cell = self._cells.get(cell_id, {})
        profiled = PROGRAM_PROFILE in (cell.get("counters") or {}).get("names", ())
        return name in (cell.get("keep") or ()) or (profiled and name == PROFILE_FILE)

    def cell(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the cell of an accepted record from the plan, independent of the host."""
        return self._cells[record["cell_id"]]

    def record(self, line: bytes) -> Record:
        """Parse and validate a line without its newline.

        Raises:
            DamagedLine: the record does not belong to this segment, with the reason.
        """
        if len(line) > LONGEST_LINE_BYTES:
            raise DamagedLine(f"{len(line) >> 20} MiB long")
        record = decode_record(line)
        problem = shape_problem(record, ALL_KEYS)
        if problem:
            raise DamagedLine(printable(problem, _SHOWN))
        for key in ("experiment", "host", "platform"):
            if record[key] != self.header[key]:
                raise DamagedLine(f"{key} {record[key]!r:.80}, expected {self.header[key]!r}")
        cell_id, round_ = record["cell_id"], record["round"]
        if record["segment"] != self._segment:
            raise DamagedLine(f"of segment {record['segment']}, expected {self._segment}")
        if cell_id not in self._cells or not round_ < self.header["rounds"]:
            raise DamagedLine(f"round {round_} of cell {cell_id!r:.80}, which is not planned")
        if record["invocation_id"] != f"{cell_id}-r{round_}":
            raise DamagedLine(f"invocation {record['invocation_id']!r:.80} of round {round_} of {cell_id}")
        if record["attempt"] > MOST_ATTEMPTS:
            raise DamagedLine(f"attempt {record['attempt']}, expected at most {MOST_ATTEMPTS}")
        return record


class JournalCopy:
    """A local journal file: locked, truncated to its last whole line, and open for lines from the host."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Waits for another process that takes records over: one that outlived its workflow ends with the segment.

        Raises:
            StoreError: the file cannot be opened.
        """
        self.path = path
        #: (invocation, attempt) of all local records
        self.seen: set[tuple[str, int]] = set()
        self._numbers: set[int] = set()
        self._file = LineFile(path)
        waiting = f"waiting: another process fetches the records of {path.parent.name}"
        self._file.lock(say=lambda: print(waiting, file=sys.stderr, flush=True))
        for item in read_file(path):
            if isinstance(item, Damage):
                if item.torn:
                    self._file.cut(item.offset)
                    break
            else:
                self._note(item)

    @property
    def whole_up_to(self) -> int:
        """Return the last sequence number of the complete prefix; -1: the first record is missing."""
        number = -1
        while number + 1 in self._numbers:
            number += 1
        return number

    def _note(self, record: Record) -> None:
        self.seen.add((record["invocation_id"], record["attempt"]))
        self._numbers.add(record["sequence"])

    def append(self, line: bytes, record: Record) -> None:
        """Append one line of the host unchanged, without its newline.

        Raises:
            StoreError: the disk is full or broken. The file is truncated to its last whole line.
        """
        self._file.append(
            line + b"\n",
            "free disk space; the host continues measuring, and the same command fetches the rest",
        )
        self._note(record)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._file.close()


class TakenOver:
    """The local copy of the journal file of one segment."""

    def __init__(self, folder: Folder, host: str, acceptance: Acceptance, segment: int) -> None:
        self._directory = folder.journal / host
        self._host = host
        self._acceptance = acceptance
        self._copy = JournalCopy(self._directory / f"{segment:05d}.jsonl")
        self._cells = CellsFile(self._directory, acceptance.header["experiment"], host)
        self._refused: dict[int, str] = {}
        self._fetched_bytes = 0

    @property
    def whole_up_to(self) -> int:
        """Return the last sequence number of the complete prefix; -1: the first record is missing."""
        return self._copy.whole_up_to

    @property
    def count(self) -> int:
        """Return the number of local records."""
        return len(self._copy.seen)

    @property
    def refused(self) -> list[str]:
        """Return the first refused lines with their reasons."""
        named = list(self._refused.values())
        more = len(named) - _NAMED
        return [*named[:_NAMED], *([f"and {more} more"] if more > 0 else [])]

    @staticmethod
    def records_in(path: Path) -> int:
        """Count the whole records of a local file."""
        return sum(not isinstance(item, Damage) for item in read_file(path)) if path.exists() else 0

    def take_file(self, path: Path) -> None:
        """Take over missing records from a copy of the whole file of the host.

        Raises:
            StoreError: the journal cannot be written.
        """
        with path.open("rb") as file:
            while line := file.readline(LONGEST_LINE_BYTES + 2):
                if line.endswith(b"\n"):
                    self.take(line[:-1])

    def take(self, line: bytes) -> None:
        """Take over one line, or record why it is refused.

        Raises:
            StoreError: the journal cannot be written.
        """
        try:
            record = self._acceptance.record(line)
        except DamagedLine as error:
            # The same line is sent again after each broken connection.
            if zlib.crc32(line) not in self._refused:
                self._refused[zlib.crc32(line)] = printable(str(error))
                print(f"{self._host}: record rejected: {printable(str(error))}", file=sys.stderr, flush=True)
            if len(self._refused) > MOST_REFUSED_LINES:
                got = f"{len(self._refused)} invalid lines"
                raise distrusted(f"host {self._host}", "records of its plan", got) from None
            return
        # Existing records are sent again if an earlier one was missing.
        if (record["invocation_id"], record["attempt"]) not in self._copy.seen:
            self._cells.describe(self._acceptance.cell(record))
            self._copy.append(line, record)

    def finish(self, ended: Mapping[str, Any], agent: Agent, there: str) -> None:
        """Fetch data besides the records: the CPUs used, tests of halves, decisions on rounds, and kept files.

        Raises:
            HostError: a file does not match its record.
            Unreachable: the connection is broken.
        """
        cores, decisions = ended.get("cores"), ended.get("decisions")
        for name, told in (("cores.json", cores), (TRIALS, ended.get("duet"))):
            if isinstance(told, dict) and told:
                write_json(self._directory / name, told)
        # Where hosts decide together, the runner decides nothing, and has what was written here.
        together = "looks" in (self._acceptance.header.get("stopping") or {})
        if isinstance(decisions, dict) and decisions and not together:
            known = self._known(decisions)
            # Decisions never change: local ones take precedence, except for groups that were undecided.
            local = read_decisions(self._directory / DECISIONS)
            made = {key: entry for key, entry in local.items() if entry.get("needed") is not None}
            groups = {**local, **known, **made}
            write_json(self._directory / DECISIONS, {"v": DECISIONS_VERSION, "groups": groups})
        for item in read_file(self._copy.path):
            if isinstance(item, Damage):
                continue
            for kept in item.get("kept") or ():
                # A host may send any names and any number of them.
                if kept.get("sha256") and self._acceptance.keeps(item["cell_id"], kept["name"]):
                    self._fetch(agent, there, f"{item['invocation_id']}-a{item['attempt']}", kept)

    def _known(self, decisions: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the host decided about groups of its plan, as it is if it fits the plan.

        Raises:
            HostError: it does not fit.
        """
        stopping = self._acceptance.header.get("stopping") or {}
        known = {group["key"] for group in stopping.get("groups", ())}
        groups = decisions.get("groups")
        right = decisions.get("v") == DECISIONS_VERSION and isinstance(groups, dict)
        # Groups that are no longer planned do not count.
        found = {key: entry for key, entry in (groups or {}).items() if key in known} if right else {}
        if not (right and all(_fits(entry, stopping) for entry in found.values())):
            where, got = f"host {self._host}: decisions about rounds", printable(json.dumps(decisions), 300)
            raise distrusted(where, "decisions that fit its plan", got)
        return found

    def _fetch(self, agent: Agent, there: str, folder: str, kept: Mapping[str, Any]) -> None:
        target = self._directory / "kept" / folder / kept["name"]
        if target.exists():
            return
        most = min(LARGEST_KEPT_BYTES, MOST_KEPT_BYTES - self._fetched_bytes)
        if (kept.get("bytes") or 0) > most:
            self._note(
                f"{kept['name']} of {folder} is not fetched: the limit of kept files per segment is reached"
            )
            return
        arriving = target.with_name(f".{target.name}.arriving")
        try:
            agent.remote.get(f"{there}/journal/kept/{folder}/{kept['name']}", arriving, most)
        except Unreachable:
            raise
        except HostError as error:
            # A reinstalled host has its records again but not these files: keep the rest.
            self._note(f"{kept['name']} of {folder} no longer exists: {error.problems[0].got}")
            return
        self._fetched_bytes += arriving.stat().st_size
        digest = bytes_sha256(arriving)
        if digest != kept["sha256"]:
            arriving.unlink()
            self._note(f"{kept['name']} of {folder} differs from its record: SHA-256 {digest}")
            return
        arriving.rename(target)

    def _note(self, text: str) -> None:
        """Report a refused item once."""
        text = printable(text)
        if self._refused.setdefault(zlib.crc32(text.encode()), text) is text:
            print(f"{self._host}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Close the files."""
        self._cells.close()
        self._copy.close()
