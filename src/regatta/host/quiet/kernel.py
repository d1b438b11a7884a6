"""Kernel settings with a single value each, and the page cache."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from regatta.host.quiet.host import QuietHost
from regatta.host.quiet.knob import Knob, KnobState

_BRACKETS = re.compile(r"\[([^]]+)\]")


class Values(Knob):
    """Files with one value each; those that this kernel does not have are skipped. Texts as in `Knob`."""

    def __init__(
        self,
        name: str,
        aim: str,
        effect: str,
        wanted: Mapping[str, str],
        level: str = "good",
        switch: str = "",
    ) -> None:
        """Make the knob.

        Args:
            wanted: file -> its value on a quiet host.
            switch: file to turn on before a file gets another value than 0.
        """
        self.name, self.aim, self.effect, self.level = name, aim, effect, level
        self.keys = re.compile("|".join(map(re.escape, wanted)))
        self._wanted = wanted
        self._switch = switch

    def find(self, host: QuietHost, saved: Mapping[str, str]) -> KnobState:
        there = {key: value for key, value in self._wanted.items() if host.read(key) is not None}
        return self.found_files(host, there or self._wanted)

    def get(self, host: QuietHost, key: str) -> str | None:
        """Return the value; of several in one file, the chosen one is in brackets."""
        text = host.read(key)
        chosen = _BRACKETS.search(text) if text is not None else None
        return chosen[1] if chosen else text

    def put(self, host: QuietHost, key: str, value: str) -> None:
        if self._switch and value != "0" and not host.why_fixed(self._switch):
            host.write(self._switch, "1")
        host.write(key, value)


#: Without randomization, a program's layout is constant, and so is its effect on speed.
ASLR = Values(
    "aslr",
    "no address space randomization",
    "addresses and cache behaviour vary between processes, so more invocations are needed",
    {"proc/sys/kernel/randomize_va_space": "0"},
)
#: With `never`, a runtime's own flag for huge pages would have no effect.
HUGE_PAGES = Values(
    "thp",
    "transparent huge pages only on request (madvise)",
    "huge pages depend on the memory that is free at that moment",
    {f"sys/kernel/mm/transparent_hugepage/{name}": "madvise" for name in ("enabled", "defrag")},
    level="fair",
)
#: One watchdog for locked-up CPUs occupies a hardware counter, the other wakes every CPU every 4 s. While
#: both are off, any program that reads the switch of both turns it off too, and then neither watchdog can be
#: turned on. Nothing may read the switch before a watchdog is on.
WATCHDOGS = Values(
    "watchdogs",
    "no NMI watchdog, no soft lockup watchdog",
    "a watchdog interrupts every CPU every few seconds and uses a hardware counter",
    {"proc/sys/kernel/nmi_watchdog": "0", "proc/sys/kernel/soft_watchdog": "0"},
    switch="proc/sys/kernel/watchdog",
)
#: Timers move from an idle CPU to a busy one, which is the measured CPU.
TIMER_MIGRATION = Values(
    "timer_migration",
    "no migration of timers to other CPUs",
    "timers of idle CPUs may fire on a busy, measured CPU",
    {"proc/sys/kernel/timer_migration": "0"},
)
#: 1, because with 0 the kernel kills processes before it swaps.
SWAPPINESS = Values(
    "swappiness",
    "minimal swapping",
    "the kernel may swap out memory of a measured process to enlarge the page cache",
    {"proc/sys/vm/swappiness": "1"},
)


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
