"""Choose the tracing tool."""

from __future__ import annotations

from typing import Protocol

from regatta.host.errors import HostError
from regatta.models.system_calls.bpftrace import Bpftrace, check_bpftrace
from regatta.models.system_calls.strace import Strace, strace_program
from regatta.models.vectors.calls import CallTable, Tally


class Tracer(Protocol):
    """Traces a process, its descendants, and their future children."""

    name: str

    def start(self, pid: int, gated: bool = False) -> None: ...

    def stop(self) -> Tally: ...

    def kill(self) -> None: ...


class NoTracer:
    """Traces nothing: the control for runs with a tracer."""

    name = "none"

    def start(self, pid: int, gated: bool = False) -> None:
        """Do nothing."""

    def stop(self) -> Tally:
        """Return an empty tally."""
        return Tally({})

    def kill(self) -> None:
        """Do nothing."""


def choose_tool(wish: str) -> tuple[str, str]:
    """Return the tool, and the reason for the choice if it was automatic.

    Args:
        wish: auto, bpftrace or strace.

    Raises:
        HostError: the tool cannot trace here.
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
                "tracing",
                "strace or bpftrace on PATH",
                "neither",
                "run `sudo apt-get install strace bpftrace`",
            ) from None
        return "strace", f"bpftrace: expected {problem.expected}, got {problem.got}"
    return "bpftrace", "less overhead"


def make_tracer(tool: str, table: CallTable) -> Tracer:
    """Return a tracer for one trace."""
    if tool == "none":
        return NoTracer()
    return Bpftrace(table) if tool == "bpftrace" else Strace(table)
