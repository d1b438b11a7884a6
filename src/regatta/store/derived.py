"""Measurements that are computed from files which records keep, and added to those of the records.

What computes them belongs to the models, which this package must not import: it is loaded by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Protocol

from regatta.host.values.record import Record


class KeptFiles(Protocol):
    """Kept files of one record."""

    @property
    def bytes(self) -> int:
        """Their size, for the progress."""


class Derived(Protocol):
    """Computes measurements, and caches them because they take seconds each."""

    def __init__(self, cache: Path) -> None:
        """Prepare nothing yet.

        Args:
            cache: folder for the measurements.
        """

    @staticmethod
    def fingerprint(experiment_dir: Path) -> str:
        """Return what the measurements depend on beside the journal; "" if no record has any."""

    def missing(self, experiment_dir: Path) -> Sequence[KeptFiles]:
        """Return the kept files whose measurements are not cached.

        Args:
            experiment_dir: with a journal.
        """

    def compute(self, missing: Sequence[KeptFiles], progress: Callable[[int], None]) -> None:
        """Compute measurements in several processes.

        Args:
            missing: of `missing`.
            progress: called with the bytes of each that is done.
        """

    def added_to(self, record: Record, host_journal: Path) -> Record:
        """Return a record with its computed measurements; the record itself if it has none.

        Args:
            record: of the journal.
            host_journal: its folder, with the kept files.
        """


#: of kept traces of events
EVENT_MEASURES: type[Derived] = resolve_name("regatta.models.kernel_traces.record_measures:EventMeasures")
