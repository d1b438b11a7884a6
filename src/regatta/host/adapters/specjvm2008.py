"""SPECjvm2008: operations per minute of each iteration, as the harness prints them.

Warm-up is not an iteration, because its duration differs; it is reported as the metric `warmup_throughput`. A run is
correct if the harness ends it with `Valid run!`. A non-compliant run (other durations than SPEC's rules require, no
check of the kit) is not an error. It is noted in `info` of the record, and its result must not be published as SPEC's.

Source: the SPECjvm2008 User's Guide, and the console output that its reports show.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.adapters.text import lines_of, number, quoted, uncaught

_BENCHMARK = re.compile(r"Benchmark: +(\S{1,80})\Z")
_RESULT = re.compile(r"(Warmup|Iteration ([0-9]{1,9})) \([^()]{1,40}\) result: (.{0,60})\Z")
_RATE = re.compile(r"(\S+) ops/m\Z")
_WRONG = re.compile(
    r"\bnot a? ?valid\b|\binvalid\b|\bvalidation (?:error|failed)\b|\berrors? (?:in|during) (?:warmup|iteration)\b|"
    r"\A(?:Error|ERROR)\b",
    re.I,
)


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `throughput` in ops/min for each iteration of the single benchmark, and `warmup_throughput`."""
    if left.stderr_cut or left.stdout_cut:
        return Reported(error="the output was truncated; increase output_kib")
    reported = Reported()
    checking = valid = False
    names: list[str] = []
    for line in lines_of(left.stdout):
        begun = _BENCHMARK.match(line)
        if begun:
            # SPEC's check of the JVM is not a measurement. It runs first unless `-ict` disables it.
            checking = begun.group(1) == "check"
            names += [] if checking else [begun.group(1)]
        problem = _take(line, reported, checking)
        valid = valid or (line == "Valid run!" and not checking)
        reported.error = reported.error or problem
    wrong = next((line for line in lines_of(left.stderr) if _WRONG.search(line)), "")
    reported.error = reported.error or (f"SPECjvm2008 reports: {wrong[:300]}" if wrong else "")
    reported.error = reported.error or uncaught(left.stdout, left.stderr)
    if len(names) > 1:
        reported.error = reported.error or f"expected one benchmark, got {', '.join(names)[:200]}"
    measured = any(row[1] == "throughput" for row in reported.iterations)
    if not reported.error and not measured:
        reported.error = "no result: SPECjvm2008 reported no iteration"
    elif not reported.error and not valid:
        reported.error = "SPECjvm2008 does not report a valid run"
    return reported


def _take(line: str, reported: Reported, checking: bool) -> str:
    """Parse a result or a score. Return the error, or ""."""
    result = _RESULT.match(line)
    if result and not checking:
        rate = _RATE.match(result.group(3))
        value = number(rate.group(1)) if rate else None
        if value is None:
            return f"an iteration without a number of ops/m: {quoted(line)}"
        if result.group(2) is None:
            reported.iterations.append([0, "warmup_throughput", value, "ops/min", None, None])
            return ""
        done = sum(1 for row in reported.iterations if row[1] == "throughput")
        reported.iterations.append([done, "throughput", value, "ops/min", None, None])
        return (
            "" if int(result.group(2)) == done + 1 else f"expected iteration {done + 1}, got {quoted(line)}"
        )
    if line.startswith("Noncompliant"):
        reported.info["compliant"] = False
    return f"SPECjvm2008 reports: {line[:300]}" if _WRONG.search(line) else ""
