"""State of a segment's invocations from the journal of a host: due, perturbed, or in a cell that is given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from regatta.host.journal.record import FAILURES
from regatta.host.values.record import Record

#: start of the reason of an invocation that was ready, and did not start because its partner was not
NO_PARTNER = "its partner did not start: "


def status_under(
    status: str, exceeded: Sequence[Mapping[str, Any]] | None, limits: Mapping[str, Any] | None
) -> str:
    """Return the status of a record under the present limits of its plan: a perturbed one that exceeds none is `ok`.

    A record has measured values only of limits that it exceeded, so stricter limits do not change it.

    Args:
        status: as it was written.
        exceeded: the `perturbation` of the record.
        limits: those in the header of the plan; None: unknown.
    """
    if status != "perturbed" or not exceeded or limits is None:
        return status
    return "perturbed" if any(_exceeds(one, limits) for one in exceeded) else "ok"


def _exceeds(one: Mapping[str, Any], limits: Mapping[str, Any]) -> bool:
    allowed = limits.get(one["limit"])
    return allowed is not None and bool(one["measured"] > allowed)


class History:
    """The statuses of earlier attempts, from all journal files of the host."""

    def __init__(
        self,
        records: Iterable[Record],
        limits: Mapping[str, Any],
        retry_failed: bool,
        give_up_after: int | None = None,
    ) -> None:
        """Add the records.

        Args:
            records: of the segment's invocations, and of the first `give_up_after` invocations of each of its cells.
            limits: of the plan: limits of perturbation, and `retries`, the maximum number of retries of a perturbed
                invocation. Each start may retry as often, so that an experiment that was disturbed can be repeated.
            retry_failed: repeat the failures among `records` once, and ignore these failures otherwise.
            give_up_after: invocations that must fail alike before their cell is given up; None: never.
        """
        #: invocation_id -> attempt -> status
        self._statuses: dict[str, dict[int, str]] = {}
        #: invocation_id -> attempt, plan and block of the last attempt
        self._blocks: dict[str, tuple[int, str, int]] = {}
        #: cell_id -> status -> invocations with such an attempt, without skipped ones
        self._tried: dict[str, dict[str, set[str]]] = {}
        self._limits = limits
        #: invocation_id -> number of its first attempt since the start
        self._first: dict[str, int] = {}
        self._give_up_after = give_up_after
        # Failures at the start are repeated once; later failures are final.
        self._again: set[str] = set()
        for record in records:
            self.add(record)
        if retry_failed:
            self._again = {i for i in self._statuses if self.status(i) in FAILURES}
            for tried in self._tried.values():
                for status in FAILURES:
                    tried.pop(status, None)

    def add_measured(self, record: Record) -> None:
        """Add a record that was measured since the start."""
        self._first.setdefault(record["invocation_id"], record["attempt"])
        self.add(record)

    def add(self, record: Record) -> None:
        """Add a record of an earlier start."""
        invocation_id = record["invocation_id"]
        status = status_under(record["status"], record.get("perturbation"), self._limits)
        self._statuses.setdefault(invocation_id, {})[record["attempt"]] = status
        if record["attempt"] == max(self._statuses[invocation_id]):
            self._blocks[invocation_id] = record["attempt"], record["plan_id"], record["block"]
        self._again.discard(invocation_id)
        if status != "skipped" and not str(record["reason"]).startswith(NO_PARTNER):
            tried = self._tried.setdefault(record["cell_id"], {})
            tried.setdefault(status, set()).add(invocation_id)

    def next_attempt(self, invocation_id: str) -> int:
        """Return the highest attempt number plus one. Records can be lost, and no number is used twice."""
        return max(self._statuses.get(invocation_id, ()), default=-1) + 1

    def are_together(self, invocation_ids: Iterable[str]) -> bool:
        """Return whether the last attempts of invocations, if they have any, are of one block and have one number."""
        return len({self._blocks.get(invocation_id) for invocation_id in invocation_ids}) == 1

    def status(self, invocation_id: str) -> str:
        """Return the status of the last attempt; empty without an attempt."""
        statuses = self._statuses.get(invocation_id)
        return statuses[max(statuses)] if statuses else ""

    def due(self, invocation_id: str) -> bool:
        """Return whether the first attempt is due, or a failure is to be repeated."""
        return self.status(invocation_id) in ("", "skipped") or invocation_id in self._again

    def disturbed(self, invocation_id: str) -> bool:
        """Return whether the last attempt was perturbed and this start may retry it."""
        statuses = self._statuses.get(invocation_id, {})
        if self.status(invocation_id) != "perturbed":
            return False
        first = self._first.get(invocation_id, max(statuses) + 1)
        tries = [status == "perturbed" for attempt, status in statuses.items() if attempt >= first]
        # What this start found perturbed counts as its first try.
        before = [attempt for attempt in statuses if attempt < first]
        found = bool(before) and statuses[max(before)] == "perturbed"
        return sum(tries) + found <= int(self._limits["retries"])

    def given_up(self, cell_id: str) -> str:
        """Return why the cell is given up; empty if it is not.

        A cell is given up when all its attempts ended with the same failure, in at least `give_up_after` invocations. Only
        the journal decides, so that every later start decides alike.
        """
        tried = self._tried.get(cell_id, {})
        if self._give_up_after is None or len(tried) != 1:
            return ""
        ((status, invocations),) = tried.items()
        if status not in FAILURES or len(invocations) < self._give_up_after:
            return ""
        count = self._give_up_after
        return f"gave up after {count} x {status}"
