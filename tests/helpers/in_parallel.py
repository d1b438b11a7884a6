"""How the tests are shared among processes (`./regatta test` uses two): what stays together, what starts first.

The tests of a file stay together, for they share what the file has made. So do the files that need the one Slurm of this
machine or the hosts that are slow to make, which mostly wait while the other processes compute; and those that mount the
kernel's tracepoints, or would lose them when another process takes the mount away. Docker is shared by all processes
(docker_engine.py). What takes longest starts first (durations.py), or it would end alone. No other test runs beside a test
that is marked `alone`: it waits until those of the other processes have ended, and these wait for it. So it comes when
mostly short ones are left.
"""

import fcntl
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
#: of the group of the hosts, the files that come first: hosts are looked at as their image is, then made ready, then used
FRESH_HOSTS = ("fleet/test_beds.py", "fleet/test_provisioning.py", "fleet/test_ssh_runs.py")
_FRESH = {TESTS / name: place for place, name in enumerate(FRESH_HOSTS)}
#: what a machine has once or each process would make anew, as a file that needs it calls it (most often a fixture), and the
#: name of those that stay together for it
ONE_OF_A_KIND = {
    "slurm_cluster": "hosts",
    "x86_hosts": "hosts",
    "tracing_tool": "tracing",
    "tracefs": "tracing",
    "churned": "churned",
}

#: how a file marks a test that nothing runs beside, and as how many seconds its group counts at most: the unit tests of most
#: files take less, and are still many
ALONE, ALONE_S = "mark.alone", 4


def is_one_of_several() -> bool:
    """Whether this process runs a part of the tests, and another one the rest."""
    return "PYTEST_XDIST_WORKER" in os.environ


def shows_all(config: pytest.Config) -> bool:
    """Whether this process shows the results of several others."""
    return bool(getattr(config.option, "numprocesses", None)) and not is_one_of_several()


@cache
def group_of(path: Path) -> str:
    """The name of what the tests of a file stay together with."""
    text = path.read_text()
    return next((group for name, group in ONE_OF_A_KIND.items() if name in text), str(path))


def sort(items: list[pytest.Item], seconds: Mapping[Path, int]) -> None:
    """Put the groups that take longest first; tests of one file stay in their order.

    `seconds` is what each file takes. One that is not known counts as the mean of the known ones. What waits for all other
    processes comes late.
    """
    mean = sum(seconds.values()) / max(len(seconds), 1)
    totals: Counter[str] = Counter()
    late = set()
    for path in sorted({item.path for item in items}):
        totals[group_of(path)] += seconds.get(path, mean)  # type: ignore[assignment]
        if ALONE in path.read_text():
            late.add(group_of(path))
    for group in late:
        totals[group] = min(totals[group], ALONE_S)

    def place(item: pytest.Item) -> tuple[float, str, int]:
        group = group_of(item.path)
        return -totals[group], group, _FRESH.get(item.path, len(_FRESH))

    items.sort(key=place)


def scheduler(config: pytest.Config, log: Any) -> Any:
    """What gives the groups to the processes, in the order in which they are collected."""
    from xdist.scheduler import LoadScopeScheduling

    class ByGroup(LoadScopeScheduling):  # type: ignore[misc]  # of a package without types
        def _split_scope(self, nodeid: str) -> str:
            return group_of(config.rootpath / nodeid.split("::")[0])

    config.option.loadscopereorder = False
    return ByGroup(config, log)


@contextmanager
def the_machine(alone: bool) -> Iterator[None]:
    """Use the machine beside tests of other processes, or wait until they have ended and use it `alone`.

    Files of this folder are locked, so that nothing stays. Who has come first goes first: the door is held while waiting.
    """
    with Path(__file__).open() as machine:
        with (TESTS / "conftest.py").open() as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(machine, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
            fcntl.flock(door, fcntl.LOCK_UN)
        try:
            yield
        finally:
            # Not only closed: a process that was forked has it open, too.
            fcntl.flock(machine, fcntl.LOCK_UN)
