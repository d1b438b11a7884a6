"""Number of rounds that each block group needs, decided while measuring; `journal/<host>/decisions.json`.

The runner decides, unless the hosts decide together: then the controller does, between segments (`regatta.fleet.deciding`).

Plans name their block groups by a key, a hash of everything that a decision depends on. A decision applies only to the
group with that key. Code that counts planned invocations reads decisions here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from regatta.host.errors import StoreError
from regatta.host.files import parse_object, write_object
from regatta.host.journal.comparison_rounds import logs_of, pairs_of, pilots_of
from regatta.host.journal.early_decisions import Spent, decide_early
from regatta.host.journal.plan_files import Row
from regatta.host.journal.round_values import CellRounds, read_rounds
from regatta.host.journal.stopping import (
    AMPLE_ROUNDS,
    BY_COUNTERS,
    BY_TIME,
    UNTIL_DECIDED,
    WITHOUT_TARGET,
    GroupDecision,
    Rule,
    decide,
    decide_by_counters,
    decide_by_time,
)
from regatta.host.values.experiment import DUET
from regatta.host.values.plan_cell import PlanCell

DECISIONS = "decisions.json"
DECISIONS_VERSION = 1

#: group key -> decision
Decisions = dict[str, dict[str, Any]]
_ON_THE_HOST = "; based on the last half of the iterations (the analysis detects change points)"


def read_decisions(path: Path) -> Decisions:
    """Return the decisions of a host; empty if the file is missing or damaged. They are then recomputed from the journal."""
    try:
        value = parse_object(path)
        groups = value["groups"] if value["v"] == DECISIONS_VERSION else {}
        return {str(key): dict(entry) for key, entry in groups.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def groups_of(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the block groups of a plan that need decisions; none if the number of rounds is fixed."""
    stopping = header.get("stopping")
    return list(stopping["groups"]) if stopping else []


def needed_rounds(
    group: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]], cell_id: str = ""
) -> int | None:
    """Return the number of rounds that a group, or one of its cells, needs, without discarded rounds; None: undecided."""
    return rounds_of_decision(decisions.get(group["key"], {}), cell_id)


def rounds_of_decision(decision: Mapping[str, Any], cell_id: str = "") -> int | None:
    """Return the number of rounds that one decision gives its group, or one of its cells; None: undecided."""
    cells, needed = decision.get("cells"), decision.get("needed")
    if isinstance(cells, dict):
        needed = cells.get(cell_id, needed)
    return int(needed) if isinstance(needed, int) else None


