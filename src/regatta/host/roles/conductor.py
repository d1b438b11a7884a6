"""Execute the roles of an invocation.

Each starts when the one before is ready, and the end of the last one ends them all.
"""

from __future__ import annotations

import contextlib
import re
import select
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import regatta
from regatta.host.adapters.result import Reported
from regatta.host.errors import HostError, VerificationError
from regatta.host.journal.plan_files import Row
from regatta.host.measure.limits import limits_asked
from regatta.host.measure.measurers import Paths
from regatta.host.measure.process import Interrupted, StopSignals
from regatta.host.measure.record_making import (
    Observed,
    Run,
    cgroup_of,
    cpu_s_of,
    describe,
    not_started,
    oom_kills_of,
    readable,
    rusage_of,
    settle,
    unmeasured,
    with_operations,
)
from regatta.host.measure.verdict import judge, report_of
from regatta.host.messages import Message
from regatta.host.roles.agent import STOP_S
from regatta.host.roles.agents import Agents, cell_of, read_ways
from regatta.host.roles.link import Link, Lost, clock_of
from regatta.host.roles.part import Part, part_from_json
from regatta.host.values.experiment import ADDRESS
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Record

#: time for an answer that needs a program's end, in addition to the program's own
_SLACK_S = 30.0
_ATTEMPTS = 3
#: how long a signal to this machine can come after the loss of its allocation
_SIGNAL_S = 2.0
#: between the ends of two roles, one of which caused the other
_TOGETHER_S = 0.5
_VALUE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*)\}")
#: A value from the output of a role becomes part of a command.
_LONGEST_VALUE = 1000


@dataclass
class _Role:
    """A role of the present invocation."""

    name: str
    link: Link
    #: as in the plan, for the agent
    planned: Mapping[str, Any]
    part: Part | None = None
    #: started, and not ended
    runs: bool = False


class _Failed(Exception):
    """The invocation cannot go on. The text is the reason."""

    def __init__(self, reason: str, role: _Role | None = None, status: str = "failed") -> None:
        """Make the failure.

        Args:
            reason: for users.
            role: the role that ended too early.
            status: of the invocation, if no role's end gives another one.
        """
        super().__init__(reason)
        self.role = role
        self.status = status


