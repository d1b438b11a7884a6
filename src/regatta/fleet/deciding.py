"""The rule `decide` for hosts that decide together: between segments, on the controller, by their mean difference.

A comparison is one for all hosts of a platform. Its difference in a round is the mean over the hosts, so that each host counts
alike, however much it varies. The rest of the rule is that of a single host (`regatta.host.journal.early_decisions`). The decision
is written for every host, and each runner obeys it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from regatta.host.files import read_object
from regatta.host.journal.comparison_rounds import logs_of, pairs_of
from regatta.host.journal.decisions import Deciding, needed_rounds
from regatta.host.journal.early_decisions import Logs, Spent, decide_early
from regatta.host.journal.round_values import CellRounds
from regatta.host.journal.stopping import GroupDecision, Pair, PairDecision, Rule
from regatta.host.values.levels import levels_of_planned
from regatta.host.values.plan_cell import PlanCell
from regatta.planner.stopping import sharing_the_error, t_of_looks
from regatta.store.folder import Folder

#: host -> the block group of its plan
Members = Mapping[str, Mapping[str, Any]]
#: names of both alternatives, and the series
PairKey = tuple[str, str, str]


def decide_together(folder: Folder, segment: int) -> dict[str, dict[str, int | None]]:
    """Decide after a segment that all hosts have measured. A decision never changes.

    Whoever repeats this after a kill decides the same, because what any of the hosts has been told counts for all.

    Returns:
        Host -> key of the block group -> rounds that it needs, without discarded ones; None: undecided.

    Raises:
        StoreError: a plan cannot be read, or decisions cannot be written.
        OSError: a journal cannot be read.
    """
    left_out = read_object(folder.experiment).get("left_out", {})
    platforms: dict[str, dict[str, Deciding]] = {}
    for host in folder.planned_hosts():
        header = folder.host_header(host)
        # The plan of a host that was left out is that of an earlier run.
        if host not in left_out and "looks" in (header.get("stopping") or {}):
            platforms.setdefault(header["platform"], {})[host] = Deciding(header, folder.journal / host)
    needed: dict[str, dict[str, int | None]] = {}
    for hosts in platforms.values():
        _Platform(hosts).decide(segment)
        for host, deciding in hosts.items():
            needed[host] = {
                group["key"]: needed_rounds(group, deciding.decisions) for group in deciding.groups
            }
    return needed


def name_of(cell: PlanCell) -> str:
    """Return a text that is the same for the same alternative on all hosts of a platform."""
    return json.dumps([sorted(levels_of_planned(cell).items()), cell["metric"], bool(cell["twin_of"])])


def mean_pair(pairs: Sequence[Pair]) -> Pair:
    """Return a comparison over hosts: its differences are the means of the rounds that all of them have.

    Hosts on which it can have no difference do not count, unless there is no other. An alternative without a counterpart is
    compared with nothing, and remains as it is on the first host.
    """
    used = [pair for pair in pairs if not pair.problem]
    if not used or not used[0].b:
        return pairs[0]
    by_round = [dict(zip(pair.rounds, pair.differences, strict=True)) for pair in used]
    rounds = sorted(set.intersection(*map(set, by_round)))
    means = [math.fsum(one[round_] for one in by_round) / len(used) for round_ in rounds]
    counted = all(pair.counted for pair in used)
    # Each host swaps its halves in its own order, so that the means have no sides.
    return replace(used[0], differences=means, rounds=rounds, counted=counted, sides=())


class _Platform:
    """The hosts of a platform, with their block groups and decisions."""

    def __init__(self, hosts: Mapping[str, Deciding]) -> None:
        self._hosts = hosts
        #: host -> cell id -> its name
        self._names = {
            host: {cell["cell_id"]: name_of(cell) for cell in deciding.cells}
            for host, deciding in hosts.items()
        }
        self._groups = self._joined()
        self._rule = self._sharing_rule()
        self._read: dict[tuple[str, int], dict[str, CellRounds]] = {}

    def decide(self, segment: int) -> None:
        """Decide about all groups after a segment, and write what is new."""
        seen = self._rule.looks[segment]
        changed: set[str] = set()
        for members in self._groups:
            known, before = self._known(members)
            # Looks that were lost are made up for in their order, because alternatives that left then have no later rounds.
            for look in [look for look in self._rule.looks if before < look <= seen]:
                found = self._look(members, look, known) if known.needed is None else None
                if found is None:
                    break
                known, before = found, look
            changed |= self._give(known, members, before)
        for host in changed:
            self._hosts[host].write()

    def _joined(self) -> list[dict[str, Mapping[str, Any]]]:
        """Return the groups of the hosts, those together that share an alternative; a host may lack some of them."""
        found: list[tuple[set[str], dict[str, Mapping[str, Any]]]] = []
        for host, deciding in self._hosts.items():
            for group in deciding.groups:
                names = self._names_of(host, group)
                members: dict[str, Mapping[str, Any]] = {host: group}
                for other in [one for one in found if one[0] & names]:
                    found.remove(other)
                    names, members = names | other[0], {**other[1], **members}
                found.append((names, members))
        return [members for _, members in found]

    def _names_of(self, host: str, group: Mapping[str, Any]) -> set[str]:
        cells = self._hosts[host].cells
        return {self._names[host][cells[index]["cell_id"]] for index in group["cells"]}

    def _sharing_rule(self) -> Rule:
        """Return the rule with the quantiles of all comparisons of the platform, which share the error."""
        first = next(iter(self._hosts.values()))
        names: list[set[str]] = []
        pairs: set[tuple[str, str]] = set()
        for members in self._groups:
            names.append(set().union(*(self._names_of(host, group) for host, group in members.items())))
            for host, group in members.items():
                cells, own = self._hosts[host].cells, self._names[host]
                pairs |= {
                    (own[cells[a]["cell_id"]], own[cells[b]["cell_id"]])
                    for a, b in group["pairs"]
                    if b is not None
                }
        told = first.stopping
        compared = sharing_the_error(map(len, names), [len(pairs)])
        if compared == told["compared"]:
            return first.rule
        return replace(first.rule, t=t_of_looks(told["level"], told["pilot"], told["maximum"], compared))

    def _known(self, members: Members) -> tuple[GroupDecision, int]:
        """Return what any host has been told, with names of alternatives instead of cells; and after how many rounds."""
        pairs: dict[PairKey, PairDecision] = {}
        cells: dict[str, int] = {}
        whole = GroupDecision(None, False, (), (), "")
        seen = 0
        for host, group in members.items():
            entry, names = self._hosts[host].decisions.get(group["key"]), self._names[host]
            if entry is None:
                continue
            for told in entry["pairs"]:
                one = PairDecision(**{**told, "a": names[told["a"]], "b": names.get(told["b"], "")})
                known = pairs.get((one.a, one.b, one.series))
                if known is None or known.needed is None:
                    pairs[one.a, one.b, one.series] = one
            cells |= {names[cell_id]: rounds for cell_id, rounds in entry["cells"].items()}
            seen = max(seen, entry["seen"])
            if whole.needed is None:
                whole = replace(whole, needed=entry["needed"], met=entry["met"], reason=entry["reason"])
        return replace(whole, pairs=tuple(pairs.values()), cells=cells), seen

    def _recorded(self, host: str, seen: int) -> dict[str, CellRounds]:
        """Return the values of all groups of a host. A journal is read once for each look."""
        deciding = self._hosts[host]
        if (host, seen) not in self._read:
            self._read[host, seen] = deciding.recorded(deciding.groups, deciding.rounds(seen))
        return self._read[host, seen]

    def _look(self, members: Members, seen: int, known: GroupDecision) -> GroupDecision | None:
        """Return what the values of so many rounds say; None while a host has not run them."""
        pairs: dict[PairKey, list[Pair]] = {}
        logs: dict[str, dict[str, list[Mapping[int, float]]]] = {}
        spent: list[Spent] = []
        for host, group in members.items():
            deciding, names = self._hosts[host], self._names[host]
            recorded = self._recorded(host, seen)
            left = {cell_id: known.cells[name] for cell_id, name in names.items() if name in known.cells}
            if not deciding.is_complete(group, recorded, deciding.rounds(seen), left):
                return None
            for pair in pairs_of(group, deciding.cells, recorded, hopeful=True):
                named = replace(pair, a=names[pair.a], b=names.get(pair.b, ""))
                pairs.setdefault((named.a, named.b, named.series), []).append(named)
            _add_logs(logs, names, logs_of(group, deciding.cells, recorded))
            spent.append(deciding.spent(recorded))
        return decide_early(
            self._rule,
            [mean_pair(one) for one in _with_series(pairs)],
            logs,
            list(logs),
            next(iter(self._hosts.values())).rounds(0).start,
            seen,
            [asdict(pair) for pair in known.pairs],
            _longest(spent),
            known.cells,
        )

    def _give(self, found: GroupDecision, members: Members, seen: int) -> set[str]:
        """Tell a decision to the hosts that do not have it, each about its own cells. Return these hosts."""
        told = set()
        for host, group in members.items():
            deciding = self._hosts[host]
            own = deciding.decisions.get(group["key"])
            is_new = own is None or (
                own["needed"] is None and (found.needed is not None or own["seen"] < seen)
            )
            if not is_new or not seen:
                continue
            cells = [deciding.cells[index]["cell_id"] for index in group["cells"]]
            ids = {"": "", **{self._names[host][cell_id]: cell_id for cell_id in cells}}
            planned = {
                (deciding.cells[a]["cell_id"], "" if b is None else deciding.cells[b]["cell_id"])
                for a, b in group["pairs"]
            }
            pairs = tuple(
                replace(pair, a=ids[pair.a], b=ids[pair.b])
                for pair in found.pairs
                if (ids.get(pair.a), ids.get(pair.b)) in planned
            )
            left = {ids[name]: rounds for name, rounds in found.cells.items() if name in ids}
            deciding.decisions[group["key"]] = deciding.entry(
                group, seen, asdict(replace(found, pairs=pairs, cells=left))
            )
            told.add(host)
        return told


def _with_series(pairs: Mapping[PairKey, Sequence[Pair]]) -> list[list[Pair]]:
    """Return each comparison with those of all hosts: a host without any value so far may still have one of each series."""
    found = []
    for (a, b, series), own in pairs.items():
        others = [key for key in pairs if key[:2] == (a, b) and key[2]]
        if series or not others:
            found.append([*own, *(pairs.get((a, b, ""), ()) if series else ())])
    return found


def _add_logs(
    logs: dict[str, dict[str, list[Mapping[int, float]]]], names: Mapping[str, str], own: Logs
) -> None:
    """Add the logs of the values of one host to those of the others."""
    for cell_id, by_series in own.items():
        of = logs.setdefault(names[cell_id], {})
        for series, values in by_series.items():
            of.setdefault(series, []).extend(values)


def _longest(spent: Iterable[Spent]) -> Spent:
    """Return the budget, and of each round the time of the host that took longest."""
    by_round: dict[int, float] = {}
    budget_s = math.inf
    for one in spent:
        budget_s = min(budget_s, one.budget_s)
        for round_, seconds in one.by_round_s.items():
            by_round[round_] = max(seconds, by_round.get(round_, 0.0))
    return Spent(budget_s, by_round)
