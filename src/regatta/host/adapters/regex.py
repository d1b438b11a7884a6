"""A regular expression over standard output: each match is one measurement.

Options: `pattern` with a group named `value`, and optionally groups `metric` and `unit`. Without these groups, the
options `metric` (default "elapsed") and `unit` (default "ns") apply. With `stderr: true`, standard error follows standard
output in the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from regatta.host.adapters.bounded import OverLimit, bounded
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.units import UNITS


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Match the whole text with line anchors (`^`, `$`). Match in a child process, because a pattern may never end."""
    if left.stdout_cut:
        return Reported(error="standard output was truncated; increase output_kib")
    output, streams = left.stdout, "standard output"
    if options.get("stderr") is True:
        if left.stderr_cut:
            return Reported(error="standard error was truncated; increase output_kib")
        output, streams = b"\n".join([left.stdout, left.stderr]), "standard output and error"
    pattern = str(options["pattern"])
    try:
        rows, error = bounded(lambda: _rows(pattern, output, options))
    except OverLimit as over:
        rows, error = [], f"the pattern {pattern!r:.200} on {streams}: {over}"
    if not rows and not error:
        error = f"no result: no match for the pattern in {streams}"
    return Reported(iterations=rows, error=error)


def _rows(pattern: str, output: bytes, options: Mapping[str, object]) -> tuple[list[list[Any]], str]:
    """Return the rows of all matches, or no rows and the error."""
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        return [], f"invalid pattern {pattern!r:.200} for the Python of this host: {error}"
    counts: dict[str, int] = {}
    rows: list[list[Any]] = []
    for match in compiled.finditer(output.decode("utf-8", "replace")):
        groups = match.groupdict()
        metric = str(groups.get("metric") or options.get("metric", "elapsed"))
        unit = str(groups.get("unit") or options.get("unit", "ns"))
        try:
            value = float(groups["value"])
        except (KeyError, TypeError, ValueError):
            return [], f"not a number: {match.group(0)!r:.80}"
        if not math.isfinite(value):
            return [], f"not a finite number: {match.group(0)!r:.80}"
        if unit not in UNITS:
            return [], f"unknown unit {unit!r:.40} in {match.group(0)!r:.80}"
        rows.append([counts.get(metric, 0), metric, value, unit, None, None])
        counts[metric] = counts.get(metric, 0) + 1
    return rows, ""
