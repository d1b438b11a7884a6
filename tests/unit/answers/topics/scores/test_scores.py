"""Scores: copies x reference time / elapsed time, and their geometric mean."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from helpers.golden import Golden
from helpers.synthetic_journal import cell, native, record, write_experiment
from regatta.answers.kit.view import View
from regatta.answers.report.answer import answer_experiment
from regatta.answers.report.documents import document_of
from regatta.answers.spine.result import Answer
from regatta.answers.topics.scores.compute import SuiteScore
from regatta.answers.topics.scores.topic import SCORES
from regatta.cli.analyze import analyze
from regatta.cli.reference import reference
from regatta.host.errors import SpecError
from regatta.host.values.experiment import Heap
from regatta.stats.intervals import mean_interval, t_quantile

ROUNDS = 8
SUITE = """
suite: speclike
benchmarks:
  gzip: {command: [gzip], sizes: {test: {parameters: {kib: 1, copies: 1, placement: free}}, ref: {}}}
  gcc: {command: [gcc], sizes: {test: {}, ref: {}}}
  perl: {command: [perl], sizes: {test: {}}}
"""
REFERENCE = """
suite: speclike
machine: old-iron
times_s:
  gzip: {test: 10, ref: 100}
  gcc: {test: 20, ref: 300}
  perl: {test: 40}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    (folder / "configs/suites/reference").mkdir(parents=True)
    (folder / "configs/runtimes.yml").write_text("runtimes: {}\n")
    (folder / "configs/suites/speclike.yml").write_text(SUITE)
    (folder / "configs/suites/reference/speclike.yml").write_text(REFERENCE)
    monkeypatch.setenv("REGATTA_HOME", str(folder))
    return folder


def times(mean_s: float, seed: int, noise: float = 0.02) -> list[float]:
    """ns of each round."""
    return [float(v) for v in mean_s * 1e9 * np.random.default_rng(seed).normal(1, noise, ROUNDS)]


def write(
    folder: Path, measured: dict[str, list[float]], parameters: dict[str, Any] | None = None, **other: Any
) -> Path:
    """One cell a label; `measured`: label -> elapsed ns of each round, none: it fails. `parameters`: label -> of its iterations."""
    cells = [native(label, **other) for label in measured]
    records = [
        record(one, r, [[0, "elapsed", values[r], "ns", None, (parameters or {}).get(label)]], block=block)
        if values
        else record(one, r, status="failed", reason="exit code 1", block=block)
        for block, (one, (label, values)) in enumerate(zip(cells, measured.items(), strict=True))
        for r in range(ROUNDS)
    ]
    return write_experiment(folder / "results" / "made-up", cells, records, ROUNDS)


def answered(folder: Path, *given: Any, **other: Any) -> Answer:
    return answer_experiment(write(folder, *given, **other))


def only(answer: Answer) -> SuiteScore:
    (score,) = SCORES.of(answer)
    return score


ALL = {
    "speclike/gzip:test": times(5, 1),
    "speclike/gcc:test": times(10, 2),
    "speclike/perl:test": times(80, 3),
}


def test_a_speed_is_reference_time_over_mean_elapsed_time(home: Path, tmp_path: Path) -> None:
    score = only(answered(tmp_path, ALL))
    assert (score.kind, score.copies, score.machine, score.size) == ("speed", 1, "old-iron", "test")
    reference_s = {"speclike/gzip:test": 10, "speclike/gcc:test": 20, "speclike/perl:test": 40}
    for member in score.members:
        mean = mean_interval(np.array(ALL[member.benchmark]) / 1e9)
        scale = reference_s[member.benchmark]
        found = (member.score.point, member.score.low, member.score.high, member.score.n)
        assert found == pytest.approx((scale / mean.point, scale / mean.high, scale / mean.low, ROUNDS))
    assert (score.complete, score.of, score.left_out) == (True, 3, ())


