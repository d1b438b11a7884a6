"""What an event trace of a host records: groups of tracepoints, probes in programs, and the window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: group -> tracepoints, each with what it is for; one that a kernel lacks is left out
GROUPS: dict[str, tuple[str, ...]] = {
    "scheduling": (
        "sched/sched_switch",
        "sched/sched_waking",
        "sched/sched_wakeup",
        "sched/sched_process_fork",
    ),
    "interrupts": (
        "irq/irq_handler_entry",
        "irq/irq_handler_exit",
        "irq/softirq_entry",
        "irq/softirq_exit",
        "irq_vectors/local_timer_entry",
        "irq_vectors/local_timer_exit",
    ),
    "system-calls": ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit"),
    "disks": ("block/block_rq_issue", "block/block_rq_complete"),
    "kernel-locks": ("lock/contention_begin", "lock/contention_end"),
    # Marks that programs write to the kernel (benchmarks/probes).
    "marks": (),
}
#: of these, those without which no trace can be analysed
REQUIRED = ("sched/sched_switch", "sched/sched_waking")
#: what a probe or a mark of a program means: event, kind of object, number or none, name. `arg1`: the number is the first
#: argument of the probed function
MARK = re.compile(
    r"(request|accept|finish|wait) (phase|function|transaction|lock|process|client)(?: (\d{1,18}|arg1))? ([A-Za-z0-9._-]{1,64})",
    re.ASCII,
)
#: how the names of metrics begin that are measured in a trace
METRIC_PREFIX = "event_"
#: name of the trace among the files of an invocation, and of what the recorder knows of it
TRACE_FILE = "events.dat"
ABOUT_FILE = "events.json"


@dataclass(frozen=True)
class Probe:
    """A place in a program or library, and the abstract events that reaching it means."""

    #: name on PATH, name of a shared library, or absolute path
    program: str
    function: str
    #: `entry` or `return`
    at: str
    #: for example `accept phase process`, see docs/events.md
    means: tuple[str, ...]


@dataclass(frozen=True)
class Events:
    """A recording of events."""

    groups: tuple[str, ...] = ("scheduling", "interrupts", "system-calls", "disks", "kernel-locks", "marks")
    probes: tuple[Probe, ...] = ()
    #: seconds from the start of the process to the start of the window
    after_s: float = 0.0
    #: longest window in seconds
    for_s: float = 20.0
    #: memory per CPU; events that do not fit are lost, and counted
    buffer_mib: int = 64

    def to_json(self) -> dict[str, Any]:
        """Return the recording as JSON."""
        return {
            "groups": list(self.groups),
            "probes": [{**vars(probe), "means": list(probe.means)} for probe in self.probes],
            "after_s": self.after_s,
            "for_s": self.for_s,
            "buffer_mib": self.buffer_mib,
        }


@dataclass(frozen=True)
class About:
    """What `events.json` says of a recording. Times are in ns of the monotonic clock."""

    begin_ns: int
    end_ns: int
    #: time since 1970 minus the monotonic clock
    realtime_offset_ns: int
    cpus: int
    kernel: str
    machine: str
    host: str
    #: CPU number -> events that did not fit into its buffer
    lost: Mapping[str, int]
    #: tracepoints that the kernel lacks
    missing: tuple[str, ...]
    #: `Events.to_json`
    recording: Mapping[str, Any]
    #: number of a thread -> number and name of its process, its own name, and whether it belongs to the kernel
    tasks: Mapping[str, Any]
    #: processes of the measured command
    own: tuple[int, ...] = ()
    version: int = 1


def events_from_json(told: Mapping[str, Any]) -> Events:
    """Return the recording that `to_json` describes.

    Raises:
        KeyError, TypeError: it describes none.
    """
    probes = tuple(Probe(**{**probe, "means": tuple(probe["means"])}) for probe in told["probes"])
    return Events(**{**told, "groups": tuple(told["groups"]), "probes": probes})
