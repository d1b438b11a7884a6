"""How the paths of an experiment get to the workflow, whoever starts it."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.cli import parse_config
from snakemake.io import contains_wildcard

from helpers.experiments.small_experiments import HOME
from regatta.cli.handover import (
    hand_over,
    handed_experiment,
    handed_width,
    path_for_snakemake,
    wanted_results,
    wanted_specs,
)
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Experiment
from regatta.spec.load import load_spec

NAMES = [
    "é",
    "2026_11_22",
    "2026.10",
    "007",
    "1e3",
    "True",
    "a{b}",
    "res: y",
    'it\'s "so"',
    " a b ",
    "t\tab\n",
    "./x",
    "-res",
    "",
]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return load_spec(HOME / "configs" / "experiments" / "demo.yml", HOME)


@pytest.mark.parametrize(
    "path", sorted((HOME / "configs" / "experiments").glob("*.yml")), ids=lambda p: p.stem
)
def test_an_experiment_that_is_handed_over_arrives_unchanged(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = load_spec(path, HOME)
    for key, value in hand_over(path, read, Path("results"), 72).items():
        monkeypatch.setenv(key, value)
    monkeypatch.setattr("regatta.spec.load.load_spec", lambda *_: pytest.fail("read again"))
    handed = handed_experiment(path, HOME)
    assert handed == read
    # The fingerprint of the inputs of a plan has the repr.
    assert repr(handed) == repr(read)
    assert handed_width() == 72


@pytest.mark.parametrize("damage", ["gone", "torn", "another spec", "another version"])
def test_an_experiment_that_does_not_arrive_is_read_from_its_spec(
    damage: str, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = Path(experiment.spec_path)
    variables = hand_over(spec, experiment, Path("results"), 100)
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    (file,) = Path("results").rglob("handed-over.json")
    if damage == "gone":
        file.unlink()
    elif damage == "torn":
        file.write_bytes(file.read_bytes()[:-20])
    elif damage == "another spec":
        file.write_text(json.dumps({**dataclasses.asdict(experiment), "spec_path": "other.yml"}))
    else:
        file.write_text(json.dumps({**dataclasses.asdict(experiment), "new": 1}))
    read = dataclasses.replace(experiment, question="as read now")
    monkeypatch.setattr("regatta.spec.load.load_spec", lambda *_: read)
    assert handed_experiment(spec, HOME) is read


def test_without_regatta_run_the_answer_is_as_wide_as_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGATTA_RUN_WIDTH", raising=False)
    assert handed_width() == 100


@pytest.mark.parametrize("name", NAMES)
def test_what_regatta_run_hands_over_arrives_as_the_same_folder(
    name: str, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in hand_over(Path(name), experiment, Path(name), 100).items():
        monkeypatch.setenv(key, value)
    results = wanted_results({"experiments": ["other.yml"]}, ["other"])
    assert os.path.abspath(results) == os.path.abspath(name)
    assert [os.path.abspath(spec) for spec in wanted_specs({})] == [os.path.abspath(name)]
    # A user's own configs/config.yml may name others.
    own = {"spec": "other.yml", "results": "other"}
    assert (wanted_results(own, []), wanted_specs(own)) == (results, wanted_specs({}))
    assert not results.startswith("-")


@pytest.mark.parametrize("typed", ["2026_11_22", "2026.10", "007", "1e3", "True", "res: y", "[a]", ""])
@pytest.mark.parametrize("key", ["spec", "results"])
def test_a_typed_path_that_snakemake_turned_into_something_else_is_refused(key: str, typed: str) -> None:
    config = parse_config([f"{key}={typed}"])
    with pytest.raises(SpecError) as error:
        wanted_specs(config) if key == "spec" else wanted_results(config, ["results"])
    problem = error.value.problems[0]
    assert problem.where == f"--config {key}"


@pytest.mark.parametrize("name", ["2026_11_22", "2026.10", "007", "1e3", "True"])
def test_a_typed_path_with_a_folder_before_it_stays_text(name: str) -> None:
    assert wanted_results(parse_config([f"results=./{name}"]), []) == name


@pytest.mark.parametrize("name", NAMES)
def test_the_folder_that_snakemake_sees_is_the_same_and_means_nothing_to_it(name: str) -> None:
    seen = path_for_snakemake(name or ".")
    Path(name or ".").mkdir(parents=True, exist_ok=True)
    Path(seen, "mark").touch()
    assert Path(name or ".", "mark").exists()
    assert not contains_wildcard(f"{seen}/demo")
    assert path_for_snakemake(name or ".") == seen


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_no_folder_becomes_a_wildcard(name: str) -> None:
    if len(os.fsencode(os.path.basename(name))) < 200 and not os.path.isabs(name) and ".." not in name:
        assert not contains_wildcard(path_for_snakemake(name))


@pytest.mark.parametrize("name", ["a\\b", "why?"])
def test_a_folder_where_no_database_can_lie_is_refused_before_anything_is_measured(
    name: str, experiment: Experiment
) -> None:
    with pytest.raises(SpecError):
        hand_over(Path("spec.yml"), experiment, Path(name), 100)
    with pytest.raises(SpecError):
        wanted_results(parse_config([f"results={name}"]), ["results"])
    with pytest.raises(SpecError):
        wanted_results({}, [name])
