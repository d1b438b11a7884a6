"""The experiment of Java's system classes, cut down: costs on two JVMs, one trace, and the predictions for both."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.experiment_parts import HOME, measured, regatta
from regatta.models.vectors.files import read_vector, write_vector
from regatta.models.vectors.primitives import read_primitives
from regatta.models.vectors.values import ApplicationVector

pytestmark = pytest.mark.skipif(
    shutil.which("mvn") is None or shutil.which("javac") is None,
    reason="NO JDK OR MAVEN: THE EXPERIMENT ON SYSTEM CLASSES IS NOT RUN",
)

NAME = "hbench-java"
#: the application uses three of these groups of primitives, and others
GROUPS = ["builders", "numbers", "text", "own_code"]
#: of the scanner's size `tiny`
PAGES = 100
TRACED, OTHER = "local-temurin-17-parallel-1024MiB", "local-temurin-21-parallel-c1-only-1024MiB"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where release 17, and 21 with one compiler, are measured."""
    made = tmp_path_factory.mktemp(NAME)
    parts = [
        {"suite": "micro", "benchmark": GROUPS, "size": "quick"},
        {"suite": "apps", "benchmark": ["scanner"], "size": "tiny"},
    ]
    answer = measured(
        NAME,
        made,
        parts,
        rounds=2,
        workflow=True,
        runtimes=["temurin-17", "temurin-21"],
        modifier_sets=[[], ["c1-only"]],
        exclude=[
            {"runtime": "temurin-17", "modifiers": ["c1-only"]},
            {"runtime": "temurin-21", "modifiers": []},
        ],
        iterations={"method": "fixed", "count": 3, "warmup": 1},
    )
    of_application = {
        (cell["runtime"], cell["modifiers"], cell["n"])
        for cell in answer["cells"]
        if cell["metric"] == "elapsed" and cell["benchmark"].startswith("apps/scanner")
    }
    assert of_application == {("temurin-17", "none", 2), ("temurin-21", "c1-only", 2)}
    return made


@pytest.fixture(scope="module")
def application(folder: Path) -> ApplicationVector:
    """The vector of the scanner, traced twice on release 17; it is in `scanner.yml`."""
    done = trace(folder, "temurin-17 parallel", "scanner.yml")
    assert done.returncode == 0, done.stderr
    vector = read_vector(folder / "scanner.yml")
    assert isinstance(vector, ApplicationVector)
    return vector


def trace(folder: Path, configuration: str, output: str) -> subprocess.CompletedProcess[str]:
    cell = ("--experiment", NAME, "--cell", "apps/scanner", "--configuration", configuration)
    return regatta("trace", "java", *cell, "--overhead", "2", "-o", output, cwd=folder)


@pytest.fixture(scope="module")
def measured_primitives(folder: Path) -> set[str]:
    """The primitives of both system vectors, which are written."""
    done = regatta("vector", "system", NAME, "--primitives", "java", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert {row["name"] for row in json.loads(done.stdout)} == {TRACED, OTHER}
    table = read_primitives(HOME / "configs" / "primitives" / "java.yml")
    of_groups = {name for name, rule in table.primitives.items() if rule.series.benchmark in GROUPS}
    for name in (TRACED, OTHER):
        system = read_vector(folder / "results" / NAME / "vectors" / "java" / f"{name}.yml")
        assert not isinstance(system, ApplicationVector)
        assert set(system.primitives) == of_groups
    return of_groups


def predicted(folder: Path, application: str, *options: str) -> dict[str, Any]:
    """The predictions of one application on both systems, as JSON."""
    call = ("predict", application, "--on", NAME, "--primitives", "java", "--json", *options)
    done = regatta(*call, cwd=folder)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    (one,) = document["applications"]
    assert {system["system"] for system in one["systems"]} == {TRACED, OTHER}
    return document


def test_a_trace_counts_what_an_iteration_of_the_planned_cell_does(application: ApplicationVector) -> None:
    opened = [one.count for one in application.counts if one.primitive == "file_open_close" and not one.rule]
    assert [(count.value, count.low, count.high, count.n) for count in opened] == [
        (PAGES + 1, PAGES + 1, PAGES + 1, 2)
    ]
    told = application.provenance
    assert (told["experiment"], told["configuration"]) == (NAME, "temurin-17 parallel")
    assert (told["heap"], application.benchmark, application.per) == ("1024MiB", "apps/scanner", "iteration")
    assert application.user_time is not None
    assert application.user_time.n == 2


def test_a_configuration_that_is_not_planned_is_refused(folder: Path) -> None:
    done = trace(folder, "temurin-21 parallel", "refused.yml")
    assert done.returncode == 3
    assert "temurin-21 parallel c1-only" in done.stderr
    assert not (folder / "refused.yml").exists()


def test_an_application_with_other_primitives_has_no_time_and_they_are_named(
    folder: Path, application: ApplicationVector, measured_primitives: set[str]
) -> None:
    document = predicted(folder, "scanner.yml")
    others = {one.primitive for one in application.counts} - measured_primitives
    assert "file_open_close" in others
    for system in document["applications"][0]["systems"]:
        assert set(system["prediction"]["missing"]) == others
        times = (system["prediction"]["time"]["value"], system["elapsed"]["value"])
        assert times == (None, None)
        assert any(
            system["system"] in warning and all(name in warning for name in others)
            for warning in document["warnings"]
        )


def test_an_application_of_measured_primitives_is_predicted_and_compared(
    folder: Path, application: ApplicationVector, measured_primitives: set[str]
) -> None:
    covered = tuple(one for one in application.counts if one.primitive in measured_primitives)
    write_vector(replace(application, counts=covered), folder / "covered.yml")
    (one,) = predicted(folder, "covered.yml", "--html", "page.html")["applications"]
    assert (one["traced_on"], one["unscaled"]) == (TRACED, [])
    # Counts are those of one of the threads at work.
    wanted = sorted((count.primitive, count.count.value / application.parallelism) for count in covered)
    assert {"builder_append_char", "integer_value_of", "tokenizer_next"} < {name for name, _ in wanted}
    for system in one["systems"]:
        rows = system["prediction"]["contributions"]
        told = sorted((row["primitive"], row["count"]["value"]) for row in rows)
        assert [name for name, _ in told] == [name for name, _ in wanted]
        assert [count for _, count in told] == pytest.approx([count for _, count in wanted])
        assert system["prediction"]["missing"] == []
        assert system["elapsed"]["value"] >= system["prediction"]["time"]["value"] > 0
        assert (system["measured"]["elapsed"]["n"], system["unmeasured"]) == (2, "")
        assert system["ratios"]["elapsed"]["value"] > 0
    (pair,) = one["pairs"]
    assert {pair["faster"], pair["slower"]} == {TRACED, OTHER}
    assert (pair["quantity"], pair["measured"]["value"] > 0) == ("elapsed", True)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Speed relative to" in page
    assert "predicted speed" in page
    assert OTHER in page


def test_an_experiment_without_a_primitive_of_the_table_is_refused(
    folder: Path, application: ApplicationVector
) -> None:
    done = regatta("predict", "scanner.yml", "--on", NAME, "--primitives", "os", cwd=folder)
    assert done.returncode == 2
    assert "primitives/os.yml" in done.stderr