@dataclass
class Conductor(Agents):
    """The agents of a segment, which execute its invocations: the `RoleMeasurer` of `measure/measurers.py`."""

    #: Commands before and after an invocation are of cells without roles.
    failed_command: VerificationError | None = None
    #: agents whose programs wait at a border, in the order of their requests
    _asking: list[Link] = field(default_factory=list)

    def _ready_for(self, cell: PlanCell) -> tuple[list[_Role], dict[str, dict[str, int]]]:
        """Return the roles of a cell with agents that answer, and their clocks."""
        for attempt in range(_ATTEMPTS):
            self.open_patiently()
            roles = [
                _Role(planned["name"], self.links[planned["host"], planned["name"]], planned)
                for planned in cell["roles"]
            ]
            try:
                return roles, {role.name: clock_of(role.link, self.ask) for role in roles}
            except Lost:
                # It ended between two invocations.
                if attempt == _ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def measure(self, row: Row, attempt: int, segment: int) -> Record:
        """Execute an invocation and make its record (without `sequence`, which the journal adds).

        Raises:
            Interrupted: the runner received a stop signal; no record is made.
            HostError: a host cannot be reached for minutes, or is unfit.
        """
        entered_ns = time.monotonic_ns()
        cell, header = row.cell, self.header
        roles, clocks = self._ready_for(cell)
        started_ns = time.monotonic_ns()
        deadline_s = time.monotonic() + cell["timeout_s"]
        failed = None
        self._asking.clear()
        try:
            self._play(roles, row, attempt, deadline_s)
        except _Failed as error:
            failed = error
        except HostError as error:
            failed = _Failed("; ".join(str(problem) for problem in error.problems))
        self._end(roles)
        failed = failed or self._failed_beside(cell, roles)
        if any(role.link.broken for role in roles):
            # Agents of an allocation that ended are lost before this process is told to stop. That is no
            # failure of the program.
            select.select([self.stop.fd], [], [], _SIGNAL_S)
            if self.stop.received:
                raise Interrupted
            # A lost agent can have left its program. If its host does not answer, the next invocation says
            # so.
            with contextlib.suppress(HostError):
                self.open()
        record = unmeasured(header, row, attempt, segment)
        record["roles"] = {role.name: self._told(role, clocks[role.name]) for role in roles}
        last = roles[-1]
        if last.part is None:
            status, reason = self._judged(cell, failed)
            not_started(record, reason, entered_ns)
            record["status"] = status
            return readable(record, header, row, attempt, segment)
        self._complete(record, cell, roles, failed)
        record["runner"] = {
            "version": regatta.__version__,
            "before_ns": started_ns - entered_ns,
            "after_ns": max(0, time.monotonic_ns() - last.part.ended_ns + clocks[last.name]["offset_ns"]),
        }
        return readable(record, header, row, attempt, segment)

    def _play(self, roles: Sequence[_Role], row: Row, attempt: int, deadline_s: float) -> None:
        """Start the roles in order, and wait for the end of the last one.

        Raises:
            _Failed: the last one cannot end well.
            HostError: an agent reports an error.
        """
        values = {f"{role.name}.{ADDRESS}": self.address(role.link.host, role.name) for role in roles}
        for role in roles:
            role.link.send(
                {
                    "do": "start",
                    "cell": self._filled(row.cell, role, values, deadline_s),
                    "ready": role.planned.get("ready", {}),
                    "invocation_id": row.invocation_id,
                    "attempt": attempt,
                    "round": row.round,
                    "borders": role is roles[-1] and "counters" in row.cell,
                }
            )
            role.runs = True
            told = self._until(role, roles, deadline_s)
            values.update({f"{role.name}.{name}": text for name, text in told.items()})

    def _until(self, role: _Role, roles: Sequence[_Role], deadline_s: float) -> Mapping[str, str]:
        """Wait until a role is ready, or has ended if it is the last one. Return the values of its output.

        Raises:
            _Failed: another role ended, this one ended too early, or the time is over.
        """
        is_last = role is roles[-1]
        running = {other.link: other for other in roles if other.runs}
        # The agent ends the last program at the deadline, and its part says so.
        until_s = deadline_s + (_SLACK_S if is_last else 0.0)
        for link, message in self.listen(running, until_s):
            other = running[link]
            if message is None:
                other.runs = False
                raise _Failed(str(link.lost()))
            if "ended" in message:
                self._ended(other, message)
                if other is role and is_last:
                    self._look_for_the_cause(role, running)
                    return {}
                raise _Failed(f"{link.name} ended before the last role", other)
            if "border" in message:
                self._mark(other, roles[0], str(message["border"]))
            elif "marked" in message:
                if self._asking:
                    self._asking.pop(0).send({"do": "marked"})
            elif other is role and not is_last and "ready" in message:
                return _values(message["ready"], link)
        what = "the end of its program" if is_last else "readiness"
        raise _Failed(f"{role.link.name}: no {what} within the timeout", status="timeout")

    def _mark(self, asking: _Role, first: _Role, border: str) -> None:
        """Let the first role read its counters at a border of another role, and tell that one afterwards."""
        if first.runs:
            self._asking.append(asking.link)
            first.link.send({"do": "mark", "border": border})
        else:
            asking.link.send({"do": "marked"})

    def _look_for_the_cause(self, last: _Role, running: Mapping[Link, _Role]) -> None:
        """Find out whether the last role failed because another one had ended.

        The message of that end is on its way.

        Raises:
            _Failed: it did.
        """
        if last.part is None or last.part.exit_code == 0 or last.part.timed_out:
            return
        for link, message in self.listen(
            [link for link in running if link is not last.link], time.monotonic() + _TOGETHER_S
        ):
            other = running[link]
            if message is None:
                other.runs = False
                raise _Failed(str(link.lost()))
            if "ended" in message:
                self._ended(other, message)
                raise _Failed(f"{link.name} ended before the last role", other)

    def _ended(self, role: _Role, message: Message) -> None:
        role.runs = False
        role.part = part_from_json(message["ended"], role.link.name, self._output_bytes)

    def _end(self, roles: Sequence[_Role]) -> None:
        """Stop what still runs, the last role first."""
        for role in reversed(roles):
            if not role.runs or role.link.broken:
                continue
            role.link.send({"do": "stop"})
            # What its agent reports in place of the end is no reason to lose the record.
            with contextlib.suppress(HostError):
                for _, message in self.listen([role.link], time.monotonic() + STOP_S + _SLACK_S):
                    if message is None:
                        break
                    if "ended" in message:
                        self._ended(role, message)
                        break
            if role.runs:
                role.link.broken = True

    def _failed_beside(self, cell: PlanCell, roles: Sequence[_Role]) -> _Failed | None:
        """Return why the end of the last role is not enough: another left nothing, or ended unasked."""
        for role in roles[:-1]:
            if role.part is None:
                return _Failed(f"{role.link.name} left no result")
            if not role.part.told_to_end:
                return _Failed(f"{role.link.name} ended before the last role", role)
            # Under a memory limit, the kernel may kill only a child, whose parent then does less work.
            if "memory_mib" in limits_asked(cell) and oom_kills_of(_run_of(role.part, self._output_bytes)):
                return _Failed(f"{role.link.name}: killed by the kernel (out of memory)", status="oom")
        return None

    # ---- its parts ----

    @property
    def _output_bytes(self) -> int:
        return max(int(self.header["output_kib"]) * 1024, 1)

    def _filled(
        self, cell: PlanCell, role: _Role, values: Mapping[str, str], deadline_s: float
    ) -> dict[str, Any]:
        argv = [_VALUE.sub(lambda m: values.get(m[1], m[0]), word) for word in role.planned["argv"]]
        is_last = role.name == cell["roles"][-1]["name"]
        left_s = max(deadline_s - time.monotonic(), 0.001) + (0.0 if is_last else _SLACK_S)
        return cell_of(cell, role.planned, argv, left_s)

    def _judged(self, cell: PlanCell, failed: _Failed | None) -> tuple[str, str]:
        """Return status and reason of an invocation that cannot go on, by the role that ended too early."""
        if failed is None:
            return "failed", "the last role left no result"
        part = failed.role.part if failed.role is not None else None
        if part is not None:
            run = _run_of(part, self._output_bytes)
            plain: Any = {**cell, "expect": {}, "iterations": None}
            status, why = judge(plain, run.outcome, Reported(), oom_kills_of(run))
            if status != "ok":
                return status, f"{failed}: {why}"
        return failed.status, str(failed)

    def _complete(
        self, record: Record, cell: PlanCell, roles: Sequence[_Role], failed: _Failed | None
    ) -> None:
        """Put the measurements into the record: those of the last role, and the counters of the first one."""
        part = roles[-1].part
        assert part is not None
        run = _run_of(part, self._output_bytes)
        reported = report_of(cell, run.outcome, part.results_bytes(), part.refused, part.max_rss_kib)
        first = roles[0].part
        counts = with_operations(first.counts, reported, cell["metric"]) if first is not None else []
        counts += _costs(roles[:-1])
        describe(record, run, reported, part.max_rss_kib, counts)
        record["info"] = {**reported.info, **(first.told if first is not None else {})}
        record["cores"], record["padding_bytes"] = part.cores, part.padding_bytes
        judged = (
            self._judged(cell, failed) if failed else judge(cell, run.outcome, reported, oom_kills_of(run))
        )
        settle(record, self.header, cell, judged, self._observed(roles))

    def _observed(self, roles: Sequence[_Role]) -> list[Observed]:
        """Return the state of each host, around the role that started first there."""
        found: dict[str, Observed] = {}
        for role in roles:
            part, host = role.part, role.link.host
            if part is None:
                continue
            if host in found:
                found[host].own_cpu_s += part.cpu_s
            else:
                run = _run_of(part, self._output_bytes)
                found[host] = Observed(
                    run.before, run.after, part.elapsed_ns / 1e9, cpu_s_of(run), part.cpus, host
                )
        return list(found.values())

    def _told(self, role: _Role, clock: Mapping[str, int]) -> dict[str, Any]:
        """Return a role's part of the record."""
        told: dict[str, Any] = {"host": role.link.host, "clock": dict(clock)}
        part = role.part
        if part is None:
            return told
        run = _run_of(part, self._output_bytes)
        told.update(
            {
                "started_utc_ns": part.started_utc_ns,
                "started_monotonic_ns": part.started_monotonic_ns,
                "elapsed_ns": part.elapsed_ns,
                "exit_code": part.exit_code,
                "signal": part.signal,
                "rusage": rusage_of(run.outcome.usage, part.max_rss_kib),
                "cgroup": cgroup_of(part.tree),
                "left_behind": part.left_behind,
                "host_before": part.before,
                "host_after": part.after,
                "cores": part.cores,
            }
        )
        if role.planned.get("ready"):
            # Those of the last role are the record's own.
            told.update(stdout=part.stdout, stderr=part.stderr)
        return told


