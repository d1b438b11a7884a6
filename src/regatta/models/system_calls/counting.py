"""Map traced calls to primitives by the rules of the table."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field

from regatta.models.vectors.calls import PER_FORK, CallRule, CallTable, Seen, Tally

UNKNOWN_RULE = "unknown"


@dataclass
class Entry:
    """Counts of one trace for a primitive; `rule` is the rule if it approximates, else ""."""

    count: float = 0.0
    calls: set[str] = field(default_factory=set)
    argument: str = ""
    #: power of two of the argument -> number of calls, and sum of their arguments
    sizes: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass
class Counted:
    """Entries by (primitive, rule), calls without a rule, and calls covered by other primitives, by rule."""

    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    covered: dict[str, float] = field(default_factory=dict)


class _Counting:
    """Assigns calls rule by rule. A rule with a limit can take a part of the calls."""

    def __init__(self, tally: Tally) -> None:
        self.left = {seen: (float(count), float(size)) for seen, (count, size) in tally.seen.items()}
        self.counted = Counted()
        self.entries: dict[tuple[str, str], Entry] = defaultdict(Entry)
        #: (primitive, rule) -> end -> counts
        self.ends: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))

    def apply(self, name: str, rule: CallRule) -> None:
        fitting: dict[str, list[Seen]] = defaultdict(list)
        for seen in self.left:
            if _fits(rule, seen):
                fitting[seen.call].append(seen)
        covering = sum(self.of_primitive(primitive) for primitive in rule.covered_by)
        for call, alike in fitting.items():
            total = sum(self.left[seen][0] for seen in alike)
            # Processes created without a fork, or by a fork that copied nothing, have nothing to cover.
            forks = sum(self.left[seen][1] for seen in alike) if call in PER_FORK else math.inf
            part = min(1.0, min(covering, forks) * rule.at_most / total) if rule.covered_by else 1.0
            if not part:
                continue
            if rule.covered_by:
                self.cover(name, rule, call, total * part)
            for seen in alike:
                count, size = self.left.pop(seen)
                self.take(name, rule, seen, count * part, size * part)
                if part < 1.0:
                    self.left[seen] = (count * (1 - part), size * (1 - part))

    def of_primitive(self, name: str) -> float:
        """Return the count of a primitive so far."""
        return sum(entry.count for (primitive, _), entry in self.entries.items() if primitive == name)

    def cover(self, name: str, rule: CallRule, call: str, count: float) -> None:
        self.counted.covered[name] = self.counted.covered.get(name, 0.0) + count
        for (primitive, _), entry in self.entries.items():
            if primitive in rule.covered_by:
                entry.calls.add(call)

    def take(self, name: str, rule: CallRule, seen: Seen, count: float, size: float) -> None:
        for counted in rule.counts:
            key = (counted.primitive, name if rule.approximated else "")
            entry = self.entries[key]
            entry.calls.add(seen.call)
            amount = size if counted.each == "byte" else count
            if counted.end:
                ends = self.ends[key]
                ends[counted.end] += amount
                entry.count = max(ends.values())
                continue
            entry.count += amount
            if counted.argument:
                entry.argument = counted.argument
                there = entry.sizes.get(seen.size, (0.0, 0.0))
                entry.sizes[seen.size] = (there[0] + count, there[1] + size)


def count_calls(tally: Tally, table: CallTable) -> Counted:
    """Count every call of a trace as primitives. Calls without a rule are listed.

    Args:
        tally: counts of one trace.
        table: the rules, in order.
    """
    counting = _Counting(tally)
    for name, rule in table.rules.items():
        counting.apply(name, rule)
    counted = counting.counted
    for seen, (count, _) in counting.left.items():
        if seen.call in PER_FORK:
            # Not an actual call: without a rule, it is not listed as uncounted.
            continue
        if table.unknown is not None:
            entry = counting.entries[table.unknown, UNKNOWN_RULE]
            entry.count += count
            entry.calls.add(seen.call)
        counted.unknown[seen.call] = counted.unknown.get(seen.call, 0) + round(count)
    counted.entries = {key: entry for key, entry in counting.entries.items() if entry.count}
    return counted


def _fits(rule: CallRule, seen: Seen) -> bool:
    return (
        seen.call in rule.calls
        and rule.phase in (None, seen.phase)
        and (not rule.on or seen.kind in rule.on)
        and (not rule.result or seen.ending in rule.result)
        and rule.turn in (None, seen.turn)
        # A size class is assigned as a whole, by its smallest size.
        and (not rule.least_bytes or 1 << seen.size >= rule.least_bytes)
    )
