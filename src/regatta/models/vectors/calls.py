"""Tables of calls, `configs/primitives/{os,java}-calls.yml`: they map a program's calls to primitives.

Also the values of traces: the kinds of calls (`Seen`) and their counts (`Tally`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from regatta.host.errors import Problem
from regatta.models.vectors.primitives import checked_table
from regatta.spec.fields import MAX_ITEMS, Line, Name, Names, Strict, listed, one_or_list, refusal
from regatta.spec.problems import shown_path
from regatta.spec.yaml_lines import Document, read_yaml

#: type of a descriptor; "memory": mmap without one; "none": the call's first argument is no descriptor
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
#: result of a call: an error, 0, or any other value
Ending = Literal["failed", "zero", "some"]
#: "loader": after execve, until the program's first call
Phase = Literal["program", "loader"]
#: of a write on a TCP connection: the first after a read, or a further one
Turn = Literal["none", "reply", "further"]

KINDS: tuple[Kind, ...] = get_args(Kind)
ENDINGS: tuple[Ending, ...] = get_args(Ending)
PHASES: tuple[Phase, ...] = get_args(Phase)
TURNS: tuple[Turn, ...] = get_args(Turn)

#: combined from several calls by following each process; bytes: KiB of anonymous memory of the forking
#: process
FORK_EXEC = "fork+exec"
FORK_ALONE = "fork-alone"
EXEC_ALONE = "exec-alone"
THREAD = "thread"
#: each mapping of a process that forks; each page fault of a forked process until it executes a program. Only
#: for forks that copy memory; bytes: the number of those forks
FORK_MAPPING = "fork-mapping"
FORK_FAULT = "fork-fault"
PER_FORK = (FORK_MAPPING, FORK_FAULT)
PROCESS_CALLS = (FORK_EXEC, FORK_ALONE, EXEC_ALONE, THREAD, *PER_FORK)
#: not calls, but work of a JVM that its agent counts (benchmarks/java/README.md): classes, and bytes of
#: bytecode
JVM_WORK = ("application_classes", "bytes_compiled", "bytes_recompiled")
#: the calls behind those above; successful ones are not counted separately
FORK_CALLS = frozenset({"clone", "clone3", "fork", "vfork"})
EXEC_CALLS = frozenset({"execve", "execveat"})
#: calls that return a new connection
ACCEPT_CALLS = frozenset({"accept", "accept4"})


@dataclass(frozen=True)
class Seen:
    """A class of calls that are alike."""

    call: str
    kind: Kind = "none"
    ending: Ending = "zero"
    turn: Turn = "none"
    phase: Phase = "program"
    #: exponent of the power of two at or below the bytes of a call, 0 to 31; 0 without bytes
    size: int = 0


@dataclass(frozen=True)
class Tally:
    """Counts of one trace."""

    #: class of calls -> count, and the sum of their bytes (KiB for process creations, forks for `PER_FORK`)
    seen: Mapping[Seen, tuple[int, int]]
    #: deviations, for users: "12 lines could not be read"
    remarks: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """Return the number of calls, without those that combine several and without work of the JVM."""
        no_call = (*PROCESS_CALLS, *JVM_WORK)
        return sum(count for seen, (count, _) in self.seen.items() if seen.call not in no_call)


def size_class(size: int) -> int:
    """Return the exponent of the power of two at or below `size`: 0 for 0 and 1, at most 31."""
    return min(max(size.bit_length() - 1, 0), 31)


_CALL = re.compile(r"[a-z_][a-z0-9_]{0,39}")
#: a Java method with its class, and possibly its descriptor (The Java Virtual Machine Specification, 4.3.3)
_METHOD = re.compile(
    r"(?:\w{1,99}\.){1,20}[\w$]{1,99}\.(?:\w{1,99}|<init>)(?:\([\w/;\[$]{0,500}\)[\w/;\[$]{1,200})?"
)


def _check_call(text: str) -> str:
    if text not in PROCESS_CALLS and not _CALL.fullmatch(text) and not _METHOD.fullmatch(text):
        raise refusal(
            f"a system call, one of {', '.join(PROCESS_CALLS)}, or a method of Java with its class",
            "use the lower-case name, as in `man 2 read`, or write `java.lang.String.charAt`",
        )
    return text


Call = Annotated[str, AfterValidator(_check_call)]
Calls = Annotated[
    list[Call],
    BeforeValidator(listed),
    Field(min_length=1, max_length=MAX_ITEMS),
    one_or_list({"type": "string"}),
]
Kinds = Annotated[list[Kind], BeforeValidator(listed), one_or_list({"enum": list(KINDS)})]
Endings = Annotated[list[Ending], BeforeValidator(listed), one_or_list({"enum": list(ENDINGS)})]


class CountedAs(Strict):
    """A primitive that a call counts as."""

    primitive: Name = Field(description="Name of the primitive.", examples=["file_read"])
    each: Literal["call", "byte"] = Field(
        "call", description="Count one per call, or one per byte.", examples=["byte"]
    )
    argument: Name | None = Field(
        None,
        description="Argument of the primitive that receives the number of bytes of a call (for processes: KiB of"
        " memory).",
        examples=["bytes"],
    )
    end: Literal["read", "write"] | None = Field(
        None,
        description="If the cost of the primitive includes a read and a write, the end that this call is. The end"
        " with the larger count determines the count.",
        examples=["read"],
    )

    @model_validator(mode="after")
    def _one_meaning(self) -> CountedAs:
        if self.argument and (self.each == "byte" or self.end):
            raise refusal("no `argument` together with `each: byte` or `end`", "remove one", key="argument")
        return self


class CallRule(Strict):
    """A rule: system calls, and the primitives that they count as."""

    calls: Calls = Field(
        description=f"System calls, or {', '.join(PROCESS_CALLS)}. In a table for Java: methods with their class. "
        "Without a descriptor: all overloads that no rule names with theirs. "
        f"For the startup of a JVM also {', '.join(JVM_WORK)}.",
        examples=[["read", "readv"]],
    )
    on: Kinds = Field(
        [],
        description="Kinds of the descriptor in the first argument of the call (mmap: the fifth). If omitted: "
        "any.",
        examples=[["file"]],
    )
    result: Endings = Field(
        [],
        description="Result of the call: an error, 0, or any other value. If omitted: any.",
        examples=[["some"]],
    )
    turn: Literal["reply", "further"] | None = Field(
        None,
        description="For writes on TCP: the first write after a read (`begins_turn`), or a further write. If "
        "omitted: any.",
        examples=["reply"],
    )
    phase: Literal["program", "loader"] | None = Field(
        None,
        description="Calls of the loader after an exec, or all other calls. If omitted: both.",
        examples=["loader"],
    )
    least_bytes: int = Field(
        0,
        ge=0,
        description="Minimum number of bytes. Later rules take calls with fewer bytes.",
        examples=[4096],
    )
    counts: Annotated[list[CountedAs], Field(max_length=8)] = Field(
        [], description="The primitives that each call counts as.", examples=[[{"primitive": "stat"}]]
    )
    covered_by: Names = Field(
        [],
        description="Primitives of earlier rules whose cost already includes these calls. The calls count as "
        "nothing.",
        examples=[["open_close"]],
    )
    at_most: float = Field(
        1.0,
        gt=0,
        description="With `covered_by`: maximum number of each call per such primitive. Later rules take the "
        "rest.",
        examples=[2],
    )
    approximated: bool = Field(
        False,
        description="Whether the primitive is only the nearest measured one and differs from the call. The "
        "application vector lists the rule.",
        examples=[True],
    )
    begins_turn: bool = Field(
        False, description="Whether the next write on the same TCP connection is the reply.", examples=[True]
    )
    why: Line = Field(
        "",
        description="The reason, for readers.",
        examples=["waits: the awaited event is counted separately"],
    )

    @model_validator(mode="after")
    def _one_meaning(self) -> CallRule:
        if bool(self.counts) == bool(self.covered_by):
            fix = "remove one of both" if self.counts else "add the primitives that the calls count for"
            raise refusal("either `counts` or `covered_by`", fix, key="counts")
        if "at_most" in self.model_fields_set and not self.covered_by:
            raise refusal("no `at_most` without `covered_by`", "remove it", key="at_most")
        if self.approximated and not self.why:
            raise refusal("a reason `why` for `approximated`", "add `why: ...`", key="approximated")
        if self.approximated and any(counted.end for counted in self.counts):
            raise refusal("no `approximated` for a primitive with two ends", "remove it", key="approximated")
        return self


class CallsFile(Strict):
    """The primitives that the system calls of a program, or its calls into Java's system classes, count as."""

    rules: dict[Name, CallRule] = Field(
        description="The rules, by name. Order matters: the first rule that matches a call takes it.",
        examples=[{"look-up": {"calls": ["stat"], "counts": [{"primitive": "stat"}]}}],
        min_length=1,
        max_length=MAX_ITEMS,
    )
    unknown: Name | None = Field(
        None,
        description="Primitive for calls that no rule matches. If omitted, they count as nothing. The application "
        "vector lists those calls.",
        examples=["null_call"],
    )


