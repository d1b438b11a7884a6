"""A cell in `plan.json` (docs/protocol.md section 4). No I/O; separate from `cell`, whose classes the runner does not load."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

#: metric of a cell: wall time from the start to the end of its process. It is the `elapsed_ns` of the record, for every
#: program; adapters do not report it.
PROCESS_ELAPSED = "process_elapsed"
#: end of the name of a metric that a program reports in place of another where only the most that it can be is known
AT_MOST = "_at_most"


class PlanAdapter(TypedDict):
    """The adapter that reads the measurements."""

    name: str
    options: dict[str, Any]


class _PlanExpectation(TypedDict):
    digest: str
    stdout_sha256: str
    check_sha256: str


class PlanExpectation(_PlanExpectation, total=False):
    """SHA-256 in hexadecimal; empty: not compared."""

    #: accepted exit codes, ascending; empty: any; missing: only 0
    exit_codes: list[int]


class PlanFile(TypedDict):
    """A file that a cell executes or reads."""

    path: str
    sha256: str


class _PlanCell(TypedDict):
    cell_id: str
    twin_of: str
    label: str
    benchmark: str
    kind: str
    runtime: str
    collector: str
    modifiers: str
    heap_factor: float | None
    heap_mib: int | None
    platform: str
    metric: str
    better: str
    summary: str
    argv: list[str]
    environment: dict[str, str]
    timeout_s: float
    iterations: int | None
    adapter: PlanAdapter
    expect: PlanExpectation
    arrange: dict[str, str]
    check: list[str]
    keep: list[str]
    files: list[PlanFile]


class PlanCell(_PlanCell, total=False):
    """A cell. Older plans lack some keys."""

    #: missing: the default control group
    isolation: dict[str, Any]
    #: command to run before each invocation; missing: none
    prepare: list[str]
    #: command to run after each invocation; missing: none
    conclude: list[str]
    #: files for the standard input and output, relative to the folder to run in; missing: `/dev/null`, kept with the record
    input: str
    output: str
    #: folder to run in; missing: the new working directory
    directory: str
    #: the recording of the events of the host (`values/events.py`); missing: none
    events: dict[str, Any]
    #: what to count (`values/counters.py`); missing: nothing
    counters: dict[str, Any]
    #: `CellRole.to_json` of each role in the order of their start; missing: one host executes the cell
    roles: list[dict[str, Any]]


class CellDescription(PlanCell):
    """A line of `cells.jsonl` (docs/protocol.md section 3): the cell as in the plan when it was first recorded."""

    v: Literal[1]
    experiment: str
    host: str
