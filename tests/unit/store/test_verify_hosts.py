"""`regatta verify` and `regatta status` where hosts have no records: named problems, one a host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.fleet_experiment import Fleet, write_fleet
from regatta.cli.main import cli
from regatta.store.folder import Folder
from regatta.store.receipts import hosts_left_out, withdraw_left_out

SMALL = {"programs": ("apps/h2:small",), "collectors": ("serial", "g1"), "rounds": 3}


def run(results: Path, *arguments: str) -> tuple[int, str]:
    found = CliRunner().invoke(cli, [*arguments, "--results", str(results)])
    code = found.exit_code if found.exception is None or isinstance(found.exception, SystemExit) else 1
    return code, found.output


def verdict(results: Path) -> dict[str, list[str]]:
    _, output = run(results, "verify", "made-up", "--json")
    value: dict[str, list[str]] = json.loads(output)
    return value


def assert_no_records(host: str, problem: str) -> None:
    """Of the 12 invocations of a host."""
    assert problem.startswith(f"{host}: no records ")
    assert "(12 planned " in problem


def test_a_whole_fleet_holds(tmp_path: Path) -> None:
    write_fleet(tmp_path / "made-up", Fleet(**SMALL))
    assert verdict(tmp_path)["problems"] == []


def test_a_planned_host_without_a_journal_is_one_problem(tmp_path: Path) -> None:
    write_fleet(tmp_path / "made-up", Fleet(**SMALL, recorded={"graviton": 0}))
    (problem,) = verdict(tmp_path)["problems"]
    assert_no_records("graviton", problem)
    assert run(tmp_path, "verify", "made-up")[0] == 1


def test_a_host_that_was_left_out_is_one_problem_with_its_reason(tmp_path: Path) -> None:
    why = "unreachable: No route to host"
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL, left_out={"ryzen": why}))
    for _ in range(2):  # the first look takes nothing away that the second needs
        assert verdict(tmp_path)["problems"] == [f"ryzen: excluded: {why}"]
    code, output = run(tmp_path, "status", "made-up")
    assert code == 0
    assert f"ryzen: 0/12, 0 failed; excluded: {why}" in output
    # The next run tries again.
    withdraw_left_out(Folder(folder))
    assert hosts_left_out(Folder(folder)) == {}
    (problem,) = verdict(tmp_path)["problems"]
    assert_no_records("ryzen", problem)


def test_a_host_that_was_never_planned_is_a_problem_too(tmp_path: Path) -> None:
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL))
    facts = json.loads((folder / "plan" / "experiment.json").read_text())
    facts["left_out"] = {"pi": "without Python"}
    (folder / "plan" / "experiment.json").write_text(json.dumps(facts))
    assert verdict(tmp_path)["problems"] == ["pi: excluded: without Python"]
    assert "pi: 0/0, 0 failed; excluded: without" in run(tmp_path, "status", "made-up")[1]


@pytest.mark.parametrize("receipt", ["", "[]", "{", '{"left_out": ""}', '{"left_out": null}', "\xff"])
def test_a_receipt_that_says_nothing_leaves_nobody_out(tmp_path: Path, receipt: str) -> None:
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL))
    (folder / "receipts" / "ryzen" / "00000.json").write_bytes(receipt.encode("latin-1"))
    assert hosts_left_out(Folder(folder)) == {}


def test_a_reason_is_one_line_of_bounded_length(tmp_path: Path) -> None:
    folder = write_fleet(tmp_path / "made-up", Fleet(**SMALL, left_out={"ryzen": "a\n\tb" + "x" * 5000}))
    reason = hosts_left_out(Folder(folder))["ryzen"]
    assert reason.startswith("a bx")
    assert len(reason) == 300
