"""`import regatta`: the tables hold the numbers of the commands, and reading disturbs nothing."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pyarrow as pa
import pytest

import regatta
from helpers.rich_experiment import write_rich_experiment
from helpers.synthetic_journal import (
    cell,
    describe,
    record,
    write_experiment,
    write_facts,
    write_journal,
    write_plan,
)
from regatta.host.journal.line_file import LineFile
from regatta.host.journal.record import encode_record

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
TABLES = ("records", "samples", "estimates", "comparisons")
SERIAL, G1 = cell("serial"), cell("g1")


def command(*arguments: str) -> str:
    """The output of a command of Regatta."""
    done = subprocess.run(
        [sys.executable, "-m", "regatta", *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def in_new_process(code: str, cwd: Path = ROOT) -> Any:
    """The JSON that Python code prints as its last line in a new process."""
    done = subprocess.run([sys.executable, "-c", code], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def lines(rounds: int) -> list[dict[str, Any]]:
    return [
        record(one, r, [1e9 * (1 + r / 100 + i)], position=i)
        for r in range(rounds)
        for i, one in enumerate((SERIAL, G1))
    ]


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rich_experiment(tmp_path_factory.mktemp("rich") / "results" / "demo")


@pytest.fixture(scope="module")
def answer(rich: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("analyze", str(rich), "--json"))
    return found


def test_every_estimate_is_that_of_analyze(rich: Path, answer: dict[str, Any]) -> None:
    rows = regatta.open(rich).estimates.to_pylist()
    for row in rows:
        row["parameters"], row["statuses"] = (
            json.loads(row[name]) if row[name] else {} for name in ("parameters", "statuses")
        )
    assert len(rows) > 100
    assert {one["parameters"].get("percentile") for one in rows} == {None, 50, 90, 99}
    assert rows == answer["cells"]


def test_every_comparison_is_that_of_analyze(rich: Path, answer: dict[str, Any]) -> None:
    rows = regatta.open(rich).comparisons.to_pylist()
    for row in rows:
        row["parameters"] = json.loads(row["parameters"]) if row["parameters"] else {}
        names = [name for name in row if name.startswith("simultaneous_")]
        parts = {name.removeprefix("simultaneous_"): row.pop(name) for name in names}
        row["simultaneous"] = parts if parts["n"] is not None else None
    assert len(rows) > 10
    assert any(row["simultaneous"] for row in rows)
    assert rows == answer["comparisons"]


def test_one_alternative_has_no_simultaneous_interval(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path, [SERIAL, G1], lines(5), 5, baseline={"collector": "serial"})
    (row,) = regatta.open(folder).comparisons.to_pylist()
    assert row["a_name"] == "jdk-21 g1"
    assert row["ratio"] > 1
    assert {row[name] for name in row if "simultaneous" in name} == {None}


def test_the_samples_of_a_series_give_its_estimate(tmp_path: Path) -> None:
    records = lines(6)
    records[4]["status"] = "perturbed"
    records[7] |= {"status": "failed", "iterations": []}
    folder = write_experiment(tmp_path, [SERIAL, G1], records, 6, discarded_rounds=1)
    results = regatta.open(folder)
    samples, estimates = results.samples.to_pylist(), results.estimates.to_pylist()
    assert len(samples) == 11
    assert samples[1] == {
        **{name: estimates[0][name] for name in ("cell_id", "platform", "host", "benchmark", "runtime")},
        "modifiers": "none", "heap_factor": 2.0, "heap_mib": 64, "metric": "elapsed", "collector": "serial",
        "parameters": "", "unit": "ns", "value": 1.01e9, "invocation_id": records[2]["invocation_id"],
        "round": 1, "block": 0, "position": 0, "started_utc_ns": records[2]["started_utc_ns"],
        "perturbed": False, "discarded": False,
    }  # fmt: skip
    for estimate in estimates:
        own = [one for one in samples if one["cell_id"] == estimate["cell_id"]]
        used = [one["value"] for one in own if not one["perturbed"] and not one["discarded"]]
        assert len(used) == estimate["n"] == 4
        assert sum(used) / len(used) == pytest.approx(estimate["mean"])
        assert sum(one["discarded"] for one in own) == estimate["discarded"] == 1
        assert sum(one["perturbed"] for one in own) == estimate["perturbed"]


def test_every_record_is_a_row_with_the_name_of_its_cell(rich: Path) -> None:
    rows = regatta.open(rich).records.to_pylist()
    recorded = [json.loads(line) for line in command("records", str(rich), "--json").splitlines()]
    assert [row["record"] for row in rows] == list(range(len(recorded)))
    for row, one in zip(rows, recorded, strict=True):
        for key in ("host", "invocation_id", "attempt", "status", "reason", "elapsed_ns", "cores"):
            assert row[key] == one[key], key
        assert row["user_s"] == one["rusage"]["user_s"]
        assert row["before_load1"] == one["host_before"]["load1"]
        assert {name: row[name] for name in one["cell"]} == one["cell"]
    assert {row["status"] for row in rows} == {"ok", "oom"}


def test_a_record_of_a_cell_that_is_no_longer_planned_keeps_its_name(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path, [SERIAL, G1], lines(2), 2)
    describe(folder, [SERIAL, G1])
    write_plan(folder, [G1], 2)
    rows = regatta.open(folder).records.to_pylist()
    assert [(row["collector"], row["planned"]) for row in rows] == [("serial", False), ("g1", True)] * 2


def test_an_experiment_without_records_has_the_same_columns_and_says_why_there_are_no_numbers(
    tmp_path: Path, rich: Path
) -> None:
    write_plan(tmp_path, [SERIAL, G1], 3)
    write_facts(tmp_path)
    empty, full = regatta.open(tmp_path), regatta.open(rich)
    for name in TABLES:
        assert getattr(empty, name).schema == getattr(full, name).schema
    assert (empty.records.num_rows, empty.samples.num_rows) == (0, 0)
    assert [row["ratio"] for row in empty.comparisons.to_pylist()] == [None]
    for row in empty.estimates.to_pylist():
        assert (row["n"], row["mean"], row["low"], row["reason"]) == (0, None, None, "not measured yet")


def test_an_experiment_is_read_while_a_runner_holds_its_journal(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path, [SERIAL, G1], lines(6)[:5], 6)
    path = folder / "journal" / "alpha" / "0.jsonl"
    with contextlib.closing(LineFile(path)) as journal:
        journal.lock(patience_s=0)
        with path.open("ab") as file:
            file.write(b'{"v":1,"torn')
        before = (path.read_bytes(), path.stat().st_mtime_ns)
        partial = regatta.open(folder)
        assert partial.records.num_rows == 5
        assert [row["n"] for row in partial.estimates.to_pylist()] == [3, 2]
        assert [row["planned"] for row in partial.estimates.to_pylist()] == [6, 6]
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        journal.cut(path.read_bytes().rindex(b"\n") + 1)
        journal.append(encode_record({**lines(6)[5], "sequence": 5}), "")
        assert partial.records.num_rows == 5
        assert regatta.open(folder).records.num_rows == 6
        assert [row["n"] for row in regatta.open(folder).estimates.to_pylist()] == [3, 3]


def test_a_folder_that_cannot_be_written_is_read_and_left_as_it_is(tmp_path: Path) -> None:
    folder = write_experiment(tmp_path / "made-up", [SERIAL, G1], lines(3), 3)
    # Also for root, who may write anywhere: the folder belongs to another user.
    with contextlib.suppress(PermissionError):
        os.chown(folder, 12345, 12345)
    folder.chmod(0o555)
    before = sorted(folder.rglob("*"))
    assert regatta.open(folder).records.num_rows == 6
    assert sorted(folder.rglob("*")) == before
    folder.chmod(0o755)


def test_errors_are_those_of_the_commands(tmp_path: Path) -> None:
    write_experiment(tmp_path / "made-up", [SERIAL], [], 1)
    with pytest.raises(regatta.StoreError, match="folder of an experiment") as caught:
        regatta.open(tmp_path / "made-down")
    assert isinstance(caught.value, regatta.RegattaError)
    write_journal(tmp_path / "unplanned", lines(1))
    with pytest.raises(regatta.StoreError, match=r"plan.experiment\.json"):
        _ = regatta.open(tmp_path / "unplanned").estimates


def test_a_name_is_a_folder_in_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_experiment(tmp_path / "results" / "made-up", [SERIAL], [], 1)
    monkeypatch.chdir(tmp_path)
    assert regatta.open("made-up").path == regatta.open("results/made-up").path == Path("results/made-up")
    with pytest.raises(regatta.StoreError, match="choose one of made-up"):
        regatta.open("made-down")


def test_the_public_names_are_these() -> None:
    assert regatta.__all__ == ["RegattaError", "Results", "StoreError", "__version__", "open"]
    assert dir(regatta) == sorted(regatta.__all__)
    public = [name for name in vars(regatta.Results) if not name.startswith("_")]
    assert public == list(TABLES)
    assert typing.get_type_hints(regatta.open)["return"] is regatta.Results
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = regatta.close


def test_the_import_loads_no_other_module_and_reading_loads_no_command(rich: Path) -> None:
    loaded = "sorted(name for name in sys.modules if name.startswith('regatta.'))"
    heavy = "sorted({'numpy', 'pyarrow', 'duckdb', 'click', 'rich', 'plotly', 'scipy'} & set(sys.modules))"
    code = f"import json, sys, regatta; print(json.dumps({loaded} + {heavy}))"
    assert in_new_process(code) == []
    code = (
        f"import json, sys, regatta; results = regatta.open({str(rich)!r})\n"
        f"counts = [getattr(results, name).num_rows for name in {TABLES}]\n"
        f"print(json.dumps([min(counts), [name for name in {loaded} if name.startswith('regatta.cli')]]))"
    )
    fewest, commands = in_new_process(code)
    assert fewest > 0
    assert commands == []


def test_the_page_describes_every_column(rich: Path) -> None:
    results = regatta.open(rich)
    sections = dict(re.findall(r"^## Columns of (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    described = {name: re.findall(r"`([a-z_0-9]+)`", text) for name, text in sections.items()}
    described["samples"] += described["estimates"]
    for name in ("estimates", "samples", "comparisons"):
        table: pa.Table = getattr(results, name)
        assert set(table.column_names) <= set(described[name])
    own = {"record", "iteration_rows", "info", "perturbation", "label", "planned"}
    assert own <= set(described["records"]) & set(results.records.column_names)


def blocks_of_the_page() -> Iterator[str]:
    return (found[1] for found in re.finditer(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_code_of_the_page_runs(rich: Path) -> None:
    code = "\n".join(
        [*blocks_of_the_page(), "import json", "print(json.dumps(results.comparisons.num_rows))"]
    )
    assert in_new_process(code, rich.parents[1]) == regatta.open(rich).comparisons.num_rows


def test_the_notebook_runs_and_plots_the_comparisons(rich: Path, answer: dict[str, Any]) -> None:
    path = ROOT / "docs" / "notebook.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [one for one in notebook.cells if one.cell_type == "code"]
    # Outputs would age; everyone makes their own.
    assert [(one.outputs, one.execution_count) for one in code] == [([], None)] * len(code)
    docs = rich.parents[1] / "docs"
    docs.mkdir()
    end = (
        "import json\nplotted = [list(figure.data[0].x), list(figure.data[0].error_x.array)]\n"
        "print(json.dumps([len(table), clearest['p_holm'], *plotted, len(figure.to_html()) > 1000]))"
    )
    rows, least, ratios, above, drawn = in_new_process("\n".join([*(one.source for one in code), end]), docs)
    known = [one for one in answer["comparisons"] if one["p_holm"] is not None]
    elapsed = [one for one in answer["cells"] if one["metric"] == "elapsed" and one["unit"] == "ns"]
    assert rows == len(elapsed)
    assert least == min(one["p_holm"] for one in known)
    assert ratios == [one["ratio"] for one in known]
    assert above == [one["high"] - one["ratio"] for one in known]
    assert drawn
