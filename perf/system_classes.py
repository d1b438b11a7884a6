"""Costs of the operations of suite `micro`, and of the same operations in the loops of JMH."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from command import run_command
from experiments import HOME, Unfit
from rows import Row, say

BUILD = ["mvn", "-q", "-B", "-pl", "micro,oracle", "-am", "package"]
JVM = ["java", "-Xms1g", "-Xmx1g", "-XX:+UseParallelGC"]
#: group -> operations with the value of their argument, by the kind of their result
OPERATIONS = {
    "strings": {
        "value": ("string_char_at", "string_hash_code", "string_starts_with", "string_equals/128", "string_compare_to/128",
                  "string_index_of/128"),
        "object": ("string_substring/128", "string_concat/128", "string_to_upper_case/128", "string_to_char_array/128",
                   "string_get_bytes/128", "string_of_bytes/128", "string_split"),
    },
    "builders": {
        "value": ("builder_append_char", "builder_append_int", "builder_append_string/128"),
        "object": ("builder_to_string/128",),
    },
    "numbers": {
        "value": ("integer_parse", "double_parse", "math_sin", "random_next_int"),
        "object": ("integer_value_of", "integer_to_string", "double_to_string", "big_integer_multiply/1024"),
    },
    "collections": {
        "value": ("array_list_add", "array_copy/4096", "stream_map_sum/128"),
        "object": ("array_list_get", "hash_map_get/16", "hash_map_put/16", "tree_map_get", "concurrent_map_get/16",
                   "arrays_sort/128"),
    },
    "codes": {
        "value": ("crc32_update/1024", "deflate/1024", "inflate/1024"),
        "object": ("sha256_digest/1024", "base64_encode/1024"),
    },
    "classes": {
        "object": ("class_for_name", "class_for_name_fresh", "method_invoke", "constructor_new_instance"),
    },
}  # fmt: skip
QUICK = {"strings": {"value": ("string_equals/128",), "object": ("string_substring/128",)}}


def _run(place: Path, command: Sequence[str], **variables: str) -> None:
    # Maven locates its settings and its repository through HOME.
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ}
    ended = subprocess.run(
        command, cwd=place, env={**environment, **variables}, capture_output=True, text=True, check=False
    )
    if ended.returncode:
        raise Unfit(f"{' '.join(command)}: exit code {ended.returncode}\n{ended.stdout}{ended.stderr}")


def _ours(place: Path, jar: Path, group: str, interval_ms: int) -> dict[str, float]:
    """Return the median latency of each operation of a group, in ns."""
    results = place / "results.jsonl"
    results.unlink(missing_ok=True)
    _run(
        place,
        [*JVM, "-jar", str(jar), group, "--size", str(interval_ms), "--iterations", "5"],
        REGATTA_RESULTS=str(results),
    )
    found: dict[str, list[float]] = defaultdict(list)
    for text in results.read_text().splitlines():
        line = json.loads(text)
        if line.get("metric") == "latency":
            parameters = line["parameters"]
            name = parameters.pop("operation")
            found["/".join([name, *map(str, parameters.values())])].append(line["value"])
    return {name: statistics.median(values) for name, values in found.items()}


def _by_jmh(place: Path, jar: Path, kind: str, operations: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the score of each operation without that of its baseline, and the half width of JMH's interval, in ns."""
    both = [*(f"baseline:{name}" for name in operations), *operations]
    told = place / "jmh.json"
    command = [
        *JVM, "-jar", str(jar), f"Oracle[.]{kind}$", "-foe", "true", "-f", "1", "-wi", "3", "-w", "200ms", "-i", "5",
        "-r", "100ms", "-rf", "json", "-rff", str(told), "-p", f"operation={','.join(both)}",
    ]  # fmt: skip
    _run(place, command)
    rows = json.loads(told.read_text())
    scores = {
        row["params"]["operation"]: (row["primaryMetric"]["score"], row["primaryMetric"]["scoreError"])
        for row in rows
    }
    return {name: (scores[name][0] - scores[f"baseline:{name}"][0], scores[name][1]) for name in operations}


def measure_operations(place: Path, quick: bool) -> list[Row]:
    """Return a row for each operation."""
    sources = place / "java"
    shutil.copytree(HOME / "benchmarks/java", sources, ignore=shutil.ignore_patterns("target"))
    try:
        _run(sources, BUILD)
    except FileNotFoundError as error:
        raise Unfit("mvn: NOT INSTALLED; apt-get install maven default-jdk") from error
    oracle = sources / "oracle/target/regatta-oracle.jar"
    turns, interval_ms = (1, 1) if quick else (3, 10)
    rows = []
    for group, kinds in (QUICK if quick else OPERATIONS).items():
        ours: dict[str, list[float]] = defaultdict(list)
        peer: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for turn in range(turns):
            say(f"{group}, turn {turn + 1} of {turns}")
            jar = sources / "micro/target/regatta-micro.jar"
            for name, value in _ours(place, jar, group, interval_ms).items():
                ours[f"{group}/{name}"].append(value)
            for kind, names in kinds.items():
                paths = [f"{group}/{name}" for name in names]
                for name, score in _by_jmh(place, oracle, kind, paths).items():
                    peer[name].append(score)
        for name in peer:
            scores = [score for score, _ in peer[name]]
            rows.append(
                Row(
                    name,
                    "ns",
                    statistics.median(ours[name]) if ours[name] else None,
                    statistics.median(scores),
                    "JMH 1.37",
                    None,
                    None,
                    None,
                    details={
                        "ours": ours[name],
                        "JMH": scores,
                        "half widths": [half for _, half in peer[name]],
                    },
                )
            )
    return rows


if __name__ == "__main__":
    sys.exit(
        run_command(
            "Costs of operations of Java's system classes, compared with the same operations in JMH's loops.",
            measure_operations,
        )
    )