@dataclass(frozen=True)
class CallTable:
    """The rules in order: the first match takes a call.

    Calls without a match count as `unknown`; None: as nothing.
    """

    rules: Mapping[str, CallRule]
    unknown: str | None
    provenance: Mapping[str, str] = field(default_factory=dict)

    def _of(self, fits: Callable[[CallRule], object]) -> frozenset[str]:
        """Return the calls of the rules that fit."""
        return frozenset(call for rule in self.rules.values() if fits(rule) for call in rule.calls)

    @property
    def told_by_kind(self) -> frozenset[str]:
        """Return the calls whose descriptor matters."""
        return self._of(lambda rule: rule.on or rule.turn)

    @property
    def sized(self) -> frozenset[str]:
        """Return the calls whose bytes matter."""
        return self._of(
            lambda rule: rule.least_bytes or any(one.each == "byte" or one.argument for one in rule.counts)
        )

    @property
    def of_loader(self) -> frozenset[str]:
        """Return the calls that a loader may make before the program starts."""
        return self._of(lambda rule: rule.phase == "loader")

    @property
    def beginning_turns(self) -> frozenset[str]:
        """Return the calls after which the next write on a connection is the reply."""
        return self._of(lambda rule: rule.begins_turn)

    @property
    def taking_turns(self) -> frozenset[str]:
        """Return the calls that are a reply or a further write."""
        return self._of(lambda rule: rule.turn)


