"""Lines that a benchmark wrote to REGATTA_RESULTS (docs/protocol.md section 1). External data: every line is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from regatta.host.adapters.latency import latency_rows
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.files import parse_json
from regatta.host.journal.record_shape import is_number, is_plain
from regatta.host.units import UNITS

_METRIC = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_MAXIMUM_INFO_BYTES = 64 * 1024
_MAXIMUM_INFO_DEPTH = 16
#: limit per invocation; a request needs some 64 bytes during reading
_MAXIMUM_REQUESTS = 4_000_000
_MEASUREMENT_KEYS = {"iteration", "metric", "value", "unit", "operations", "parameters"}

#: iteration -> starts and ends of requests
_Requests = dict[int, tuple[list[int], list[int]]]


class _BadLine(ValueError):
    pass


def _whole(value: object, name: str, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise _BadLine(f"{name} must be an integer >= {least}, got {value!r:.80}")
    return value


def _measurement(line: dict[str, Any]) -> list[Any]:
    unknown = set(line) - _MEASUREMENT_KEYS
    if unknown:
        raise _BadLine(f"unknown key {sorted(unknown)[0]!r:.80}")
    metric, value, unit = line["metric"], line.get("value"), line.get("unit")
    if not isinstance(metric, str) or not _METRIC.match(metric):
        raise _BadLine(f"metric must be a lower-case name, got {metric!r:.80}")
    if not is_number(value):
        raise _BadLine(f"value of {metric} must be a finite number, got {value!r:.80}")
    if not isinstance(unit, str) or unit not in UNITS:
        raise _BadLine(f"unit of {metric} must be one of {', '.join(UNITS)}, got {unit!r:.80}")
    operations = line.get("operations")
    if operations is not None:
        _whole(operations, "operations", 1)
    parameters = line.get("parameters")
    if parameters is not None:
        if not isinstance(parameters, dict) or not parameters:
            raise _BadLine(f"parameters must be an object, got {parameters!r:.80}")
        for name, item in parameters.items():
            if not _METRIC.match(name) or not (isinstance(item, (str, bool)) or is_number(item)):
                raise _BadLine(f"parameter {name!r:.80} must have a lower-case name and a scalar value")
        parameters = dict(sorted(parameters.items()))
    return [_whole(line.get("iteration"), "iteration", 0), metric, value, unit, operations, parameters]


def _add_requests(line: dict[str, Any], requests: _Requests) -> None:
    iteration, given = _whole(line.get("iteration"), "iteration", 0), line["requests"]
    if set(line) != {"iteration", "requests"} or not isinstance(given, dict):
        raise _BadLine("a line with requests must have only requests (an object) and iteration")
    starts, ends = given.get("start_ns"), given.get("end_ns")
    if set(given) != {"start_ns", "end_ns"} or not isinstance(starts, list) or not isinstance(ends, list):
        raise _BadLine("requests must have the lists start_ns and end_ns")
    if len(starts) != len(ends):
        raise _BadLine(f"start_ns has {len(starts)} values, end_ns {len(ends)}")
    for start, end in zip(starts, ends):
        if type(start) is not int or type(end) is not int or not 0 <= start <= end < 2**63:
            raise _BadLine(f"a request must have 0 <= start_ns <= end_ns, got {start!r:.40} and {end!r:.40}")
    kept = requests.setdefault(iteration, ([], []))
    kept[0].extend(starts)
    kept[1].extend(ends)
    if sum(len(starts) for starts, _ in requests.values()) > _MAXIMUM_REQUESTS:
        raise _BadLine(f"more than {_MAXIMUM_REQUESTS} requests in an invocation")


def _take(line: dict[str, Any], reported: Reported, requests: _Requests) -> None:
    if "metric" in line:
        reported.iterations.append(_measurement(line))
    elif "requests" in line:
        _add_requests(line, requests)
    elif "digest" in line:
        if not isinstance(line["digest"], str) or not _DIGEST.match(line["digest"]):
            raise _BadLine(f"digest must be 64 hexadecimal digits, got {line['digest']!r:.80}")
        reported.digests.append(line["digest"])
    elif "error" in line:
        reported.error = reported.error or f"the workload reports: {line['error']!s:.500}"
    elif isinstance(line.get("info"), dict):
        if not is_plain(line["info"], _MAXIMUM_INFO_DEPTH):
            raise _BadLine(
                f"info must have finite numbers and at most {_MAXIMUM_INFO_DEPTH} levels of nesting"
            )
        reported.info.update(line["info"])
    else:
        raise _BadLine(f"expected metric, requests, digest, info or error, got {json.dumps(line):.80}")


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Read the lines. The first invalid line becomes the error, with its number."""
    reported = Reported()
    requests: _Requests = {}
    if left.results is None:
        reported.error = left.refused or "no result: REGATTA_RESULTS is empty"
        return reported
    for number, text in enumerate(left.results.split(b"\n"), start=1):
        if not text.strip():
            continue
        try:
            line = parse_json(text)
            if not isinstance(line, dict):
                raise _BadLine("not an object")
            _take(line, reported, requests)
        except ValueError as error:
            reported.error = f"line {number} of the results: {error}"
            return reported
    for iteration, (starts, ends) in sorted(requests.items()):
        for value, parameters in latency_rows(starts, ends):
            reported.iterations.append([iteration, "latency", value, "ns", None, parameters])
    if len(json.dumps(reported.info)) > _MAXIMUM_INFO_BYTES:
        reported.error = f"info is larger than {_MAXIMUM_INFO_BYTES} bytes"
        reported.info = {}
    if not reported.iterations and not reported.error:
        reported.error = "no result: REGATTA_RESULTS has no measurement"
    return reported
