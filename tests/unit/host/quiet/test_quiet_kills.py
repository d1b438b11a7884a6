"""Whatever moment the command is killed at, what was there comes back."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import regatta.host.quiet.state as state_module
from helpers.quiet_machines import AMD, ARM, INTEL, MACHINES, FakeKernel, Machine, build, snapshot
from regatta.host.quiet.engine import KEYS, apply, restore
from regatta.host.quiet.state import StateFolder

_PACKAGE = str(Path(state_module.__file__).parent)
_SAMPLED_LINES = 6
#: before and after one place of a kind; of some the second matters too
_OF_A_KIND = 2
_OF_OTHERS = 4
_OTHERS = {
    "swapoff",
    "swapon",
    "online",
    "boost",
    "cpuset.cpus",
    "cgroup.subtree_control",
    "fsync",
    "replace",
}

#: one with nothing but control groups, to have a partition of them
PARTED = replace(
    INTEL,
    name="parted",
    files={"proc/sys/kernel/random/boot_id": "one"},
    governors="",
    swaps=(),
    irqs={},
    units={},
)


class Killed(BaseException):
    """In place of SIGKILL: nothing catches it."""


class Place:
    """A machine's tree and its kept state."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.root, self.machine = folder / "root", machine
        self.state = StateFolder(folder / "state", KEYS)
        self.state.folder.mkdir()
        build(self.root, machine)
        self.at_first = snapshot(self.root)

    def run(self, verb: Callable[..., Any], tick: Callable[[str], None] = lambda kind: None) -> Any:
        return verb(FakeKernel(self.root, self.machine, self.machine is PARTED, tick), self.state)


class Clock:
    """Kills at its n-th tick, of the first few of each kind: eight CPUs have eight governors, and one is like the other."""

    def __init__(self, at: int) -> None:
        self.at, self.ticks = at, 0
        self.kinds: Counter[str] = Counter()

    def __call__(self, kind: str) -> None:
        self.kinds[kind] += 1
        counts = self.kinds[kind] <= (_OF_OTHERS if kind in _OTHERS else _OF_A_KIND)
        self.ticks += counts
        if self.ticks == self.at and counts:
            raise Killed


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a disk that rewrites files a thousand times would only take its time."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=shared, prefix="regatta-") as folder:
        yield Path(folder)


@pytest.fixture
def ticking_disk(monkeypatch: pytest.MonkeyPatch) -> list[Clock]:
    """The steps by which the state is kept tick too, by the clock in the list."""
    clocks: list[Clock] = []
    for name in ("fsync", "replace"):
        true = getattr(os, name)

        def ticking(*arguments: Any, true: Callable[..., Any] = true) -> Any:
            if clocks:
                clocks[0](true.__name__)
            # Nothing of it has to outlive this test: a true fsync would only take its time.
            result = None if true.__name__ == "fsync" else true(*arguments)
            if clocks:
                clocks[0](true.__name__)
            return result

        monkeypatch.setattr(state_module.os, name, ticking)
    return clocks


def killed_everywhere(place: Place, verb: Callable[..., Any], clocks: list[Clock]) -> Iterator[int]:
    """Kill the verb at each of its write points in turn; yields after each kill, until it is not killed any more."""
    for at in range(1, 1000):
        clock = Clock(at)
        clocks[:] = [clock]
        try:
            place.run(verb, clock)
        except Killed:
            clocks.clear()
            yield at
        else:
            clocks.clear()
            return


@pytest.mark.parametrize("machine", [INTEL, AMD, ARM, PARTED], ids=lambda machine: machine.name)
def test_making_quiet_can_be_killed_at_every_kind_of_write(
    memory_path: Path, machine: Machine, ticking_disk: list[Clock]
) -> None:
    place = Place(memory_path, machine)
    kills = 0
    for kills in killed_everywhere(place, apply, ticking_disk):
        assert not place.run(restore).failed, f"killed at {kills}"
        assert snapshot(place.root) == place.at_first, f"killed at {kills}"
    assert kills > 20


@pytest.mark.parametrize("machine", [INTEL, AMD], ids=lambda machine: machine.name)
def test_putting_back_can_be_killed_at_every_kind_of_write(
    memory_path: Path, machine: Machine, ticking_disk: list[Clock]
) -> None:
    place = Place(memory_path, machine)
    place.run(apply)
    kills = 0
    for kills in killed_everywhere(place, restore, ticking_disk):
        assert place.state.load() is not None or snapshot(place.root) == place.at_first, f"killed at {kills}"
        # A second command for quiet in between must not take the half-way values for those of before.
        place.run(apply)
    assert kills > 30
    assert snapshot(place.root) == place.at_first


@pytest.mark.parametrize("machine", list(MACHINES.values()), ids=lambda machine: machine.name)
def test_a_killed_start_is_ended_by_the_next_one(
    memory_path: Path, machine: Machine, ticking_disk: list[Clock]
) -> None:
    place = Place(memory_path, machine)
    kills = sum(1 for _ in killed_everywhere(place, apply, ticking_disk))
    # Each start was killed one write later than the one before, on what that had left.
    assert kills >= 1
    quiet = snapshot(place.root)
    assert place.run(apply).changed == 0
    assert snapshot(place.root) == quiet
    place.run(restore)
    assert snapshot(place.root) == place.at_first


@pytest.mark.parametrize("seed", range(_SAMPLED_LINES))
def test_a_true_kill_between_any_two_lines_is_restored(memory_path: Path, seed: int) -> None:
    machine = list(MACHINES.values())[seed % 3]
    place = Place(memory_path, machine)
    lines = random.Random(seed).randrange(1, 4000)
    pid = os.fork()
    if pid == 0:  # pragma: no cover - the child ends by a signal
        sys.settrace(_killer(lines))
        place.run(apply)
        os._exit(0)
    _, how = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(how) or os.WEXITSTATUS(how) == 0
    assert not place.run(restore).failed
    assert snapshot(place.root) == place.at_first


def _killer(lines: int) -> Callable[..., Any]:
    left = [lines]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace
