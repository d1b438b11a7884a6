"""`predict` of a spec: the texts of the named files, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.specs.spec_examples import write
from regatta.host.errors import Problem
from regatta.host.values.experiment import Experiment, Predicted

Load = Callable[..., Experiment]
Wrong = Callable[..., tuple[Problem, ...]]

SUITE = "suite: web\nbenchmarks: {page: {command: [serve]}}\n"
SPEC = """
    name: small
    benchmarks: [{suite: web, benchmark: page}]
    invocations: {fixed: 3}
    """
VECTOR = "kind: application\nname: NAME\nper: request\ncounts: [{primitive: stat, count: 3}]\n"
TABLE = "primitives: {stat: {series: {suite: lm, benchmark: lat_syscall}, cost: constant}}\n"


@pytest.fixture(autouse=True)
def files(home: Path) -> None:
    write(home / "configs/suites/web.yml", SUITE)
    write(home / "configs/applications/page.yml", VECTOR)
    write(home / "configs/primitives/os.yml", TABLE)
    write(home / "empty.yml", "")
    write(home / "own.yml", VECTOR.replace("NAME", "own"))
    write(
        home / "system.yml",
        "kind: system\nname: s\ntime_unit: ns\nprimitives: {stat: {unit: operation, cost: 1}}\n",
    )


def test_the_experiment_has_the_texts_of_registered_and_other_files(load: Load) -> None:
    names = {"page": VECTOR, "own.yml": VECTOR.replace("NAME", "own")}
    found = load(SPEC, "predict: {applications: [page, own.yml]}").predicted
    assert found == Predicted(names, ("os", TABLE))
    assert load(SPEC, "predict: {applications: page,primitives: os.yml}").predicted == Predicted(
        {"page": VECTOR}, ("os.yml", TABLE)
    )
    assert load(SPEC).predicted is None
    assert load(SPEC, "predict: null").predicted is None


@pytest.mark.parametrize(
    ("value", "place", "got", "fix"),
    [
        ("{applications: [pages]}", "predict.applications[0]", "'pages'", "page"),
        ("{applications: [page, page]}", "predict.applications[1]", "'page'", "remove one"),
        ("{applications: [configs]}", "predict.applications[0]", "'configs'", "page"),
        ("{applications: [page], primitives: java}", "predict.primitives", "'java'", "os"),
        ("{applications: []}", "predict.applications", "", ""),
        ("{}", "predict.applications", "missing", ""),
        ("{application: page}", "predict.application", "", ""),
        ("{applications: [" + "x" * 300 + "]}", "predict.applications[0]", "xxx", "page"),
        # The files themselves are wrong.
        ("{applications: empty.yml}", "empty.yml", "", ""),
        ("{applications: system.yml}", "system.yml", "a system vector", "applications"),
        ("{applications: page, primitives: own.yml}", "own.yml", "", ""),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_measured(
    wrong: Wrong, value: str, place: str, got: str, fix: str
) -> None:
    problems = wrong(SPEC, f"predict: {value}")
    assert any(place in one.where and got in one.got and fix in one.fix for one in problems), problems
