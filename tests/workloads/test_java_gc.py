"""The suite `gc`: every measurement is a collection of the logs, in the presence of the structure that it names."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from helpers.workloads.java_cases import COLLECTORS, PAIRS
from helpers.workloads.java_runs import QUICK, ROOT, SUITES, Programs, Run, jvm

BENCHMARKS = tuple(SUITES["gc"]["benchmarks"])
MODIFIERS: dict[str, Any] = YAML(typ="safe").load(
    (ROOT / "configs" / "modifiers.yml").read_text(encoding="utf-8")
)["modifiers"]
PARAMETERS = {"shape", "size", "objects", "length", "refs", "reference_bytes", "fan_in", "fan_out", "moment"}
MOMENTS = {"live_new", "live", "dead", "empty", "dead_new"}
#: collectors whose young collections stop the program
GENERATIONAL = ("serial", "parallel", "g1")
MIB = 1 << 20
#: one benchmark on each pair, and the others on the newest JVM
CASES = [(name, collector, "lists") for name, collector in PAIRS] + [
    ("25", collector, benchmark)
    for collector in COLLECTORS
    for benchmark in BENCHMARKS
    if benchmark != "lists"
]
Line = dict[str, Any]


def measured(
    programs: Programs,
    benchmark: str,
    collector: str,
    *flags: str,
    name: str = "21",
    heap_mib: int = 128,
    size: str = "quick",
    iterations: int = 2,
) -> Run:
    heap = (f"-Xms{heap_mib}m", f"-Xmx{heap_mib}m", "-XX:+UnlockExperimentalVMOptions", COLLECTORS[collector])
    run = programs.benchmark(
        f"gc/{benchmark}", size=size, flags=(*heap, *flags), program=jvm(name), iterations=iterations
    )
    assert run.code == 0, run.stderr
    return run


def lines_of(run: Run, metric: str) -> list[Line]:
    return [
        line for line in run.lines if line.get("metric") == metric and "shape" in line.get("parameters", {})
    ]


def by_structure(lines: list[Line]) -> dict[tuple[Any, ...], dict[str, Line]]:
    """The line of each moment, by iteration and the other parameters."""
    found: dict[tuple[Any, ...], dict[str, Line]] = defaultdict(dict)
    for line in lines:
        parameters = dict(line["parameters"])
        moment = parameters.pop("moment")
        key = (line["iteration"], *sorted(parameters.items()))
        assert moment not in found[key], key
        found[key][moment] = line
    return found


def pauses_ns(run: Run) -> list[int]:
    """All safepoints of the log, of any operation."""
    return [int(ns) for ns in re.findall(r"At safepoint: (\d+) ns,", run.safepoints)]


def test_each_list_is_collected_at_each_moment(programs: Programs) -> None:
    run = measured(programs, "lists", "serial")
    structures = by_structure(lines_of(run, "collection"))
    assert {dict(key[1:])["shape"] for key in structures} == {"list", "shuffled", "sparse"}
    for key, moments in structures.items():
        sparse = dict(key[1:])["shape"] == "sparse"
        assert moments.keys() == ({"half_dead", "half_live"} if sparse else MOMENTS)
        assert {*dict(key[1:]), "moment"} == PARAMETERS
    assert {key[0] for key in structures} == {0, 1}


@pytest.mark.parametrize("benchmark", ["lists", "young"])
def test_a_collection_is_a_pause_of_the_log(programs: Programs, benchmark: str) -> None:
    run = measured(programs, benchmark, "serial")
    logged = pauses_ns(run)
    values = [line["value"] for line in lines_of(run, "collection")]
    assert len(values) > 10
    for value in values:
        # Each pause of the log belongs to one measurement.
        logged.remove(value)
    for iteration in (0, 1):
        within = sum(x["value"] for x in lines_of(run, "collection") if x["iteration"] == iteration)
        (whole,) = [
            x["value"] for x in run.lines if x.get("metric") == "gc_time" and x["iteration"] == iteration
        ]
        assert within <= whole


def test_the_heap_holds_the_structure_while_it_is_alive(programs: Programs) -> None:
    run = measured(programs, "lists", "g1")
    for key, moments in by_structure(lines_of(run, "collection_heap_after")).items():
        of = dict(key[1:])
        if of["shape"] != "sparse":
            after = {moment: line["value"] for moment, line in moments.items()}
            # The log rounds to MiB.
            assert after["live"] >= after["empty"] + of["objects"] * of["size"] - 2 * MIB
            assert after["dead"] == after["empty"]


def test_compiled_copies_of_a_class_hold_no_more_objects_than_others(programs: Programs) -> None:
    """Objects that the calls leave would be counted as the cost of machine code."""
    run = measured(programs, "shapes", "serial", size="default", iterations=1)
    after: dict[tuple[int, str], float] = {}
    for line in lines_of(run, "collection_heap_after"):
        of = line["parameters"]
        if of["shape"] in ("classes", "code") and of["moment"] == "live":
            after[of["objects"], of["shape"]] = line["value"]
    sizes = {objects for objects, _ in after}
    assert max(sizes) >= 1000
    # The log rounds to MiB. What the calls left in 1000 objects were 2 MiB.
    assert all(after[size, "code"] <= after[size, "classes"] + MIB for size in sizes)


def test_several_pauses_of_a_window_are_reported_by_kind(programs: Programs) -> None:
    run = measured(programs, "lists", "parallel")
    counts = lines_of(run, "collection_pauses")
    assert {line["parameters"]["kind"] for line in counts} == {"Pause Young", "Pause Full"}
    assert {line["value"] for line in counts} == {1}
    assert len(counts) == 2 * len(lines_of(run, "collection"))
    assert len(lines_of(run, "collection_pause")) == len(counts)


@pytest.mark.parametrize("collector", GENERATIONAL)
def test_survivors_are_promoted_in_the_second_collection(programs: Programs, collector: str) -> None:
    run = measured(programs, "young", collector, *MODIFIERS["fixed-young"]["flags"])
    promoted = {
        (line["iteration"], line["parameters"]["age"]): line["value"] / MIB
        for line in lines_of(run, "promoted")
        if line["parameters"]["shape"] == "list"
    }
    (mib,) = {
        line["parameters"]["objects"] * line["parameters"]["size"] / MIB
        for line in lines_of(run, "promoted")
        if line["parameters"]["shape"] == "list"
    }
    assert promoted.keys() == {(iteration, age) for iteration in (0, 1) for age in (1, 2, 3)}
    # The old generation of G1 grows by regions of 1 MiB; some other objects survive too.
    tolerance = 1.1 if collector == "g1" else 0.1
    for (_, age), value in promoted.items():
        assert abs(value - (mib if age == 2 else 0)) < tolerance


@pytest.mark.parametrize("collector", ["z", "shenandoah"])
def test_a_collector_without_young_pauses_reports_none(programs: Programs, collector: str) -> None:
    run = measured(programs, "young", collector)
    assert lines_of(run, "collection") == []
    assert run.stderr.startswith("not measured: ")


@pytest.mark.parametrize(("name", "collector", "benchmark"), CASES)
def test_each_collector_is_measured(programs: Programs, name: str, collector: str, benchmark: str) -> None:
    run = measured(programs, benchmark, collector, QUICK, name=name, heap_mib=192)
    if benchmark == "young" and collector not in GENERATIONAL:
        return
    for metric in ("collection", "collector_cpu"):
        lines = lines_of(run, metric)
        assert {line["iteration"] for line in lines} == {0, 1}
        assert all(line["value"] > 0 for line in lines)
    if collector in ("z", "shenandoah"):
        assert any(line["value"] > 0 for line in lines_of(run, "concurrent"))


def test_a_run_without_the_logs_is_refused(programs: Programs) -> None:
    run = programs.main("lists", "--size", "1", "--iterations", "1", jar="gc.jar")
    assert run.code == 2
    assert "--gc-log" in run.stderr


@pytest.fixture(scope="session")
def node_sizes(programs: Programs, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A class path with the program that prints sizes."""
    classes, jar = tmp_path_factory.mktemp("node-sizes"), programs.jar("gc.jar")
    source = Path(__file__).with_name("NodeSizes.java")
    subprocess.run(
        ["javac", "--release", "11", "-Xlint:all", "-Werror", "-cp", jar, "-d", classes, source], check=True
    )
    return f"{classes}:{jar}"


@pytest.mark.parametrize(
    ("flag", "reference", "alignment"),
    [
        ("-XX:+UseCompressedOops", 4, 8),
        ("-XX:-UseCompressedOops", 8, 8),
        ("-XX:ObjectAlignmentInBytes=16", 4, 16),
    ],
)
@pytest.mark.parametrize("name", ["11", "17", "21", "25"])
def test_nodes_have_the_requested_size(
    programs: Programs, node_sizes: str, name: str, flag: str, reference: int, alignment: int
) -> None:
    requested = (16, 24, 32, 40, 48, 64, 128, 1024)
    main = ("-cp", node_sizes, "org.regatta.bench.gc.NodeSizes", *map(str, requested))
    run = programs.java(flag, *main, program=jvm(name))
    assert run.code == 0, run.stderr
    first, *lines = run.stdout.splitlines()
    assert first == f"reference {reference}"
    # Release 11 compresses the class pointer only together with references.
    header = 16 if name == "11" and reference == 8 else 12
    for line in lines:
        references, size, got = map(int, line.split())
        least = -(-(header + (1 + references) * reference) // 8) * 8
        if -(-least // alignment) * alignment > size:
            assert got == 0
        else:
            assert got == -(-size // alignment) * alignment
