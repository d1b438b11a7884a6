"""Whether what a host sends is a record of its plan. A host may be broken, or somebody else's: nothing is believed unseen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regatta.fleet.bounds import LONGEST_LINE_BYTES, MOST_ATTEMPTS
from regatta.host.journal.record import DamagedLine, decode_record
from regatta.host.journal.record_shape import ALL_KEYS, shape_problem
from regatta.host.printable import printable
from regatta.host.values.record import Record

#: of a reason
_SHOWN = 300


class Acceptance:
    """The records that one segment of a host's plan may have."""

    def __init__(self, header: Mapping[str, Any], segment: int) -> None:
        self.header = header
        self._segment = segment
        #: cell -> names of the files that its plan keeps
        self._cells = {cell["cell_id"]: frozenset(cell.get("keep") or ()) for cell in header["cells"]}

    def keeps(self, cell_id: str, name: str) -> bool:
        """Whether the plan keeps a file of that name of a cell."""
        return name in self._cells.get(cell_id, ())

    def record(self, line: bytes) -> Record:
        """The record of a line, which comes without its newline.

        Raises:
            DamagedLine: it is none of this segment; why.
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
