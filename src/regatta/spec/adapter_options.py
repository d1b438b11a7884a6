"""Options of the adapters, and their valid values. An unknown option would have no effect."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from regatta.host.errors import Problem
from regatta.host.units import UNITS
from regatta.spec.fields import NAME
from regatta.spec.problems import shown, unknown
from regatta.spec.suite_schema import FILE_ADAPTERS, KNOWN_ADAPTERS, BenchmarkSpec
from regatta.spec.yaml_lines import Document, KeyPath

#: adapter -> its options
_OPTIONS = dict.fromkeys((*FILE_ADAPTERS, "regatta"), ("file",)) | {
    "regex": ("pattern", "metric", "unit", "stderr")
}
_FILE = "`file`, the name of a file in the working directory"
_PATTERN = "a `pattern` with a group `(?P<value>...)`"


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
            fix = f"adapter_options: {{file: {spec.adapter}.json}}, and the same name in the command"
            add(Problem(where, _FILE, "none", fix))
    elif not isinstance(file, str) or not NAME.fullmatch(file):
        add(Problem(where, _FILE, shown(file), f"`file: {spec.adapter}.json`"))
    elif file in spec.arrange:
        # An existing file would be mistaken for the result of a program that writes none.
        expected = "a name other than that of the file which the adapter reads"
        add(
            Problem(
                document.where((*path, "arrange", file)),
                expected,
                shown(file),
                "another name for one of them",
            )
        )


def _check_regex(
    document: Document, at: KeyPath, options: dict[str, Any], add: Callable[[Problem], None]
) -> None:
    where = document.where(at)
    pattern = options.get("pattern")
    if not isinstance(pattern, str):
        add(Problem(where, _PATTERN, shown(pattern), 'adapter_options: {pattern: "(?P<value>[0-9.]+)"}'))
    else:
        try:
            if "value" not in re.compile(pattern).groupindex:
                add(Problem(where, _PATTERN, shown(pattern), "name the group that holds the number `value`"))
        except (re.error, RecursionError, OverflowError) as error:
            add(Problem(where, "a regular expression of Python", f"{shown(pattern)} ({error})", ""))
    unit = options.get("unit", "ns")
    if unit not in UNITS:
        add(unknown(document.where((*at, "unit")), "a unit", str(unit), UNITS))
    metric = options.get("metric", "elapsed")
    if not isinstance(metric, str) or not NAME.fullmatch(metric):
        add(Problem(document.where((*at, "metric")), "a metric's name", shown(metric), "`metric: elapsed`"))
    if not isinstance(stderr := options.get("stderr", False), bool):
        add(Problem(document.where((*at, "stderr")), "true or false", shown(stderr), "`stderr: true`"))
