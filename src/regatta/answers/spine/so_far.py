"""Compute interim comparisons while an experiment is measured, within a time budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from regatta.host.errors import RegattaError
from regatta.host.files import locked
from regatta.host.journal.journal import journal_files
from regatta.store.folder import Folder
from regatta.store.so_far import SoFar, age_of_so_far, write_so_far

#: share of the elapsed time that the computation may use
_SHARE = 0.05
#: Computation beyond this share at the start of a run, so that the first intervals appear after two or three rounds.
_FIRST_S = 4.0
_LEAST_GAP_S = 5.0
#: Each segment has a separate process, which loads the code only if the comparisons of the segment before are older than this.
_LOADING_GAP_S = 20.0


def _directly(work: Callable[[], None]) -> bool:
    work()
    return True


class Estimates:
    """The interim comparisons of one experiment, updated after new records, within 5 % of the time and 4 s more at the start."""

    def __init__(self, folder: Folder, apart: Callable[[Callable[[], None]], bool] = _directly) -> None:
        """Use `apart` to run the computation. It returns whether it finished; if not, no further computation starts."""
        self._folder = folder
        self._apart = apart
        self._imported = False
        self._size = 0
        self._next_s = 0.0
        self._credit_s = _FIRST_S if math.isinf(age_of_so_far(folder)) else 0.0

    def look(self) -> None:
        """Compute them if they are due. The first computation of a process also loads the code, which takes a second."""
        began_s = time.monotonic()
        size = sum(path.stat().st_size for path in journal_files(self._folder.path))
        if began_s < self._next_s or size == self._size:
            return
        if not self._imported:
            if age_of_so_far(self._folder) < _LOADING_GAP_S:
                return
            import regatta.answers.spine.context
            import regatta.answers.spine.short  # noqa: F401

            self._imported = True
            began_s = time.monotonic()
        self._size = size
        well = self._apart(self._write)
        ended_s = time.monotonic()
        charged_s = max(0.0, ended_s - began_s - self._credit_s)
        self._credit_s = max(0.0, self._credit_s - (ended_s - began_s))
        self._next_s = ended_s + max(_LEAST_GAP_S, charged_s / _SHARE) if well else math.inf

    def _write(self) -> None:
        # Errors must not end a measurement. Hosts have separate processes: only the one that gets the lock computes.
        with suppress(RegattaError, OSError), locked(self._folder.state / "so-far.lock", patience_s=0.0):
            write_so_far(self._folder, comparisons_so_far(self._folder.path))


def comparisons_so_far(experiment_dir: Path) -> SoFar:
    """Compare the recorded values, as ratios with intervals.

    Raises:
        StoreError: the folder has no plan, or cannot be read or written.
    """
    from regatta.answers.spine.context import Options, make_context
    from regatta.answers.spine.facts import read_facts
    from regatta.answers.spine.short import short_comparisons
    from regatta.store.database import open_database

    facts = read_facts(experiment_dir)
    with open_database(experiment_dir) as connection:
        context = make_context(experiment_dir, connection, facts, Options())
    found = [
        one for one in context.comparisons if math.isfinite(one.ratio.point) and not one.ratio.is_disturbed
    ]
    if not found:
        return SoFar(context.samples.recorded, "", ("no comparison yet",), ())
    table = short_comparisons(found, facts.level, judged=False)
    return SoFar(context.samples.recorded, table.title, table.columns, tuple(table.rows))
