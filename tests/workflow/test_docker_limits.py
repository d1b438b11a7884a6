"""Limits of containers: processors, processor time and capabilities, as seen from inside and as told by the records."""

from __future__ import annotations

import os

import pytest

from helpers.contained import base_image, contained, containers_of
from helpers.runner_plans import Runner, printed

LAST = max(os.sched_getaffinity(0))
LOOK = "grep -E '^(Cpus_allowed_list|CapEff):' /proc/self/status; nproc"
#: prints its quota and the period of it in us, and ends once it was throttled: the start of its container may have been, too
BURN = """
if [ -e /sys/fs/cgroup/cpu.max ]; then group=/sys/fs/cgroup; cat $group/cpu.max
else group=/sys/fs/cgroup/cpu; cat $group/cpu.cfs_quota_us $group/cpu.cfs_period_us; fi
throttled() { grep '^nr_throttled ' $group/cpu.stat; }
before=$(throttled)
while [ "$(throttled)" = "$before" ]; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done
"""
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
    one, fifth = runner.measure(
        inside("one", LOOK, processors=1, capabilities=["SETGID", "SETUID"]),
        inside("fifth", BURN, cpu_quota=0.2),
    )
    capabilities, allowed, count = printed(one, "stdout").decode().splitlines()
    assert (allowed.split()[1], count) == (str(LAST), "1")
    assert capabilities.split()[1] == SETGID_AND_SETUID
    assert one["cores"] == [LAST]
    assert one["isolation"] | {"processors": 1, "capabilities": ["SETGID", "SETUID"]} == one["isolation"]
    assert "throttled_ns" not in one["isolation"]
    assert fifth["isolation"]["cpu_quota"] == 0.2
    quota_us, period_us = map(int, printed(fifth, "stdout").split())
    assert quota_us / period_us == 0.2
    assert fifth["isolation"]["throttled_ns"] > 0
