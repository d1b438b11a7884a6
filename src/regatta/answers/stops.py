"""The block groups whose number of rounds was not fixed, with what the rules of stopping decided on the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regatta.answers.pairs import Pair
from regatta.answers.samples import PlannedCell, Samples
from regatta.host.journal.decisions import groups_of, read_decisions
from regatta.host.journal.stopping import LEAST_BLOCKS
from regatta.store.folder import Folder


@dataclass(frozen=True)
class StopGroup:
    """A block group as the plan has it, with what was decided."""

    cells: tuple[PlannedCell, ...]
    #: what is compared; the second is None where a cell is alone
    pairs: tuple[tuple[PlannedCell, PlannedCell | None], ...]
    discarded: int
    rule: Mapping[str, Any]
    #: None: nothing yet
    decision: Mapping[str, Any] | None

    @property
    def needed(self) -> int | None:
        return None if self.decision is None else self.decision["needed"]


class Stops:
    """All block groups of an experiment whose number of rounds was not fixed; none where it was."""

    def __init__(self, groups: Sequence[StopGroup] = ()) -> None:
        self.groups = groups
        self._of = {(cell.place.host, cell.cell_id): group for group in groups for cell in group.cells}

    def pilot_pairs(self, pair: Pair) -> int | None:
        """How many common blocks of a comparison chose the number of rounds, by Stein's rule.

        Returns:
            None where another rule or none was at work, or where the number was not chosen by the spread (several modes, too few
            common blocks, nothing decided yet): then the ordinary interval is right.
        """
        group = self._of.get((pair.cell.place.host, pair.cell.cell_id))
        if group is None or group is not self._of.get((pair.base.place.host, pair.base.cell_id)):
            return None
        if group.rule["rule"] != "stein" or group.decision is None or group.decision["modes"]:
            return None
        last = group.discarded + group.rule["pilot"]
        count = sum(group.discarded <= round_ < last for _, round_, _ in pair.common)
        return count if count >= LEAST_BLOCKS else None


def read_stops(folder: Folder, samples: Samples) -> Stops:
    """Read the plans' block groups and the decisions about them.

    Raises:
        StoreError: a plan cannot be read.
    """
    planned = {(cell.place.host, cell.cell_id): cell for cell in samples.cells}
    planned |= {(twin.place.host, twin.cell_id): twin for _, twin in samples.twins}
    groups = []
    for host in folder.planned_hosts():
        header = folder.host_header(host)
        decisions = read_decisions(folder.decisions(host)) if groups_of(header) else {}
        for group in groups_of(header):
            cells = {i: planned[host, header["cells"][i]["cell_id"]] for i in group["cells"]}
            groups.append(
                StopGroup(
                    tuple(cells.values()),
                    tuple((cells[a], None if b is None else cells[b]) for a, b in group["pairs"]),
                    int(header["discarded_rounds"]),
                    header["stopping"],
                    decisions.get(group["key"]),
                )
            )
    return Stops(groups)
