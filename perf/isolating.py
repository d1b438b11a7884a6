"""Cost of isolation: the same cells bare, in a control group and in containers, interleaved in one experiment."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from command import run_command
from experiments import HOME, NEVER_PERTURBED, REGATTA, Unfit, call, environment
from rows import Row, say

from regatta.host.journal.journal import journal_files

EXIT, STARTUP, STEADY = "isolation/exit:default", "isolation/jvm:default", "vm/compress:s1"
NAMES = {
    EXIT: "a C program that ends at once",
    STARTUP: "the start of a JVM",
    STEADY: "compress in Java, iterations after warm-up",
}
#: modifier -> its description
KINDS = {"docker": "in a container", "cgroup": "in a control group"}
BARE = "none"

_SUITE = """\
suite: isolation
description: Programs whose start is all that they are
builds:
  exit: {directory: ., command: [gcc, -O2, -static, -o, exit, exit.c], outputs: {exit: exit}, needs: [gcc]}
benchmarks:
  exit: {command: ["{exit.exit}"]}
  jvm: {kind: java, command: ["{runtime}", -version]}
"""


def write_spec(place: Path, quick: bool) -> Path:
    """Write the spec: its baseline is the bare process."""
    sources = place / "sources"
    sources.mkdir()
    (sources / "exit.c").write_text((HOME / "perf/exit.c").read_text())
    (sources / "suite.yml").write_text(_SUITE)
    steady = [] if quick else [{"suite": "vm", "benchmark": "compress", "size": "s1"}]
    spec = {
        "name": "isolation",
        "suites": ["suite.yml"],
        "runtimes": ["temurin-21"],
        "collectors": ["serial"],
        "heap": {"sizes_mib": [64]},
        "benchmarks": [{"suite": "isolation", "benchmark": "all"}, *steady],
        "isolation": BARE,
        "modifiers": {kind: {"isolation": kind} for kind in KINDS},
        "baseline": {"modifiers": []},
        "iterations": {"method": "fixed", "count": 12, "warmup": 6},
        "invocations": {"fixed": 3 if quick else 30},
        "segment": {"rounds": 1000},
    }
    text = "\n".join(f"{key}: {json.dumps(value)}" for key, value in spec.items())
    path = sources / "spec.yml"
    path.write_text(f"{text}\n{NEVER_PERTURBED}")
    return path


def measure(place: Path, quick: bool) -> list[Row]:
    """Return rows on the cost of each kind of isolation inside and around each program."""
    say("the base image")
    made = subprocess.run([HOME / "docker/base"], capture_output=True, text=True, check=False)
    if made.returncode:
        raise Unfit(f"expected the image of docker/base, got {made.stderr.strip()}")
    spec = write_spec(place, quick)
    say("one experiment: every program bare, in a control group and in containers, interleaved")
    call(place, REGATTA, "run", str(spec), "--results", "results")
    done = subprocess.run(
        [REGATTA, "analyze", "isolation", "--results", "results", "--json"],
        cwd=place, env=environment(place), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise Unfit(f"regatta analyze: exit code {done.returncode}\n{done.stderr}")
    records = list(_records(place / "results" / "isolation"))
    return [*_ratios(json.loads(done.stdout)), *_around(records)]


def _ratios(answer: dict[str, Any]) -> Iterator[Row]:
    """Yield ratios of the times that a benchmark reports."""
    means = {cell["cell_id"]: cell for cell in answer["cells"] if cell["metric"] == "elapsed"}
    for each in answer["comparisons"]:
        kind = each["a_name"].split()[-1]
        if each["metric"] != "elapsed" or kind not in KINDS:
            continue
        ours, peer = means[each["a"]], means[each["b"]]
        scale = 1e6 if ours["unit"] == "ns" else 1.0
        yield Row(
            what=f"{NAMES[each['benchmark']]}, {KINDS[kind]}",
            unit="ms" if ours["unit"] == "ns" else ours["unit"],
            ours=ours["mean"] / scale,
            peer=peer["mean"] / scale,
            peer_name=f"bare; ratio {each['low']:.3f} to {each['high']:.3f}",
            goal=None,
            limit=None,
            holds=None,
            ratio=each["ratio"],
            details={key: each[key] for key in ("n", "low", "high", "level", "method")},
        )


def _around(records: list[dict[str, Any]]) -> Iterator[Row]:
    """Yield the time of the runner around the program, which no benchmark reports."""
    spent: dict[str, list[float]] = {}
    parts: dict[str, list[float]] = {"create_ns": [], "start_ns": [], "remove_ns": []}
    for record in records:
        runner, isolation = record["runner"], record["isolation"]
        spent.setdefault(isolation["kind"], []).append((runner["before_ns"] + runner["after_ns"]) / 1e6)
        for name, values in parts.items():
            if name in isolation:
                values.append(isolation[name] / 1e6)
    bare = statistics.median(spent[BARE])
    for kind, what in KINDS.items():
        if kind in spent:
            medians = {name: round(statistics.median(values), 3) for name, values in parts.items()}
            yield Row(
                what=f"runner time around an invocation {what}",
                unit="ms",
                ours=statistics.median(spent[kind]),
                peer=bare,
                peer_name="around a bare one",
                goal=None,
                limit=None,
                holds=None,
                details=medians if kind == "docker" else {},
            )


def _records(folder: Path) -> Iterator[dict[str, Any]]:
    for path in journal_files(folder):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record["status"] != "ok":
                raise Unfit(f"expected invocations that are ok, got {record['status']}: {record['reason']}")
            yield record


if __name__ == "__main__":
    sys.exit(run_command(__doc__ or "", measure))