def planned_rounds(header: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """Return the rounds of each cell of a plan in order, with discarded rounds; the maximum for undecided groups."""
    rounds = [int(header["rounds"])] * len(header["cells"])
    groups = groups_of(header)
    for group in groups:
        for index in group["cells"]:
            needed = needed_rounds(group, decisions, header["cells"][index]["cell_id"])
            if needed is None and group["key"] in decisions:
                # After the first look, no more rounds than these can follow, though a measuring time may have allowed them.
                needed = header["stopping"]["maximum"]
            if needed is not None:
                rounds[index] = min(rounds[index], header["discarded_rounds"] + needed)
    if groups:
        # A cell of no group, the canary, runs beside the others.
        judged = {index for group in groups for index in group["cells"]}
        most = max((rounds[index] for index in judged), default=int(header["rounds"]))
        rounds = [most if index not in judged else rounds_ for index, rounds_ in enumerate(rounds)]
    return rounds


def expected_rounds(header: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """Return `planned_rounds`, and for open groups of `decide` as many rounds as it expects to need.

    An estimate to display: the rule may need more rounds, at most the planned ones.
    """
    rounds = planned_rounds(header, decisions)
    discarded, stopping = int(header["discarded_rounds"]), header.get("stopping") or {}
    for group in undecided_groups(header, decisions) if stopping.get("rule") == UNTIL_DECIDED else ():
        entry = decisions.get(group["key"], {})
        # Excluded comparisons have neither values nor an answer.
        pairs = [pair for pair in entry.get("pairs", ()) if pair["needed"] is None and pair["n"]]
        expected = [pair.get("expected") for pair in pairs]
        likely = stopping["maximum"]
        if expected and None not in expected:
            likely = max(entry["seen"] + 1, *expected)
        for index in group["cells"]:
            rounds[index] = min(rounds[index], discarded + likely)
    return rounds


def undecided_groups(
    header: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the groups without a decision."""
    return [group for group in groups_of(header) if needed_rounds(group, decisions) is None]


class Deciding:
    """The block groups of a host's plan, and their decisions."""

    def __init__(self, header: Mapping[str, Any], journal: Path) -> None:
        self._header = header
        self.stopping = header["stopping"]
        self.rule = Rule.from_plan(self.stopping)
        self.groups = groups_of(header)
        self.cells: Sequence[PlanCell] = header["cells"]
        self._group_of = {self.cells[i]["cell_id"]: group for group in self.groups for i in group["cells"]}
        self._discarded = int(header["discarded_rounds"])
        self._journal = journal
        self._path = journal / DECISIONS
        self.decisions = read_decisions(self._path)
        self._looks = set(self.rule.looks if self.rule.name == UNTIL_DECIDED else ())

    def wants(self, row: Row) -> bool:
        """Return whether to run the row: its group, or the cell, needs the round, or is undecided."""
        cell_id = row.cell["cell_id"]
        if cell_id not in self._group_of:
            # The canary runs beside the others.
            return any(self._needs(group, other, row.round) for other, group in self._group_of.items())
        return self._needs(self._group_of[cell_id], cell_id, row.round)

    def _needs(self, group: Mapping[str, Any], cell_id: str, round_: int) -> bool:
        needed = needed_rounds(group, self.decisions, cell_id)
        return needed is None or round_ < self._discarded + needed

    def looks_before(self, round_: int) -> bool:
        """Return whether the rule looks at the rounds before this one while a segment runs, and not only at its end."""
        return not self.rule.looks_together and round_ - self._discarded in self._looks

    def decide(self, before_round: int) -> None:
        """Decide about undecided groups from the rounds before this one. A decision never changes.

        Decide nothing before the pilot is completely recorded, nor where the hosts decide together.

        Raises:
            StoreError: the decisions cannot be written.
            OSError: the journal cannot be read.
        """
        open_ = [group for group in self.groups if needed_rounds(group, self.decisions) is None]
        rule = self.rule
        seen = before_round - self._discarded
        if not open_ or seen < rule.pilot or rule.looks_together:
            return
        if rule.name in ("stein", *WITHOUT_TARGET):
            seen = rule.pilot
        made: dict[str, dict[str, Any]] = {}
        for end in self._looked_at(open_, seen):
            still = [group for group in open_ if needed_rounds(group, self.decisions) is None]
            made |= self._made(still, rule, self.rounds(end)) if still else {}
            self.decisions.update(made)
        if made:
            self.write()

    def rounds(self, seen: int) -> range:
        """Return the first rounds that count, as numbered in the plan."""
        return range(self._discarded, self._discarded + seen)

    def _looked_at(self, groups: Sequence[Mapping[str, Any]], seen: int) -> list[int]:
        """Return the rounds after which to decide, the last being `seen`.

        If decisions were lost, looks are made up for in their order, because alternatives that left then have no later rounds.
        """
        before = min(int(self.decisions.get(group["key"], {}).get("seen", 0)) for group in groups)
        return [*sorted(look for look in self._looks if before < look < seen), seen]

    def write(self) -> None:
        """Write the decisions durably, because later rounds depend on them.

        Raises:
            StoreError: they cannot be written.
        """
        _write(self._path, {"v": DECISIONS_VERSION, "groups": self.decisions})

    def recorded(self, groups: Sequence[Mapping[str, Any]], rounds: range) -> dict[str, CellRounds]:
        """Return the values of the cells of groups in some rounds; of all cells where the time counts."""
        # The budget is that of all cells, and the time of an invocation ends where the next one begins, also that of the canary.
        all_count = "budget_s" in self.stopping or "seconds" in self.stopping
        indices = range(len(self.cells)) if all_count else [i for g in groups for i in g["cells"]]
        wanted = {self.cells[i]["cell_id"]: self.cells[i] for i in indices}
        return read_rounds(self._journal, wanted, rounds, self.stopping["steady"], self._header.get("limits"))

    def is_complete(
        self,
        group: Mapping[str, Any],
        recorded: Mapping[str, CellRounds],
        rounds: range,
        left: Mapping[str, int] | None = None,
    ) -> bool:
        """Return whether the cells of a group have run all rounds of these that they must.

        `left`: rounds of the cells that have left the others, by cell id; None: as decided.
        """
        for index in group["cells"]:
            cell_id = self.cells[index]["cell_id"]
            decided = needed_rounds(group, self.decisions, cell_id)
            needed = decided if left is None else left.get(cell_id)
            due = rounds if needed is None else rounds[:needed]
            if not recorded[cell_id].recorded >= set(due):
                return False
        return True

    def entry(self, group: Mapping[str, Any], seen: int, found: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the decisions keep about a group, with what was found after so many rounds."""
        told = ("rule", "pilot", "maximum", "most", "target_percent", "each_counter", "seconds", "level")
        return {
            "cell_ids": [self.cells[index]["cell_id"] for index in group["cells"]],
            **{key: self.stopping[key] for key in told if key in self.stopping},
            "seed": self._header["seed"],
            "plan_id": self._header["plan_id"],
            "discarded_rounds": self._discarded,
            "seen": seen,
            **found,
        }

    def _made(self, groups: list[dict[str, Any]], rule: Rule, rounds: range) -> dict[str, dict[str, Any]]:
        recorded, cells = self.recorded(groups, rounds), self.cells
        made = {}
        for group in groups:
            if not self.is_complete(group, recorded, rounds):
                continue
            own = [recorded[cells[index]["cell_id"]] for index in group["cells"]]
            if rule.name == UNTIL_DECIDED:
                found = self._by_time(group, rule, own) or asdict(
                    self._until_decided(group, rule, recorded, len(rounds))
                )
            elif rule.name in WITHOUT_TARGET:
                found = asdict(self._without_target(rule, own))
            else:
                pilots = pilots_of(group, cells, recorded, rounds[: rule.pilot])
                pairs = pairs_of(group, cells, recorded, logs=not rule.per_cell)
                found = asdict(decide(rule, pairs, pilots, len(rounds)))
                if self.stopping["steady"]["method"] == "changepoints":
                    found["reason"] += _ON_THE_HOST
            made[group["key"]] = self.entry(group, len(rounds), found)
        return made

    def _by_time(
        self, group: Mapping[str, Any], rule: Rule, cells: Sequence[CellRounds]
    ) -> dict[str, Any] | None:
        """Return the decision about a group of which all rounds fit into its measuring time; None: its values decide.

        The first look at the group decides it, before any difference is seen. So these rounds are one look.
        """
        if "most" not in self.stopping or group["key"] in self.decisions:
            return None
        found = self._timed(min(AMPLE_ROUNDS, rule.maximum), self.stopping["most"], cells)
        return {**asdict(found), "rule": BY_TIME} if found.met else None

    def _until_decided(
        self,
        group: Mapping[str, Any],
        rule: Rule,
        recorded: Mapping[str, CellRounds],
        seen: int,
    ) -> GroupDecision:
        cells, earlier = self.cells, self.decisions.get(group["key"], {})
        ids = [cells[index]["cell_id"] for index in group["cells"]]
        pairs, logs = pairs_of(group, cells, recorded, hopeful=True), logs_of(group, cells, recorded)
        kept, gone = earlier.get("pairs", ()), earlier.get("cells", {})
        spent = self.spent(recorded)
        return decide_early(rule, pairs, logs, ids, self._discarded, seen, kept, spent, gone)

    def spent(self, recorded: Mapping[str, CellRounds]) -> Spent:
        """Return the measuring time of the rounds, and the budget."""
        if "budget_s" not in self.stopping:
            return Spent()
        by_round: Counter[int] = Counter()
        if self._header.get("order") == DUET:
            for group in self.groups:
                both = [recorded[self.cells[index]["cell_id"]].spent_ns for index in group["cells"]]
                # They ran at once.
                by_round.update({at: max(one.get(at, 0) for one in both) for at in set().union(*both)})
        else:
            for cell in recorded.values():
                by_round.update(cell.spent_ns)
        return Spent(self.stopping["budget_s"], {at: ns / 1e9 for at, ns in by_round.items()})

    def _without_target(self, rule: Rule, cells: list[CellRounds]) -> GroupDecision:
        if rule.name == BY_COUNTERS:
            groups_here = max(cell.counter_groups for cell in cells)
            return decide_by_counters(rule.pilot, rule.maximum, self.stopping["each_counter"], groups_here)
        return self._timed(rule.pilot, rule.maximum, cells)

    def _timed(self, least: int, most: int, cells: Sequence[CellRounds]) -> GroupDecision:
        walls_ns = [[] if cell.skipped else cell.walls_ns for cell in cells]
        return decide_by_time(least, most, self.stopping["seconds"], walls_ns)


def _write(path: Path, value: dict[str, Any]) -> None:
    try:
        write_object(path, value, durable=True)
    except OSError as error:
        raise StoreError(
            str(path),
            "free space for the decisions",
            str(error.strerror or error),
            "free disk space and run the same command again; all records are intact",
        ) from error
