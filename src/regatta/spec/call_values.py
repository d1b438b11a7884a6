"""What was seen of a program's system calls, and the table that says which primitive each is counted as. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

#: what a descriptor names; "memory": mmap without one; "none": the call's first argument is no descriptor
Kind = Literal[
    "none",
    "file",
    "directory",
    "fifo",
    "tcp",
    "udp",
    "unix",
    "socket",
    "device",
    "anonymous",
    "memory",
    "unknown",
]
#: how a call ended: an error, 0, or anything else
Ending = Literal["failed", "zero", "some"]
#: "loader": after execve, until the program's own first call
Phase = Literal["program", "loader"]
#: of a write on a TCP connection: the first after a read, or one more
Turn = Literal["none", "reply", "further"]

KINDS: tuple[Kind, ...] = get_args(Kind)
ENDINGS: tuple[Ending, ...] = get_args(Ending)
PHASES: tuple[Phase, ...] = get_args(Phase)
TURNS: tuple[Turn, ...] = get_args(Turn)

#: made of several calls by following each process; their bytes are the KiB of anonymous memory of the forking process
FORK_EXEC = "fork+exec"
FORK_ALONE = "fork-alone"
EXEC_ALONE = "exec-alone"
THREAD = "thread"
#: each mapping of a process that forks; each page fault of a forked process until it executes a program. Of forks that copy memory;
#: their bytes are the number of those forks
FORK_MAPPING = "fork-mapping"
FORK_FAULT = "fork-fault"
PER_FORK = (FORK_MAPPING, FORK_FAULT)
PROCESS_CALLS = (FORK_EXEC, FORK_ALONE, EXEC_ALONE, THREAD, *PER_FORK)
#: the calls that these are made of; where they succeed they are not counted beside them
FORK_CALLS = frozenset({"clone", "clone3", "fork", "vfork"})
EXEC_CALLS = frozenset({"execve", "execveat"})
#: their result is a connection that is new
ACCEPT_CALLS = frozenset({"accept", "accept4"})


@dataclass(frozen=True)
class Seen:
    """Calls that are alike."""

    call: str
    kind: Kind = "none"
    ending: Ending = "zero"
    turn: Turn = "none"
    phase: Phase = "program"
    #: power of two that the bytes of a call begin with, 0 to 31; 0 where it has none
    size: int = 0


@dataclass(frozen=True)
class Tally:
    """What one trace has seen."""

    #: calls that are alike -> how many, and their bytes (KiB for those that processes are made of, forks for `PER_FORK`) together
    seen: Mapping[Seen, tuple[int, int]]
    #: what is not as it should be, for people: "12 lines could not be read"
    remarks: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """How many calls, without what is made of several."""
        return sum(count for seen, (count, _) in self.seen.items() if seen.call not in PROCESS_CALLS)


@dataclass(frozen=True)
class CountedAs:
    """A primitive that a call counts for."""

    primitive: str
    each: Literal["call", "byte"] = "call"
    #: name of the primitive's argument that the bytes of a call are; ""
    argument: str = ""
    #: where the primitive's cost has both ends in it: this call's end. The end that has more counts
    end: Literal["", "read", "write"] = ""


@dataclass(frozen=True)
class CallRule:
    """Calls, and what they count as. An empty tuple of kinds, endings or turns means any."""

    name: str
    calls: tuple[str, ...]
    kinds: tuple[Kind, ...] = ()
    endings: tuple[Ending, ...] = ()
    turns: tuple[Turn, ...] = ()
    phases: tuple[Phase, ...] = PHASES
    #: calls of fewer bytes are left to the rules below
    least_bytes: int = 0
    counted_as: tuple[CountedAs, ...] = ()
    #: part of what these cost already, at most so many of each call for each of them (of `PER_FORK`: for each fork); more are left to
    #: the rules below
    covered_by: tuple[str, ...] = ()
    at_most: float = 1.0
    #: the primitive is not what the call does, but the nearest that is measured
    approximated: bool = False
    #: after such a call on a TCP connection the next write there is the reply
    begins_turn: bool = False


@dataclass(frozen=True)
class CallTable:
    """The rules in order: a call is taken by the first that fits. What none takes is counted as `unknown`."""

    rules: tuple[CallRule, ...]
    unknown: str
    provenance: Mapping[str, str] = field(default_factory=dict)

    @property
    def told_by_kind(self) -> frozenset[str]:
        """Calls whose descriptor matters."""
        return frozenset(call for rule in self.rules if rule.kinds or rule.turns for call in rule.calls)

    @property
    def sized(self) -> frozenset[str]:
        """Calls whose bytes matter."""
        return frozenset(
            call
            for rule in self.rules
            if rule.least_bytes or any(c.each == "byte" or c.argument for c in rule.counted_as)
            for call in rule.calls
        )

    @property
    def of_loader(self) -> frozenset[str]:
        """What a loader may call before the program begins."""
        return frozenset(call for rule in self.rules if rule.phases == ("loader",) for call in rule.calls)

    @property
    def beginning_turns(self) -> frozenset[str]:
        """Calls after which the next write on a connection is the reply."""
        return frozenset(call for rule in self.rules if rule.begins_turn for call in rule.calls)

    @property
    def taking_turns(self) -> frozenset[str]:
        """Calls that are a reply, or one more write."""
        return frozenset(call for rule in self.rules if rule.turns for call in rule.calls)


def size_class(size: int) -> int:
    """The power of two that `size` begins with: 0 for 0 and 1, at most 31."""
    return min(max(size.bit_length() - 1, 0), 31)
