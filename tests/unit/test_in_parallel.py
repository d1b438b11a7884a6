"""Which files of tests one process gets as a whole, and which of them start first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from helpers.in_parallel import ALONE, FRESH_HOSTS, TESTS, group_of, sort


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("hosts", ("fleet/test_ssh_runs.py", "fleet/test_slurm_remote.py")),
        # One mounts the kernel's tracepoints and takes them away, for all others of the machine.
        ("tracing", ("workloads/test_tracing.py", "workloads/test_tracing_servers.py")),
        ("tracing", ("unit/host/events/test_event_recorder.py", "workflow/test_event_tracing.py")),
    ],
)
def test_files_that_need_one_thing_of_a_machine_stay_together(group: str, files: tuple[str, ...]) -> None:
    assert {group_of(TESTS / file) for file in files} == {group}


def test_any_other_file_is_alone() -> None:
    file = TESTS / "unit/test_tiers.py"
    assert group_of(file) == str(file)


def sorted_names(names: list[str], seconds: dict[str, int]) -> list[str]:
    items: list[Any] = [SimpleNamespace(path=TESTS / name) for name in names]
    sort(items, {TESTS / name: seconds[name] for name in seconds})
    return [item.path.relative_to(TESTS).as_posix() for item in items]


def test_what_takes_longest_starts_first_and_what_is_new_is_in_the_middle() -> None:
    short, long, new = "unit/test_tiers.py", "unit/test_examples.py", "unit/test_in_parallel.py"
    assert sorted_names([short, new, long, short], {short: 1, long: 9}) == [long, new, short, short]


def test_a_group_counts_as_a_whole_and_its_hosts_are_fresh_for_the_files_that_look_at_that() -> None:
    single, *rest = "unit/test_tiers.py", "fleet/test_slurm_remote.py", *reversed(FRESH_HOSTS)
    seconds = {single: 8, **dict.fromkeys(rest, 3)}
    assert sorted_names([single, *rest], seconds) == [*FRESH_HOSTS, "fleet/test_slurm_remote.py", single]


def test_an_order_without_recorded_durations_keeps_files_together() -> None:
    one, other = "unit/test_examples.py", "unit/test_tiers.py"
    assert sorted_names([other, one, other], {}) == [one, other, other]


def test_what_waits_for_all_other_processes_comes_before_the_short_files_alone() -> None:
    waiting, long, short = "workloads/test_lm_bw.py", "unit/test_examples.py", "unit/test_tiers.py"
    assert ALONE in (TESTS / waiting).read_text()
    seconds = {waiting: 90, long: 9, short: 2}
    assert sorted_names([short, waiting, long], seconds) == [long, waiting, short]
