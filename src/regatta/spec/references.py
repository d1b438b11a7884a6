"""The reference machines of suites: found in a home, read, and checked against their suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from regatta.host.errors import Problem, SpecError
from regatta.spec.fields import MAX_ITEMS, NAME, Line, Name, Strict, Text
from regatta.spec.home import reference_path
from regatta.spec.problems import check, is_called, unknown
from regatta.spec.registries import read_registry
from regatta.spec.yaml_lines import Document, parse_yaml

Seconds = Annotated[float, Field(gt=0, le=1e7)]
Times = Annotated[dict[Name, Seconds], Field(min_length=1, max_length=MAX_ITEMS)]


class ReferenceFile(Strict):
    """Times of the programs of a suite on a named machine, written by `regatta reference`. Scores are relative to them."""

    suite: Name = Field(description="Name of the suite and of the file.", examples=["speclike"])
    machine: Line = Field(
        description="Name of the machine, reported with every score.", examples=["quiet-xeon-2026"]
    )
    description: Text = Field(
        "",
        description="Description of the machine.",
        examples=["2 cores of a Xeon at 2.1 GHz, Debian 12, gcc 12.2"],
    )
    times_s: dict[Name, Times] = Field(
        description="Mean elapsed time of one copy in seconds, by benchmark and size. The times are taken as "
        "exact.",
        min_length=1,
        max_length=MAX_ITEMS,
        examples=[{"gzip": {"test": 0.31, "train": 0.97}}],
    )


@dataclass(frozen=True)
class Reference:
    """Recorded time for one copy of each program of a suite on a named machine. The times count as exact."""

    suite: str
    #: of the machine
    machine: str
    #: of the machine
    description: str
    #: benchmark -> size -> mean elapsed time of one copy in s
    times_s: Mapping[str, Mapping[str, float]]
    #: benchmark -> sizes of the suite; empty if the suite's file is missing
    programs: Mapping[str, tuple[str, ...]]


def read_references(home: Path, suites: Iterable[str]) -> dict[str, Reference]:
    """Read the references of suites that have one.

    Args:
        suites: names; an invalid suite name has no reference.

    Raises:
        SpecError: a file is wrong, or names a benchmark or size that its suite lacks.
    """
    problems: list[Problem] = []
    found = {}
    for suite in dict.fromkeys(suites):
        # A label may be an invalid name; it must not lead out of the folder.
        if not NAME.fullmatch(suite) or ".." in suite:
            continue
        document = read_registry(reference_path(home, suite), problems)
        if document is not None:
            reference = _checked(document, suite, programs_of(home, suite, problems), problems)
            if reference is not None:
                found[suite] = reference
    if problems:
        raise SpecError(problems)
    return found


def parse_reference(text: str, file: str, suite: str, programs: Mapping[str, tuple[str, ...]]) -> Reference:
    """Read a reference from text.

    Args:
        text: YAML.
        file: its name in problems.
        suite: the suite that it must belong to.
        programs: benchmark -> sizes of the suite; empty if unknown.

    Raises:
        SpecError: it is wrong.
    """
    problems: list[Problem] = []
    reference = _checked(parse_yaml(text.encode(), file), suite, programs, problems)
    if problems or reference is None:
        raise SpecError(problems)
    return reference


def programs_of(home: Path, suite: str, problems: list[Problem]) -> dict[str, tuple[str, ...]]:
    """Return the benchmarks of a suite and their sizes; empty if the home has no such suite.

    The file is not validated here: its problems are reported at its use.
    """
    document = read_registry(home / "configs" / "suites" / f"{suite}.yml", problems)
    benchmarks = _mapping(_mapping(document.value if document else None).get("benchmarks"))
    return {
        str(name): tuple(map(str, _mapping(_mapping(entry).get("sizes")))) or ("default",)
        for name, entry in benchmarks.items()
    }


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _checked(
    document: Document, suite: str, programs: Mapping[str, tuple[str, ...]], problems: list[Problem]
) -> Reference | None:
    model = check(ReferenceFile, document, problems)
    if model is None:
        return None
    is_called(document, model.suite, suite, problems)
    for name, sizes in model.times_s.items() if programs else ():
        if name not in programs:
            where = document.where(("times_s", name))
            problems.append(unknown(where, f"a benchmark of suite `{suite}`", name, programs))
            continue
        for size in sizes:
            if size not in programs[name]:
                where = document.where(("times_s", name, size))
                problems.append(unknown(where, f"a size of `{suite}/{name}`", size, programs[name]))
    times = {name: dict(sizes) for name, sizes in model.times_s.items()}
    return Reference(suite, model.machine, model.description, times, dict(programs))
