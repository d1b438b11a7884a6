"""A program that knows nothing of Regatta becomes a benchmark in five lines, and a JVM program gets its minheap."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import in_process
from helpers.experiments.experiment_parts import NEVER_PERTURBED_LINE

SUITE = """\
suite: foreign
benchmarks:
  sort:
    command: [sort, --reverse, /usr/share/common-licenses/GPL-3]
  script:
    command:
      - sh
      - -c
      - |
        if true; then
          echo "a  script's second line"
        fi
"""

SPEC = (
    """\
name: five-lines
question: How long does sort take?
platforms: [local]
runtimes: [native]
suites: [foreign.yml]
benchmarks: [{suite: foreign, benchmark: [sort, script]}]
invocations: {fixed: 6}
modifiers:
  c: {environment: {LC_ALL: C}}
  utf8: {environment: {LC_ALL: C.UTF-8}}
modifier_sets: [[c], [utf8]]
"""
    + NEVER_PERTURBED_LINE
)

ALLOCATE = """\
public class Hold {
    static Object sink;
    public static void main(String[] args) {
        byte[][] held = new byte[Integer.parseInt(args[0])][];
        for (int i = 0; i < held.length; i++) held[i] = new byte[1 << 20];
        sink = held;
        System.out.println(held.length);
    }
}
"""

HOLD_SUITE = """\
suite: hold
builds:
  hold:
    directory: sources
    command: [javac, -d, ., Hold.java]
    outputs: {class: Hold.class}
    needs: [javac]
benchmarks:
  hold:
    kind: java
    command: ["{runtime}", -cp, ., Hold, "{mib}"]
    arrange: {Hold.class: "{hold.class}"}
    sizes: {default: {parameters: {mib: 40}}}
"""

HOLD_SPEC = (
    """\
name: hold
question: How small can the heap be?
platforms: [local]
runtimes: [host-java]
collectors: [serial, g1]
suites: [hold.yml]
benchmarks: [{suite: hold, benchmark: hold}]
heap: {factors: [1, 2]}
invocations: {fixed: 2}
minheap: {passes: 2}
"""
    + NEVER_PERTURBED_LINE
)


def regatta(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "REGATTA_HOST_LOCK": str(cwd / "lock"),
        "REGATTA_HOME": str(Path(__file__).parents[2]),
    }
    return in_process.regatta(*arguments, cwd=cwd, environment=environment)


@pytest.mark.smoke
def test_five_lines_of_yaml_make_a_benchmark_of_a_foreign_program(tmp_path: Path) -> None:
    (tmp_path / "foreign.yml").write_text(SUITE)
    (tmp_path / "spec.yml").write_text(SPEC)
    done = regatta("run", "spec.yml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "28 of 28 planned invocations recorded" in done.stdout
    assert (tmp_path / "results" / "five-lines" / "report.html").stat().st_size > 10_000
    answer = json.loads(regatta("analyze", "five-lines", "--json", cwd=tmp_path).stdout)
    elapsed = [cell for cell in answer["cells"] if cell["metric"] == "elapsed"]
    assert [cell["n"] for cell in elapsed] == [6] * 4
    assert all(cell["low"] < cell["mean"] < cell["high"] and cell["unit"] == "ns" for cell in elapsed)
    assert len(answer["comparisons"]) == 2
    for comparison in answer["comparisons"]:
        assert comparison["method"] == "paired-log-t"
        assert comparison["low"] < comparison["ratio"] < comparison["high"]
    records = regatta("records", "five-lines", "--json", cwd=tmp_path).stdout.splitlines()
    assert len(records) == 28
    keys = {"invocation_id", "cell_id", "status", "host", "round", "block", "position"}
    assert all(keys <= json.loads(line).keys() for line in records)
    _, _, rest = regatta("explain", "script", cwd=tmp_path).stdout.partition("run by hand:\n")
    by_hand, _, _ = rest.partition("\nrecords: ")
    said = subprocess.run(["sh", "-c", by_hand], capture_output=True, text=True, check=True)
    assert said.stdout == "a  script's second line\n"


@pytest.mark.skipif(
    shutil.which("javac") is None, reason="NO JDK: the minheap search is not tried on a real JVM"
)
def test_the_minheap_of_a_real_program_holds_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "Hold.java").write_text(ALLOCATE)
    (tmp_path / "hold.yml").write_text(HOLD_SUITE)
    (tmp_path / "spec.yml").write_text(HOLD_SPEC)
    missing = regatta("plan", "spec.yml", cwd=tmp_path)
    assert missing.returncode == 2
    assert "regatta minheap spec.yml" in missing.stderr
    found = regatta("minheap", "spec.yml", "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    (minheap,) = json.loads(found.stdout)
    # 40 MiB of arrays, of which each takes a little more than a region's half under g1.
    assert 40 < minheap["heap_mib"] < 160
    assert "oom" in found.stderr
    again = regatta("minheap", "spec.yml", "--json", cwd=tmp_path)
    assert json.loads(again.stdout) == [minheap]
    assert "minheap  " not in again.stderr, "an attempt was made twice"
    plan = json.loads(regatta("plan", "spec.yml", "--json", cwd=tmp_path).stdout)
    assert {cell["heap_mib"] for cell in plan["cells"]} == {minheap["heap_mib"], 2 * minheap["heap_mib"]}
    assert (plan["invocations"], plan["hosts"]) == (12, ["local"])
