"""Options of the adapters, and their valid values. An unknown option would have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from regatta.host.errors import Problem
from regatta.host.units import UNITS
from regatta.host.values.experiment import Benchmark
from regatta.host.values.plan_cell import PROCESS_ELAPSED
from regatta.spec.fields import NAME
from regatta.spec.problems import shown, unknown
from regatta.spec.suite_schema import FILE_ADAPTERS, KNOWN_ADAPTERS, BenchmarkSpec
from regatta.spec.yaml_lines import Document, KeyPath

#: adapter -> its options
_OPTIONS = dict.fromkeys((*FILE_ADAPTERS, "regatta"), ("file",)) | {
    "regex": ("pattern", "metric", "unit", "stderr")
}
#: adapter -> all metrics that it can report; without an entry they depend on the program
_REPORTED: dict[str, tuple[str, ...]] = {
    "process": ("elapsed", "user", "system", "max_rss"),
    "dacapo": ("elapsed", "latency", "throughput"),
    "renaissance": ("elapsed",),
    "specjvm98": ("elapsed",),
    "specjvm2008": ("throughput", "warmup_throughput"),
    "specjbb2015": ("max_jops", "critical_jops", "hbir_max_attempted", "hbir_settled"),
}
_FILE = "`file`: a file name in the working directory"
_PATTERN = "`pattern` with a group `(?P<value>...)`"


def reportable(benchmark: Benchmark) -> tuple[str, ...] | None:
    """Return all metrics that a benchmark can have; None if only its program knows."""
    found = _REPORTED.get(benchmark.adapter)
    if benchmark.adapter == "regex":
        options = benchmark.adapter_options
        names = re.compile(str(options["pattern"])).groupindex
        found = None if "metric" in names else (str(options.get("metric", "elapsed")),)
    return None if found is None else tuple(dict.fromkeys([benchmark.metric, *found, PROCESS_ELAPSED]))


def check_adapter(
    document: Document, path: KeyPath, spec: BenchmarkSpec, add: Callable[[Problem], None]
) -> None:
    """Check a benchmark's adapter and its options.

    Args:
        document: places of the suite's values.
        path: of the benchmark.
        spec: the benchmark.
        add: receives every problem.
    """
    if spec.adapter not in KNOWN_ADAPTERS:
        add(unknown(document.where((*path, "adapter")), "an adapter", spec.adapter, KNOWN_ADAPTERS))
        return
    at: KeyPath = (*path, "adapter_options")
    known = _OPTIONS.get(spec.adapter, ())
    for name in spec.adapter_options:
        if name not in known:
            add(
                unknown(
                    document.where((*at, name)), f"an option of the adapter `{spec.adapter}`", name, known
                )
            )
    if "file" in known:
        _check_file(document, path, spec, add)
    if spec.adapter == "regex":
        _check_regex(document, at, spec.adapter_options, add)


def _check_file(
    document: Document, path: KeyPath, spec: BenchmarkSpec, add: Callable[[Problem], None]
) -> None:
    where = document.where((*path, "adapter_options"))
    file = spec.adapter_options.get("file")
    if file is None:
        if spec.adapter in FILE_ADAPTERS:
            fix = f"add `adapter_options: {{file: {spec.adapter}.json}}` and pass this name in the command"
            add(Problem(where, _FILE, "missing", fix))
    elif not isinstance(file, str) or not NAME.fullmatch(file):
        add(Problem(where, _FILE, shown(file), f"write `file: {spec.adapter}.json`"))
    elif file in spec.arrange:
        # An existing file would be mistaken for the result of a program that writes none.
        expected = "a name different from the adapter's result file"
        add(
            Problem(
                document.where((*path, "arrange", file)),
                expected,
                shown(file),
                "rename one of the files",
            )
        )


def _check_regex(
    document: Document, at: KeyPath, options: dict[str, Any], add: Callable[[Problem], None]
) -> None:
    where = document.where(at)
    pattern = options.get("pattern")
    if not isinstance(pattern, str):
        got = "missing" if pattern is None else shown(pattern)
        add(Problem(where, _PATTERN, got, 'write `adapter_options: {pattern: "(?P<value>[0-9.]+)"}`'))
    else:
        try:
            if "value" not in re.compile(pattern).groupindex:
                add(Problem(where, _PATTERN, shown(pattern), "name the group of the number `value`"))
        except (re.error, RecursionError, OverflowError) as error:
            add(Problem(where, "a Python regular expression", f"{shown(pattern)} ({error})", ""))
    unit = options.get("unit", "ns")
    if unit not in UNITS:
        add(unknown(document.where((*at, "unit")), "a unit", str(unit), UNITS))
    metric = options.get("metric", "elapsed")
    if not isinstance(metric, str) or not NAME.fullmatch(metric):
        add(
            Problem(
                document.where((*at, "metric")), "a metric name", shown(metric), "write `metric: elapsed`"
            )
        )
    if not isinstance(stderr := options.get("stderr", False), bool):
        add(Problem(document.where((*at, "stderr")), "a boolean", shown(stderr), "write `stderr: true`"))
