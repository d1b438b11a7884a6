"""Was an invocation disturbed? Each limit alone, its edge, and too little evidence."""

from __future__ import annotations

from typing import Any

import pytest

from regatta.host.measure.perturbation import LEAST_EVIDENCE_S, find_perturbation

QUIET: dict[str, Any] = {
    "load1": 0.0, "psi_cpu_some_us": 0, "psi_memory_some_us": 0, "psi_memory_full_us": 0, "psi_io_some_us": 0,
    "psi_io_full_us": 0, "busy_s": 100.0, "steal_s": 10.0, "swap_pages": 5, "frequency_khz": 2_000_000,
    "temperature_mc": 40_000, "throttle_events": 3, "oom_kills": 0,
}  # fmt: skip
LIMITS: dict[str, Any] = {
    "steal_percent": 5, "other_cpu_percent": 10, "memory_pressure_percent": 5, "io_pressure_percent": 5,
    "frequency_drop_percent": 10, "swapped_pages": 64, "throttle_events": 0,
}  # fmt: skip


def found(
    changed: dict[str, Any], limits: dict[str, Any] = LIMITS, own_cpu_s: float = 1.0
) -> list[dict[str, Any]]:
    """An invocation of 10 s on 2 CPUs, after which the host says this."""
    after = {**QUIET, "busy_s": 101.0, **changed}
    return find_perturbation(limits, QUIET, after, elapsed_s=10.0, own_cpu_s=own_cpu_s, cpus=2)


def test_a_quiet_host_disturbs_nothing() -> None:
    assert found({}) == []


@pytest.mark.parametrize(
    ("limit", "past", "measured", "at"),
    [
        ("steal_percent", {"steal_s": 12.0}, 10.0, {"steal_s": 11.0}),
        ("other_cpu_percent", {"busy_s": 105.0}, 20.0, {"busy_s": 103.0}),
        ("memory_pressure_percent", {"psi_memory_some_us": 1_000_000}, 10.0, {"psi_memory_some_us": 500_000}),
        ("io_pressure_percent", {"psi_io_some_us": 2_000_000}, 20.0, {"psi_io_some_us": 500_000}),
        ("frequency_drop_percent", {"frequency_khz": 1_500_000}, 25.0, {"frequency_khz": 1_800_000}),
        ("swapped_pages", {"swap_pages": 70}, 65, {"swap_pages": 69}),
        ("throttle_events", {"throttle_events": 4}, 1, {"throttle_events": 3}),
    ],
)
def test_past_a_limit_is_told_at_it_is_not_and_null_is_not_judged(
    limit: str, past: dict[str, Any], measured: float, at: dict[str, Any]
) -> None:
    assert found(past) == [{"limit": limit, "allowed": LIMITS[limit], "measured": measured}]
    assert found(at) == []
    assert found(past, {**LIMITS, limit: None}) == []
    assert found(dict.fromkeys(past)) == [], "a host that tells nothing is not judged"


def test_everything_at_once_is_told() -> None:
    disturbed = {"steal_s": 12.0, "swap_pages": 500, "throttle_events": 9}
    assert [p["limit"] for p in found(disturbed)] == ["steal_percent", "swapped_pages", "throttle_events"]


def test_the_cpu_of_the_measured_tree_is_its_own() -> None:
    assert found({"busy_s": 115.0}, own_cpu_s=15.0) == []
    assert found({"busy_s": 115.0}, own_cpu_s=12.0) != []


def test_a_few_ticks_of_a_short_invocation_are_no_evidence() -> None:
    little = LEAST_EVIDENCE_S * 0.99
    after = {
        **QUIET,
        "busy_s": 100.0 + little,
        "steal_s": 10.0 + little,
        "psi_memory_some_us": int(little * 1e6),
    }
    assert find_perturbation(LIMITS, QUIET, after, elapsed_s=0.002, own_cpu_s=0.0, cpus=2) == []


def test_a_frequency_of_zero_divides_nothing() -> None:
    before = {**QUIET, "frequency_khz": 0}
    assert find_perturbation(LIMITS, before, QUIET, 1.0, 0.0, 2) == []
