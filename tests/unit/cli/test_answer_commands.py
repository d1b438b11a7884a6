"""`analyze`, `records` and `store rebuild` as a person uses them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.synthetic_journal import cell, describe, record, write_experiment, write_plan
from regatta.cli.analyze import analyze
from regatta.cli.records import records
from regatta.cli.store import store
from regatta.cli.verify import verify
from regatta.host.errors import SpecError, StoreError, VerificationError
from regatta.host.printable import printable


@pytest.fixture
def results(tmp_path: Path) -> str:
    cells = [cell("serial"), cell("g1")]
    lines = [
        record(c, r, [1e9 * (1 + r / 100 + i)], position=i) for r in range(5) for i, c in enumerate(cells)
    ]
    lines.append(record(cells[1], 5, status="failed", reason="\x1b[31m[bold]red"))
    write_experiment(tmp_path / "made-up", cells, lines, 6)
    return str(tmp_path)


def test_analyze_prints_tables_with_failures_apart(results: str) -> None:
    done = CliRunner().invoke(analyze, ["made-up", "--results", results, "--all"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "minheap: serial is fastest, " in done.stdout
    assert "paired t on logs" in done.stdout
    assert "Failures" in done.stdout
    assert "\\x1b[31m[bold]red" in done.stdout
    assert "\x1b" not in done.stdout
    assert "note: 1 invocation failed" in done.stderr


def test_analyze_takes_a_path_and_prints_json(results: str) -> None:
    done = CliRunner().invoke(analyze, [f"{results}/made-up", "--json"], catch_exceptions=False)
    document = json.loads(done.stdout)
    assert [c["n"] for c in document["cells"]] == [5, 5]
    assert document["comparisons"][0]["method"] == "paired-log-t"


def test_answering_imports_nothing_that_most_answers_do_not_need() -> None:
    heavy = "{'scipy.stats', 'scipy.optimize', 'pydantic', 'pandas'}"
    code = f"import sys, regatta.answers.report.answer; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_analyze_prints_csv(results: str) -> None:
    done = CliRunner().invoke(analyze, ["made-up", "--results", results, "--csv"], catch_exceptions=False)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["kind"] for row in rows] == ["cell", "cell", "comparison", "pair"]
    assert float(rows[0]["value"]) == pytest.approx(1.02e9)


def test_the_baseline_can_be_chosen(results: str) -> None:
    arguments = ["made-up", "--results", results, "--json", "--baseline", "collector=g1"]
    done = CliRunner().invoke(analyze, arguments, catch_exceptions=False)
    assert json.loads(done.stdout)["comparisons"][0]["b_name"] == "jdk-21 g1"
    wrong = CliRunner().invoke(analyze, ["made-up", "--results", results, "--baseline", "g1"])
    assert wrong.exit_code == 2
    assert " runtime, collector, modifiers" in wrong.stderr


def test_the_papers_way_is_asked_for_by_name(results: str) -> None:
    arguments = ["made-up", "--results", results, "--method"]
    done = CliRunner().invoke(analyze, [*arguments, "georges2007", "--all"], catch_exceptions=False)
    assert "Georges et al. (2007)" in done.stdout
    assert "georges2007" in done.stdout
    wrong = CliRunner().invoke(analyze, [*arguments, "georges"])
    assert isinstance(wrong.exception, SpecError)
    assert "fix: georges2007" in str(wrong.exception)


def test_hosts_and_sums_of_squares_are_chosen(results: str) -> None:
    arguments = ["made-up", "--results", results, "--json", "--hosts", "random", "--anova-type", "3"]
    document = json.loads(CliRunner().invoke(analyze, arguments, catch_exceptions=False).stdout)
    assert document["over_hosts"]["random"] is True
    assert document["over_hosts"]["hosts"] == ["alpha"]
    assert CliRunner().invoke(analyze, [*arguments, "--anova-type", "4"]).exit_code == 2


def test_what_others_read_of_comparisons_among_many_is_there(results: str) -> None:
    done = CliRunner().invoke(analyze, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    document = json.loads(done.stdout)
    assert {"p", "p_holm", "simultaneous", "p_simultaneous", "practical"} <= set(document["comparisons"][0])
    assert {"suites", "over_hosts", "effects", "levels", "method", "theta_percent", "findings"} <= set(
        document
    )
    table = (
        CliRunner().invoke(analyze, ["made-up", "--results", results, "--all"], catch_exceptions=False).stdout
    )
    assert "p (Holm)" in table
    assert "beyond ±1 %" in table


def test_a_missing_experiment_is_told_with_those_that_are_there(results: str) -> None:
    for command in (["made-down"], ["made-down", "--json"]):
        done = CliRunner().invoke(analyze, [*command, "--results", results])
        assert isinstance(done.exception, StoreError)
        assert done.exception.exit_code == 3
        assert "made-up" in str(done.exception)


def test_records_stream_as_json_lines_and_as_a_table(results: str) -> None:
    done = CliRunner().invoke(records, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 11
    assert {"invocation_id", "cell_id", "status", "host", "round", "block", "position"} <= set(lines[0])
    table = (
        CliRunner()
        .invoke(records, ["made-up", "--results", results], catch_exceptions=False)
        .stdout.splitlines()
    )
    assert len(table) == 12
    assert "\x1b" not in table[-1]


def test_records_tell_of_damaged_lines(results: str) -> None:
    path = next(Path(results).glob("made-up/journal/*/*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b'"round":2', b'"round":8', 1))
    done = CliRunner().invoke(records, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    assert len(done.stdout.splitlines()) == 10
    assert "1 torn or damaged line" in done.stderr


def test_records_name_their_cells_whatever_happens_to_the_plan(results: str) -> None:
    def of(*options: str) -> str:
        command = ["made-up", "--results", results, *options]
        return CliRunner().invoke(records, command, catch_exceptions=False).stdout

    folder, cells = Path(results) / "made-up", [cell("serial"), cell("g1")]
    named = [json.loads(line)["cell"] for line in of("--json").splitlines()]
    assert {name["collector"] for name in named} == {"serial", "g1"}
    describe(folder, cells)
    # The spec was edited: one is gone, the other has another name.
    write_plan(folder, [{**cells[1], "runtime": "renamed", "label": "renamed"}], 6)
    again = [json.loads(line)["cell"] for line in of("--json").splitlines()]
    assert again == [{**name, "planned": name["collector"] == "g1"} for name in named]
    assert again[0] == {
        "label": cells[0]["label"], "benchmark": "apps/h2:small", "runtime": "jdk-21", "collector": "serial",
        "modifiers": "none", "heap_factor": 2.0, "heap_mib": 64, "planned": False,
    }  # fmt: skip
    table = of().splitlines()
    assert f"{cells[0]['label']} (no longer planned)" in table[1]
    assert cells[1]["label"] in table[2]
    assert "no longer" not in table[2]
    told = CliRunner().invoke(verify, ["made-up", "--results", results])
    assert f"alpha: {cells[0]['label']}: 5\n" in told.output
    found = CliRunner().invoke(analyze, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    warnings = json.loads(found.stdout)["warnings"]
    assert any(f"excluded: {cells[0]['label']} (5 invocations on alpha)" in warning for warning in warnings)


def test_a_damaged_description_counts_as_a_damaged_line(results: str) -> None:
    path = describe(Path(results) / "made-up", [cell("serial"), cell("g1")])
    path.write_bytes(path.read_bytes().replace(b"jdk-21", b"jdk-22", 1))
    done = CliRunner().invoke(records, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    assert len(done.stdout.splitlines()) == 11
    assert "1 torn or damaged line" in done.stderr
    told = CliRunner().invoke(verify, ["made-up", "--results", results])
    assert isinstance(told.exception, VerificationError)
    assert "cells.jsonl:1: " in told.exception.problems[-1].got
    assert "checksum mismatch" in told.exception.problems[-1].got
    found = CliRunner().invoke(analyze, ["made-up", "--results", results, "--json"], catch_exceptions=False)
    warnings = json.loads(found.stdout)["warnings"]
    assert any(w.startswith("alpha: 1 damaged journal line") and "cells.jsonl:1" in w for w in warnings)


def test_store_rebuild_says_what_it_made(results: str) -> None:
    done = CliRunner().invoke(store, ["rebuild", "made-up", "--results", results], catch_exceptions=False)
    assert "11 invocations, 10 measurements, 2 planned cells" in done.stdout
    assert (Path(results) / "made-up/store/regatta.duckdb").exists()


def test_what_steers_a_terminal_is_made_visible() -> None:
    assert printable("a\x1b[2Jb\nc é") == "a\\x1b[2Jb c é"
