"""Which tool traces, and why."""

from __future__ import annotations

from typing import Protocol

from regatta.host.errors import HostError
from regatta.spec.calls import CallTable, Tally
from regatta.trace.bpftrace import Bpftrace, check_bpftrace
from regatta.trace.strace import Strace, strace_program


class Tracer(Protocol):
    """What traces a process, its descendants, and the children that they will have."""

    name: str

    def start(self, pid: int, gated: bool = False) -> None: ...

    def stop(self) -> Tally: ...

    def kill(self) -> None: ...


class NoTracer:
    """Watches nothing: what a run without a tracer is compared with."""

    name = "none"

    def start(self, pid: int, gated: bool = False) -> None:
        """Nothing."""

    def stop(self) -> Tally:
        """Nothing seen."""
        return Tally({})

    def kill(self) -> None:
        """Nothing."""


def choose_tool(wish: str) -> tuple[str, str]:
    """The tool, and the reason where it was not asked for by name.

    Args:
        wish: auto, bpftrace or strace.

    Raises:
        HostError: it cannot trace here.
    """
    if wish == "none":
        return "none", ""
    if wish == "bpftrace":
        check_bpftrace()
        return "bpftrace", ""
    if wish == "strace":
        strace_program()
        return "strace", ""
    try:
        check_bpftrace()
    except HostError as error:
        problem = error.problems[0]
        try:
            strace_program()
        except HostError:
            raise HostError(
                "tracing", "strace or bpftrace on PATH", "neither", "sudo apt-get install strace bpftrace"
            ) from None
        return "strace", f"bpftrace: expected {problem.expected}, got {problem.got}"
    return "bpftrace", "it disturbs less"


def make_tracer(tool: str, table: CallTable) -> Tracer:
    """A tracer for one trace."""
    if tool == "none":
        return NoTracer()
    return Bpftrace(table) if tool == "bpftrace" else Strace(table)
