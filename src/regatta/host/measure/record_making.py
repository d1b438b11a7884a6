"""Make the record of an invocation from the run of its program, or of the programs of its roles."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import regatta
from regatta.host.journal.plan_files import Row
from regatta.host.journal.record import RECORD_VERSION
from regatta.host.journal.record_shape import shape_problem
from regatta.host.measure.cgroup import TreeUsage
from regatta.host.measure.limits import limits_asked
from regatta.host.measure.perturbation import find_perturbation
from regatta.host.measure.process import Outcome
from regatta.host.values.plan_cell import PlanCell
from regatta.host.values.record import Cgroup, Iteration, Output, Record, Rusage, State

if TYPE_CHECKING:
    from regatta.host.adapters.result import Reported


@dataclass
class Run:
    """A run of a cell's command, with the host's state immediately before and after it."""

    outcome: Outcome
    tree: TreeUsage | None
    before: State
    after: State
    ended_ns: int
    #: the record's `isolation`
    isolation: dict[str, Any]
    #: the record's `rusage` if `wait4` does not report it
    rusage: Rusage | None = None


@dataclass
class Observed:
    """The state of a host around an invocation, and what the invocation itself used there."""

    before: State
    after: State
    elapsed_s: float
    own_cpu_s: float
    cpus: int
    #: "": the only host
    host: str = ""

    def perturbation(self, limits: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the exceeded limits."""
        found = find_perturbation(limits, self.before, self.after, self.elapsed_s, self.own_cpu_s, self.cpus)
        return [{**limit, "host": self.host} for limit in found] if self.host else found


def skip(header: Mapping[str, Any], row: Row, segment: int, reason: str) -> Record:
    """Make the record of an invocation that is not run (without `sequence`).

    Args:
        header: of the plan.
        row: the invocation; it has no record yet.
        segment: the number of the segment.
        reason: shown to users.
    """
    record = unmeasured(header, row, 0, segment)
    record["status"], record["reason"] = "skipped", reason
    return record


def unmeasured(header: Mapping[str, Any], row: Row, attempt: int, segment: int) -> Record:
    """Return a record with all keys in order, for an invocation without measurements."""
    nothing: Output = {"bytes": 0, "head": ""}
    return {
        "v": RECORD_VERSION,
        "invocation_id": row.invocation_id,
        "attempt": attempt,
        "cell_id": row.cell["cell_id"],
        "experiment": header["experiment"],
        "host": header["host"],
        "platform": header["platform"],
        "plan_id": header["plan_id"],
        "seed": header["seed"],
        "order": header["order"],
        "segment": segment,
        "round": row.round,
        "block": row.block,
        "position": row.position,
        "planned_index": row.index,
        "sequence": 0,
        "started_utc_ns": time.time_ns(),
        "started_monotonic_ns": time.monotonic_ns(),
        "elapsed_ns": 0,
        "status": "",
        "reason": None,
        "exit_code": None,
        "signal": None,
        "rusage": {},
        "cgroup": None,
        "isolation": {},
        "left_behind": 0,
        "iterations": [],
        "digest": None,
        "info": {},
        "host_before": {},
        "host_after": {},
        "perturbation": [],
        "cores": [],
        "padding_bytes": 0,
        "stdout": nothing,
        "stderr": nothing,
        "runner": {"version": regatta.__version__},
    }


def peak_rss_kib(usage: resource.struct_rusage) -> int | None:
    """Return the peak resident memory of the process; None if it is unknown.

    Linux passes the peak of a process on through fork and exec, so a child never shows less than the runner's own.
    """
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage.ru_maxrss if usage.ru_maxrss > own else None


def _difference(before: Mapping[str, Any], after: Mapping[str, Any], key: str) -> int:
    a, b = before.get(key), after.get(key)
    return 0 if a is None or b is None else int(b - a)


def with_operations(counts: list[Iteration], reported: Reported, metric: str) -> list[Iteration]:
    """Return counts, and those of iterations also by operation of a metric."""
    if not counts:
        return []
    # Imported here because most cells have no counters.
    from regatta.host.counters.counting import per_operation

    return [*counts, *per_operation(counts, reported.iterations, metric)]