def conduct(
    header: Mapping[str, Any],
    cells: Sequence[PlanCell],
    paths: Paths,
    segment: int,
    stop: StopSignals,
    waiting: Callable[[dict[str, str] | None], None],
) -> Conductor:
    """Return the measurer of the cells of a plan that have roles (see `MakeRoleMeasurer`)."""
    ways = read_ways(paths.ways)
    return Conductor(header, cells, paths.scratch, segment, stop, ways, paths.holder, waiting)


def _values(told: Any, link: Link) -> Mapping[str, str]:
    if isinstance(told, dict) and all(
        isinstance(value, str) and len(value) <= _LONGEST_VALUE and "\0" not in value
        for value in told.values()
    ):
        return told
    raise _Failed(f"{link.name}: expected short texts in its output, got {str(told)[:200]}")


def _run_of(part: Part, output_bytes: int) -> Run:
    before: Any = part.before
    after: Any = part.after
    return Run(part.outcome(output_bytes), part.tree, before, after, part.ended_ns, part.isolation)


def _costs(roles: Iterable[_Role]) -> list[list[Any]]:
    """Return what the roles before the last one used, as measurements with the name of the role."""
    rows: list[list[Any]] = []
    for role in roles:
        if role.part is None:
            continue
        label = {"role": role.name}
        rows.append([0, "role_user", role.part.usage[0], "s", None, label])
        rows.append([0, "role_system", role.part.usage[1], "s", None, label])
        if role.part.max_rss_kib is not None:
            rows.append([0, "role_max_rss", role.part.max_rss_kib, "KiB", None, label])
    return rows
