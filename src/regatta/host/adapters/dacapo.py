"""DaCapo 2006, 9.12 and 23.11 (Chopin), and ScalaBench, which uses its harness.

The harness writes the end of each iteration to standard error. All iterations are reported: warm-up first, the timed one
last. Chopin prints percentiles of request latency to standard output; they are reported in addition to the time.

Source: the format is that of `Callback` and `LatencyReporter` in the harness of https://github.com/dacapobench/dacapobench.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.adapters.text import lines_of, quoted, uncaught

_LINE = re.compile(r"===== DaCapo (.{0,300})")
#: version (missing before 9.12), benchmark, iteration, time
_ENDED = re.compile(
    r"(?:\S+ )?(\S+) (?:(completed warmup)(?: ([0-9]{1,9}))?|PASSED) in ([0-9]{1,12}) msec =====\Z"
)
_FAILED = re.compile(r"(?:\S+ )?\S+ FAILED\b")
_PROCESSED = re.compile(
    r"processed [0-9]{1,12} requests in [0-9]{1,12} msec, ([0-9]{1,12}) requests per second"
)
#: `simple tail latency:` before the release, `tail latency, simple:` in the release
_TAIL = re.compile(
    r"(?:(simple|metered) tail latency|tail latency, (simple|metered)(?: ([a-z0-9 ]{1,40}))?): (.*)"
)
_PERCENTILE = re.compile(r"(?:([0-9]{1,2}(?:\.[0-9]{1,4})?)%|max) ([0-9]{1,12}) usec")
_WIDTH = re.compile(r"([0-9])([a-z])")
#: messages of the harness when it does not start
_REFUSED = ("Unknown benchmark", "No configuration size", "Validation FAILED", "Command line exception")


@dataclass
class _Iterations:
    """The state of parsing: the time of each iteration in ms, and whether the last one was the timed one."""

    times_ms: list[int] = field(default_factory=list)
    timed: bool = False
    #: a warm-up iteration has no number, as before 9.12, so a lost iteration cannot be detected
    unnumbered: bool = False
    error: str = ""


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `elapsed` in ms for each iteration, and `latency` in ns and `throughput` in ops/s if the harness prints them."""
    told = _Iterations()
    for line in lines_of(left.stderr):
        if not told.error:
            told.error = _take(line, told)
    error = told.error or uncaught(left.stderr, left.stdout)
    if not error and not told.times_ms:
        return Reported(error="no result: DaCapo reported no iteration")
    if not error and left.stderr_cut and told.unnumbered:
        error = "standard error was truncated, an iteration may be missing; increase output_kib"
    if not error and not told.timed:
        error = f"DaCapo reported {len(told.times_ms)} warm-up iterations but no timed iteration"
    rows: list[list[Any]] = [[i, "elapsed", time, "ms", None, None] for i, time in enumerate(told.times_ms)]
    requests = list(_requests(left.stdout, left.stdout_cut, len(rows)))
    reported = Reported(rows + [row for row in requests if row is not None], error=error)
    if None in requests:
        reported.info["latency"] = "reported for some iterations without their numbers"
    return reported


def _take(line: str, told: _Iterations) -> str:
    """Parse the end of an iteration. Return the error, or ""."""
    if line.startswith(_REFUSED):
        return f"DaCapo reports: {line[:300]}"
    found = _LINE.match(line)
    said = found.group(1) if found else ""
    ended = _ENDED.match(said)
    if not ended:
        if _FAILED.match(said):
            return f"iteration {len(told.times_ms) + 1} FAILED: wrong output"
        return f"unknown format of the end of an iteration: {quoted(line)}" if " in " in said else ""
    if told.timed:
        return f"an iteration after the timed iteration: {quoted(line)}"
    if ended.group(3) and int(ended.group(3)) != len(told.times_ms) + 1:
        return f"expected the end of iteration {len(told.times_ms) + 1}, got {quoted(line)}"
    if int(ended.group(4)) == 0:
        return f"an iteration of 0 ms: {quoted(line)}"
    told.times_ms.append(int(ended.group(4)))
    told.timed = not ended.group(2)
    told.unnumbered |= bool(ended.group(2)) and not ended.group(3)
    return ""


def _requests(stdout: bytes, cut: bool, iterations: int) -> Iterator[list[Any] | None]:
    """Yield the rows of requests. Yield None for a line whose iteration is unknown."""
    lines = [found.group(1) for found in map(_LINE.match, lines_of(stdout)) if found]
    # The first line about an iteration's requests is their number, or in early builds their simple latency.
    begins = _PROCESSED.match if any(map(_PROCESSED.match, lines)) else _simple
    known = not cut and sum(1 for line in lines if begins(line)) == iterations
    iteration = -1
    for line in lines:
        iteration += 1 if begins(line) else 0
        processed, tail = _PROCESSED.match(line), _TAIL.match(line)
        if (processed or tail) and (not known or iteration < 0):
            yield None
        elif processed and int(processed.group(1)):
            yield [iteration, "throughput", int(processed.group(1)), "ops/s", None, None]
        elif tail:
            yield from _percentiles(iteration, tail)


def _simple(line: str) -> re.Match[str] | None:
    found = _TAIL.match(line)
    return found if found and "simple" in found.groups() else None


def _percentiles(iteration: int, tail: re.Match[str]) -> Iterator[list[Any]]:
    parameters: dict[str, object] = {"kind": tail.group(1) or tail.group(2)}
    if parameters["kind"] == "metered":
        # The same names as in `latency.py`: "100 ms", "full".
        parameters["window"] = _WIDTH.sub(r"\1 \2", (tail.group(3) or "full").replace(" smoothing", ""))
    for percent, microseconds in _PERCENTILE.findall(tail.group(4)):
        if int(microseconds) > 0:
            told = float(percent or 100)
            named = {**parameters, "percentile": int(told) if told.is_integer() else told}
            yield [iteration, "latency", int(microseconds) * 1000, "ns", None, dict(sorted(named.items()))]
