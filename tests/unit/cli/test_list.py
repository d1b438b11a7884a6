"""`regatta list`: every name of the home, and what is wrong with its files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from regatta.cli.list_ import KINDS, list_


def test_every_kind_names_what_this_repository_has() -> None:
    done = CliRunner().invoke(list_, [*KINDS, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert list(found) == list(KINDS)
    assert {"runtime": "native", "kind": "native", "provider": "none"}.items() <= found["runtimes"][0].items()
    assert "configs/experiments/demo.yml" in {
        Path(row["spec"]).as_posix()[-28:] for row in found["experiments"]
    }
    assert all(row["question"] for row in found["experiments"])
    for kind in ("suites", "runtimes", "collectors", "modifiers", "hosts"):
        assert all(row["description"] for row in found[kind]), kind
    assert {"suite": "vm", "benchmark": "compress", "sizes": "s1, s10, s100"}.items() <= next(
        row.items() for row in found["benchmarks"] if row["benchmark"] == "compress" and row["suite"] == "vm"
    )


def test_a_file_that_is_wrong_is_named_and_the_rest_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configs = tmp_path / "configs"
    (configs / "experiments").mkdir(parents=True)
    (configs / "config.yml").write_text("experiments: []\n")
    (configs / "experiments" / "good.yml").write_text("question: Which is faster?\n")
    (configs / "experiments" / "bad.yml").write_text("question: [\n")
    (configs / "runtimes.yml").write_text("runtimes:\n  mine: {provider: none, kind: native}\n")
    monkeypatch.setenv("REGATTA_HOME", str(tmp_path))
    done = CliRunner().invoke(list_, standalone_mode=False)
    assert done.return_value == 2
    assert "Which is faster?" in done.stdout
    assert "mine" in done.stdout
    assert "no collectors in " in done.stdout
    assert "bad.yml:2" in done.stderr or "bad.yml:1" in done.stderr


def test_descriptions_are_those_of_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "config.yml": "experiments: []\n",
        "runtimes.yml": "runtimes:\n  mine: {provider: none, kind: native, description: Our CPU}\n",
        "collectors.yml": "collectors:\n  g1: {flags: [], description: Regions}\n",
        "modifiers.yml": "modifiers:\n  plain: {flags: []}\n",
        "hosts/here.yml": "all: {children: {lab: {hosts: {h: "
        "{ansible_connection: local, regatta_description: On the desk}}}}}\n",
    }
    for name, text in files.items():
        (tmp_path / "configs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "configs" / name).write_text(text)
    monkeypatch.setenv("REGATTA_HOME", str(tmp_path))
    monkeypatch.delenv("REGATTA_INVENTORY", raising=False)
    kinds = ["runtimes", "collectors", "modifiers", "hosts"]
    done = CliRunner().invoke(list_, [*kinds, "--json"], standalone_mode=False)
    found = json.loads(done.stdout)
    assert [found[kind][0]["description"] for kind in kinds] == ["Our CPU", "Regions", "", "On the desk"]


def test_an_unknown_kind_is_named_with_those_there_are() -> None:
    done = CliRunner().invoke(list_, ["machines"])
    assert done.exit_code == 2
    assert "expected experiments, suites, benchmarks" in done.output
    assert "got 'machines'" in done.output
