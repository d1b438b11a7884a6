"""The experiment on collections, cut down: costs of two collectors, the heap of an application, and its collections."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import measured, regatta
from regatta.answers.spine.facts import fingerprint_of, read_facts
from regatta.models.vectors.files import write_vector
from regatta.models.vectors.values import (
    ApplicationVector,
    ConstantCost,
    Count,
    PrimitiveCost,
    SystemVector,
    Value,
)

pytestmark = pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: THE EXPERIMENT ON COLLECTIONS IS NOT RUN",
)

NAME = "hbench-jgc"
COLLECTORS = ["serial", "z"]
MODIFIERS = ["full-collection", "fixed-young", "collection-log", "c1-only"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two collectors and an application are measured, and `db.json` is its heap vector."""
    made = tmp_path_factory.mktemp(NAME)
    parts = [
        {"suite": "gc", "benchmark": ["lists", "shapes", "young"], "size": "quick"},
        {"suite": "vm", "benchmark": ["db"], "size": "s10"},
    ]
    measured(
        NAME,
        made,
        parts,
        rounds=1,
        workflow=True,
        runtimes=["temurin-21"],
        collectors=COLLECTORS,
        heap={"sizes_mib": [32, 64]},
        exclude=[],
        modifier_sets=[MODIFIERS],
        iterations={"method": "fixed", "count": 3, "warmup": 1},
    )
    cell = (
        "--experiment",
        NAME,
        "--cell",
        "vm/db",
        "--configuration",
        f"temurin-21 serial {'+'.join(MODIFIERS)}",
    )
    done = regatta("trace", "heap", "--every", "1m", "--runs", "1", "-o", "db.json", *cell, cwd=made)
    assert done.returncode == 0, done.stderr
    return made


