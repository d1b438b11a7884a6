"""Kernel settings with a single value each."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import ClassVar

from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.knob import Knob, KnobState

_BRACKETS = re.compile(r"\[([^]]+)\]")


class _Values(Knob):
    """Files with one value each; files that this kernel does not have are skipped."""

    wanted: ClassVar[Mapping[str, str]] = {}

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        there = {key: value for key, value in self.wanted.items() if host.read(key) is not None}
        return self.found_files(host, there or self.wanted)


class Aslr(_Values):
    """Address space randomization. Without it, a program's layout is constant, and so is its effect on speed."""

    name = "aslr"
    aim = "no address space randomization"
    effect = "addresses and cache behaviour vary between processes, so more invocations are needed"
    level = "good"
    keys = re.compile(r"proc/sys/kernel/randomize_va_space")
    wanted: ClassVar[Mapping[str, str]] = {"proc/sys/kernel/randomize_va_space": "0"}


class HugePages(_Values):
    """Transparent huge pages on request only: with `never`, a runtime's own flag for them would have no effect."""

    name = "thp"
    aim = "transparent huge pages only on request (madvise)"
    effect = "huge pages depend on the memory that is free at that moment"
    level = "fair"
    keys = re.compile(r"sys/kernel/mm/transparent_hugepage/(enabled|defrag)")
    wanted: ClassVar[Mapping[str, str]] = {
        "sys/kernel/mm/transparent_hugepage/enabled": "madvise",
        "sys/kernel/mm/transparent_hugepage/defrag": "madvise",
    }

    def get(self, host: QuietHost, key: str) -> str | None:
        text = host.read(key)
        chosen = _BRACKETS.search(text) if text is not None else None
        return chosen[1] if chosen else text


class Watchdogs(_Values):
    """Watchdogs for locked-up CPUs: one occupies a hardware counter, the other wakes every CPU every 4 s."""

    name = "watchdogs"
    aim = "no NMI watchdog, no soft lockup watchdog"
    effect = "a watchdog interrupts every CPU every few seconds and uses a hardware counter"
    level = "good"
    keys = re.compile(r"proc/sys/kernel/(nmi_watchdog|soft_watchdog)")
    wanted: ClassVar[Mapping[str, str]] = {
        "proc/sys/kernel/nmi_watchdog": "0",
        "proc/sys/kernel/soft_watchdog": "0",
    }
    _BOTH = "proc/sys/kernel/watchdog"

    def put(self, host: QuietHost, key: str, value: str) -> None:
        # While both watchdogs are off, any program that reads the switch of both turns it off too, and then neither
        # watchdog can be turned on. Nothing may read the switch before a watchdog is on.
        if value != "0" and not host.why_fixed(self._BOTH):
            host.write(self._BOTH, "1")
        host.write(key, value)


class TimerMigration(_Values):
    """Migration of timers from an idle CPU to a busy one, which is the measured CPU."""

    name = "timer_migration"
    aim = "no migration of timers to other CPUs"
    effect = "timers of idle CPUs may fire on a busy, measured CPU"
    level = "good"
    keys = re.compile(r"proc/sys/kernel/timer_migration")
    wanted: ClassVar[Mapping[str, str]] = {"proc/sys/kernel/timer_migration": "0"}


class Swappiness(_Values):
    """Swappiness of the kernel: 1, because with 0 the kernel kills processes before it swaps."""

    name = "swappiness"
    aim = "minimal swapping"
    effect = "the kernel may swap out memory of a measured process to enlarge the page cache"
    level = "good"
    keys = re.compile(r"proc/sys/vm/swappiness")
    wanted: ClassVar[Mapping[str, str]] = {"proc/sys/vm/swappiness": "1"}


class PageCache(Knob):
    """The page cache, dropped once when the host is made quiet. Nothing is restored."""

    name = "page_cache"
    aim = "page cache dropped once"
    effect = "cached data of earlier work may affect the first invocations"
    level = "good"
    _FILE = "proc/sys/vm/drop_caches"

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        return KnobState(missing=host.why_fixed(self._FILE))

    def drop(self, host: QuietHost) -> None:
        """Write back dirty pages, then drop the cache. Raises OSError."""
        if host.is_real:
            os.sync()
        host.write(self._FILE, "3")
