"""Places of `regatta predict -- COMMAND`: their words, the place of a trace, and the spec that measures them."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest

from helpers.golden import Golden
from helpers.vector_examples import application_of, count_of
from regatta.cli.derived_spec import entry_of
from regatta.host.errors import Problem
from regatta.host.values.cell import NO_MODIFIERS
from regatta.host.values.experiment import Experiment
from regatta.host.values.host import Host
from regatta.models.cli.places import (
    EXPERIMENTS,
    SYSTEM_CALLS,
    SYSTEM_CLASSES,
    Domain,
    Place,
    Places,
    domain_of,
    needed_benchmarks,
    primitives_name,
    primitives_spec,
)
from regatta.models.vectors.primitives import find_primitives, read_primitives
from regatta.spec.load import load_spec
from regatta.spec.registries import Registries, read_registries

HOME = Path(__file__).resolve().parents[4]
VECTOR = HOME / "configs" / "applications" / "apache-cgi.yml"


@pytest.fixture(scope="module")
def registries() -> Registries:
    """Those of this home, with a fleet of two hosts."""
    found = read_registries(HOME, [])
    fleet = tuple(Host(name, "fleet", is_local=False) for name in ("a", "b"))
    return replace(found, platforms={"local": (Host("local", "local"),), "fleet": fleet})


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `java` of the PATH, which is a link."""
    real = tmp_path / "jdk" / "java"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link = tmp_path / "bin" / "java"
    link.parent.mkdir()
    link.symlink_to(real)
    monkeypatch.setenv("PATH", str(link.parent))
    return real


def experiment_of(domain: Domain) -> Experiment:
    return load_spec(HOME / EXPERIMENTS / domain.experiment, HOME)


def places_of(domain: Domain, registries: Registries) -> Places:
    return Places(domain, registries, experiment_of(domain))


@pytest.mark.parametrize(
    ("domain", "text", "place"),
    [
        (SYSTEM_CALLS, "local", Place("local")),
        (SYSTEM_CALLS, "fleet half-quota", Place("fleet", modifiers=("half-quota",))),
        # This machine, in a configuration of the experiment that measures the primitives.
        (SYSTEM_CALLS, "one-processor", Place("local", modifiers=("one-processor",))),
        (SYSTEM_CLASSES, "fleet", Place("fleet", "host-java", "default")),
        (SYSTEM_CLASSES, "temurin-21", Place("local", "temurin-21", "default")),
        (SYSTEM_CLASSES, "g1 temurin-21  fleet", Place("fleet", "temurin-21", "g1")),
        (
            SYSTEM_CLASSES,
            "temurin-17 serial c1-only",
            Place("local", "temurin-17", "serial", ("c1-only",)),
        ),
    ],
)
def test_a_place_is_named_by_its_words_in_any_order(
    registries: Registries, domain: Domain, text: str, place: Place
) -> None:
    assert places_of(domain, registries).place(text) == place


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (SYSTEM_CALLS, ""),
        (SYSTEM_CALLS, "locl"),
        (SYSTEM_CALLS, "xyz"),
        # A compiled program has no JVM.
        (SYSTEM_CALLS, "temurin-21"),
        (SYSTEM_CALLS, "local interpreter"),
        (SYSTEM_CLASSES, "temurin-21 temurin-25"),
        (SYSTEM_CLASSES, "cpython"),
    ],
)
def test_a_wrong_place_is_refused(
    registries: Registries, domain: Domain, text: str, golden: Golden, request: pytest.FixtureRequest
) -> None:
    problem = places_of(domain, registries).place(text)
    assert isinstance(problem, Problem)
    golden(request.node.callspec.id, str(problem))


def test_without_a_platform_of_this_machine_a_place_needs_one(registries: Registries) -> None:
    away = replace(registries, platforms={"fleet": registries.platforms["fleet"]})
    places = places_of(SYSTEM_CLASSES, away)
    assert isinstance(places.place("temurin-21"), Problem)
    assert places.traced(["java"], {}) is None


@pytest.mark.parametrize(
    ("command", "environment", "configuration"),
    [
        ("java -jar app.jar", {}, "host-java default"),
        ("$JAVA -Xmx1g -XX:+UseG1GC -jar app.jar -XX:+UseSerialGC", {}, "host-java g1"),
        ("java Main", {"JAVA_TOOL_OPTIONS": "-XX:+UseParallelGC -Xint"}, "host-java parallel interpreter"),
        # Z is a flag more than those that permit it.
        ("java -XX:+UnlockExperimentalVMOptions -XX:+UseZGC Main", {}, "host-java z"),
    ],
)
def test_a_command_is_traced_in_the_jvm_that_it_starts(
    registries: Registries, command: str, environment: dict[str, str], configuration: str, java: Path
) -> None:
    command = command.replace("$JAVA", str(java))
    found = places_of(SYSTEM_CLASSES, registries).traced(command.split(), environment)
    assert found is not None
    assert (found.platform, found.configuration) == ("local", configuration)


