"""How the paths of an experiment get to the workflow, whoever starts it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from snakemake.cli import parse_config
from snakemake.io import contains_wildcard

from regatta.cli.handover import hand_over, path_for_snakemake, wanted_results, wanted_specs
from regatta.host.errors import SpecError

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


@pytest.mark.parametrize("name", NAMES)
def test_what_regatta_run_hands_over_arrives_as_the_same_folder(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in hand_over(Path(name), Path(name)).items():
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
def test_a_folder_where_no_database_can_lie_is_refused_before_anything_is_measured(name: str) -> None:
    with pytest.raises(SpecError):
        hand_over(Path("spec.yml"), Path(name))
    with pytest.raises(SpecError):
        wanted_results(parse_config([f"results={name}"]), ["results"])
    with pytest.raises(SpecError):
        wanted_results({}, [name])
