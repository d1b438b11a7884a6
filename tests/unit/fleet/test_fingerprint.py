"""The fingerprint of the sources of a plan: it changes with what makes the inputs, and with nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.experiments.small_experiments import HOME
from regatta.fleet import fingerprint
from regatta.spec.load import load_spec


@pytest.mark.parametrize(("spec", "made"), [("web-model", True), ("demo", False)])
def test_another_version_of_what_this_package_makes_is_planned_again(
    spec: str, made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = load_spec(HOME / "configs" / "experiments" / f"{spec}.yml", HOME)
    found = []
    for version in ("1", "2"):
        monkeypatch.setattr(fingerprint, "own_sha256", lambda version=version: version)
        fingerprint.write_fingerprint(experiment, HOME, tmp_path / "fingerprint.json")
        found.append(json.loads((tmp_path / "fingerprint.json").read_text()))
    assert (found[0] != found[1]) is made


def test_an_unchanged_experiment_keeps_its_fingerprint(tmp_path: Path) -> None:
    experiment = load_spec(HOME / "configs" / "experiments" / "demo.yml", HOME)
    path = tmp_path / "fingerprint.json"
    fingerprint.write_fingerprint(experiment, HOME, path)
    before = path.stat().st_mtime_ns
    fingerprint.write_fingerprint(experiment, HOME, path)
    assert path.stat().st_mtime_ns == before
