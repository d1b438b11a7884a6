"""Whether what a host sends is a record of its plan. A host may be broken, or somebody else's: nothing is believed unseen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from regatta.model.record import DamagedLine, decode_record
from regatta.printable import printable

#: a record holds two capped outputs and its iterations
LONGEST_LINE_BYTES = 64 << 20
#: of a reason
_SHOWN = 300
#: anchored, for a pattern may begin anywhere
_FILE_NAME = r"^[A-Za-z0-9_+-][A-Za-z0-9._+-]{0,199}$"

_LARGEST = 2.0**1000
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Small = Annotated[int, Field(ge=0, lt=1 << 31)]
Measured = Annotated[float, Field(allow_inf_nan=False)] | Annotated[int, Field(gt=-(1 << 63), lt=1 << 63)]


def _number(value: object) -> bool:
    """Of what a double can hold: JSON has integers without end."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST


def _measurement(value: list[Any]) -> list[Any]:
    """Iteration, metric, value, unit, operations or null, labels or null (docs/protocol.md section 3)."""
    if len(value) == 6:
        iteration, metric, measured, unit, operations, labels = value
        texts = isinstance(metric, str) and isinstance(unit, str)
        counted = isinstance(iteration, int) and not isinstance(iteration, bool) and 0 <= iteration < 1 << 63
        whole = operations is None or _number(operations)
        if texts and counted and whole and _number(measured) and (labels is None or isinstance(labels, dict)):
            return value
    raise ValueError("expected iteration, metric, value, unit, operations and labels")


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(pattern=_FILE_NAME)]
    bytes: Count | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    error: Annotated[str, Field(max_length=4000)] | None = None


class _Record(BaseModel):
    """What the analysis rests on; further keys of a record are carried along."""

    model_config = ConfigDict(extra="allow", strict=True)

    invocation_id: Annotated[str, Field(max_length=200)]
    cell_id: Annotated[str, Field(max_length=100)]
    experiment: str
    host: str
    platform: str
    segment: Count
    round: Small
    block: Small
    position: Small
    attempt: Annotated[int, Field(ge=0, le=100_000)]
    plan_id: Annotated[str, Field(max_length=100)]
    seed: Count
    order: Annotated[str, Field(max_length=100)]
    planned_index: Count
    left_behind: Small
    padding_bytes: Count
    digest: Annotated[str, Field(max_length=200)] | None
    info: dict[str, Any]
    cgroup: dict[str, Any] | None
    runner: dict[str, Any]
    stdout: dict[str, Any]
    stderr: dict[str, Any]
    cores: list[Small]
    sequence: Count
    started_utc_ns: Count
    started_monotonic_ns: Count
    elapsed_ns: Count
    status: Literal["ok", "failed", "timeout", "oom", "crashed", "perturbed", "skipped"]
    reason: str | None
    exit_code: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)] | None
    signal: Small | None
    rusage: dict[str, Measured | None]
    iterations: list[Annotated[list[Any], AfterValidator(_measurement)]]
    host_before: dict[str, Measured | None]
    host_after: dict[str, Measured | None]
    perturbation: list[dict[str, Any]]
    kept: list[_Kept] = []


class Acceptance:
    """The records that one segment of a host's plan may have."""

    def __init__(self, header: Mapping[str, Any], segment: int) -> None:
        self.header = header
        self._segment = segment
        self._cells = {cell["cell_id"] for cell in header["cells"]}

    def record(self, line: bytes) -> dict[str, Any]:
        """The record of a line, which comes without its newline.

        Raises:
            DamagedLine: it is none of this segment; why.
        """
        if len(line) > LONGEST_LINE_BYTES:
            raise DamagedLine(f"{len(line) >> 20} MiB long")
        try:
            record = decode_record(line)
        except RecursionError:
            raise DamagedLine("nested too deeply") from None
        try:
            seen = _Record.model_validate(record)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise DamagedLine(
                printable(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", _SHOWN)
            ) from None
        for key in ("experiment", "host", "platform"):
            if record[key] != self.header[key]:
                raise DamagedLine(f"{key} {str(record[key])[:80]!r}, expected {self.header[key]!r}")
        if seen.segment != self._segment:
            raise DamagedLine(f"of segment {seen.segment}, expected {self._segment}")
        if seen.cell_id not in self._cells or not seen.round < self.header["rounds"]:
            raise DamagedLine(f"round {seen.round} of cell {seen.cell_id[:80]!r}, which is not planned")
        if seen.invocation_id != f"{seen.cell_id}-r{seen.round}":
            raise DamagedLine(
                f"invocation {seen.invocation_id[:80]!r} of round {seen.round} of {seen.cell_id}"
            )
        return record
