"""The suite `micro`: every operation has a cost on every JVM, and none that the JIT has removed has one."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.workloads.java_runs import ROOT, SUITES, Programs, Run, jvm
from regatta.models.system_calls.counting import count_calls
from regatta.models.system_calls.java import profiler_jar, read_profile, tally_of, with_profiler
from regatta.models.vectors.calls import read_calls

GROUPS = tuple(SUITES["micro"]["benchmarks"])
TABLE: dict[str, Any] = YAML(typ="safe").load(
    (ROOT / "configs" / "primitives" / "java.yml").read_text(encoding="utf-8")
)["primitives"]
#: absent from older releases
SINCE_21 = "virtual_thread_start_join"


def latencies(run: Run, metric: str = "latency") -> dict[str, list[dict[str, Any]]]:
    """The lines of each operation."""
    assert run.code == 0, run.stderr
    found = defaultdict(list)
    for line in run.lines:
        if line.get("metric") == metric:
            found[line["parameters"]["operation"]].append(line)
    return found


def removed(run: Run) -> set[str]:
    """The operations without a cost in some of their sizes; these have a limit, and are named."""
    found = latencies(run, "latency_at_most")
    told = re.findall(r"\{.*operation=(\w+).*\}: at most [\d.]+ ns: [\d.]+ ns with the loop", run.stderr)
    iterations = len({line["iteration"] for line in run.lines if "iteration" in line})
    # An operation at the resolution may have a number in some iterations only.
    measured = latencies(run)
    lines = {name: [*found.get(name, []), *measured.get(name, [])] for name in found.keys() | measured.keys()}
    for of in lines.values():
        series = Counter(json.dumps([line["iteration"], line["parameters"]], sort_keys=True) for line in of)
        assert {*series.values()} == {1}
        assert len(of) % iterations == 0
    for name, times in Counter(told).items():
        assert len(found[name]) >= times * iterations
    assert all(0 < line["value"] < 1000 for lines in found.values() for line in lines)
    return {*told}


def of_group(group: str) -> set[str]:
    return {name for name, rule in TABLE.items() if rule["series"]["benchmark"] == group}


@pytest.mark.parametrize(
    ("group", "name"), [*((group, name) for group in GROUPS for name in ("11", "zero")), ("threads", "21")]
)
def test_each_operation_of_the_table_has_a_cost(programs: Programs, group: str, name: str) -> None:
    run = programs.benchmark(f"micro/{group}", size="quick", program=jvm(name))
    found = latencies(run)
    absent = {SINCE_21} if name not in ("21", "25") else set()
    limited = latencies(run, "latency_at_most")
    # Of one that is hardly slower than its loop, only a limit can be known.
    assert found.keys() | limited.keys() | removed(run) == of_group(group) - absent
    for operation in found.keys() | limited.keys():
        lines = [*found.get(operation, []), *limited.get(operation, [])]
        parameters = {"operation", argument_of(operation)} - {""}
        assert {frozenset(line["parameters"]) for line in lines} == {frozenset(parameters)}
        assert all(line["value"] > 0 for line in lines)
        assert {line["iteration"] for line in lines} == {0, 1}


@pytest.fixture(scope="session")
def operations_of_known_cost(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Classes next to those of the jar."""
    classes = tmp_path_factory.mktemp("planted-operations")
    source = Path(__file__).with_name("PlantedOperations.java")
    jar = programs.jar("micro.jar")
    javac = ["javac", "--release", "11", "-Xlint:all", "-Werror", "-cp", jar, "-d", classes, source]
    subprocess.run(javac, check=True)
    return classes


def test_the_compiled_method_has_the_bytes_that_costs_are_divided_by(programs: Programs) -> None:
    jar, name = programs.jar("micro.jar"), "org.regatta.bench.micro.Compiled"
    shown = subprocess.run(
        ["javap", "-c", "-p", "-constants", "-cp", jar, name], capture_output=True, text=True, check=True
    ).stdout
    (told,) = re.findall(r"int BYTES = (\d+);", shown)
    # The last instruction of the last method returns, in one byte.
    assert int(told) == int(re.findall(r"(\d+): lreturn", shown)[-1]) + 1


