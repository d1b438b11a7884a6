"""Which files of tests one process gets as a whole."""

from __future__ import annotations

import pytest

from helpers.in_parallel import TESTS, group_of


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
