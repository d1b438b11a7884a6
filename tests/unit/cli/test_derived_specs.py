"""The specs that `regatta gate` and `regatta bisect` measure, from specs and real repositories."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from helpers.git_repositories import commit
from regatta.cli.bisect_spec import Over, States, states_of
from regatta.cli.gate_spec import SPEC, Wanted, gate_spec
from regatta.host.errors import RegattaError, SpecError
from regatta.spec.load import load_spec

CONFIGS = Path(__file__).parents[3] / "configs"
DEFAULT = Wanted(None, None, None, None, None, True)
#: of the checked-out example, with a folder beside the spec
REVISIONS: dict[str, Any] = {
    "name": "own",
    "suites": ["suite.yml"],
    "define": {
        "runtimes": {
            "prog": {"kind": "program", "provider": "git", "repository": "repo", "revision": "main"}
            | {"command": ["make"], "program": "prog"}
        }
    },
    "runtimes": ["prog"],
    "benchmarks": [{"suite": "own", "benchmark": "all"}],
    "invocations": {"fixed": 12},
}


def home_in(folder: Path) -> Path:
    """Return a home with few registries, which are read quickly."""
    return folder / "home"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Three revisions: v1, the tip of a branch with a slash, and main."""
    for name in ("runtimes.yml", "suites/interpreters.yml", "hosts"):
        (home_in(tmp_path) / "configs" / name).parent.mkdir(parents=True, exist_ok=True)
        (home_in(tmp_path) / "configs" / name).symlink_to(CONFIGS / name)
    repo = tmp_path / "repo"
    commit(repo, {"a": "1"}, tag="v1")
    commit(repo, {"a": "2"}, tag="topic/fast")
    commit(repo, {"a": "3"})
    (tmp_path / "suite.yml").write_text(
        "suite: own\nbenchmarks: {run: {kind: program, command: ['{runtime}']}}\n"
    )
    return repo


