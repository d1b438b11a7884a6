"""What the journal of a host says of a segment's invocations: which are due, which are disturbed, which cells are given up."""

from __future__ import annotations

from collections.abc import Iterable

from regatta.host.journal.record import FAILURES
from regatta.host.values.record import Record


class History:
    """The statuses of earlier attempts, from every journal file of the host."""

    def __init__(
        self,
        records: Iterable[Record],
        retries: int,
        retry_failed: bool,
        give_up_after: int | None = None,
    ) -> None:
        """Take the records over.

        Args:
            records: of the segment's invocations, and of the first `give_up_after` of each of its cells.
            retries: how often a perturbed invocation is run again.
            retry_failed: run the failures among `records` once more, as if they had never been.
            give_up_after: invocations that fail alike before their cell is given up; None: never.
        """
        #: invocation_id -> attempt -> status
        self._statuses: dict[str, dict[int, str]] = {}
        #: cell_id -> status -> invocations with such an attempt; nothing that was skipped
        self._tried: dict[str, dict[str, set[str]]] = {}
        self._retries = retries
        self._give_up_after = give_up_after
        # Failures that were there at the start are run once more; one that comes now is final.
        self._again: set[str] = set()
        for record in records:
            self.add(record)
        if retry_failed:
            self._again = {i for i in self._statuses if self.status(i) in FAILURES}
            for tried in self._tried.values():
                for status in FAILURES:
                    tried.pop(status, None)

    def add(self, record: Record) -> None:
        """Note one more record."""
        invocation_id, status = record["invocation_id"], record["status"]
        self._statuses.setdefault(invocation_id, {})[record["attempt"]] = status
        self._again.discard(invocation_id)
        if status != "skipped":
            tried = self._tried.setdefault(record["cell_id"], {})
            tried.setdefault(status, set()).add(invocation_id)

    def next_attempt(self, invocation_id: str) -> int:
        """One above the highest there is: records between may be lost, and no number is given twice."""
        return max(self._statuses.get(invocation_id, ()), default=-1) + 1

    def status(self, invocation_id: str) -> str:
        """The status of the last attempt; empty when there is none."""
        statuses = self._statuses.get(invocation_id)
        return statuses[max(statuses)] if statuses else ""

    def due(self, invocation_id: str) -> bool:
        """Whether its first try is still to come (or failed, and is to be run again)."""
        return self.status(invocation_id) in ("", "skipped") or invocation_id in self._again

    def disturbed(self, invocation_id: str) -> bool:
        """Whether its last try was perturbed and another is allowed."""
        tries = list(self._statuses.get(invocation_id, {}).values())
        return self.status(invocation_id) == "perturbed" and tries.count("perturbed") <= self._retries

    def given_up(self, cell_id: str) -> str:
        """Why no more of the cell is run; empty where it is not given up.

        A cell is given up when all its attempts ended with the same failure, in at least `give_up_after` invocations. The
        journal alone decides, so that every later start decides alike.
        """
        tried = self._tried.get(cell_id, {})
        if self._give_up_after is None or len(tried) != 1:
            return ""
        ((status, invocations),) = tried.items()
        if status not in FAILURES or len(invocations) < self._give_up_after:
            return ""
        count = self._give_up_after
        which = "the first invocation" if count == 1 else f"the first {count} invocations"
        return f"gave up: {which} ended with {status}"