def test_the_geometric_mean_has_the_interval_of_these_benchmarks(home: Path, tmp_path: Path) -> None:
    score = only(answered(tmp_path, ALL))
    logs = [math.log(member.score.point) for member in score.members]
    # One value per round: its benchmarks share conditions.
    rounds = np.mean([np.array(v) / np.mean(v) for v in ALL.values()], axis=0)
    half = t_quantile(ROUNDS - 1, 0.95) * rounds.std(ddof=1) / math.sqrt(ROUNDS)
    expected = [math.exp(np.mean(logs) + side * half) for side in (0, -1, 1)]
    assert [score.overall.point, score.overall.low, score.overall.high] == pytest.approx(expected)
    assert score.overall.point == pytest.approx(2 ** (1 / 3), rel=0.05)


@pytest.mark.parametrize("shared", [0.0, 0.1])
def test_the_interval_covers_what_it_says(shared: float) -> None:
    """300 suites of 3 programs, with and without conditions that a round shares; 95 % has a standard error of 1.3 % here."""
    from regatta.answers.spine.parts import Place, Sample
    from regatta.answers.spine.result import CellAnswer
    from regatta.answers.topics.scores.compute import judge_scores
    from regatta.spec.references import Reference
    from regatta.stats.estimate import Interval

    rng = np.random.default_rng(4)
    names = ("a", "b", "c")
    machine = Reference("s", "m", "", {name: {"x": 1.0} for name in names}, {})

    def made_up(name: str, rounds: np.ndarray) -> CellAnswer:
        values = rounds + rng.normal(2.0, 0.02 if shared else 0.1, 6)
        mean = mean_interval(values)
        samples = tuple(Sample("", float(v), r, 0, 0, 0, False) for r, v in enumerate(values))
        estimate = Interval(6, mean.point, mean.low, mean.high, 0.95, "t", "")
        return CellAnswer(
            name, Place("h", "p", f"s/{name}:x", "native", "", "none", Heap()), "elapsed", "s", "lower", {}, estimate,
            samples, (), {"ok": 6}, 6,
        )  # fmt: skip

    hits = 0
    for _ in range(300):
        rounds = rng.normal(0, shared, 6)
        (score,) = judge_scores([made_up(name, rounds) for name in names], {"s": machine}, 0.95, False)
        hits += score.overall.low <= 0.5 <= score.overall.high
    assert 0.90 <= hits / 300 <= 0.99


