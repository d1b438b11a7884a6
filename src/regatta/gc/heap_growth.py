"""How the generations of Serial grow and shrink between `-Xms` and `-Xmx`.

Source: the files tenuredGeneration.cpp (compute_new_size, expand_and_allocate) and defNewGeneration.cpp (compute_new_size) of OpenJDK
17 to 25.
"""

from __future__ import annotations

import math

from regatta.gc.heap_policy import NEW_RATIO, SERIAL_UNIT, Policy, serial_policy

#: Parts of the old generation that should be free after a full collection (MinHeapFreeRatio, MaxHeapFreeRatio).
_LEAST_FREE, _MOST_FREE = 0.4, 0.7
#: MinHeapDeltaBytes: smaller changes are not made, and the old generation grows by it when a promotion does not fit
_STEP = 192 << 10
#: Sizes of the old generation change by whole pages, bytes.
_PAGE = 4096
#: NewSizeThreadIncrease, for the main thread
_PER_THREAD = 5320
#: the part by which a heap shrinks that is too large for the second time; then 4 times as much each time (ShrinkHeapInSteps)
_FIRST_SHRINK, _MORE = 0.1, 4.0


def after_young(policy: Policy, used: float, survivors: float) -> Policy:
    """Return the sizes after a young collection: the old generation holds what was promoted.

    Args:
        policy: before, of a heap that grows.
        used: bytes in the old generation.
        survivors: bytes in the survivor space; only if there are none, the young generation changes.
    """
    steps = math.ceil(max(used - policy.old, 0.0) / _STEP)
    old = min(policy.old + steps * _STEP, policy.most_old)
    return _sized(policy, old) if survivors == 0.0 else _sized(policy, old, policy.heap - policy.old)


def after_full(policy: Policy, used: float, before: int, shrink: float) -> tuple[Policy, float]:
    """Return the sizes after a full collection, and the next part by which the heap shrinks.

    Args:
        policy: of a heap that grows.
        used: live bytes.
        before: size of the old generation before the collection, and before the young one that led to it, bytes.
        shrink: part of what is too large by which the heap shrinks, from 0 to 1.
    """
    if policy.growth is None:
        return policy, shrink
    old, least = policy.old, policy.growth.least_old
    wanted = max(used / (1.0 - _LEAST_FREE), least)
    if old < wanted:
        larger = old + math.ceil((wanted - old) / _PAGE) * _PAGE if wanted - old >= _STEP else old
        return _sized(policy, min(larger, policy.most_old)), 0.0
    following, less = 0.0, 0.0
    most = max(used / (1.0 - _MOST_FREE), least)
    if old > most:
        less = (old - most) * shrink
        following = min(_MORE * shrink, 1.0) if shrink else _FIRST_SHRINK
    # What has grown for promotions is taken back.
    less = max(less, min(old - before, old - wanted))
    return _sized(policy, old - int(less // _PAGE) * _PAGE if less >= _STEP else old), following


def _sized(policy: Policy, old: int, young: int | None = None) -> Policy:
    """Return the policy with generations of these sizes; None: a young one that fits the old one."""
    growth = policy.growth
    if young is None and growth:
        wanted = math.ceil((old // NEW_RATIO + _PER_THREAD) / SERIAL_UNIT) * SERIAL_UNIT
        young = min(max(wanted, growth.least_young), growth.most_young)
    return serial_policy(young or policy.heap - policy.old, old, policy.copies, growth)
