"""What comes of a running-ng configuration has its configs and no others, on the heaps that `runbms` would take."""

from __future__ import annotations

import json
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.specs.imported import HERE, HOME, commands, load, of_running_ng
from regatta.cli.import_ import import_
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Experiment

#: program, flags of collector and modifiers in order, environment, heap in MiB where the configs say it
Config = tuple[str, tuple[str, ...], tuple[tuple[str, str], ...], int | None]


def configs_of(experiment: Experiment, suite: str = "") -> set[Config]:
    """The configurations that an experiment has cells of, for all benchmarks or for those of one suite."""
    found = set()
    heaps = (
        [heap.mib for heap in experiment.heaps] if experiment.heaps and experiment.heaps[0].mib else [None]
    )
    for runtime in experiment.runtimes:
        java = runtime.kind == "java"
        for collector, modifiers, heap in product(
            experiment.collectors if java else [None], experiment.modifiers, heaps if java else [None]
        ):
            label = "+".join(modifier.name for modifier in modifiers) or "none"
            name = collector.name if collector else ""
            if any(
                exclude.runtime in (None, runtime.name)
                and exclude.collector in (None, name)
                and exclude.modifiers in (None, label)
                and exclude.heap.mib in (None, heap)
                and (exclude.benchmark is None or exclude.benchmark.startswith(f"{suite}/"))
                for exclude in experiment.excludes
            ):
                continue
            flags = (*(collector.flags if collector else ()), *(flag for m in modifiers for flag in m.flags))
            environment = sorted(pair for m in modifiers for pair in m.environment.items())
            found.add((runtime.path, flags, tuple(environment), heap))
    return found


COMMON = ("-XX:MetaspaceSize=500M", "-XX:+DisableExplicitGC", "-server")


def test_collectors_in_modifiers_become_collectors(tmp_path: Path) -> None:
    (experiment,) = load(of_running_ng(HERE / "running_ng" / "collectors.yml"), tmp_path).values()
    assert [c.name for c in experiment.collectors] == ["serial", "parallel", "oops_gc-G1"]
    serial, parallel = ("-XX:+UseSerialGC",), ("-XX:+UseParallelGC",)
    g1 = ("-XX:-UseCompressedOops", "-XX:+UseG1GC")
    seventeen, twenty_one = "/opt/jdk-17/bin/java", "/opt/jdk-21/bin/java"
    assert configs_of(experiment) == {
        (jdk, (*gc, *COMMON), (), None)
        for jdk, gc in [
            (seventeen, serial), (seventeen, parallel), (twenty_one, serial), (twenty_one, parallel), (twenty_one, g1)
        ]
    }  # fmt: skip
    assert [words for _, words, _ in commands(experiment)] == [
        ("{runtime}", "-jar", "/opt/benchmarks/dacapo-23.11-chopin.jar", "-n", "5", "-s", "default", name)
        for name in ("fop", "h2", "lusearch")
    ]
    assert (experiment.steady.method, experiment.steady.iterations, experiment.steady.warmup) == (
        "fixed",
        5,
        4,
    )
    assert all(benchmark.adapter == "dacapo" for benchmark in experiment.benchmarks)
    assert (experiment.invocations, experiment.timeout_s) == (10, 1800)


def test_heaps_are_spread_as_the_documentation_of_runbms_says(tmp_path: Path) -> None:
    # With N = 8 and a spread factor of 1 the places are 0, 1, 2 1/7, 3 3/7, ... 10 and 12.
    places = [0, 1, 2 + 1 / 7, 3 + 3 / 7, 4 + 6 / 7, 6 + 3 / 7, 8 + 1 / 7, 10, 12]
    (experiment,) = load(of_running_ng(HERE / "running_ng" / "collectors.yml"), tmp_path).values()
    assert [heap.factor for heap in experiment.heaps] == pytest.approx(
        [1 + 5 * p / 12 for p in places], abs=5e-5
    )
    (wider,) = load(of_running_ng(HERE / "running_ng" / "collectors.yml", heaps=16), tmp_path).values()
    assert [len(wider.heaps), wider.heaps[0].factor, wider.heaps[-1].factor] == [17, 1, 6]