def test_a_rate_counts_its_copies_and_is_apart_from_the_speed(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    measured = {
        "speclike/gzip:test copies=1": times(5, 1),
        "speclike/gzip:test copies=4 placement=compact": times(8, 2),
    }
    copies = {label: {"copies": 4 if "copies=4" in label else 1} for label in measured}
    speed, rate = SCORES.of(answered(tmp_path, measured, copies))
    assert (speed.kind, rate.kind, rate.copies, rate.parameters) == (
        "speed",
        "rate",
        4,
        {"placement": "compact"},
    )
    assert rate.members[0].score.point == pytest.approx(4 * 10 / (np.mean(times(8, 2)) / 1e9))
    golden("rate", rate.words)


def test_a_failed_rate_is_missed_among_the_rates(home: Path, tmp_path: Path) -> None:
    measured = {"speclike/gzip:test copies=2": times(5, 1), "speclike/gcc:test copies=2": []}
    score = only(answered(tmp_path, measured, {"speclike/gzip:test copies=2": {"copies": 2}}))
    assert dict(score.left_out)["gcc"].startswith("no valid invocation among 8")


def test_an_incomplete_suite_is_called_so_and_every_benchmark_that_is_missing_named(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    measured = {"speclike/gzip:test": times(5, 1), "speclike/gcc:test": []}
    score = only(answered(tmp_path, measured))
    assert not score.complete
    assert score.of == 3
    golden("incomplete-suite", score.words)


def test_a_benchmark_without_a_reference_time_is_named_and_in_no_mean(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    path = home / "configs/suites/reference/speclike.yml"
    path.write_text(REFERENCE.replace("  perl: {test: 40}\n", ""))
    score = only(answered(tmp_path, ALL))
    assert [name for name, _ in score.left_out] == ["perl"]
    assert len(score.members) == 2
    golden("no-reference-time", score.words)


def test_a_size_without_any_reference_time_has_no_score_but_says_so(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    path = home / "configs/suites/reference/speclike.yml"
    path.write_text("suite: speclike\nmachine: old-iron\ntimes_s: {gzip: {ref: 10}}\n")
    score = only(answered(tmp_path, ALL))
    assert (score.members, math.isnan(score.overall.point), score.overall.reason) == (
        (),
        True,
        "no benchmarks",
    )
    golden("no-score", score.words)


def test_other_work_than_the_reference_s_is_not_scored(home: Path, tmp_path: Path, golden: Golden) -> None:
    score = only(answered(tmp_path, {"speclike/gzip:test kib=9": times(5, 1)}))
    assert score.members == ()
    golden("other-work", dict(score.left_out)["gzip"])


def test_sizes_and_configurations_have_scores_of_their_own(home: Path, tmp_path: Path) -> None:
    answer = answered(tmp_path, {"speclike/gzip:test": times(5, 1), "speclike/gzip:ref": times(50, 2)})
    assert [(score.size, score.of) for score in SCORES.of(answer)] == [("test", 3), ("ref", 2)]
    assert SCORES.of(answer)[1].members[0].score.point == pytest.approx(2, rel=0.1)


def test_heaps_have_scores_of_their_own(home: Path, tmp_path: Path) -> None:
    cells = [cell("g1", benchmark="speclike/gzip:test", heap_factor=None, heap_mib=mib) for mib in (64, 128)]
    records = [record(one, r, [1e9 + r]) for r in range(3) for one in cells]
    answer = answer_experiment(write_experiment(tmp_path / "r", cells, records, 3))
    assert [score.configuration for score in SCORES.of(answer)] == [
        "jdk-21 g1, 64 MiB heap",
        "jdk-21 g1, 128 MiB heap",
    ]


def test_one_invocation_has_a_score_without_an_interval(home: Path, tmp_path: Path, golden: Golden) -> None:
    one = native("speclike/gzip:test")
    folder = write_experiment(tmp_path / "r", [one], [record(one, 0, [5e9])], 1)
    score = only(answer_experiment(folder))
    assert score.overall.point == score.members[0].score.point == 2.0
    assert math.isnan(score.overall.low)
    golden("one-invocation", score.words)


def test_nothing_is_said_where_the_suite_has_no_reference(home: Path, tmp_path: Path) -> None:
    answer = answered(tmp_path, {"other/gzip:test": times(5, 1)})
    assert SCORES.of(answer) == ()
    assert "scores" not in answer.findings


def test_nothing_is_said_where_there_is_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGATTA_HOME", str(tmp_path / "nowhere"))
    assert SCORES.of(answered(tmp_path, ALL)) == ()


@pytest.mark.parametrize(
    ("text", "where", "fix"),
    [
        ("suite: speclik\nmachine: m\ntimes_s: {gzip: {test: 1}}", "suite", "`suite: speclike`"),
        ("suite: speclike\nmachine: m\ntimes_s: {gzi: {test: 1}}", "times_s.gzi", "`gzip`"),
        ("suite: speclike\nmachine: m\ntimes_s: {gzip: {tst: 1}}", "times_s.gzip.tst", "`test`"),
        ("suite: speclike\nmachine: m\ntimes_s: {gzip: {test: 0}}", "times_s.gzip.test", ""),
        ("suite: speclike\ntimes_s: {gzip: {test: 1}}", "machine", "`machine: quiet-xeon-2026`"),
    ],
)
def test_a_wrong_reference_is_an_error_not_a_silence(
    home: Path, tmp_path: Path, text: str, where: str, fix: str
) -> None:
    (home / "configs/suites/reference/speclike.yml").write_text(text + "\n")
    with pytest.raises(SpecError) as caught:
        answered(tmp_path, ALL)
    (problem,) = caught.value.problems
    assert problem.where.endswith(f":{where}")
    assert fix in problem.fix


def test_scores_are_in_the_table_the_document_and_the_rows(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path, ALL)
    shown = CliRunner().invoke(analyze, [str(folder), "--all"]).stdout
    assert "Scores" in shown
    assert "all 3 benchmarks" in shown
    document = document_of(answer_experiment(folder))
    assert (document["scores"][0]["of"], document["scores"][0]["complete"]) == (3, True)
    rows = list(csv.DictReader(io.StringIO(CliRunner().invoke(analyze, [str(folder), "--csv"]).stdout)))
    assert [row["kind"] for row in rows if "score" in row["kind"]] == ["score"] * 3 + ["suite-score"]


def test_the_report_has_a_row_a_benchmark_and_one_for_their_mean(home: Path, tmp_path: Path) -> None:
    answer = answered(tmp_path, {**ALL, "speclike/gcc:test": []})
    topic = SCORES.section_of(View(answer))
    assert topic is not None
    table, without = topic.tables
    assert [row[4] for row in table.rows] == [
        "gzip",
        "perl",
        "geometric mean of 2 of 3",
    ]
    assert [row[4] for row in without.rows] == ["gcc"]
    (figure,) = topic.groups[0].figures
    assert sum(trace.get("mode") == "markers" for trace in figure.traces) == 3
    assert all("error_x" in trace for trace in figure.traces if trace.get("mode") == "markers")


def made(*arguments: str) -> Any:
    from regatta.cli.main import cli

    return CliRunner().invoke(cli, ["reference", *arguments])


def test_a_reference_made_of_an_experiment_scores_it_with_one(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    path = home / "configs/suites/reference/speclike.yml"
    path.unlink()
    folder = write(tmp_path, ALL)
    assert SCORES.of(answer_experiment(folder)) == ()
    done = made(str(folder), "--name", "this machine")
    assert done.exit_code == 0, done.output
    assert done.stdout == f"{path}\n"
    golden("precision-of-a-reference", done.stderr)
    score = only(answer_experiment(folder))
    assert (score.machine, score.complete) == ("this machine", True)
    assert [member.score.point for member in score.members] == pytest.approx([1.0] * 3, rel=1e-5)
    assert "description: cpu a processor" in path.read_text()


def test_a_reference_is_not_written_over_another_unless_asked(home: Path, tmp_path: Path) -> None:
    folder = write(tmp_path, ALL)
    path = home / "configs/suites/reference/speclike.yml"
    refused = made(str(folder), "--name", "m")
    assert isinstance(refused.exception, SpecError)
    assert path.read_text() == REFERENCE
    path.write_text("broken: [")
    assert made(str(folder), "--name", "m", "--replace", "--description", "a: b").exit_code == 0
    assert 'description: "a: b"' in path.read_text()


def test_what_has_no_time_is_told_when_a_reference_is_made(
    home: Path, tmp_path: Path, golden: Golden
) -> None:
    measured = {
        "speclike/gzip:test": times(5, 1), "speclike/gcc:test": [], "speclike/gzip:test copies=2": times(9, 3),
    }  # fmt: skip
    output = tmp_path / "made.yml"
    copies = {"speclike/gzip:test copies=2": {"copies": 2}}
    done = made(str(write(tmp_path, measured, copies)), "--name", "m", "--output", str(output))
    assert done.exit_code == 0, done.output
    golden("no-time", done.stderr)
    text = output.read_text()
    assert f"gzip: {{test: {np.mean(times(5, 1)) / 1e9:.6g}}}" in text
    assert "gcc" not in text


@pytest.mark.parametrize(
    ("name", "labels", "arguments"),
    [
        ("two-suites", ["speclike/gzip:test", "lm/x:test"], []),
        ("unknown-suite", ["speclike/gzip:test"], ["--suite", "spec"]),
        ("two-times", ["speclike/gzip:test", "speclike/gzip:test placement=compact"], []),
        ("other-work-only", ["speclike/gzip:test kib=2"], []),
        ("name-of-two-lines", ["speclike/gzip:test"], ["--name", "a\nb"]),
    ],
)
def test_what_makes_no_reference_is_told(
    home: Path, tmp_path: Path, name: str, labels: list[str], arguments: list[str], golden: Golden
) -> None:
    folder = write(tmp_path, {label: times(5, i) for i, label in enumerate(labels)})
    output = tmp_path / "made.yml"
    done = CliRunner().invoke(reference, [str(folder), "--output", str(output), "--name", "m", *arguments])
    assert isinstance(done.exception, SpecError)
    golden(name, str(done.exception).replace(str(tmp_path), "TMP"))
    assert not output.exists()