def predicted(folder: Path, *options: str) -> dict[str, Any]:
    done = regatta("predict", "gc", "db.json", "--on", NAME, "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_the_number_of_collections_is_predicted(folder: Path) -> None:
    """The time is not: in so few measurements on a busy machine, it may be anything."""
    answer = predicted(folder, "--html", "page.html")
    found = {(one["collector"], one["heap_bytes"] >> 20): one["rows"] for one in answer["comparisons"]}
    assert set(found) == {(collector, heap) for collector in COLLECTORS for heap in (32, 64)}
    for (collector, _), rows in found.items():
        kinds = {row["kind"]: row for row in rows}
        if collector == "serial":
            assert kinds["full"]["predicted_count"] == kinds["full"]["measured_count"] == 1
            assert abs(kinds["young"]["predicted_count"] - kinds["young"]["measured_count"]) <= 1
        else:
            cycles, cpu = kinds["cycle"], kinds["processor time"]
            assert cpu["predicted_count"] == cycles["predicted_count"] - 1
            assert cpu["measured"]["point"] > 0
        times = {kind: row["predicted"]["point"] for kind, row in kinds.items()}
        assert all(time > 0 for time in times.values() if time is not None)
        # Costs that were measured on a busy machine may give no time; then the answer says of what.
        unknown = [kind for kind, time in times.items() if time is None and kind != "all"]
        assert [kind for kind in unknown if kind not in " ".join(answer["notes"])] == []
        assert times["all"] is not None or unknown
    assert "db" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_larger_heap_and_smaller_objects_need_fewer_collections(folder: Path) -> None:
    def young(*options: str) -> float:
        (one,) = predicted(folder, "--collector", "serial", "--heap", "32m", *options)["comparisons"]
        return sum(row["predicted_count"] for row in one["rows"] if row["kind"] == "young")

    assert young("--what-if", "heap=2x") < young()
    assert young("--what-if", "objects=0.5x") < young()
    assert young("--what-if", "rate=0.5x") < young()
    assert young("--young", "4m") > young()


def test_costs_by_object_size_need_no_application(folder: Path) -> None:
    done = regatta("predict", "gc", "--on", NAME, "--collector", "serial", "--costs", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "C_live moved" in done.stdout
    assert "temurin-21 z" not in done.stdout
    assert regatta("predict", "gc", "--on", NAME, cwd=folder).returncode == 2


def test_epsilon_has_no_collections_and_a_reason(folder: Path) -> None:
    answer = predicted(folder, "--collector", "epsilon", "--heap", "64m")
    assert [row["predicted"]["point"] for row in answer["comparisons"][0]["rows"]] == [0]
    assert answer["notes"]


@pytest.fixture(scope="module")
def vectors(folder: Path) -> Path:
    """Where `app.yml` is the vector of the application, and `jvm.yml` that of the JVM on which it ran with 32 MiB."""
    facts = read_facts(folder / "results" / NAME)
    ((host, known),) = facts.hosts.items()
    provenance = {"host": host, "fingerprint": fingerprint_of(known)}
    counts = (Count("a", Value.exact(1000.0)),)
    own, pauses = Value.exact(20e6), Value.exact(1e6)
    app = ApplicationVector("db", "iteration", counts, 0.95, own, benchmark="vm/db", pause_time=pauses)
    write_vector(app, folder / "app.yml")
    told = {
        "runtime": "temurin-21",
        "heap": "32MiB",
        "configuration": f"temurin-21 serial {'+'.join(MODIFIERS)}",
    }
    cost = PrimitiveCost("operation", ConstantCost(Value.exact(1e3)), Value.exact(1.0))
    write_vector(SystemVector("jvm", "ns", {"a": cost}, provenance=provenance | told), folder / "jvm.yml")
    return folder


def whole(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return regatta("predict", "app.yml", "--on", "jvm.yml", "--json", *options, cwd=folder)


def test_collections_are_a_part_of_a_predicted_time(vectors: Path) -> None:
    young = []
    for heap in ((), ("--heap", "64m")):
        done = whole(vectors, "--collections", "db.json", "--costs", NAME, *heap)
        assert done.returncode == 0, done.stderr
        (system,) = json.loads(done.stdout)["applications"][0]["systems"]
        rows = {row["primitive"]: row["time"]["value"] for row in system["prediction"]["contributions"]}
        if rows["collections"] is None:
            # Costs that were measured on a busy machine may give no time.
            assert system["elapsed"]["value"] is None
        else:
            assert system["elapsed"]["value"] == pytest.approx(20e6 - 1e6 + rows["collections"])
        told = system["provenance"]["collections"]
        assert told in done.stderr
        young.append(float(told.partition(" young")[0]) if " young" in told else 0.0)
    assert young[1] <= young[0]
    assert young[0] > 0


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--collections", "db.json"), "--costs"),
        (("--collections", "app.yml", "--costs", NAME), "app.yml"),
        (("--collections", "db.json", "--costs", "nothing"), "nothing"),
        (("--collections", "db.json", "--costs", NAME, "--heap", "4m"), "MiB"),
    ],
)
def test_collections_without_what_they_need_are_refused(
    vectors: Path, options: tuple[str, ...], named: str
) -> None:
    done = whole(vectors, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr


def test_costs_of_another_machine_or_collector_are_refused(vectors: Path) -> None:
    jvm = (vectors / "jvm.yml").read_text()
    for old, new in (("temurin-21 serial", "temurin-21 parallel"), ("cpus ", "cpus 9")):
        assert old in jvm
        (vectors / "other.yml").write_text(jvm.replace(old, new))
        done = regatta(
            "predict",
            "app.yml",
            "--on",
            "other.yml",
            "--collections",
            "db.json",
            "--costs",
            NAME,
            cwd=vectors,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "jvm" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--collector", "cms"),
        ("--collector", "parallel"),
        ("--heap", "4m"),
        ("--heap", "x"),
        ("--what-if", "objects=0"),
        ("--young", "64m"),
        ("--promotion-age", "16"),
        ("--initial-heap", "8m"),
        ("--runtime", "graal"),
    ],
)
def test_wrong_options_are_refused(folder: Path, options: tuple[str, str]) -> None:
    done = regatta("predict", "gc", "db.json", "--on", NAME, *options, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert options[0] in done.stderr


def test_another_file_is_no_vector(folder: Path) -> None:
    (folder / "other.json").write_text("{}")
    done = regatta("predict", "gc", "other.json", "--on", NAME, cwd=folder)
    assert done.returncode == 2
    assert "other.json" in done.stderr


def advised(folder: Path, app: str, *options: str) -> subprocess.CompletedProcess[str]:
    target = ("--experiment", NAME, "--target-overhead", "20%", "--json")
    return regatta("advise", "heap", app, *target, *options, cwd=folder)


def test_advice_takes_the_costs_from_the_experiment_of_the_application(folder: Path) -> None:
    done = advised(folder, "vm/db", "--profile", "db.json", "--html", "heap.html")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert {one["collector"]: one["used"] for one in answer["models"]} == dict.fromkeys(COLLECTORS, "curve")
    assert all(one["scale"]["point"] > 0 for one in answer["models"])
    assert all(row["second"]["seconds"] > 0 for row in answer["advice"]["rows"] if row["invocations"])
    assert "curve" in (folder / "heap.html").read_text(encoding="utf-8")


def test_the_profile_of_another_benchmark_is_refused(folder: Path) -> None:
    vector = json.loads((folder / "db.json").read_text(encoding="utf-8"))
    (folder / "jess.json").write_text(json.dumps({**vector, "benchmark": "vm/jess"}), encoding="utf-8")
    done = advised(folder, "vm/db", "--profile", "jess.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--profile" in done.stderr
