"""JMH's JSON (`-rf json -rff jmh.json`): the primary and the secondary metrics of each measured iteration.

One invocation is one fork, because Regatta repeats fresh processes: the command needs `-f 1`. A document with more forks is
refused, and one with none: `-f 0` runs the benchmark inside the harness, where JMH cannot set it up. JMH omits its own
warm-up iterations (`-wi`) from the document. With `-wi 0` it contains all iterations, and the spec defines warm-up.

Source: the documents of JMH 1.37, and its `org.openjdk.jmh.results.format.JSONResultFormat`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from regatta.host.adapters.document import BadDocument, document, part
from regatta.host.adapters.latency import percentiles
from regatta.host.adapters.result import Reported, RunOutput
from regatta.host.adapters.text import lines_of
from regatta.host.journal.record_shape import is_number
from regatta.host.units import UNITS

#: metric of an iteration's value by mode of JMH
_METRICS = {"thrpt": "throughput", "avgt": "time", "sample": "time", "ss": "time"}
#: seconds per unit of `java.util.concurrent.TimeUnit`, as JMH writes it
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "hr": 3600.0, "day": 86400.0}
_OTHER_UNITS = {
    "MB/sec": ("MB/s", 1.0),
    "B/op": ("bytes", 1.0),
    "bytes": ("bytes", 1.0),
    "KB": ("KiB", 1.0),
    "MB": ("MiB", 1.0),
    "counts": ("count", 1.0),
    "#": ("count", 1.0),
    "#/op": ("count", 1.0),
    "---": ("ratio", 1.0),
    "%": ("percent", 1.0),
}
#: secondary metrics that repeat percentiles of the samples: `p0.99`, or `bench:·p0.99` in earlier releases
_PERCENTILE = re.compile(r"(?:\A|[:·])p[01]\.[0-9]+\Z")
#: parameters of measurements that this adapter sets; one of JMH with such a name gets the prefix `param_`
_OWN = ("benchmark", "mode", "kind", "percentile")
_MAXIMUM_ROWS = 1_000_000
#: limit of samples per iteration for percentiles
_MAXIMUM_SAMPLES = 4_000_000


def read(left: RunOutput, options: Mapping[str, object]) -> Reported:
    """Return `throughput` in ops/s or `time` per operation in its unit for each iteration; in mode `sample` also `latency`."""
    reported = Reported()
    problem = ""
    try:
        results = document(left, "JMH")
        if not isinstance(results, list):
            raise BadDocument(f"expected a list of results, got {results!r:.80}")
        if not results:
            raise BadDocument("JMH wrote no result: the benchmark failed or does not exist")
        several = len({part(result, "benchmark", str, "a result") for result in results}) > 1
        modes = len({part(result, "mode", str, "a result") for result in results}) > 1
        for result in results:
            _add(result, several, modes, reported)
    except BadDocument as error:
        problem = str(error)
    # Without `-foe true`, JMH continues after a benchmark throws, and its document contains only the other benchmarks.
    reported.error = _failure(left.stdout) or problem
    if left.stdout_cut and not reported.error:
        reported.error = "the output, which reports failures, was truncated; increase output_kib"
    return reported


def _failure(stdout: bytes) -> str:
    """Return the exception of a benchmark, which JMH prints below `<failure>`; "" without a failure."""
    lines = [line for line in lines_of(stdout) if line]
    for line, following in zip(lines, [*lines[1:], "the output ends there"]):
        if line.endswith("<failure>"):
            return f"the benchmark failed: {following[:300]}"
    return ""


def _add(result: dict[str, Any], several: bool, modes: bool, reported: Reported) -> None:
    name, mode = result["benchmark"], result["mode"]
    where = name[-100:]
    if mode not in _METRICS:
        raise BadDocument(f"{where}: unknown mode {mode!r:.40}")
    forks = result.get("forks")
    if forks != 1:
        raise BadDocument(f"{where}: expected 1 fork per invocation (`-f 1`), got {forks!r:.40}")
    parameters = _parameters(result, where)
    if several:
        parameters["benchmark"] = ".".join(name.split(".")[-2:])[:100]
    if modes:
        parameters["mode"] = mode
    primary = part(result, "primaryMetric", dict, where)
    written = part(primary, "scoreUnit", str, where)
    unit, factor = _unit(written, where)
    _check_mode(written, mode, where)
    if mode == "sample":
        rows = _samples(primary, unit, factor, parameters, where)
    else:
        rows = _positive(_rows(primary, _METRICS[mode], unit, factor, parameters, where), where)
    _extend(reported, rows)
    secondary = result.get("secondaryMetrics") or {}
    if not isinstance(secondary, dict):
        raise BadDocument(f"{where}: expected `secondaryMetrics`, got {secondary!r:.80}")
    taken = {*_METRICS.values(), "latency"}
    for other, metric in secondary.items():
        if mode == "sample" and _PERCENTILE.search(other):
            continue
        called = _snake(other)
        found = [] if called in taken else _secondary(called, metric, parameters, where)
        if found:
            taken.add(called)
            _extend(reported, found)
        elif len(left_out := reported.info.setdefault("not_recorded", [])) < 100:
            left_out.append(other[:100])


def _extend(reported: Reported, rows: Iterable[list[Any]]) -> None:
    for row in rows:
        if len(reported.iterations) >= _MAXIMUM_ROWS:
            raise BadDocument(f"more than {_MAXIMUM_ROWS} values")
        reported.iterations.append(row)


def _secondary(called: str, metric: Any, parameters: Mapping[str, object], where: str) -> list[list[Any]]:
    """Return the values of a profiler or an auxiliary counter; empty if it has no valid name, unit or numbers.

    A missing value of a profiler is not a failure of the benchmark.
    """
    try:
        unit, factor = _unit(part(metric, "scoreUnit", str, where), where)
        return list(_rows(metric, called, unit, factor, parameters, where)) if called else []
    except BadDocument:
        return []


def _rows(
    metric: Any, called: str, unit: str, factor: float, parameters: Mapping[str, object], where: str
) -> Iterator[list[Any]]:
    """Yield the values of the single fork. A profiler with one value for all iterations reports it as iteration 0."""
    forks = part(metric, "rawData", list, where)
    if len(forks) != 1 or not isinstance(forks[0], list) or not forks[0]:
        raise BadDocument(f"{where}: expected values of one fork, got {forks!r:.80}")
    for iteration, value in enumerate(forks[0]):
        yield [
            iteration,
            called,
            _scaled(value, factor, where),
            unit,
            None,
            dict(sorted(parameters.items())) or None,
        ]


def _positive(rows: Iterable[list[Any]], where: str) -> Iterator[list[Any]]:
    """Check that values of the benchmark are positive, as times and rates are. Values of a profiler can be 0 or less."""
    for row in rows:
        if row[2] <= 0:
            raise BadDocument(f"{where}: expected a value > 0, got {row[2]!r:.80}")
        yield row


def _samples(
    metric: Any, unit: str, factor: float, parameters: Mapping[str, object], where: str
) -> Iterator[list[Any]]:
    """Yield the mean of each iteration, and percentiles of its sampled calls."""
    forks = part(metric, "rawDataHistogram", list, where)
    if len(forks) != 1 or not isinstance(forks[0], list) or not forks[0]:
        raise BadDocument(f"{where}: expected samples of one fork, got {forks!r:.80}")
    for iteration, histogram in enumerate(forks[0]):
        values = sorted(_expanded(histogram, factor, where))
        mean = sum(values) / len(values)
        if values[0] < 0 or mean <= 0:
            raise BadDocument(f"{where}: expected samples > 0, got a minimum of {values[0]!r:.80}")
        yield [iteration, "time", mean, unit, None, dict(sorted(parameters.items())) or None]
        for percent, value in percentiles(values):
            # A sample can be below the resolution of the clock.
            if value == 0:
                continue
            named = {**parameters, "kind": "simple", "percentile": percent}
            yield [iteration, "latency", value, unit, None, dict(sorted(named.items()))]


def _expanded(histogram: Any, factor: float, where: str) -> list[float]:
    values: list[float] = []
    for pair in histogram if isinstance(histogram, list) else ():
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) is not int or pair[1] < 0:
            raise BadDocument(f"{where}: expected [value, count], got {pair!r:.80}")
        if len(values) + pair[1] > _MAXIMUM_SAMPLES:
            raise BadDocument(f"{where}: more than {_MAXIMUM_SAMPLES} samples in an iteration")
        values += [_scaled(pair[0], factor, where)] * pair[1]
    if not values:
        raise BadDocument(f"{where}: an iteration without samples")
    return values


def _scaled(value: object, factor: float, where: str) -> float:
    if not is_number(value) or not is_number(scaled := float(value) * factor):  # type: ignore[arg-type]
        raise BadDocument(f"{where}: expected a finite number, got {value!r:.80}")
    return scaled


def _unit(text: str, where: str) -> tuple[str, float]:
    """Convert a unit of JMH. Return our unit and the factor: a rate becomes ops/s, a time per operation a time.

    Raises:
        BadDocument: the unit is unknown.
    """
    if text in _OTHER_UNITS:
        return _OTHER_UNITS[text]
    first, _, second = text.partition("/")
    if first == "ops" and second in _SECONDS:
        return "ops/s", 1.0 / _SECONDS[second]
    if first in _SECONDS and second in ("", "op"):
        return (first, 1.0) if first in UNITS else ("s", _SECONDS[first])
    raise BadDocument(f"{where}: unknown unit {text!r:.40}")


def _check_mode(text: str, mode: str, where: str) -> None:
    """Check that the unit of a primary metric is one of its mode: a rate in mode `thrpt`, a time in the others.

    Raises:
        BadDocument: it is not.
    """
    first, _, second = text.partition("/")
    rate = mode == "thrpt"
    if first == "ops" and second in _SECONDS if rate else first in _SECONDS and second == "op":
        return
    like = "ops/s" if rate else "ms/op"
    raise BadDocument(f"{where}: expected a unit such as {like} in mode {mode}, got {text!r:.40}")


def _parameters(result: Mapping[str, Any], where: str) -> dict[str, object]:
    given = result.get("params")
    named: dict[str, object] = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        called = _snake(name)
        if called in _OWN:
            called = f"param_{called}"
        if not called or called in named:
            raise BadDocument(f"{where}: no unique name for the parameter {name!r:.60}")
        if not isinstance(value, str):
            raise BadDocument(f"{where}: expected a string for the parameter {name[:60]}, got {value!r:.80}")
        named[called] = value[:200]
    return named


def _snake(name: str) -> str:
    """Convert a name: `arraySize` to `array_size`, `·gc.alloc.rate` to `gc_alloc_rate`; "" if not possible."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    text = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
    return text if re.match(r"[a-z][a-z0-9_]{0,63}\Z", text) else ""
