"""Decide whether an invocation was perturbed: compare the host's state before and after with the spec's limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: /proc/stat counts ticks of 10 ms over all CPUs, so a few ticks are no evidence.
LEAST_EVIDENCE_S = 0.05


def find_perturbation(
    limits: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    elapsed_s: float,
    own_cpu_s: float,
    cpus: int,
) -> list[dict[str, Any]]:
    """List the exceeded limits.

    Args:
        limits: `steal_percent`, `other_cpu_percent` (both of the time of all CPUs during the invocation),
            `memory_pressure_percent`, `io_pressure_percent` (share of the time in which some task waited),
            `frequency_drop_percent`, `swapped_pages`, `throttle_events`; None: not checked.
        before, after: from `HostState.read`.
        elapsed_s: wall time of the invocation.
        own_cpu_s: CPU time of the measured process tree.
        cpus: online CPUs of the machine.

    Returns:
        `{limit, allowed, measured}` for each exceeded limit.
    """
    found: list[dict[str, Any]] = []

    def delta(key: str) -> float | None:
        a, b = before.get(key), after.get(key)
        return None if a is None or b is None else b - a

    def judge(limit: str, measured: float | None) -> None:
        allowed = limits.get(limit)
        if allowed is not None and measured is not None and measured > allowed:
            found.append({"limit": limit, "allowed": allowed, "measured": round(measured, 3)})

    capacity_s = elapsed_s * cpus
    steal_s, busy_s = delta("steal_s"), delta("busy_s")
    if steal_s is not None and steal_s >= LEAST_EVIDENCE_S:
        judge("steal_percent", 100 * steal_s / capacity_s)
    if busy_s is not None and busy_s - own_cpu_s >= LEAST_EVIDENCE_S:
        judge("other_cpu_percent", 100 * (busy_s - own_cpu_s) / capacity_s)
    for limit, key in (
        ("memory_pressure_percent", "psi_memory_some_us"),
        ("io_pressure_percent", "psi_io_some_us"),
    ):
        waited_us = delta(key)
        if waited_us is not None and waited_us >= LEAST_EVIDENCE_S * 1e6:
            judge(limit, 100 * waited_us / 1e6 / elapsed_s)
    frequency = delta("frequency_khz")
    if frequency is not None and before["frequency_khz"]:
        judge("frequency_drop_percent", -100 * frequency / before["frequency_khz"])
    judge("swapped_pages", delta("swap_pages"))
    judge("throttle_events", delta("throttle_events"))
    return found
