"""The table of system calls: `configs/primitives/os-calls.yml`, which says what primitive each call is counted as."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from regatta.host.errors import Problem, SpecError
from regatta.spec.call_values import (
    ENDINGS,
    KINDS,
    PHASES,
    PROCESS_CALLS,
    CallRule,
    CallTable,
    CountedAs,
    Ending,
    Kind,
    Phase,
    Turn,
)
from regatta.spec.fields import MAX_ITEMS, Line, Name, Names, Strict, refusal
from regatta.spec.problems import check, shown_path
from regatta.spec.yaml_lines import Document, read_yaml

_CALL = re.compile(r"[a-z_][a-z0-9_]{0,39}")


def _check_call(text: str) -> str:
    if text not in PROCESS_CALLS and not _CALL.fullmatch(text):
        raise refusal(
            f"a system call's name, or one of {', '.join(PROCESS_CALLS)}", "lower case, as in `man 2 read`"
        )
    return text


def _listed(value: Any) -> Any:
    """A single value is a list of one."""
    return value if isinstance(value, list) else [value]


def _one_or_list(item: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item}]})


Call = Annotated[str, AfterValidator(_check_call)]
Calls = Annotated[
    list[Call],
    BeforeValidator(_listed),
    Field(min_length=1, max_length=MAX_ITEMS),
    _one_or_list({"type": "string"}),
]
Kinds = Annotated[list[Kind], BeforeValidator(_listed), _one_or_list({"enum": list(KINDS)})]
Endings = Annotated[list[Ending], BeforeValidator(_listed), _one_or_list({"enum": list(ENDINGS)})]


class CountedAsSpec(Strict):
    """A primitive that a call counts for."""

    primitive: Name = Field(description="Name of the primitive.", examples=["file_read"])
    each: Literal["call", "byte"] = Field(
        "call", description="One for each call, or for each byte.", examples=["byte"]
    )
    argument: Name | None = Field(
        None,
        description="Argument of the primitive that the bytes of a call are (KiB of memory for processes).",
        examples=["bytes"],
    )
    end: Literal["read", "write"] | None = Field(
        None,
        description="Where the primitive's cost has both ends in it, which end this call is; the end that has more counts.",
        examples=["read"],
    )

    @model_validator(mode="after")
    def _one_meaning(self) -> CountedAsSpec:
        if self.argument and (self.each == "byte" or self.end):
            raise refusal("no `argument` beside `each: byte` or `end`", "remove one", key="argument")
        return self


class CallRuleSpec(Strict):
    """Calls, and what they count as."""

    calls: Calls = Field(
        description=f"System calls, or {', '.join(PROCESS_CALLS)}.",
        examples=[["read", "readv"]],
    )
    on: Kinds = Field(
        [],
        description="Kinds of the descriptor that is the call's first argument (mmap: its fifth); left out: any.",
        examples=[["file"]],
    )
    result: Endings = Field(
        [],
        description="How the call ended: an error, 0, or anything else; left out: any.",
        examples=[["some"]],
    )
    turn: Literal["reply", "further"] | None = Field(
        None,
        description="Of writes on TCP: the first after a read (`begins_turn`), or one more; left out: any.",
        examples=["reply"],
    )
    phase: Literal["program", "loader"] | None = Field(
        None,
        description="Calls of the loader after an exec, or all others; left out: both.",
        examples=["loader"],
    )
    least_bytes: int = Field(
        0, ge=0, description="Calls of fewer bytes are left to the rules below.", examples=[4096]
    )
    counts: Annotated[list[CountedAsSpec], Field(max_length=8)] = Field(
        [], description="The primitives that each counts for.", examples=[[{"primitive": "stat"}]]
    )
    covered_by: Names = Field(
        [],
        description="Primitives of rules above whose cost has these calls in it already: they count nothing.",
        examples=[["open_close"]],
    )
    at_most: float = Field(
        1.0,
        gt=0,
        description="With `covered_by`: so many of each call for each of those primitives; more are left to the rules below.",
        examples=[2],
    )
    approximated: bool = Field(
        False,
        description="The primitive is the nearest that is measured, not what the call does: the vector names the rule.",
        examples=[True],
    )
    begins_turn: bool = Field(
        False, description="After such a call on TCP the next write there is the reply.", examples=[True]
    )
    why: Line = Field(
        "", description="The reason, for people.", examples=["waits: what it waits for is counted itself"]
    )

    @model_validator(mode="after")
    def _one_meaning(self) -> CallRuleSpec:
        if bool(self.counts) == bool(self.covered_by):
            raise refusal(
                "either `counts` or `covered_by`", "the primitives that the calls count for", key="counts"
            )
        if "at_most" in self.model_fields_set and not self.covered_by:
            raise refusal("no `at_most` without `covered_by`", "remove it", key="at_most")
        if self.approximated and not self.why:
            raise refusal("a reason (`why`) for what is `approximated`", "`why: ...`", key="approximated")
        if self.approximated and any(counted.end for counted in self.counts):
            raise refusal("no `approximated` where a primitive has two ends", "remove it", key="approximated")
        return self


class CallsFile(Strict):
    """configs/primitives/os-calls.yml"""

    rules: dict[Name, CallRuleSpec] = Field(
        description="Name -> rule, in order: a call is taken by the first that fits.",
        examples=[{"look-up": {"calls": ["stat"], "counts": [{"primitive": "stat"}]}}],
        min_length=1,
        max_length=MAX_ITEMS,
    )
    unknown: Name = Field(
        description="The primitive that stands for a call that no rule takes; the vector names those calls.",
        examples=["null_call"],
    )


def read_calls(path: Path) -> CallTable:
    """Read the table of system calls.

    Raises:
        SpecError: every problem of the file.
    """
    document = read_yaml(path, shown_path(path))
    problems: list[Problem] = []
    model = check(CallsFile, document, problems)
    if model is not None:
        _check_order(model, document, problems)
    if model is None or problems:
        raise SpecError(problems)
    return CallTable(
        tuple(_rule(name, rule) for name, rule in model.rules.items()),
        model.unknown,
        {"table": shown_path(path)},
    )


def _rule(name: str, spec: CallRuleSpec) -> CallRule:
    phases: tuple[Phase, ...] = PHASES if spec.phase is None else (spec.phase,)
    turns: tuple[Turn, ...] = () if spec.turn is None else (spec.turn,)
    counted = tuple(
        CountedAs(c.primitive, c.each, c.argument or "", c.end or "") for c in spec.counts
    )  # fmt: skip
    return CallRule(
        name, tuple(spec.calls), tuple(spec.on), tuple(spec.result), turns, phases, spec.least_bytes, counted,
        tuple(spec.covered_by), float(spec.at_most), spec.approximated, spec.begins_turn,
    )  # fmt: skip


def _check_order(model: CallsFile, document: Document, problems: list[Problem]) -> None:
    """What covers a call must have been counted by then; what can never take one is a slip."""
    counted: set[str] = set()
    whole: dict[str, str] = {}
    for name, rule in model.rules.items():
        for index, primitive in enumerate(rule.covered_by):
            if primitive not in counted:
                problems.append(
                    Problem(
                        document.where(("rules", name, "covered_by", index)),
                        "a primitive that a rule above counts",
                        repr(primitive),
                        "move this rule below that one",
                    )
                )
        counted |= {entry.primitive for entry in rule.counts}
        taken = [call for call in rule.calls if call in whole]
        for call in taken:
            problems.append(
                Problem(
                    document.where(("rules", name, "calls")),
                    "calls that the rules above leave some of",
                    f"{call}, which `{whole[call]}` takes whole",
                    "move this rule above it, or remove the call",
                )
            )
        restricted = rule.on or rule.result or rule.turn or rule.phase or rule.least_bytes or rule.covered_by
        if not restricted:
            whole |= dict.fromkeys(rule.calls, name)