@pytest.mark.parametrize(
    "command",
    [
        # another one than that on the PATH
        ["/opt/jdk/bin/java", "Main"],
        # a part of the flags of a modifier
        ["java", "-XX:AOTMode=on", "Main"],
    ],
)
def test_a_jvm_that_is_in_no_configuration_has_no_place(
    registries: Registries, command: list[str], java: Path
) -> None:
    assert places_of(SYSTEM_CLASSES, registries).traced(command, {}) is None


def test_the_kind_of_calls_depends_on_the_program() -> None:
    assert domain_of(["/opt/jdk/bin/java", "-version"]) is SYSTEM_CLASSES
    assert domain_of(["javac", "java"]) is SYSTEM_CALLS


@pytest.mark.parametrize(
    ("domain", "texts", "hosts", "crossed"),
    [
        (SYSTEM_CALLS, ["local"], 1, 1),
        (SYSTEM_CALLS, ["fleet", "local half-quota"], 3, 6),
        (SYSTEM_CLASSES, ["temurin-21 g1", "fleet temurin-25"], 3, 12),
        (SYSTEM_CLASSES, ["temurin-21", "temurin-21 c1-only", "temurin-17"], 1, 4),
    ],
)
def test_the_spec_measures_exactly_the_places(
    registries: Registries,
    tmp_path: Path,
    domain: Domain,
    texts: list[str],
    hosts: int,
    crossed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What a spec defines is added to them.
    monkeypatch.setattr("regatta.spec.load.read_registries", lambda *_: copy.deepcopy(registries))
    places = [
        place for text in texts if isinstance(place := places_of(domain, registries).place(text), Place)
    ]
    assert len(places) == len(texts)
    experiment = experiment_of(domain)
    names = {name: [host.name for host in members] for name, members in registries.platforms.items()}
    suite = read_primitives(find_primitives(domain.table, HOME)).primitives["user_work"].series.suite
    labels = [one.label for one in experiment.benchmarks if one.suite == suite]
    value = primitives_spec(
        domain, places, experiment, HOME / EXPERIMENTS / domain.experiment, names, labels, 4, VECTOR
    )
    path = tmp_path / "primitives.yml"
    path.write_text(json.dumps(value))
    found = load_spec(path, HOME)
    assert found.name == primitives_name(domain, places) == primitives_name(domain, places[::-1])
    assert [one.label for one in found.benchmarks] == labels
    assert found.rounds == experiment.rounds - experiment.invocations + 4
    assert len(found.hosts) == hosts
    assert found.predicted is not None
    assert found.predicted.applications == {str(VECTOR): VECTOR.read_text()}
    cells = {
        (
            host.name,
            runtime.name if domain.of_java else "",
            collector,
            "+".join(one.name for one in chosen) or NO_MODIFIERS,
        )
        for host in found.hosts
        for runtime in found.runtimes
        for collector in ([one.name for one in found.collectors] or [""])
        for chosen in found.modifiers or ((),)
    }
    assert len(cells) == crossed
    excluded = {(one.host, one.runtime or "", one.collector or "", one.modifiers) for one in found.excludes}
    wanted = {
        (host, place.runtime, place.collector, "+".join(place.modifiers) or NO_MODIFIERS)
        for place in places
        for host in names[place.platform]
    }
    assert excluded < cells
    assert cells - excluded == wanted


def test_only_benchmarks_of_used_primitives_are_needed() -> None:
    table = read_primitives(find_primitives("os", HOME))
    vector = application_of(count_of("stat", 1), count_of("tcp_connect", 2), count_of("no_such", 3))
    assert needed_benchmarks(vector, table) == {
        ("lm", "lat_syscall"),
        ("lm", "lat_serve"),
        ("lm", "lat_rand"),
    }


def test_the_entry_of_a_label_has_all_of_its_parts() -> None:
    assert entry_of("a/b:c") == {"suite": "a", "benchmark": "b", "size": "c"}
    assert entry_of('lm/x:y call=stat text="x y"') == {
        "suite": "lm", "benchmark": "x", "size": "y", "parameters": {"call": "stat", "text": "x y"},
    }  # fmt: skip


def test_modifiers_in_any_order_are_one_place(registries: Registries) -> None:
    places = places_of(SYSTEM_CALLS, registries)
    one = places.place("local half-quota one-processor")
    assert one == places.place("one-processor+half-quota+half-quota local")
