"""Read the block groups with a variable number of rounds, and the decisions of their stopping rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from regatta.answers.spine.pairs import Pair
from regatta.answers.spine.samples import PlannedCell, Samples
from regatta.host.journal.decisions import groups_of, read_decisions, rounds_of_decision
from regatta.host.journal.looks import several_looks
from regatta.host.journal.stopping import LEAST_BLOCKS, UNTIL_DECIDED, WITHOUT_TARGET
from regatta.store.folder import Folder


@dataclass(frozen=True)
class StopGroup:
    """A block group of the plan with its decision."""

    cells: tuple[PlannedCell, ...]
    #: the comparisons; the second is None for a cell without one
    pairs: tuple[tuple[PlannedCell, PlannedCell | None], ...]
    discarded: int
    rule: Mapping[str, Any]
    #: None: not decided yet
    decision: Mapping[str, Any] | None

    @property
    def needed(self) -> int | None:
        return None if self.decision is None else self.decision["needed"]

    @property
    def is_by_values(self) -> bool:
        """Return whether measured values decide, and not only the groups of counters or a measuring time."""
        rules = self.rule["rule"], (self.decision or {}).get("rule")
        return not any(rule in WITHOUT_TARGET for rule in rules)

    def needed_of(self, cell: PlannedCell) -> int:
        """Return the rounds that a cell needs, without discarded ones; the maximum while that is not decided."""
        needed = rounds_of_decision(self.decision or {}, cell.cell_id)
        return int(self.rule["maximum"] if needed is None else needed)


class Stops:
    """All block groups of an experiment with a variable number of rounds."""

    def __init__(self, groups: Sequence[StopGroup] = ()) -> None:
        self.groups = groups
        self._of = {(cell.place.host, cell.cell_id): group for group in groups for cell in group.cells}

    @property
    def looks(self) -> int:
        """Return the largest number of rounds if the rule looks at the values several times (`decide`), else 0."""
        by_values = [group.rule for group in self.groups if group.is_by_values]
        if not by_values or by_values[0]["rule"] != UNTIL_DECIDED:
            return 0
        return several_looks(int(by_values[0]["pilot"]), int(by_values[0]["maximum"]))

    @property
    def together(self) -> bool:
        """Return whether the hosts of a platform decided together."""
        return any("looks" in group.rule for group in self.groups)

    def pilot_pairs(self, pair: Pair) -> int | None:
        """Return from how many common blocks of a comparison Stein's rule chose the number of rounds.

        Returns:
            None with another rule or none, or if the spread did not determine the number (several modes, too few common
            blocks, not decided yet). Then the ordinary interval is valid.
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
    """Read the block groups of the plans and their decisions.

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