def test_overrides_count_and_each_number_of_iterations_has_a_spec(tmp_path: Path) -> None:
    found = of_running_ng(HERE / "running_ng" / "overrides.yml")
    experiments = load(found, tmp_path)
    assert list(experiments) == ["overrides", "overrides-2", "overrides-3"]
    first, second, third = experiments.values()
    probes = "/opt/benchmarks/dacapo-2006-10-MR2.jar:/opt/probes/out:/opt/probes/probes.jar"
    callback = ("{runtime}", "-cp", probes, "Harness", "-c", "probe.Dacapo2006Callback")
    assert [words for _, words, _ in commands(first)] == [(*callback, "-n", "5", "-s", "default", "antlr")]
    large, h2 = (words for _, words, _ in commands(second))
    assert large == (*callback, "-n", "10", "-s", "large", "fop")
    assert h2[:4] == ("taskset", "-c", "0-3", "{runtime}")
    assert h2[-5:] == ("-n", "10", "-s", "small", "h2")
    assert (third.steady.method, third.steady.window, third.steady.threshold) == ("cov", 3, 0.03)
    assert [(e.invocations, e.heaps[0].factor, e.heaps[-1].factor) for e in experiments.values()] == [
        (20, 1.5, 6.0)
    ] * 3
    usual = (
        "-XX:MetaspaceSize=500M",
        "-XX:+DisableExplicitGC",
        "-Djava.library.path=/opt/probes/out",
        "-Dprobes=Some",
    )
    seventeen = str(HERE / "running_ng" / "jdks" / "seventeen" / "bin" / "java")
    twenty_one = "/opt/temurin-21/bin/java"
    plain, tiered = (seventeen, usual, (), None), (twenty_one, (*usual, "-XX:TieredStopAtLevel=1"), (), None)
    with_variable = (twenty_one, usual, (("PLAN_A", "7"),), None)
    assert configs_of(first) == {plain, tiered, with_variable}
    assert configs_of(second, "dacapo2006-overrides-2") == {plain, tiered, with_variable}
    # The modifier is not for h2.
    assert configs_of(second, "dacapochopin-overrides-2") == {plain, with_variable}
    assert {r.name for r in first.runtimes} == {"jdk-17", "temurin-21-2"}, "a name of the registry was taken"


def test_heaps_of_modifiers_become_sizes_and_programs_run_natively(tmp_path: Path) -> None:
    found = of_running_ng(HERE / "running_ng" / "heaps.yml")
    (experiment,) = load(found, tmp_path).values()
    assert configs_of(experiment) == {
        ("/opt/jdk/bin/java", (), (), 512),
        ("/opt/jdk/bin/java", ("-Xint",), (), 1024),
        ("/opt/jdk/bin/java", (), (), 1024),
        ("", (), (), None),
        ("", (), (("LC_ALL", "C"),), None),
        ("/opt/d8", ("--expose-gc",), (), None),
    }
    sort = next(words for _, words, _ in commands(experiment) if words[0] == "/usr/bin/sort")
    assert sort == ("/usr/bin/sort", "-r", "/etc/some services", "{x}")
    jvm98 = next(words for folder, words, _ in commands(experiment) if folder == "/opt/specjvm98")
    assert jvm98 == ("{runtime}", "-cp", "/opt/specjvm98", "SpecApplication", "-i1", "_209_db")
    left = {item.key: item.why for item in found.items if item.kind == "left out"}
    assert "JikesRVM" in left["runtimes.jikes"]
    assert "JikesRVM" in left["configs[6]"]
    assert {
        "configs[4]",
        "configs[5]",
    } <= set(left)