def made(folder: Path, spec: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Return the spec of the gate; it is valid elsewhere, too."""
    path = folder / "spec.yml"
    path.write_text(json.dumps(spec))
    wanted = Wanted(**{**vars(DEFAULT), **options})
    value = gate_spec(path, load_spec(path, home_in(folder)), home_in(folder), wanted)
    elsewhere = folder / "results" / value["name"]
    elsewhere.mkdir(parents=True, exist_ok=True)
    (elsewhere / SPEC).write_text(json.dumps(value))
    experiment = load_spec(elsewhere / SPEC, home_in(folder))
    assert experiment.stopping is not None
    assert experiment.stopping.rule == "decide"
    return value


def test_two_revisions_are_two_runtimes_of_pinned_commits(tmp_path: Path, repository: Path) -> None:
    value = made(tmp_path, REVISIONS, baseline="v1", candidate="topic/fast", relevance_percent=1.0, rounds=40)
    first, second = value["define"]["runtimes"].items()
    assert [name for name, _ in (first, second)] == ["prog-v1", "prog-topic-fast"] == value["runtimes"]
    assert value["baseline"] == {"runtime": "prog-v1"}
    assert all(re.fullmatch("[0-9a-f]{40}", entry["revision"]) for _, entry in (first, second))
    assert first[1]["repository"] == str(repository)
    commits = [entry["revision"][:8] for _, entry in (first, second)]
    assert value["name"] == f"own-gate-{'-'.join(commits)}"
    assert value["invocations"]["decide"] == {"relevance_percent": 1.0, "maximum": 40}


def test_candidate_is_the_revision_of_the_spec_and_a_commit_is_named_by_its_start(
    tmp_path: Path, repository: Path
) -> None:
    tip = commit(repository, {"a": "4"})
    value = made(tmp_path, REVISIONS, baseline=tip[:12], candidate="v1")
    assert value["runtimes"] == [f"prog-{tip[:8]}", "prog-v1"]
    assert list(made(tmp_path, REVISIONS, baseline="v1")["define"]["runtimes"]) == ["prog-v1", "prog-main"]


def test_the_candidate_of_an_earlier_gate_is_measured_again(tmp_path: Path, repository: Path) -> None:
    earlier = made(tmp_path, REVISIONS, baseline="v1", candidate="topic/fast")
    value = made(tmp_path, REVISIONS, baseline=str(tmp_path / "results" / earlier["name"]))
    commits = [entry["revision"] for entry in value["define"]["runtimes"].values()]
    assert commits[0] == earlier["define"]["runtimes"]["prog-topic-fast"]["revision"]


def test_sides_of_the_spec_keep_its_rule(tmp_path: Path, repository: Path) -> None:
    spec = {**REVISIONS, "modifiers": {"loud": {"environment": {"LOUD": "1"}}}, "baseline": {"modifiers": []}}
    assert made(tmp_path, spec)["invocations"]["decide"] == {"relevance_percent": 2.0, "maximum": 30}
    spec["invocations"] = {"decide": {"relevance_percent": 3, "maximum": 11, "budget": "2h"}}
    value = made(tmp_path, spec)
    assert re.fullmatch("own-gate-[0-9a-f]{8}", value["name"])
    # what the include has stays: the budget
    assert value["invocations"]["decide"] == {"relevance_percent": 3.0, "maximum": 11}
    assert load_spec(tmp_path / "results" / value["name"] / SPEC, home_in(tmp_path)).stopping.budget_s == 7200  # type: ignore[union-attr]
    # A gate judges each host.
    spec["invocations"] = {"decide": {"hosts": "together"}}
    value = made(tmp_path, spec)
    rule = load_spec(tmp_path / "results" / value["name"] / SPEC, home_in(tmp_path)).stopping
    assert rule is not None
    assert rule.together is None
    # It has a copy of the baseline, and no third half.
    value = made(tmp_path, {**spec, "order": "duet"})
    assert (
        load_spec(tmp_path / "results" / value["name"] / SPEC, home_in(tmp_path)).order == "randomized-blocks"
    )
    spec["invocations"] = {"decide": {"pilot": 50, "maximum": 100}}
    assert made(tmp_path, spec)["invocations"]["decide"]["pilot"] == 50
    assert made(tmp_path, spec, rounds=12)["invocations"]["decide"]["pilot"] == 12


def test_a_runtime_as_the_baseline_replaces_other_baselines(tmp_path: Path, repository: Path) -> None:
    spec = {
        **REVISIONS,
        "runtimes": ["cpython", "perl"],
        "modifiers": {"loud": {"environment": {"LOUD": "1"}}},
        "baseline": {"modifiers": []},
        "benchmarks": [{"suite": "interpreters", "benchmark": "sieve", "size": "small"}],
    }
    name = made(tmp_path, spec, baseline="perl")["name"]
    experiment = load_spec(tmp_path / "results" / name / SPEC, home_in(tmp_path))
    assert dict(experiment.baseline) == {"runtime": "perl"}
    assert [one.name for one in experiment.runtimes] == ["perl", "cpython"]


def test_hosts_share_the_false_alarms(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "spec.yml"
    path.write_text(json.dumps({**REVISIONS, "level": 0.9}))
    experiment = load_spec(path, home_in(tmp_path))
    several = type(experiment)(**{**vars(experiment), "hosts": experiment.hosts * 3})
    value = gate_spec(path, several, home_in(tmp_path), Wanted("v1", None, None, None, None, True))
    assert value["level"] ** 3 == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("options", "change", "told"),
    [
        ({}, {}, "baseline: {runtime: NAME}"),
        ({"candidate": "v1"}, {}, "--baseline REV"),
        ({"baseline": "nowhere"}, {}, "existing branch"),
        ({"baseline": "main"}, {}, "same files"),
        ({"baseline": "v1", "candidate": "v1"}, {}, "same files"),
        ({"baseline": "spec.yml"}, {}, "measured again"),
        ({"baseline": ""}, {}, "measured again"),
        ({"baseline": "v1"}, {"runtimes": ["prog", "cpython"]}, "cpython ("),
        ({"baseline": "v1"}, {"runtimes": ["cpython"]}, "`provider: git`"),
        ({"baseline": "cpython"}, {"runtimes": ["cpython"]}, "add the other"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(
    tmp_path: Path,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, str],
    change: dict[str, Any],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RegattaError, match=re.escape(told)):
        made(tmp_path, {**REVISIONS, **change}, **options)


def test_a_baseline_on_another_machine_is_refused(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "spec.yml"
    path.write_text(json.dumps(REVISIONS))
    experiment = load_spec(path, home_in(tmp_path))
    elsewhere = type(experiment)(**{**vars(experiment), "baseline": {"platform": "arm"}})
    with pytest.raises(SpecError, match="difference of machines"):
        gate_spec(path, elsewhere, home_in(tmp_path), DEFAULT)


def test_other_files_of_that_name_are_no_earlier_gate(tmp_path: Path, repository: Path) -> None:
    # The folder of the user's own gate.yml can have the name of a branch.
    earlier = tmp_path / "topic"
    earlier.mkdir(parents=True)
    own = {"paths_from": ".", "define": {"runtimes": {"x": {"revision": "main"}}}, "runtimes": ["x"]}
    damaged = ("[1, 2]", "{}", '{"paths_from": 1, "define": {"runtimes": []}, "runtimes": [1]}')
    for content in (json.dumps(own), json.dumps({**own, "runtimes": []}), *damaged):
        (earlier / SPEC).write_text(content)
        with pytest.raises(RegattaError, match="existing branch"):
            made(tmp_path, REVISIONS, baseline=str(earlier))


def test_a_change_of_the_sources_is_another_gate(tmp_path: Path, repository: Path) -> None:
    spec = {**REVISIONS, "modifiers": {"loud": {"environment": {"LOUD": "1"}}}, "baseline": {"modifiers": []}}
    first = made(tmp_path, spec)["name"]
    # More rounds of the same are the same gate.
    assert made(tmp_path, spec, rounds=77)["name"] == first
    commit(repository, {"a": "4"})
    assert made(tmp_path, spec)["name"] != first


def states(
    folder: Path, spec: dict[str, Any], good: str | None, bad: str | None, over: Over = "revisions"
) -> States:
    path = folder / "spec.yml"
    path.write_text(json.dumps(spec))
    return states_of(path, load_spec(path, home_in(folder)), good, bad, over)


def test_states_of_a_search_are_the_commits_between(tmp_path: Path, repository: Path) -> None:
    tip = commit(repository, {"a": "4"})
    found = states(tmp_path, REVISIONS, "v1", None)
    assert found.last == 3
    assert found.titles[-1] == f"{tip[:8]} change"
    assert found.runtimes[-1].revision == tip
    sides = found.sides(1, (0, 3))
    assert sides["name"] == "step-0-1-3"
    assert sides["runtimes"] == [found.alternatives[at] for at in (1, 0, 3)]
    assert sides["baseline"] == {"runtime": found.alternatives[1]}
    # Revisions with equal files are different states.
    assert all(entry["aa"] for entry in sides["define"]["runtimes"].values())


def test_states_can_be_runtimes_and_sets_of_modifiers_in_order(tmp_path: Path, repository: Path) -> None:
    flags = {name: {"environment": {name: "1"}} for name in ("A", "B")}
    spec = {**REVISIONS, "modifiers": flags, "modifier_sets": [[], ["A"], ["A", "B"]]}
    found = states(tmp_path, spec, None, None, "modifiers")
    assert found.titles == ("none", "A", "A+B")
    assert found.sides(1, (2,)) == {
        "name": "step-1-2", "modifier_sets": [["A"], ["A", "B"]], "baseline": {"modifiers": ["A"]},
    }  # fmt: skip
    spec = {**REVISIONS, "runtimes": ["perl", "cpython"], "baseline": {"runtime": "cpython"}}
    spec["benchmarks"] = [{"suite": "interpreters", "benchmark": "sieve", "size": "small"}]
    found = states(tmp_path, spec, None, None, "runtimes")
    assert found.titles == ("perl", "cpython")
    assert found.sides(0, (1,))["baseline"] == {"runtime": "perl"}


@pytest.mark.parametrize(
    ("good", "bad", "over", "told"),
    [
        (None, None, "revisions", "--good"),
        ("main", "v1", "revisions", "exchange --good and --bad"),
        ("v1", "v1", "revisions", "exchange --good and --bad"),
        ("gone", None, "revisions", "existing branch"),
        ("v1", None, "modifiers", "in order in the spec"),
        (None, None, "modifiers", "2 to"),
        (None, None, "runtimes", "2 to"),
    ],
)
def test_states_that_cannot_be_searched_are_refused(
    tmp_path: Path, repository: Path, good: str | None, bad: str | None, over: Over, told: str
) -> None:
    with pytest.raises(RegattaError, match=re.escape(told)):
        states(tmp_path, REVISIONS, good, bad, over)


def test_subjects_from_outside_do_not_confuse_the_list(tmp_path: Path, repository: Path) -> None:
    subject = "a\ttab, a : and \x1b[31m -- nothing\u2028more"
    arguments = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.org",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        subject,
    ]
    subprocess.run(["git", "-C", repository, *arguments], check=True)
    commit(repository, {"a": "5"})
    found = states(tmp_path, REVISIONS, "v1", None)
    assert found.last == 4
    assert all(re.fullmatch("[0-9a-f]{40}", one.revision) for one in found.runtimes)
