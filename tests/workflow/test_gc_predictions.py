"""The experiment on collections, cut down: costs of two collectors, the heap of an application, and its collections."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import measured, regatta

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