def imported_flags(folder: Path, flags: str) -> tuple[Experiment, list[str]]:
    """An experiment of one config with flags of a JVM, and what is listed of these."""
    path = folder / "in.yml"
    path.write_text(
        "suites: {d: {type: DaCapo, release: '9.12', path: /d.jar, timing_iteration: 3}}\n"
        "runtimes: {j: {type: OpenJDK, release: 21, home: /jdk}}\n"
        f"modifiers: {{m: {{type: JVMArg, val: '{flags}'}}}}\n"
        "benchmarks: {d: [fop]}\nconfigs: [j|m]\ninvocations: 3\n"
    )
    found = of_running_ng(path)
    (experiment,) = load(found, folder / "out").values()
    return experiment, [item.why for item in found.items if item.key == "modifiers.m.val"]


@pytest.mark.parametrize(
    ("flags", "size"),
    [("-Xms1T -Xmx1t", 1 << 20), ("-XX:MaxHeapSize=64m", 64), ("-XX:InitialHeapSize=1g -XX:MaxHeapSize=1g", 1024),
     ("-Xmx1g -XX:MaxHeapSize=67108864", 64), ("-mx96m", 96)],
)  # fmt: skip
def test_every_form_of_a_heap_in_a_modifier_becomes_a_size(tmp_path: Path, flags: str, size: int) -> None:
    experiment, _ = imported_flags(tmp_path, f"{flags} -Xint")
    assert configs_of(experiment) == {("/jdk/bin/java", ("-Xint",), (), size)}


@pytest.mark.parametrize(
    "flag", ["-XX:MaxRAMPercentage=5", "-XX:InitialRAMFraction=4", "-XX:MaxRAM=1g", "-XX:MinHeapSize=1g"]
)
def test_a_flag_that_a_heap_is_found_by_stays_beside_no_heap(tmp_path: Path, flag: str) -> None:
    experiment, told = imported_flags(tmp_path, f"{flag} -Xint")
    assert configs_of(experiment) == {("/jdk/bin/java", ("-Xint",), (), None)}
    assert len(experiment.heaps) == 9
    assert [flag in why for why in told] == [True]


def test_the_command_names_the_specs_and_lists_what_is_not_carried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGATTA_HOME", str(HOME))
    monkeypatch.setenv("RUNNING_NG_PACKAGE_DATA", str(HERE / "running_ng"))
    words = ["running-ng", str(HERE / "running_ng" / "collectors.yml"), "--heaps", "2", "--json"]
    done = CliRunner().invoke(import_, words, catch_exceptions=False)
    document = json.loads(done.stdout)
    assert document["specs"] == ["imported-collectors/collectors.yml"]
    assert {"file", "line", "key", "kind", "why", "fix"} == set(document["items"][0])
    octane = next(item for item in document["items"] if item["key"] == "suites.octane")
    assert (octane["kind"], Path(octane["file"]).name, octane["line"]) == ("left out", "suites.yml", 21)
    with pytest.raises(SpecError, match="--force"):
        CliRunner().invoke(import_, words, catch_exceptions=False)


_gc = st.sampled_from(["", "gc-Serial", "gc-Parallel", "oops_gc-G1"])
_heap = st.sampled_from([None, 256, 512])
_mods = st.lists(st.sampled_from(["ms", "s", "c2", "plan-A-1", "plan-A-2"]), max_size=3, unique=True).map(
    sorted
)
_config = st.tuples(st.sampled_from(["jdk-17", "jdk-21"]), _gc, _mods)

