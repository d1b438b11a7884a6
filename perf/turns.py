"""Contenders in alternating turns of seeded order, so that disturbances affect all of them."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping

from rows import Row


def take_turns(contenders: Mapping[str, Callable[[], float]], turns: int) -> dict[str, list[float]]:
    """Call every contender once per turn; return its values in order of the turns."""
    generator = random.Random(1)
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        order = list(contenders)
        generator.shuffle(order)
        for name in order:
            found[name].append(contenders[name]())
    return found


def row_beside(
    what: str,
    unit: str,
    found: Mapping[str, list[float]],
    peer: str,
    limit: float | None,
    absent: str = "",
    ahead: bool = True,
) -> Row:
    """Return a row of medians; its ratio is the median of the ratios per turn.

    Args:
        what: description of the cost.
        unit: of all numbers.
        found: result of `take_turns`; `ours` is ours.
        peer: its name in `found`.
        limit: maximum of ours, in addition to being below the peer; None: for comparison only.
        absent: why the peer could not be measured; such a goal does not hold.
        ahead: ours must also be below the peer.
    """
    ours = statistics.median(found["ours"])
    details = {name: values for name, values in found.items() if name in ("ours", peer)}
    goal = None if limit is None else "at most, and below the peer" if ahead else "at most"
    if absent:
        return Row(
            what, unit, ours, None, absent, goal, limit, None if limit is None else False, details=details
        )
    theirs = statistics.median(found[peer])
    ratio = statistics.median(a / b for a, b in zip(found["ours"], found[peer], strict=True))
    if limit is None:
        return Row(what, unit, ours, theirs, peer, None, None, None, ratio, details)
    least = min(limit, theirs) if ahead else limit
    holds = ours <= limit and (ratio < 1.0 or not ahead)
    return Row(what, unit, ours, theirs, peer, goal, least, holds, ratio, details)
