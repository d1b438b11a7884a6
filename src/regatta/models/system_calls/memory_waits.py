"""Whether runs of a command read pages from a disk, or waited for memory: no primitive contains this time."""

from __future__ import annotations

import contextlib
import math
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from regatta.host.measure.host_state import HostState

#: share of the time in which processes waited for memory, above which there is a note
_LONG_WAIT = 0.01


@dataclass
class MemoryWaits:
    """Counts of runs. A single run that fills the page cache gives no note."""

    #: of each run, page faults that waited for a disk
    read_faults: list[int] = field(default_factory=list)
    #: of each run, the share of its time in which a process of the machine waited for memory; NaN: the kernel does not count it
    waits: list[float] = field(default_factory=list)
    #: of `proc`; another tree in tests
    root: Path = Path("/")

    @contextlib.contextmanager
    def of_a_run(self) -> Iterator[None]:
        """Count one run, whose processes start and end within."""
        with contextlib.closing(HostState([], self.root, oom_kills=False)) as host:
            faults, waited_us, began_ns = _read_faults(), _waited_us(host), time.monotonic_ns()
            yield
            elapsed_us = (time.monotonic_ns() - began_ns) / 1e3
            self.read_faults.append(_read_faults() - faults)
            self.waits.append((_waited_us(host) - waited_us) / elapsed_us)

    @property
    def notes(self) -> list[str]:
        """Return what predictions do not contain."""
        found = []
        faults = statistics.median(self.read_faults) if self.read_faults else 0
        if faults >= 1:
            found.append(
                f"{faults:g} page faults of a run (median) read from a disk. Predictions do not contain their time; "
                "`regatta trace memory` counts them"
            )
        wait = statistics.median(self.waits) if self.waits else 0.0
        if wait > _LONG_WAIT:
            found.append(
                f"processes of this machine waited for memory in {100 * wait:.0f} % of the time (median of the runs). "
                "Trace again with more free memory"
            )
        return found


def _read_faults() -> int:
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_majflt


def _waited_us(host: HostState) -> float:
    """Return how long any process has waited for memory since the machine started; NaN if the kernel does not count it."""
    waited_us = host.read()["psi_memory_some_us"]
    return math.nan if waited_us is None else waited_us