@pytest.mark.parametrize(
    ("flag", "limited"),
    [("-XX:+TieredCompilation", set()), ("-XX:TieredStopAtLevel=1", {"jit_again"}), ("-Xint", {"jit_first", "jit_again"})],
)  # fmt: skip
def test_a_jvm_without_a_compiler_has_a_limit_of_its_cost(
    programs: Programs, flag: str, limited: set[str]
) -> None:
    run = programs.benchmark("micro/compilers", size="default", flags=(flag,), program=jvm("21"))
    found = latencies(run)
    assert latencies(run, "latency_at_most").keys() == limited
    assert found.keys() == {"jit_first", "jit_again"} - limited
    # A millisecond is told apart in 300 methods; a compiler needs some tens of them.
    assert all(line["value"] > 100 for lines in found.values() for line in lines)


@pytest.mark.alone
def test_an_operation_that_the_jit_removes_has_no_number(
    programs: Programs, operations_of_known_cost: Path
) -> None:
    path = f"{operations_of_known_cost}:{programs.jar('micro.jar')}"
    main = ("-cp", path, "org.regatta.bench.micro.PlantedOperations")
    run = programs.java(*main, "planted", "--size", "10", "--iterations", "3")
    found = latencies(run)
    assert removed(run) == {"nothing", "no_object", "unused_result"}
    # The loop is taken off, and it costs less than a hundredth of this.
    for line in found["spin"]:
        assert line["value"] > 0.99 * line["parameters"]["ns"]
    assert len(found["spin"]) == 6
    # What prepares a call is no part of its cost.
    assert min(line["value"] for line in found["prepared"]) < 4000


def test_an_operation_runs_often_enough_to_be_compiled_before_it_is_measured(
    programs: Programs, operations_of_known_cost: Path
) -> None:
    """In the least number of intervals, 300 ms, it would run 15,000 times."""
    path = f"{operations_of_known_cost}:{programs.jar('micro.jar')}"
    main = ("-cp", path, "org.regatta.bench.micro.PlantedOperations")
    run = programs.java(*main, "planted", "--size", "10", "--iterations", "3")
    (calls,) = re.findall(r"counted: (\d+) calls", run.stderr)
    lines = latencies(run)["counted"]
    assert int(calls) - (10 + 3) * lines[0]["operations"] > 16_000


# ---- calls of the operations count as the primitives that they measure ----

#: an operation whose calls have the primitive of another one
COUNTED_AS = {"string_compare_to": "string_starts_with"}
#: their amount is not that of the operation, as the rules say
OTHER_AMOUNT = {"string_starts_with", "string_concat"}
CALLS = read_calls(ROOT / "configs" / "primitives" / "java-calls.yml")


def argument_of(operation: str) -> str:
    cost = TABLE[operation]["cost"]
    return "" if cost == "constant" else cost.get("linear", cost.get("table"))


def has_run(line: dict[str, Any], run: Run) -> bool:
    """Whether iterations run the operation: those that the JIT has removed before have only a limit."""
    named = ", ".join(f"{key}={value}" for key, value in sorted(line["parameters"].items()))
    return f"{{{named}}}: at most " not in run.stderr


@pytest.mark.parametrize("group", ["strings", "builders", "codes"])
def test_each_call_of_an_operation_counts_as_its_primitive(programs: Programs, group: str) -> None:
    command = programs.command(f"micro/{group}", "command", interval_ms=1, iterations=3)
    run = programs.java(*with_profiler(["java", *command], profiler_jar(), Path("profile.json"))[1:])
    calls: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    for metric in ("latency", "latency_at_most"):
        for operation, lines in latencies(run, metric).items():
            primitive = COUNTED_AS.get(operation, operation)
            for line in (line for line in lines if line["iteration"] >= 1 and has_run(line, run)):
                calls[primitive] += line["operations"]
                amounts[primitive] += line["operations"] * line["parameters"].get(argument_of(operation), 0)
    tally, iterations = tally_of(read_profile(run.directory / "profile.json"), CALLS, 1)
    assert iterations == 2
    counted: Counter[str] = Counter()
    summed: Counter[str] = Counter()
    for (primitive, _), entry in count_calls(tally, CALLS).entries.items():
        counted[primitive] += round(entry.count)
        summed[primitive] += round(sum(amount for _, amount in entry.sizes.values()))
    assert len(calls) > 4
    assert {primitive: counted[primitive] for primitive in calls} == calls
    for primitive in calls.keys() - OTHER_AMOUNT:
        assert summed[primitive] == amounts[primitive], primitive
