"""Describe the result of an audit in sentences."""

from __future__ import annotations

from dataclasses import replace

from regatta.answers.audit.result import Audit, Tally
from regatta.answers.spine.words import counted
from regatta.figures.text import show_percent
from regatta.stats.prevalent import (
    CLASSES,
    INCORRECT,
    MISLEADING,
    MISLEADING_AND_INCORRECT,
    MISLEADING_BUT_CORRECT,
)

_PLURALS = {"collector": "collectors", "runtime": "runtimes", "modifiers": "sets of modifiers"}


def findings_of(audit: Audit) -> Audit:
    """Return the audit with its sentences."""
    return replace(audit, findings=tuple(_findings(audit)))


def percent(share: float) -> str:
    """Format a share: `18 %`; one decimal below 10 %, and above 0 for every nonzero share."""
    value = 100.0 * share
    if value == 0.0 or value >= 9.95:
        return f"{value:.0f} %"
    return "below 0.1 %" if value < 0.05 else f"{value:.1f} %"


def what_compared(audit: Audit) -> str:
    """Return `collectors`, `runtimes` or `sets of modifiers`."""
    return _PLURALS.get(audit.factor, "alternatives")


def _findings(audit: Audit) -> list[str]:
    if not audit.factor:
        return ["Nothing to audit: the experiment compares no collectors, runtimes or modifiers."]
    if not audit.pairs:
        return ["Nothing to audit: no comparison has an interval."]
    shown = sum(pair.verdict != 0 for pair in audit.pairs)
    total = len(audit.pairs)
    said = [
        f"{counted(total, 'comparison')} of {what_compared(audit)}: {percent(shown / total)} significant (simultaneous "
        f"{show_percent(audit.level)} CI)"
    ]
    for theta in audit.thetas_percent:
        said += _at(audit, theta)
    return [*said, *_worst_benchmark(audit), *_sweep(audit)]


def _at(audit: Audit, theta: float) -> list[str]:
    at_all = [t for t in audit.tallies if t.group == "all" and t.theta_percent == theta and t.comparisons]
    said = []
    for regime in ("startup", "steady"):
        found = [t for t in at_all if t.method.regime == regime]
        if not found:
            continue
        # Only methods that made the same comparisons can be ranked.
        most = max(t.comparisons for t in found)
        found = [t for t in found if t.comparisons == most]
        chosen = [t for t in found if t.method.statistic == "best"]
        said.append(claims(chosen[0], theta))
        worst = max(found, key=_astray)
        least = min(found, key=_astray)
        if worst is not chosen[0] and _astray(worst) > _astray(chosen[0]):
            said.append(claims(worst, theta))
        if _astray(least) < _astray(worst):
            said.append(claims(least, theta))
    return said


def claims(found: Tally, theta: float) -> str:
    """Return `best of 3, theta 1 %: 18 % misleading, 2 % incorrect, 5 % missed (n = 120 comparisons)`."""
    missed = found.shares[MISLEADING_BUT_CORRECT] + found.shares[MISLEADING_AND_INCORRECT]
    return (
        f"{found.method.name}, theta {theta:g} %: {percent(found.shares[MISLEADING])} misleading, "
        f"{percent(found.shares[INCORRECT])} incorrect, {percent(missed)} significant but missed "
        f"(n = {counted(found.comparisons, 'comparison')})"
    )


def _astray(found: Tally) -> float:
    return found.shares[MISLEADING] + found.shares[INCORRECT]


def _worst_benchmark(audit: Audit) -> list[str]:
    if not audit.thetas_percent:
        return []
    theta = audit.thetas_percent[0]
    found = [
        t
        for t in audit.tallies
        if t.group == "benchmark" and t.method.regime == "startup" and t.theta_percent == theta
    ]
    found = [t for t in found if t.method == found[0].method and t.comparisons]
    if len(found) < 2:
        return []
    most, least = max(found, key=_astray), min(found, key=_astray)
    if _astray(most) == _astray(least):
        return []
    return [
        f"{most.method.name}, theta {theta:g} %, misleading or incorrect: most on {most.of} ({percent(_astray(most))}), "
        f"least on {least.of} ({percent(_astray(least))})"
    ]


def _sweep(audit: Audit) -> list[str]:
    swept = [t for t in audit.tallies if t.group == "all" and t.method.regime == "startup" and t.comparisons]
    swept = [t for t in swept if t.method == swept[0].method]
    if len(swept) < 2:
        return []
    first, last = swept[0], swept[-1]
    quiet = [
        CLASSES.index(name) for name in ("indicative", "misleading but correct", "misleading and incorrect")
    ]
    before, after = (sum(t.shares[i] for i in quiet) for t in (first, last))
    return [
        f"{first.method.name}, theta {first.theta_percent:g} to {last.theta_percent:g} %: misleading or incorrect "
        f"{_change(_astray(first), _astray(last))}, no claim {_change(before, after)}"
    ]


def _change(before: float, after: float) -> str:
    """Return `4.1 % to 18 %`, or `18 %` if both shares read the same."""
    return " to ".join(dict.fromkeys((percent(before), percent(after))))
