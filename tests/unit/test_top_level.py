"""The files that people expect at the top level agree with the package and with each other."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

import regatta
from helpers import tiers

ROOT = Path(__file__).parents[2]


def _yaml(path: str) -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe").load(ROOT / path)
    return loaded


def test_the_package_the_changelog_and_the_citation_have_one_version_of_one_day() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\S+)\] - (\S+)$", changes, re.MULTILINE)
    assert newest
    citation = _yaml("CITATION.cff")
    assert newest[1] == regatta.__version__ == str(citation["version"])
    assert newest[2] == str(citation["date-released"])


def test_the_license_is_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == _yaml("CITATION.cff")["license"] == "Apache-2.0"
    assert [(ROOT / name).read_text().split("\n")[1].strip() for name in project["license-files"]] == [
        "Apache License"
    ]


def test_every_reference_of_the_citation_has_what_its_format_requires() -> None:
    citation = _yaml("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    for work in (citation, *citation["references"]):
        assert {"title", "authors", "type"} <= set(work)
        for author in work["authors"]:
            assert set(author) in ({"name"}, {"given-names", "family-names"})


def test_the_workflow_runs_what_continuous_integration_is() -> None:
    job = _yaml(".github/workflows/ci.yml")["jobs"]["run"]
    assert sorted(job["strategy"]["matrix"]["part"]) == sorted(["check", "first", *tiers.PARTS, tiers.REST])
    assert job["steps"][-1] == {"run": ".ci/run ${{ matrix.part }}"}
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize(
    ("part", "runs"),
    [
        ([], ["check", "test --full"]),
        (["check"], ["check"]),
        (["first"], ["test"]),
        (["fleet"], ["test --only fleet"]),
    ],
)
def test_continuous_integration_runs_everything_or_a_part_and_fails_if_any_fails(
    part: list[str], runs: list[str], tmp_path: Path
) -> None:
    (tmp_path / ".ci").mkdir()
    script = Path(shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run"))
    launcher = tmp_path / "regatta"
    launcher.write_text('#!/bin/sh\necho "$@"\n[ "$1" != "$FAILING" ]\n')
    launcher.chmod(0o755)
    for failing in ("none", *{run.split()[0] for run in runs}):
        environment = {**os.environ, "FAILING": failing}
        done = subprocess.run([script, *part], env=environment, capture_output=True, text=True, check=False)
        started = [line.split(" --durations")[0] for line in done.stdout.splitlines()]
        assert (started, done.returncode == 0) == (runs, failing == "none")


def test_the_hooks_of_a_commit_are_tools_of_the_check_and_need_no_download() -> None:
    check = (ROOT / "tools" / "check").read_text(encoding="utf-8")
    (repository,) = _yaml(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        if "commit-msg" in hook.get("stages", []):
            assert os.access(ROOT / hook["entry"], os.X_OK)
            continue
        program = Path(shlex.split(hook["entry"])[0])
        assert hook["language"] == "system"
        assert f"'{hook['name']}'" in check
        assert str(program.parent) == ".venv/bin" or hook["id"] == "shellcheck"


def test_the_paths_that_contributors_and_git_are_told_of_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|configs|tools|requirements|benchmarks)/[^`<]*)`", guide)
    named += re.findall(r"^([^#*\s]\S*?)/?\**\s", (ROOT / ".gitattributes").read_text(), re.MULTILINE)
    assert len(named) > 10
    assert [path for path in named if not any(ROOT.glob(path.rstrip("/")))] == []
