"""The sides of `regatta explain-difference`, and the spec of the profiled runs: it has exactly the two cells."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.experiments.small_experiments import SmallExperiment
from regatta.cli.difference_spec import (
    FOR_JAVA,
    SPEC,
    Sides,
    check_can_sample,
    check_same_programs,
    find_sides,
    profiled_spec,
    spec_of,
)
from regatta.host.errors import HostError, SpecError, StoreError
from regatta.store.folder import Folder

CROSSING: dict[str, Any] = {
    "modifiers": {"loud": {"environment": {"LOUD": "1"}}, "low": {"environment": {"LOW": "1"}}},
    "modifier_sets": [[], ["loud"], ["loud", "low"]],
    "compare": ["modifiers", "benchmark", "parameters.n"],
    "baseline": {"modifiers": ["loud"], "parameters": {"n": 1}},
    "benchmarks": [
        {"suite": "tiny", "benchmark": "quick"},
        {"suite": "tiny", "benchmark": "nap", "parameters": {"n": [1, 2]}},
    ],
}


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallExperiment:
    """A planned crossing of sets of modifiers, and of two benchmarks, one with a parameter."""
    monkeypatch.chdir(tmp_path)
    found = SmallExperiment(tmp_path, **CROSSING)
    found.suite["benchmarks"]["nap"] = {
        "command": ["sleep", "{n}"],
        "sizes": {"default": {"parameters": {"n": 1}}},
    }
    found.write()
    planned(found, "spec.yml")
    return found


def planned(small: SmallExperiment, spec: str) -> None:
    done = small.regatta("plan", spec, "--write")
    assert done.returncode == 0, done.stderr


def sides_of(small: SmallExperiment, a: str, b: str) -> Sides:
    folder, sides = find_sides(a, b, small.root / "results", None)
    assert folder.path == small.folder.path
    return sides


def profiled(small: SmallExperiment, sides: Sides) -> Folder:
    """Plan the profiled runs, and return their folder."""
    spec, experiment, _ = spec_of(small.folder)
    value = profiled_spec(spec, experiment, sides, 4)
    folder = Folder(small.root / "results" / value["name"])
    folder.path.mkdir(parents=True)
    (folder.path / SPEC).write_text(json.dumps(value))
    planned(small, str(folder.path / SPEC))
    return folder


def labels(folder: Folder) -> set[str]:
    return {cell["label"] for host in folder.planned_hosts() for cell in folder.host_header(host)["cells"]}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("tiny/quick:default · native", "tiny/quick:default · native loud"),
        ("tiny/nap:default n=1 · native loud", "tiny/nap:default n=2 · native loud"),
        # Both factors differ: other combinations must not run.
        ("tiny/nap:default n=1 · native", "tiny/nap:default n=2 · native loud+low"),
        ("tiny/quick:default · native", "tiny/nap:default n=2 · native loud"),
    ],
)
def test_only_both_sides_are_profiled(small: SmallExperiment, a: str, b: str) -> None:
    sides = sides_of(small, a, b)
    folder = profiled(small, sides)
    assert labels(folder) == {a, b}
    check_same_programs(folder, sides)
    (host,) = folder.planned_hosts()
    cells = folder.host_header(host)["cells"]
    assert all("program-profile" in cell["counters"]["names"] for cell in cells)
    # The experiment is found again, although the profiled runs have the same labels.
    assert sides_of(small, a, b)[0].levels == sides[0].levels


def test_sides_are_named_by_what_differs(small: SmallExperiment) -> None:
    one, other = sides_of(small, "tiny/nap:default n=1 · native loud", "tiny/nap:default n=2 · native loud")
    assert (one.name, other.name) == ("1", "2")
    identity = next(iter(one.cells.values()))["cell_id"]
    assert sides_of(small, identity, other.cells["local"]["cell_id"][:8])[0].levels == one.levels


@pytest.mark.parametrize(
    ("a", "b"), [("quick", "nap"), ("missing", "quick"), ("n=1 · native", "n=1 · native")]
)
def test_sides_that_are_not_clear_are_refused(small: SmallExperiment, a: str, b: str) -> None:
    with pytest.raises(StoreError):
        find_sides(a, b, small.root / "results", None)


def test_a_spec_that_has_changed_is_noticed(small: SmallExperiment) -> None:
    sides = sides_of(small, "tiny/nap:default n=1 · native", "tiny/nap:default n=2 · native")
    small.suite["benchmarks"]["nap"]["command"] = ["sleep", "{n}", "0"]
    small.write()
    with pytest.raises(StoreError, match="tiny/nap"):
        check_same_programs(profiled(small, sides), sides)


def test_options_of_the_user_for_every_jvm_are_not_replaced(small: SmallExperiment) -> None:
    sides = sides_of(small, "tiny/nap:default n=1 · native", "tiny/nap:default n=2 · native")
    cell = dict(sides[0].cells["local"], environment={"JAVA_TOOL_OPTIONS": "-Xint"})
    own = replace(sides[0], cells={"local": cell})
    spec, experiment, _ = spec_of(small.folder)
    with pytest.raises(SpecError, match="JAVA_TOOL_OPTIONS"):
        profiled_spec(spec, experiment, (own, sides[1]), 4)


def test_java_programs_get_one_modifier_more(small: SmallExperiment) -> None:
    side, _ = sides_of(small, "tiny/quick:default · native loud", "tiny/quick:default · native")
    assert side.profiled.modifiers == ("loud", FOR_JAVA)
    assert side.profiled.profiled == side.profiled


def test_without_perf_nothing_is_measured(small: SmallExperiment, monkeypatch: pytest.MonkeyPatch) -> None:
    _, experiment, _ = spec_of(small.folder)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(HostError, match="linux-perf"):
        check_can_sample(experiment)


def test_without_its_spec_nothing_is_planned(small: SmallExperiment) -> None:
    (small.root / "spec.yml").unlink()
    with pytest.raises(StoreError, match=r"experiment\.json"):
        spec_of(small.folder)