FLAGS = {
    "ms": COMMON[:2], "s": COMMON[2:], "c2": ("-XX:-TieredCompilation", "-Xcomp"), "": (), "gc-Serial": ("-XX:+UseSerialGC",),
    "gc-Parallel": ("-XX:+UseParallelGC",), "oops_gc-G1": ("-XX:-UseCompressedOops", "-XX:+UseG1GC"),
}  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configs=st.lists(_config, min_size=1, max_size=7), heaps=st.booleans(), data=st.data())
def test_the_crossing_less_what_is_excluded_is_what_the_configs_name(
    configs: list[tuple[str, str, list[str]]], heaps: bool, data: st.DataObject
) -> None:
    expected: set[Config] = set()
    lines = []
    for runtime, gc, mods in configs:
        size = data.draw(st.sampled_from([256, 512])) if heaps else None
        names = [runtime, *mods, gc, f"heap-{size}" if heaps else ""]
        lines.append("|".join(name for name in names if name))
        flags = (*FLAGS[gc], *(flag for mod in mods for flag in FLAGS.get(mod, ())))
        variables = [("PLAN_A", mod[-1]) for mod in mods if mod.startswith("plan")]
        expected.add((f"/opt/{runtime}/bin/java", flags, tuple(variables), size))
    body: dict[str, Any] = {"includes": [str(HERE / "running_ng" / "base" / "runbms.yml")]}
    body |= {"benchmarks": {"dacapochopin": ["fop"]}, "configs": lines}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.yml"
        path.write_text("\n".join(f"{key}: {value!r}" for key, value in body.items()))
        (experiment,) = load(of_running_ng(path), Path(folder)).values()
        assert configs_of(experiment) == expected


def test_files_that_a_command_only_names_are_listed() -> None:
    found = of_running_ng(HERE / "running_ng" / "heaps.yml")
    told = {item.key: item.why for item in found.items if "cell identity" in item.why}
    named = {"suites.jbb.path", "suites.jvm98.path", "suites.octane.path", "suites.octane.wrapper"}
    assert set(told) == named, "a program that a command begins with is identified"
    assert "`/opt/specjbb2015/specjbb2015.jar`" in told["suites.jbb.path"]
    other = of_running_ng(HERE / "running_ng" / "overrides.yml")
    places = [item.why.split("`")[1] for item in other.items if "cell identity" in item.why]
    assert {"/opt/benchmarks/dacapo-2006-10-MR2.jar", "/opt/probes/out", "/opt/probes/probes.jar"} <= set(
        places
    )
    assert len(places) == len(set(places))


def test_javascript_engines_are_runtimes_of_one_experiment(tmp_path: Path) -> None:
    (tmp_path / "in.yml").write_text(
        "suites: {octane: {type: Octane, path: /octane, wrapper: /wrapper.js, timing_iteration: 3, timeout: 60}}\n"
        "runtimes:\n"
        "  v8: {type: D8, executable: /opt/d8}\n"
        "  moz: {type: SpiderMonkey, executable: js}\n"
        "  jsc: {type: JavaScriptCore, executable: /opt/jsc}\n"
        "modifiers: {gc: {type: JSArg, val: --expose-gc}, cpu: {type: Wrapper, val: taskset -c 0}}\n"
        "benchmarks: {octane: [box2d]}\n"
        "configs: [v8|cpu|gc, v8|cpu, moz|cpu, jsc|cpu]\n"
        "invocations: 7\n"
    )
    found = of_running_ng(tmp_path / "in.yml")
    (experiment,) = load(found, tmp_path / "out").values()
    assert configs_of(experiment) == {
        ("/opt/d8", ("--expose-gc",), (), None),
        ("/opt/d8", (), (), None),
        (str(tmp_path / "js"), (), (), None),
        ("/opt/jsc", (), (), None),
    }
    assert (experiment.invocations, experiment.timeout_s, experiment.heaps) == (7, 60.0, ())
    (benchmark,) = experiment.benchmarks
    start = ("taskset", "-c", "0", "{runtime}", "/wrapper.js")
    words = ("/octane", "box2d", "3")
    assert [benchmark.command_on(runtime) for runtime in experiment.runtimes] == [
        (*start, "--", *words), (*start, *words), (*start, "--", *words)
    ]  # fmt: skip
    changed = {item.key for item in found.items if item.kind == "changed"}
    assert {"suites.octane", "runtimes.v8", "runtimes.moz", "runtimes.jsc"} <= changed
