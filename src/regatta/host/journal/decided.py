"""What was decided on hosts about how many rounds are needed: `journal/<host>/decisions.json`. Standard library only.

Plans name their block groups by a key that is a hash of what a decision depends on; a decision counts for the group of that
key alone. Everybody who counts planned invocations asks here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from regatta.host.files import parse_object

DECISIONS = "decisions.json"
DECISIONS_VERSION = 1

#: group key -> decision
Decisions = dict[str, dict[str, Any]]


def read_decisions(path: Path) -> Decisions:
    """The decisions of a host; none where the file is missing or is not whole: then they are made again, from the journal."""
    try:
        value = parse_object(path)
        groups = value["groups"] if value["v"] == DECISIONS_VERSION else {}
        return {str(key): dict(entry) for key, entry in groups.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def groups_of(header: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The block groups of a plan that are decided about; none where the number of rounds is fixed."""
    stopping = header.get("stopping")
    return list(stopping["groups"]) if stopping else []


def needed_rounds(group: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]) -> int | None:
    """Rounds that count which the group needs; None: undecided."""
    needed = decisions.get(group["key"], {}).get("needed")
    return int(needed) if isinstance(needed, int) else None


def planned_rounds(header: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]) -> list[int]:
    """Rounds of each cell of a plan, in its order: those that are discarded included; of undecided groups the maximum."""
    rounds = [int(header["rounds"])] * len(header["cells"])
    for group in groups_of(header):
        needed = needed_rounds(group, decisions)
        if needed is not None:
            for index in group["cells"]:
                rounds[index] = min(rounds[index], header["discarded_rounds"] + needed)
    return rounds


def undecided_groups(
    header: Mapping[str, Any], decisions: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Groups that have no decision yet."""
    return [group for group in groups_of(header) if needed_rounds(group, decisions) is None]
