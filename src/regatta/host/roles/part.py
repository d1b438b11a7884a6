"""What a role left on its host, as JSON between agent and conductor."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import resource
from dataclasses import dataclass
from typing import Any

from regatta.host.errors import HostError
from regatta.host.journal.record_shape import is_number, shape_problem
from regatta.host.measure.capture import KeptOutput
from regatta.host.measure.cgroup import TreeUsage
from regatta.host.measure.process import Outcome
from regatta.host.values.from_json import value_from_json

#: numbers of `resource.struct_rusage`
_USAGE = 16


@dataclass(frozen=True)
class Part:
    """The end of the program of a role, and the state of its host. Times are of the host's clocks."""

    started_utc_ns: int
    started_monotonic_ns: int
    ended_ns: int
    elapsed_ns: int
    exit_code: int | None
    signal: int | None
    timed_out: bool
    usage: list[Any]
    max_rss_kib: int | None
    left_behind: int
    stdout: dict[str, Any]
    stdout_sha256: str | None
    stderr: dict[str, Any]
    start_error: str
    tree: TreeUsage | None
    before: dict[str, Any]
    after: dict[str, Any]
    isolation: dict[str, Any]
    #: bytes of the results file in Base64; None: none
    results: str | None
    refused: str
    counts: list[Any]
    told: dict[str, Any]
    cores: list[int]
    cpus: int
    padding_bytes: int
    #: whether the program ended because the conductor asked for it
    told_to_end: bool

    def to_json(self) -> dict[str, Any]:
        """Return the part as a message."""
        return dataclasses.asdict(self)

    def outcome(self, output_bytes: int) -> Outcome:
        """Return the end of the program.

        Args:
            output_bytes: how much of each stream was to be kept.
        """
        return Outcome(
            self.started_utc_ns,
            self.started_monotonic_ns,
            self.elapsed_ns,
            self.exit_code,
            self.signal,
            self.timed_out,
            resource.struct_rusage(self.usage),
            self.left_behind,
            KeptOutput.from_json(self.stdout, output_bytes, self.stdout_sha256),
            KeptOutput.from_json(self.stderr, output_bytes, None),
            self.start_error,
        )

    def results_bytes(self) -> bytes | None:
        """Return the content of the results file."""
        return None if self.results is None else base64.b64decode(self.results, validate=True)

    @property
    def cpu_s(self) -> float:
        """Return the processor time of the whole process tree."""
        own = float(self.usage[0] + self.usage[1])
        told = self.tree.cpu_ns if self.tree is not None else None
        return own if told is None else max(own, told / 1e9)


def part_from_json(value: Any, where: str, output_bytes: int) -> Part:
    """Return the part in a message.

    Args:
        value: from `json.loads`.
        where: name of the role and of its host.
        output_bytes: how much of each stream was to be kept.

    Raises:
        HostError: the value has another shape.
    """
    part = value_from_json(Part, value, where)
    try:
        if len(part.usage) != _USAGE or not all(is_number(number) for number in part.usage):
            raise ValueError(f"usage: expected {_USAGE} numbers")
        if part.cpus < 1 or part.elapsed_ns < 0:
            raise ValueError("expected a processor, and a time")
        problem = shape_problem(
            {"iterations": part.counts, "host_before": part.before, "host_after": part.after}, needed=()
        )
        if problem:
            raise ValueError(problem)
        part.outcome(output_bytes)
        part.results_bytes()
    except (ValueError, TypeError, binascii.Error) as error:
        raise HostError(
            where, "the end of a program", str(error), "find the cause before you trust this host"
        ) from error
    return part