def read_calls(path: Path) -> CallTable:
    """Read a table of calls.

    Raises:
        SpecError: every problem of the file.
    """
    model = checked_table(read_yaml(path, shown_path(path)), CallsFile, _check_order)
    return CallTable(model.rules, model.unknown, {"table": shown_path(path)})


def _check_order(model: CallsFile, document: Document, problems: list[Problem]) -> None:
    """Check the order of the rules: coverage needs earlier counts, and every rule matches something."""
    counted: set[str] = set()
    whole: dict[str, str] = {}
    for name, rule in model.rules.items():
        for index, primitive in enumerate(rule.covered_by):
            if primitive not in counted:
                where = document.where(("rules", name, "covered_by", index))
                expected = "a primitive counted by a rule above"
                fix = "move this rule below the counting rule"
                problems.append(Problem(where, expected, repr(primitive), fix))
        counted |= {entry.primitive for entry in rule.counts}
        for call in (call for call in rule.calls if call in whole):
            where, got = document.where(("rules", name, "calls")), f"{call}, consumed by `{whole[call]}`"
            expected, fix = "calls not consumed by the rules above", "move this rule up, or remove the call"
            problems.append(Problem(where, expected, got, fix))
        restricted = rule.on or rule.result or rule.turn or rule.phase or rule.least_bytes or rule.covered_by
        if not restricted:
            whole |= dict.fromkeys(rule.calls, name)
