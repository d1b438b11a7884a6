"""The audit as a page, as tables and as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from helpers.audited_experiment import HOSTILE, experiment
from helpers.synthetic_journal import cell, record, write_experiment
from regatta.answers.audit.compute import audit_experiment
from regatta.answers.audit.page import sections_of_audit, write_audit
from regatta.cli.audit import audit as verb
from regatta.stats.prevalent import CLASSES


def run(*arguments: str) -> Result:
    return CliRunner().invoke(verb, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return experiment(tmp_path_factory.mktemp("results") / "made-up")


def figures_in(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    value: dict[str, Any] = json.loads(found.group(1))
    return value


def test_the_page_has_every_section_and_shares_that_fill_each_bar(folder: Path, tmp_path: Path) -> None:
    audit = audit_experiment(folder)
    assert [topic.anchor for topic in sections_of_audit(audit)] == [
        "methods", "steady", "theta", "where", "example", "heaps", "widths", "intervals", "how",
    ]  # fmt: skip
    write_audit(audit, tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    figures = figures_in(page)
    bars = [f["data"] for f in figures.values() if f["data"][0]["type"] == "bar"]
    assert len(bars) >= 6
    for traces in bars:
        assert len(traces) == len(CLASSES)
        assert np.sum([trace["x"] for trace in traces], axis=0) == pytest.approx(100.0, abs=0.01)
    for sentence in audit.findings:
        assert sentence in page
    for words in ("best of 3", "best of median (3, 3)", "CI width (% of mean)", "theta (%)"):
        assert words in page


def test_the_best_and_the_mean_share_one_scale(folder: Path) -> None:
    topics = {topic.anchor: topic for topic in sections_of_audit(audit_experiment(folder))}
    for group in topics["heaps"].groups + topics["example"].groups:
        for mean, best in zip(group.figures[::2], group.figures[1::2], strict=True):
            assert mean.layout["yaxis"]["range"] == best.layout["yaxis"]["range"]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    audit = audit_experiment(experiment(tmp_path / "hostile", (HOSTILE, "g1"), n=4))
    write_audit(audit, tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "<img" not in re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<img" not in json.dumps(figures_in(page))


def test_an_experiment_without_answers_has_a_page_that_says_so(tmp_path: Path) -> None:
    one = cell()
    folder = write_experiment(tmp_path / "alone", [one], [record(one, 0, status="oom")], 1)
    done = run("alone", "--results", str(tmp_path))
    assert done.exit_code == 0
    assert "Nothing to audit" in done.stdout
    assert "Nothing to audit" in (folder / "audit.html").read_text()


def test_a_width_without_a_third_invocation_has_no_empty_figure(tmp_path: Path) -> None:
    cells = [cell("serial"), cell("g1")]
    lines = [record(one, r, [1e9 + r], position=at) for r in range(2) for at, one in enumerate(cells)]
    sections = sections_of_audit(audit_experiment(write_experiment(tmp_path / "made-up", cells, lines, 2)))
    (widths,) = (section for section in sections if section.anchor == "widths")
    assert widths.tables
    assert not widths.groups


def test_the_command_prints_sentences_and_a_table_a_theta(folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    done = run("made-up", "--results", str(folder.parent), "--theta", "0.5,3", "--output", str(output))
    assert done.exit_code == 0
    assert "theta 0.5 %: " in done.stdout
    assert "by class (%), theta 3 %" in done.stdout
    assert output.is_file()


def test_the_json_has_every_count(folder: Path) -> None:
    value = json.loads(run("made-up", "--results", str(folder.parent), "--json").stdout)
    assert value["thetas_percent"] == [1.0, 2.0]
    assert value["classes"] == list(CLASSES)
    assert len(value["comparisons"]) == 12
    assert {c["verdict"] for c in value["comparisons"]} <= {-1, 0, 1}
    for tally in value["tallies"]:
        assert sum(tally["percent"].values()) == pytest.approx(100.0)
        assert sum(tally["first_runs"].values()) == tally["comparisons"]
    assert {t["theta_percent"] for t in value["tallies"] if t["group"] == "all"} >= {0.0, 0.25, 3.0}
    assert len(value["precision"]) == 12


@pytest.mark.parametrize("theta", ["one", "-1", "1,", "nan", "101"])
def test_a_theta_that_is_none_is_refused(theta: str) -> None:
    done = run("made-up", f"--theta={theta}")
    assert done.exit_code == 2
    assert "from 0 to 100" in done.output
