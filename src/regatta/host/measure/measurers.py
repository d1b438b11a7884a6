"""What measures the invocations of a segment: one at a time, in roles on several hosts, or in pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from regatta.host.errors import VerificationError
from regatta.host.journal.plan_files import Row
from regatta.host.measure.process import StopSignals
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record


@dataclass
class Paths:
    """The paths of a segment."""

    plan: Path
    journal: Path
    state: Path
    scratch: Path
    lock: Path
    #: who measures, for processes that wait for the host: `user@machine`
    holder: str = ""
    #: file that says how to reach the hosts of roles; None: all of them are this machine
    ways: Path | None = None


class Measurer(Protocol):
    """Executes the invocations of a segment."""

    stop: StopSignals
    #: why a command before or after an invocation failed; None: all of them succeeded
    failed_command: VerificationError | None

    def measure(self, row: Row, attempt: int, segment: int) -> Record:
        """Run an invocation and make its record (without `sequence`, which the journal adds).

        Raises:
            Interrupted: the runner received a stop signal; no record is made.
            HostError: a host is unfit.
            OSError: the working directory cannot be prepared.
        """
        ...


class RoleMeasurer(Measurer, Protocol):
    """Executes the roles of each cell on their hosts. `roles` implements it and imports this folder."""

    #: ended processes that earlier runs left on the hosts
    orphans_ended: int
    #: reason why a host has no control group, or empty
    no_accounting: str

    def open(self) -> None:
        """Lock the hosts, and prepare them.

        Raises:
            HostError: a host cannot be reached, or is unfit.
            Interrupted: the runner received a stop signal.
        """
        ...

    def close(self) -> None:
        """End what runs on the hosts, and release their locks."""
        ...


class PairMeasurer(Protocol):
    """Executes two invocations at once. `duet` implements it and imports this folder."""

    stop: StopSignals
    #: reason why a host has no control group, or empty
    no_accounting: str

    def test(self, pair: Sequence[Row], again: bool, testing: Callable[[str], None]) -> dict[str, str]:
        """Test the alternatives of a due pair. Return cell id -> why it must not be measured, without those that may be.

        Raises:
            HostError, Interrupted, StoreError: see `measure`; a result cannot be written.
        """
        ...

    def measure(self, pair: Sequence[Row], attempt: int) -> list[Record]:
        """Run two invocations at once, and make their records (without `sequence`, which the journal adds).

        Raises:
            Interrupted: the runner received a stop signal; no record is made.
            HostError: the host is unfit.
        """
        ...

    def close(self) -> None:
        """End what runs."""
        ...


#: Creates the measurer of pairs, from header, due cells, paths, segment, signals, the CPUs of each half, and a function that closes
#: in its processes what belongs to the runner alone.
MakePairMeasurer = Callable[
    [
        Mapping[str, Any],
        list[PlanCell],
        Paths,
        int,
        StopSignals,
        Sequence[Sequence[int]],
        Callable[[], None],
    ],
    PairMeasurer,
]
#: Creates the measurer of cells with roles, from header, due cells, paths, segment, signals, and a function
#: that is called with the holder of a lock that a host waits for (None: the wait is over).
MakeRoleMeasurer = Callable[
    [Mapping[str, Any], list[PlanCell], Paths, int, StopSignals, Callable[..., None]],
    RoleMeasurer,
]
