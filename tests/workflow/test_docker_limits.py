"""Limits of containers: processors, processor time and capabilities, as seen from inside and as told by the records."""

from __future__ import annotations

import os

import pytest

from helpers.contained import base_image, contained, containers_of
from helpers.runner_plans import Runner, printed

LAST = max(os.sched_getaffinity(0))
LOOK = "grep -E '^(Cpus_allowed_list|CapEff):' /proc/self/status; nproc"
BURN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
#: numbers 6 and 7 of the kernel's list
SETGID_AND_SETUID = "00000000000000c0"


@pytest.fixture
def runner(tmp_path, docker_engine):
    """A runner whose containers are all gone at the end."""
    made = Runner(tmp_path / "limited")
    yield made
    assert containers_of(docker_engine, made.results_file) == []
    made.assert_nothing_left()


def inside(name, script, **isolation):
    """A cell with limits that runs a shell script in a container."""
    return contained(name, ["/bin/sh", "-c", script], base_image(), isolation=isolation)


@pytest.mark.skipif(os.geteuid() != 0, reason="capabilities are root's")
def test_a_container_has_the_processors_the_time_and_the_capabilities_of_its_cell(runner):
    one, half = runner.measure(
        inside("one", LOOK, processors=1, capabilities=["SETGID", "SETUID"]),
        inside("fifth", BURN, cpu_quota=0.2),
    )
    capabilities, allowed, count = printed(one, "stdout").decode().splitlines()
    assert (allowed.split()[1], count) == (str(LAST), "1")
    assert capabilities.split()[1] == SETGID_AND_SETUID
    assert one["cores"] == [LAST]
    assert one["isolation"] | {"processors": 1, "capabilities": ["SETGID", "SETUID"]} == one["isolation"]
    assert "throttled_ns" not in one["isolation"]
    assert half["isolation"]["cpu_quota"] == 0.2
    assert half["isolation"]["throttled_ns"] > 0
    assert half["cgroup"]["cpu_ns"] <= 0.2 * half["elapsed_ns"] + 2 * 0.02e9
