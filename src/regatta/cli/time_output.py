"""Standard output and error of the runs of `regatta time`, as far as records keep them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from regatta.cli.time_tables import Command, called, text_of

#: of a line
_LONGEST_LINE = 4000


def output_lines(experiment: Path, commands: Sequence[Command], discarded_rounds: int) -> Iterator[str]:
    """Yield the output of each run in the order of the measurement, after a line that names it. Raises OSError."""
    from regatta.host.journal.journal import read_records
    from regatta.host.printable import printable

    names = {command.cell.cell_id: called(command, commands) for command in commands}
    for record in read_records(experiment):
        number = record["round"] - discarded_rounds + 1
        run = f"run {number}" if number > 0 else f"discarded run {record['round'] + 1}"
        # Perturbed runs are repeated.
        run += f", repetition {record['attempt']}" if record["attempt"] else ""
        for stream in ("stdout", "stderr"):
            if text := text_of(record, stream):
                yield f"{names.get(record['cell_id'], record['cell_id'])}, {run}, {stream}:"
                yield from (f"  {printable(line, _LONGEST_LINE)}" for line in text.splitlines())