def oom_kills_of(run: Run) -> int:
    """Return how many processes the kernel killed for lack of memory."""
    return ((run.tree.oom_kills if run.tree else None) or 0) + _difference(run.before, run.after, "oom_kills")


def cpu_s_of(run: Run) -> float:
    """Return the processor time of the whole process tree."""
    usage, tree = run.outcome.usage, run.tree
    own_s = usage.ru_utime + usage.ru_stime
    return own_s if tree is None or tree.cpu_ns is None else max(own_s, tree.cpu_ns / 1e9)


def rusage_of(usage: resource.struct_rusage, max_rss_kib: int | None) -> Rusage:
    """Return the record's `rusage`."""
    return {
        "user_s": usage.ru_utime,
        "system_s": usage.ru_stime,
        "max_rss_kib": max_rss_kib,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "voluntary_switches": usage.ru_nvcsw,
        "involuntary_switches": usage.ru_nivcsw,
    }


def cgroup_of(tree: TreeUsage | None) -> Cgroup | None:
    """Return the record's `cgroup`."""
    if tree is None:
        return None
    return {
        "version": tree.version,
        "cpu_ns": tree.cpu_ns,
        "memory_peak_bytes": tree.memory_peak_bytes,
        "oom_kills": tree.oom_kills,
    }


def describe(
    record: Record, run: Run, reported: Reported, max_rss_kib: int | None, counts: list[Iteration]
) -> None:
    """Put the end of a program and its measurements into its record."""
    outcome = run.outcome
    record.update(
        {
            "started_utc_ns": outcome.started_utc_ns,
            "started_monotonic_ns": outcome.started_monotonic_ns,
            "elapsed_ns": outcome.elapsed_ns,
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "rusage": run.rusage or rusage_of(outcome.usage, max_rss_kib),
            "cgroup": cgroup_of(run.tree),
            "isolation": run.isolation,
            "left_behind": outcome.left_behind,
            "iterations": [*reported.iterations, *counts],
            "digest": reported.digests[-1] if reported.digests else outcome.stdout.sha256,
            "host_before": run.before,
            "host_after": run.after,
            "stdout": outcome.stdout.to_json(),
            "stderr": outcome.stderr.to_json(),
        }
    )


def settle(
    record: Record,
    header: Mapping[str, Any],
    cell: PlanCell,
    judged: tuple[str, str | None],
    observed: Iterable[Observed],
) -> None:
    """Put the status into a record: as judged, or `perturbed` if limits of a host were exceeded."""
    record["status"], record["reason"] = judged
    if record["status"] != "ok":
        return
    limits = header["limits"]
    if "memory_mib" in limits_asked(cell):
        # Its own limit makes the program wait for memory.
        limits = {**limits, "memory_pressure_percent": None}
    found = record["perturbation"] = [limit for each in observed for limit in each.perturbation(limits)]
    if found:
        record["status"] = "perturbed"
        record["reason"] = "; ".join(f"{p['limit']} {p['measured']:g} > {p['allowed']:g}" for p in found)


def readable(record: Record, header: Mapping[str, Any], row: Row, attempt: int, segment: int) -> Record:
    """Return the record, or one that says why readers would reject it."""
    problem = shape_problem(record)
    if not problem:
        return record
    # Readers would reject the record, and the invocation would be repeated forever.
    unreadable, record = record, unmeasured(header, row, attempt, segment)
    record.update(
        {
            "started_utc_ns": unreadable["started_utc_ns"],
            "elapsed_ns": unreadable["elapsed_ns"],
            "runner": unreadable["runner"],
            "status": "failed",
            "reason": f"the record is not readable: {problem}",
        }
    )
    return record


def not_started(record: Record, problem: str, entered_ns: int) -> Record:
    """Complete the record of an invocation whose process is not started."""
    before_ns = time.monotonic_ns() - entered_ns
    record.update({"status": "failed", "reason": problem})
    record["runner"] = {"version": regatta.__version__, "before_ns": before_ns, "after_ns": 0}
    return record
